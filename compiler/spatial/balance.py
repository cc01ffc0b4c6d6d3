"""Balance an elastic array: every row gets its work by two ways, one for what stays and one for what may move.

Each port of a fiber becomes two, which part its coordinates, and a balance leads the fibers of both to the PEs of a row that is
free, and the words of PEs back to the port of their own row. PEs stay as they are.

Input:   Elastic, the checked balance, the row of each PE.
Output:  Elastic.
Errors:  UserError for arrays of which work cannot move: results that are fibers, words that stay in PEs, operands that are
         handed on from row to row.
Source:  Stellar IV-B, Fig. 10a, and IV-E.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...hw.arch.elastic import FIBER, MOST_LANES, Border, Elastic, Link, Unit, Worker
from ...hw.arch.elastic import Balance as Unloaded
from ...hw.arch.errors import UserError
from ..lang.balance import Balance

NAME = "balance"


def balanced(elastic: Elastic, balance: Sequence[Balance], rows: Mapping[str, int]) -> Elastic:
    """The same array with rows that take work of each other. rows: of each PE, the place of the index that is balanced."""
    return _Balancer(elastic, balance, rows).made() if balance else elastic


class _Balancer:
    def __init__(self, elastic: Elastic, balance: Sequence[Balance], rows: Mapping[str, int]) -> None:
        self.elastic, self.balance, self.rows = elastic, balance, rows
        self.first = balance[0]
        self.count = dict(elastic.indices)[self.first.index]
        self._check()

    def _check(self) -> None:
        extents, first = dict(self.elastic.indices), self.first
        for each in self.balance:
            if (each.index, each.part, each.begin) != (first.index, first.part, first.begin):
                raise UserError(f"it moves other work than {first}", str(each), "give all of them one index and one condition")
        if not all(isinstance(unit.kind, Worker) and unit.kind.sums for unit in self.elastic.units):
            raise UserError("results are fibers, of which a port gives a pair a cycle, whichever row computed it", str(first),
                            "choose a transform with the sum in time")
        if first.part != self.elastic.time:
            raise UserError(f"{first.part} is in space, and work is parted along {self.elastic.time}, which is time",
                            str(first), f"give a condition on {self.elastic.time}")
        if not 0 < first.begin < extents[first.part]:
            raise UserError(f"{first.part} is 0..{extents[first.part] - 1}: of a row all work may move, or none", str(first),
                            f"give a number 1..{extents[first.part] - 1}")
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
        lanes: dict[int, list[int]] = {row: [] for row in range(self.count)}
        results = dict.fromkeys(range(self.count), 0)
        borders = {port.name: port for port in self.elastic.inputs}
        for link in self.elastic.links:
            (giver, port), (taker, sink) = link.source, link.sink
            if giver and taker:
                links.append(link)
            elif taker:
                row = self.rows[taker]
                end = f"{row}_{len(lanes[row])}"
                border = borders[port]
                moves = replace(border, name=f"{port}_moves", begin=self.first.begin)
                inputs += [replace(border, end=self.first.begin), moves]
                lanes[row].append(self.elastic.bits(border.tensor))
                links += [Link(("", port), (NAME, f"f{end}")), Link(("", moves.name), (NAME, f"m{end}")),
                          Link((NAME, f"o{end}"), link.sink)]
            else:
                row = self.rows[giver]
                end = f"{row}_{results[row]}"
                results[row] += 1
                links += [Link(link.source, (NAME, f"p{end}")), Link((NAME, f"c{end}"), ("", sink))]
        assert len({*map(tuple, lanes.values())}) == len({*results.values()}) == 1, "rows are alike"
        if max(len(lanes[0]), results[0]) > MOST_LANES:
            raise UserError(f"a row has {len(lanes[0])} fibers", str(self.first), f"use {MOST_LANES} or fewer")
        bits = self.elastic.bits(self.elastic.outputs[0].tensor)
        kind = Unloaded(self._takers(), tuple(lanes[0]), results[0], bits)
        return replace(self.elastic, units=(*self.elastic.units, Unit(NAME, kind)), links=tuple(links), inputs=tuple(inputs))

    def _takers(self) -> tuple[tuple[int, ...], ...]:
        """For each row those that may take its work, itself first."""
        rows = range(self.count)
        found = []
        for row in rows:
            others = [other for each in self.balance for other in (rows if each.by is None else [row + each.by])]
            found.append(tuple(dict.fromkeys([row, *(other for other in others if other in rows)])))
        if all(len(takers) == 1 for takers in found):
            raise UserError(f"no row is that far from another one of {self.count}", str(self.first), "give a smaller `by`")
        return tuple(found)
