"""Make an elastic array of a space in which indices are found by values.

All indices but one are axes of PEs; along the last one, fibers go through each PE. An operand that has this index is a fiber,
any other one a word in each operation. A PE has it from a neighbour where the wire was not cut, else from a port. A sum along
the fibers stays in its PE; along PEs it is handed on, or, where skips cut it, added up by a tree of mergers (`merged`). So is
the largest, or any other reduction that is the same in parts, each of which begins with 0. A product, which begins with 1,
stays in its PE: elements of fibers that no PE computes are 0. Where a skipped index of the result
is one of PEs, its coordinate is known when the word with it is there: a spread leads the fibers of PEs to their rows in front
of the mergers. A sum as a tree has PEs by the digits of its index; operands and skips are those of the index itself.

Input:   Pruned, Transform.
Output:  Elastic.
Errors:  UserError for a transform or skips that need what is not there: several indices in time, coordinates of PEs that
         change in time, sums that are cut in time.
Source:  Stellar IV-B, Fig. 4; Stellar leaves what adds partial sums up to a second array and its buffers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from ...hw.arch.elastic import (
    ALIGNED,
    ALONG,
    FIBER,
    INTERSECT,
    MOST_EXTENT,
    MOST_LANES,
    UNION,
    WORD,
    Border,
    Elastic,
    Found,
    Link,
    Spread,
    Taken,
    Unit,
    Worker,
)
from ...hw.arch.errors import UserError
from ...hw.arch.logic import BITS, MOST_BITS, Apply, Constant, Feed, Logic, width
from ...hw.arch.reduction import ADD, NAMES, NEUTRAL, TIMES, begins
from ...hw.arch.spatial import MOST_CELLS, Shaped
from ..lang.balance import Balance
from ..lang.recurrence import INPUT, OUTPUT, Call, Expr, Number, Read
from ..lang.sparsity import Skip, dependencies, fibers, zeros
from .balance import balanced
from .merged import End, merged
from .moving import Moving, Spot, moving, spots
from .operands import Operand, Usual, usual
from .points import Point
from .prune import Pruned
from .transform import Transform
from .tree import places, whole

Place = Mapping[str, int]


def elastic(pruned: Pruned, transform: Transform, name: str = "array", balance: Sequence[Balance] = ()) -> Elastic:
    """The elastic array of a space, balanced or not."""
    maker = _Maker(pruned, transform, name)
    made = maker.made()
    return balanced(made, *maker.moving(balance)) if balance else made


class _Maker:
    """An array that is being made."""

    def __init__(self, pruned: Pruned, transform: Transform, name: str) -> None:
        self.recurrences, self.bounds, self.name = pruned.unrolled.recurrences, pruned.unrolled.bounds, name
        self.shapes, self.skips, self.transform = pruned.unrolled.shapes, pruned.skips, transform
        self.parts: Usual = usual(self.recurrences)
        self.time = _time(transform, tuple(self.bounds))
        self.space = [index for index in self.bounds if index != self.time]
        self.cut = {(cut.use.variable, cut.index) for cut in pruned.cuts}
        self.skipped = dependencies(self.skips)
        self.trees = places(self.recurrences)
        self.extents = {index: self.trees[index].at({name: extent - 1 for name, extent in self.bounds.items()}) + 1
                        if index in self.trees else self.bounds[index] for index in whole(self.recurrences).indices}
        self.ways = [way for _, way in self.parts.levels]
        self._check()
        self.bits = self.recurrences.bits(self.parts.total)
        self.join, self.carriers = self._joined()
        self.units: list[Unit] = []
        self.links: list[Link] = []
        self.inputs: list[Border] = []
        self.outputs: list[Border] = []

    def made(self) -> Elastic:
        self._pes()
        self._results()
        shaped = {role: tuple(Shaped(each.name, self.recurrences.bits(each.name), self.shapes[each.name])
                              for each in self.recurrences.of(role) if each.name in self.shapes) for role in (INPUT, OUTPUT)}
        found = tuple(self._found(index) for index in self.extents if index in self.skipped)
        carried = tuple((each.tensor, each.indices) for each in self.parts.operands
                        if self.time in self.skipped and each.name in self.carriers)
        return Elastic(self.name, tuple(self.extents.items()), self.time, shaped[INPUT], shaped[OUTPUT], tuple(self.units),
                       tuple(self.links), found, carried, tuple(self.inputs), tuple(self.outputs))

    def moving(self, balance: Sequence[Balance]) -> tuple[list[Moving], dict[str, Spot]]:
        """What of the work of PEs may move, and for each PE its row, and its place there."""
        at = {pe_name(self._at(place)): place for place in self._places()}
        rows = dict(zip(at, spots(balance[0], self.space, [*at.values()])))
        return [moving(each, {**self.bounds, **self.extents}, self.time, self.skipped, [*zip(rows.values(), at.values())])
                for each in balance], rows

    def _check(self) -> None:
        """UserError for what has no elastic array."""
        for skip in self.skips:
            if skip.is_static or skip.of:
                raise UserError("it stands beside a skip by values", str(skip), "use one kind of skip")
            if len(skip.indices) > 1:
                raise UserError(f"{' and '.join(skip.indices)} are found together, as one position, which is no axis of a "
                                "transform", str(skip), "skip one of them, or use the dataflow sp.Vectors(...)")
        for index, by in self.skipped.items():
            if self.time in by:
                raise UserError(f"{index} is found by {self.time}, which is time: PEs would change their coordinates in it",
                                str(by[self.time]), f"choose a transform with {self.time} in space")
        if self.time in self.ways and len(self.ways) > 1:
            raise UserError(f"{self.time} is a digit of a tree, and time", "transform",
                            "choose a transform with all digits in space")
        if self.time in self.ways and (self.parts.total, self.time) in self.cut:
            raise UserError(f"{self.parts.total} is cut along {self.time}, which is time", "transform",
                            f"choose a transform with {self.time} in space")
        if sum(1 for index in self.parts.indices if index in self.skipped and index in self.space) > 1:
            raise UserError("two indices of the result are found by values, and both are in space", "transform",
                            "choose a transform with one of them in time")
        if self.time in self.ways and any(index in self.skipped for index in self.parts.indices):
            raise UserError("an index of the result is found by values, and the sum is in time", "transform",
                            "choose a transform with the sum in space")
        if self.parts.reduction == TIMES and self.time not in self.ways:
            raise UserError(f"{self.parts.total} is a product along {self.parts.way}, which is in space: fibers leave, whose "
                            "elements that no PE computes are 0, not 1", "transform",
                            f"choose a transform with {self.parts.way} in time")
        lanes = max(extent for index, extent in self.extents.items() if index != self.time)
        if lanes > MOST_LANES or prod(self.bounds[index] for index in self.space) > MOST_CELLS:
            raise UserError(f"the bounds {dict(self.bounds)} give many PEs", "bounds",
                            f"use {MOST_LANES} or fewer of each index in space, and {MOST_CELLS:,} PEs at most")
        if self.bounds[self.time] > MOST_EXTENT:
            raise UserError(f"index {self.time} has {self.bounds[self.time]:,} coordinates", "bounds",
                            f"use {MOST_EXTENT:,} or fewer")

    def _joined(self) -> tuple[str, tuple[str, ...]]:
        """How fibers are joined, and the operands that have their coordinates."""
        fibers = [each for each in self.parts.operands if self._form(each) == FIBER]
        skips = [skip for skip in self.skips if self.time in skip.indices]
        if not fibers:
            raise UserError(f"no operand goes along {self.time}", "transform", "choose another index for time")
        if not skips:
            return ALIGNED, (fibers[0].name,)
        asked = _asked(skips)
        carriers = tuple(each.name for each in fibers if (each.tensor, each.indices) in asked)
        if len(carriers) != len(asked) or len(carriers) > 2:
            raise UserError(f"{self.time} is skipped by {len(asked)} elements, of which {len(carriers)} are fibers", "sparsity",
                            "give conditions on one or two operands that the result is computed from")
        if len(carriers) == 1:
            return ALIGNED, carriers
        return UNION if len(skips) == 1 else INTERSECT, carriers

    def _found(self, index: str) -> Found:
        skips = [skip for skip in self.skips if index in skip.indices]
        reads = tuple(_asked(skips))
        # An element that is asked for by itself, too, is found so.
        alone = {_element(read) for skip in skips for read in zeros(skip.where) if read not in fibers(skip.where)}
        whole = tuple({_element(read): None for skip in skips for read in fibers(skip.where) if _element(read) not in alone})
        return Found(index, len(skips) > 1 or len(reads) == 1, reads, whole)

    def _places(self) -> Iterator[Place]:
        """The PEs, by the positions of their indices."""
        for at in itertools.product(*(range(self.bounds[index]) for index in self.space)):
            place = dict(zip(self.space, at))
            yield place | {index: tree.at(place) for index, tree in self.trees.items()}

    def _form(self, operand: Operand) -> str:
        return FIBER if self.time in operand.indices else WORD

    def _pes(self) -> None:
        """All PEs with what they take from each other and from ports."""
        sources = {(pe_name(self._at(place)), each.name): self._source(each, place)
                   for place in self._places() for each in self.parts.operands}
        counts: dict[End, int] = {}
        for place in self._places():
            name = pe_name(self._at(place))
            for each in self.parts.operands:
                giver = sources[name, each.name]
                if giver is None:
                    port = self._input(each, place)
                    self.links.append(Link(("", port), (name, each.name)))
                else:
                    nth = counts.get((giver, each.name), 0)
                    counts[giver, each.name] = nth + 1
                    self.links.append(Link((giver, f"{each.name}_o{nth}"), (name, each.name)))
        rows = [index for index in self.parts.indices if index in self.skipped and index in self.space]
        row = next((each.name for each in self.parts.operands if rows and rows[0] in each.indices and self._form(each) == WORD),
                   "")
        for place in self._places():
            name = pe_name(self._at(place))
            operands = [Taken(each.name, self.recurrences.bits(each.tensor), self._form(each), counts.get((name, each.name), 0))
                        for each in self.parts.operands]
            logic, reduction = self._logic(self.parts.value), self.parts.reduction
            if self.ways and self.time not in self.ways and reduction != ADD:
                logic = Apply(reduction, (Constant(begins(reduction)), logic))
            for total, way in self._chained(place):
                operands.append(Taken(total, self.bits, FIBER))
                logic = Apply(reduction, (Feed(total, 0), logic))
                self.links.append(Link((pe_name(self._at({**place, way: place[way] - 1})), "o"), (name, total)))
            bits = {each.name: each.bits for each in operands}
            # Sums and products are the same in parts whether they wrap or not.
            if reduction not in NEUTRAL and (wide := width(self._logic(self.parts.value), bits.__getitem__)) > self.bits:
                most = max(BITS.values())
                raise UserError(f"{self.parts.total} has {self.bits} bits, and {NAMES[reduction]} of values of {wide} bits, "
                                "which wrap, is not the same in parts", "functionality",
                                f"declare {self.parts.total} with more bits" if wide <= most else
                                f"declare inputs with fewer bits, so that these have {most} or fewer")
            if (wide := width(logic, bits.__getitem__)) > MOST_BITS:
                raise UserError(f"what is assigned to {self.parts.total} has {wide} bits", "functionality",
                                f"at most {MOST_BITS} bits are computed at once")
            self.units.append(Unit(name, Worker(
                tuple(operands), self.join, self.carriers, logic, self.bits, sums=self.time in self.ways,
                quiet=not self._is_chain and self.time not in self.ways, row=row, reduction=reduction)))

    @property
    def _is_chain(self) -> bool:
        """Whether sums are handed on from PE to PE."""
        return bool(self.ways) and self.time not in self.ways and not any(level in self.cut for level in self.parts.levels)

    def _is_last(self, place: Place, way: str) -> bool:
        return place[way] == self.bounds[way] - 1

    def _chained(self, place: Place) -> Iterator[tuple[str, str]]:
        """The sums that a PE has from another one, and along which index: of a level of a tree the last PE goes on with the
        next one."""
        if self._is_chain:
            for total, way in self.parts.levels:
                if place[way]:
                    yield total, way
                if not self._is_last(place, way):
                    return

    def _source(self, operand: Operand, place: Place) -> str | None:
        """The PE that hands an operand on to this one; None for a port."""
        for variable, way in reversed(operand.ways):
            if way == self.time or not place[way]:
                continue
            return None if (variable, way) in self.cut else pe_name(self._at({**place, way: place[way] - 1}))
        return None

    def _input(self, operand: Operand, place: Place) -> str:
        name = f"{operand.tensor}_{_text(self._at(place))}"
        if any(port.name == name for port in self.inputs):
            name += f"_{operand.name}"
        # Rows of the result are told by it; a buffer that deals a fiber has it in any case.
        found = [(index not in self.parts.indices, index) for index in operand.indices
                 if index in self.skipped and index != self.time]
        crd = min(found, default=(False, ""))[1]
        at = tuple((index, ALONG if index == self.time else place[index]) for index in operand.indices)
        self.inputs.append(Border(name, operand.tensor, self._form(operand), self._with_places(operand, at, place),
                                  crd if self._form(operand) == WORD else ""))
        return name

    def _with_places(self, operand: Operand, at: tuple[tuple[str, int], ...], place: Place
                     ) -> tuple[tuple[str, int], ...]:
        """The place of an operand, with those of the indices by which its own ones, and the fibers of its PE, are found."""
        asked = [*operand.indices, *([self.time] if self._form(operand) == FIBER else [])]
        more = dict.fromkeys(by for index in asked for by in self.skipped.get(index, {}) if by not in dict(at))
        return (*at, *((index, place[index]) for index in more))

    def _results(self) -> None:
        """What PEs give, spread, added up, and led to ports."""
        result = self.parts.indices
        rows = [index for index in result if index in self.skipped and index in self.space]
        lanes: dict[tuple[tuple[str, int], ...], End] = {
            tuple(place.items()): (pe_name(self._at(place)), "o") for place in self._places()
            if not self._is_chain or all(self._is_last(place, way) for way in self.ways)}
        for row in rows:
            lanes = self._spread(lanes, row)
        groups: dict[Point, dict[Point, End]] = {}
        for at, end in lanes.items():
            place = dict(at)
            lane = groups.setdefault(tuple(place[index] for index in result if index != self.time), {})
            lane[tuple(place[way] for way in reversed(self.ways) if way != self.time)] = end
        form = WORD if self.time in self.ways else FIBER
        for group, ends in groups.items():
            fixed = iter(group)
            at_port = tuple((index, ALONG if index == self.time else next(fixed)) for index in result)
            name = f"{self.parts.result}_{_text(group)}" if group else self.parts.result
            end, units, links = merged(ends, f"merge_{_text(group)}", self.bits, self.parts.reduction)
            self.units += units
            self.outputs.append(Border(name, self.parts.result, form, at_port))
            self.links += [*links, Link(end, ("", name))]

    def _spread(self, lanes: Mapping[tuple[tuple[str, int], ...], End], row: str) -> dict[tuple[tuple[str, int], ...], End]:
        """Lanes by coordinates of an index, from those by its positions."""
        groups: dict[tuple[tuple[str, int], ...], list[End]] = {}
        for at, end in lanes.items():
            groups.setdefault(tuple(each for each in at if each[0] != row), []).append(end)
        found: dict[tuple[tuple[str, int], ...], End] = {}
        for nth, (others, ends) in enumerate(groups.items()):
            name = f"spread_{nth}"
            self.units.append(Unit(name, Spread(len(ends), self.bounds[row], self.bits)))
            # The first lanes wait for the last one, which begins later by as many cycles as it is away.
            self.links += [Link(end, (name, f"i{at}"), 2 + len(ends) - 1 - at) for at, end in enumerate(ends)]
            found |= {(*others, (row, crd)): (name, f"o{crd}") for crd in range(self.bounds[row])}
        return found

    def _logic(self, expr: Expr) -> Logic:
        if isinstance(expr, Number):
            return Constant(expr.value)
        if isinstance(expr, Call):
            return Apply(expr.operation, tuple(self._logic(each) for each in expr.operands))
        return Feed(expr.name, 0)

    def _at(self, place: Place) -> Point:
        """Where a PE is."""
        return self.transform.position([place.get(index, 0) for index in self.bounds])


def _asked(skips: Sequence[Skip]) -> dict[tuple[str, tuple[str, ...]], None]:
    """Tensor and indices of each element that skips ask for."""
    return dict.fromkeys(_element(read) for skip in skips for read in zeros(skip.where))


def _element(read: Read) -> tuple[str, tuple[str, ...]]:
    return read.name, tuple(str(at) for at in read.at)


def _time(transform: Transform, indices: Sequence[str]) -> str:
    """The index that is time; UserError if the others are not axes of space."""
    rows = transform.space
    single = all(sum(map(abs, row)) == 1 for row in rows) and len({tuple(map(abs, row)) for row in rows}) == len(rows)
    if transform.time_axes != 1 or not single:
        raise UserError("where indices are found by values, all but one of them have to be axes of space", "transform",
                        "give rows with one 1 each, and one row of time")
    time = next(at for at in range(len(indices)) if not any(row[at] for row in rows))
    if transform.rows[-1][time] < 1:
        raise UserError(f"time goes against {indices[time]}, along which fibers go", "transform",
                        f"make the entry of {indices[time]} in the last row positive")
    return indices[time]


def _text(at: Sequence[int]) -> str:
    return "_".join(str(each) if each >= 0 else f"m{-each}" for each in at)


def pe_name(at: Point) -> str:
    """The unit of the PE at a position."""
    return f"pe_{_text(at)}"
