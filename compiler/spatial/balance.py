"""Balance an elastic array: every row gets its work by two ways, one for what stays and one for what may move.

Each port of a fiber becomes two, which part its coordinates, and a balance leads the fibers of both to the PEs of a row that is
free, and the words of PEs back to the port of their own row. PEs stay as they are. Where each PE takes work on its own, `prune`
has cut the wires between them, and there is a balance for each place in a row, around the PEs that have it in theirs.

Input:   Elastic, the checked balance, the row of each PE and, of grain `PE`, its place in the row.
Output:  Elastic.
Errors:  UserError for arrays of which work cannot move: results that are fibers, words that stay in PEs, operands that are
         handed on from row to row, or in some rows only.
Source:  Stellar IV-B, Fig. 10a and 10b, and IV-E.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...hw.arch.elastic import FIBER, MOST_LANES, Border, Elastic, Link, Unit, Worker
from ...hw.arch.elastic import Balance as Unloaded
from ...hw.arch.errors import UserError
from ..lang.balance import Balance
from .points import Point

NAME = "balance"


def balanced(elastic: Elastic, balance: Sequence[Balance], rows: Mapping[str, tuple[int, Point]]) -> Elastic:
    """The same array with rows that take work of each other. rows: of each PE, the place of the index that is balanced, and
    the place in that row, () where all of it takes work together."""
    return _Balancer(elastic, balance, rows).made() if balance else elastic


class _Balancer:
    def __init__(self, elastic: Elastic, balance: Sequence[Balance], rows: Mapping[str, tuple[int, Point]]) -> None:
        self.elastic, self.balance, self.rows = elastic, balance, rows
        self.first = balance[0]
        self.count = dict(elastic.indices)[self.first.index]
        self._check()

    def _check(self) -> None:
        extents, first = dict(self.elastic.indices), self.first
        for each in self.balance:
            if (each.index, each.part, each.begin, each.grain) != (first.index, first.part, first.begin, first.grain):
                raise UserError(f"it moves other work than {first}", str(each),
                                "give all of them one index, one condition and one grain")
        if not all(isinstance(unit.kind, Worker) and unit.kind.sums for unit in self.elastic.units):
            raise UserError("results are fibers, of which a port gives a pair a cycle, whichever row computed it", str(first),
                            "choose a transform with the sum in time")
        if first.part != self.elastic.time:
            raise UserError(f"{first.part} is in space, and work is parted along {self.elastic.time}, which is time",
                            str(first), f"give a condition on {self.elastic.time}")
        if not 0 < first.begin < extents[first.part]:
            raise UserError(f"{first.part} is 0..{extents[first.part] - 1}: of a row all work may move, or none", str(first),
                            f"give a number 1..{extents[first.part] - 1}" if extents[first.part] > 1 else "leave it out")
        if self.count == 1:
            raise UserError(f"{first.index} has one place, so that there is no other row", str(first), "leave it out")
        words = [each.name for unit in self.elastic.units if isinstance(unit.kind, Worker) for each in unit.kind.operands
                 if each.form != FIBER]
        if words:
            raise UserError(f"{words[0]} stays in its PE for an operation, while work moves to others", str(first),
                            f"balance arrays whose operands all go along {self.elastic.time}")
        for link in self.elastic.links:
            (giver, output), taker = link.source, link.sink[0]
            if giver and taker and self.rows[giver] != self.rows[taker]:
                raise UserError(f"{output.rpartition('_')[0]} is handed on along {first.index}, from row to row", str(first),
                                "skip an index by which its wire is cut, or balance another index")

    def made(self) -> Elastic:
        links: list[Link] = []
        inputs: list[Border] = []
        groups = list(dict.fromkeys(group for _, group in self.rows.values()))
        names = {group: "_".join([NAME, *map(str, group)]) for group in groups}
        # Of each row its operands in order, each with its bits: what one row does in place of another one has to be alike.
        lanes: dict[Point, dict[int, list[tuple[str, int]]]] = {
            group: {row: [] for row in range(self.count)} for group in groups}
        results = {group: dict.fromkeys(range(self.count), 0) for group in groups}
        borders = {port.name: port for port in self.elastic.inputs}
        for link in self.elastic.links:
            (giver, port), (taker, sink) = link.source, link.sink
            if giver and taker:
                links.append(link)
            elif taker:
                row, group = self.rows[taker]
                name, end = names[group], f"{row}_{len(lanes[group][row])}"
                border = borders[port]
                moves = replace(border, name=f"{port}_moves", begin=self.first.begin)
                inputs += [replace(border, end=self.first.begin), moves]
                lanes[group][row].append((sink, self.elastic.bits(border.tensor)))
                links += [Link(("", port), (name, f"f{end}")), Link(("", moves.name), (name, f"m{end}")),
                          Link((name, f"o{end}"), link.sink)]
            else:
                row, group = self.rows[giver]
                name, end = names[group], f"{row}_{results[group][row]}"
                results[group][row] += 1
                links += [Link(link.source, (name, f"p{end}")), Link((name, f"c{end}"), ("", sink))]
        taken, *others = {tuple(each): None for of in lanes.values() for each in of.values()}
        if others:
            told = [str(len(each)) if len(taken) != len(others[0]) else ", ".join(name for name, _ in each)
                    for each in (taken, others[0])]
            raise UserError(f"rows have {told[0]} and {told[1]} fibers, as a wire of some is cut, so that none can do what "
                            "others do", str(self.first), 'balance each PE on its own, with grain="pe"')
        fibers = tuple(bits for _, bits in taken)
        words, = {each for of in results.values() for each in of.values()}
        if max(len(fibers), words) > MOST_LANES:
            raise UserError(f"a row has {len(fibers)} fibers", str(self.first), f"use {MOST_LANES} or fewer")
        kind = Unloaded(self._takers(), fibers, words, self.elastic.bits(self.elastic.outputs[0].tensor),
                        self.elastic.reduction)
        units = (Unit(name, kind) for name in names.values())
        return replace(self.elastic, units=(*self.elastic.units, *units), links=tuple(links), inputs=tuple(inputs))

    def _takers(self) -> tuple[tuple[int, ...], ...]:
        """For each row those that may take its work, itself first."""
        rows = range(self.count)
        found = [tuple(dict.fromkeys([row, *(other for each in self.balance for other in self._others(each, row)
                                             if other in rows)])) for row in rows]
        if all(len(takers) == 1 for takers in found):
            raise UserError(f"no row is that far from another one of {self.count}", str(self.first), "give a smaller `by`")
        return tuple(found)

    def _others(self, each: Balance, row: int) -> Sequence[int]:
        """The rows that may take the work of one, as far as there are any."""
        if each.to is not None:
            if each.to >= self.count:
                raise UserError(f"there is no row {each.to} of {self.first.index}, which is 0..{self.count - 1}", str(each),
                                "give one of these")
            return [each.to]
        return range(self.count) if each.by is None else [row + each.by]
