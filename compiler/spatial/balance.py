"""Balance an elastic array: every row gets its work by two ways, one for what stays and one for what may move.

Each port of a fiber becomes two, which part its coordinates, and a balance leads the fibers of both to the PEs of a row that is
free, with the words of their row, and the words of PEs back to the port of their own row. Where PEs give fibers, those of what
may move leave apart (`parted`). PEs stay as they are. Where each PE takes work on its own, `prune` has cut the wires between
them, and there is a balance for each place in a row, around the PEs that have it in theirs.

Rows, and PEs that take work on their own, that neither give nor take any have no part in a balance: their ports stay whole. But
where results leave in two parts all rows have one, as mergers take fibers of all of them.

Input:   Elastic, what may move, the row of each PE and, of grain `PE`, its place in the row.
Output:  Elastic.
Errors:  UserError for arrays of which work cannot move: rows of the result that are found in PEs, operands that are handed on
         from row to row, or in some rows only.
Source:  Stellar IV-B, Fig. 10a and 10b, and IV-E.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...hw.arch.elastic import FIBER, MOST_LANES, WORD, Border, Elastic, Link, Unit, Worker
from ...hw.arch.elastic import Balance as Unloaded
from ...hw.arch.errors import UserError
from .moving import Moving, Spot
from .parted import MOVES, parted
from .points import Point

NAME = "balance"
# Of a row what it takes: the PE, its operand, and the bits of that.
Lanes = list[tuple[str, str, int]]


def balanced(elastic: Elastic, moving: Sequence[Moving], rows: Mapping[str, Spot]) -> Elastic:
    """The same array with rows that take work of each other. rows: of each PE, the place of the index that is balanced, and
    the place in that row, () where all of it takes work together."""
    return _Balancer(elastic, moving, rows).made() if moving else elastic


class _Balancer:
    def __init__(self, elastic: Elastic, moving: Sequence[Moving], rows: Mapping[str, Spot]) -> None:
        self.elastic, self.moving, self.rows = elastic, moving, rows
        self.first, self.index = moving[0], moving[0].balance.index
        self.count = dict(elastic.indices)[self.index]
        self._check()
        sums = all(isinstance(unit.kind, Worker) and unit.kind.sums for unit in elastic.units)
        self.behind = None if sums else parted(elastic, rows, self.first)

    def _check(self) -> None:
        first = self.first
        for each in self.moving:
            if any(one != other for one, other in zip(_work(each), _work(first))):
                raise UserError(f"it moves other work than {first}", str(each),
                                "give all of them one index, one condition on time and one grain")
        if self.count == 1:
            raise UserError(f"{self.index} has one place, so that there is no other row", str(first), "leave it out")
        for link in self.elastic.links:
            (giver, output), taker = link.source, link.sink[0]
            if giver in self.rows and taker in self.rows and self.rows[giver] != self.rows[taker]:
                raise UserError(f"{output.rpartition('_')[0]} is handed on along {self.index}, from row to row", str(first),
                                "skip an index by which its wire is cut, or balance another index")

    def made(self) -> Elastic:
        links: list[Link] = []
        inputs: list[Border] = []
        groups = {group: self._takers(group) for group in dict.fromkeys(group for _, group in self.rows.values())}
        self._check_far()
        names = {group: "_".join([NAME, *map(str, group)]) for group in groups}
        # Of each group the rows that have a part in the balance, each with its number there.
        numbers = {group: {row: nth for nth, row in enumerate(takers)} for group, takers in groups.items()}
        # Of each row its operands in order, each with its bits: what one row does in place of another one has to be alike.
        lanes = {form: {group: {row: Lanes() for row in mine} for group, mine in numbers.items()} for form in (FIBER, WORD)}
        results = {group: dict.fromkeys(mine, 0) for group, mine in numbers.items()}
        borders = {port.name: port for port in self.elastic.inputs}
        whole = {name for name, (row, group) in self.rows.items() if row not in numbers[group]}
        for link in self.elastic.links:
            (giver, port), (taker, sink) = link.source, link.sink
            if (taker in self.rows and giver) or (taker or giver) in whole:
                links.append(link)
                inputs += [borders[port]] if not giver else []
            elif taker in self.rows:
                row, group = self.rows[taker]
                border = borders[port]
                mine = lanes[border.form][group][row]
                name, end = names[group], f"{numbers[group][row]}_{len(mine)}"
                if border.form == WORD:
                    inputs.append(border)
                    links.append(Link(("", port), (name, f"w{end}")))
                else:
                    moves = replace(border, name=port + MOVES, begin=self.first.begin, end=self.first.end)
                    inputs += [replace(border, begin=self.first.stays[0], end=self.first.stays[1]), moves]
                    links += [Link(("", port), (name, f"f{end}")), Link(("", moves.name), (name, f"m{end}"))]
                mine.append((taker, sink, self.elastic.bits(border.tensor)))
            elif giver in self.rows:
                row, group = self.rows[giver]
                name, end = names[group], f"{numbers[group][row]}_{results[group][row]}"
                results[group][row] += 1
                links.append(Link(link.source, (name, f"p{end}")))
                links += self.behind.links_to(name, end, link.sink) if self.behind else [Link((name, f"c{end}"), link.sink)]
        for group, number_of in numbers.items():
            for row, number in number_of.items():
                taken = lanes[FIBER][group][row] + lanes[WORD][group][row]
                links += [Link((names[group], f"o{number}_{nth}"), (taker, sink)) for nth, (taker, sink, _) in enumerate(taken)]
        units = [*self.elastic.units, *(
            Unit(names[group], self._kind(takers, lanes[FIBER][group], lanes[WORD][group], results[group]))
            for group, takers in groups.items() if takers)]
        if self.behind is None:
            return replace(self.elastic, units=tuple(units), links=tuple(links), inputs=tuple(inputs))
        return replace(self.elastic, units=(*units, *self.behind.units), links=(*links, *self.behind.links),
                       inputs=tuple(inputs), outputs=self.behind.outputs)

    def _kind(self, takers: Mapping[int, Sequence[int]], fibers: Mapping[int, Lanes], words: Mapping[int, Lanes],
              results: Mapping[int, int]) -> Unloaded:
        """The balance of some rows: takers, operands and number of results of each."""
        lanes, kept = self._alike(fibers, FIBER), self._alike(words, WORD)
        count, = set(results.values())
        if max(len(lanes) + len(kept), count) > MOST_LANES:
            raise UserError(f"a row has {len(lanes)} fibers and {len(kept)} words", str(self.first),
                            f"use {MOST_LANES} or fewer")
        number = {row: nth for nth, row in enumerate(takers)}
        others = tuple(tuple(number[other] for other in each) for each in takers.values())
        return Unloaded(others, lanes, count, self.elastic.bits(self.elastic.outputs[0].tensor), self.elastic.reduction, kept,
                        fibers=self.behind is not None)

    def _alike(self, lanes: Mapping[int, Lanes], form: str) -> tuple[int, ...]:
        """The bits of what each row takes; UserError where some take something else."""
        taken, *others = {tuple((sink, bits) for _, sink, bits in each): None for each in lanes.values()}
        if others:
            told = [str(len(each)) if len(taken) != len(others[0]) else ", ".join(name for name, _ in each)
                    for each in (taken, others[0])]
            raise UserError(f"rows have {told[0]} and {told[1]} {form}s, as a wire of some is cut, so that none can do what "
                            "others do", str(self.first), 'balance each PE on its own, with grain="pe", or shift work between '
                            f"rows that are alike, by a condition on {self.index}")
        return tuple(bits for _, bits in taken)

    def _takers(self, group: Point) -> dict[int, tuple[int, ...]]:
        """For each row that has a part in a balance, by rising number, those that may take its work, itself first."""
        rows = range(self.count)
        found = {row: tuple(dict.fromkeys([row, *(other for each in self.moving if (row, group) in each.givers
                                                  for other in self._others(each, row) if other in rows)])) for row in rows}
        parts = {other for takers in found.values() if len(takers) > 1 or self.behind for other in takers}
        return {row: takers for row, takers in found.items() if row in parts}

    def _check_far(self) -> None:
        """UserError for work that has nobody else to do it."""
        for each in self.moving:
            if any(other != row and other in range(self.count) for row, _ in each.givers for other in self._others(each, row)):
                continue
            if len(each.givers) < len({*self.rows.values()}):
                raise UserError("none of those that may give work has another one that may take it", str(each),
                                "let others give work, or others take it")
            raise UserError(f"no row is that far from another one of {self.count}", str(each), "give a smaller `by`")

    def _others(self, each: Moving, row: int) -> Sequence[int]:
        """The rows that may take the work of one, as far as there are any."""
        by, to = each.balance.by, each.balance.to
        if to is not None:
            if to >= self.count:
                raise UserError(f"there is no row {to} of {self.index}, which is 0..{self.count - 1}", str(each),
                                "give one of these")
            return [to]
        return range(self.count) if by is None else [row + by]


def _work(each: Moving) -> tuple[object, ...]:
    """What work it is that moves, whoever takes it."""
    return each.balance.index, each.begin, each.end, each.balance.grain
