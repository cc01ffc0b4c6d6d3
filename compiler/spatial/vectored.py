"""Make an array whose nonzeros meet in vectors: which elements its fibers have, and where their products belong.

An element of the result is at sums of indices, so its place, row by row, is one sum over all of them. Each index is one of the
first fiber, of the second one, or of neither, and its part of the sum goes along with the elements of that side. So every
result of two operands has such places, whatever it is; no index is recovered in hardware.

Input:   recurrences, bounds, Vectors, checked skips, buffers.
Output:  Vectored.
Errors:  UserError for a functionality that is not a value of two operands that points add to a result, for skips that are not
         along whole fibers, and for results and fibers that do not fit into buffers.
Source:  SCNN III-B; Stellar III-C (skips), IV-B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ...hw.arch.cartesian import LEFT, RIGHT, Cartesian
from ...hw.arch.errors import UserError, shown
from ...hw.arch.logic import Apply, Constant, Feed, Logic
from ...hw.arch.spatial import Shaped
from ...hw.arch.vectored import MOST_EXTENT, Side, Vectored
from ..lang.recurrence import INPUT, OUTPUT, Call, Expr, Index, Number, Read, Recurrences, Sum, own, reads, whole
from ..lang.sparsity import Skip, fibers, zeros
from .sums import Held, Sums
from .vectors import Vectors

# Which the golden model goes through.
MOST_POINTS = 1 << 27


def vectored(recurrences: Recurrences, bounds: Mapping[str, int], vectors: Vectors, skips: Sequence[Skip],
             buffers: Mapping[str, object], name: str) -> Vectored:
    """The array of a space whose points are those of two fibers."""
    return _Maker(recurrences, bounds, vectors, skips, buffers, name).made()


class _Maker:
    """An array that is being made."""

    def __init__(self, recurrences: Recurrences, bounds: Mapping[str, int], vectors: Vectors, skips: Sequence[Skip],
                 buffers: Mapping[str, object], name: str) -> None:
        self.recurrences, self.vectors, self.skips, self.buffers, self.name = recurrences, vectors, skips, buffers, name
        self.bounds = _extents(recurrences, bounds)
        if unknown := [index for index in (*vectors.first, *vectors.second) if index not in self.bounds]:
            raise _mistake(f"no variable has the index {unknown[0]}", f"use {', '.join(self.bounds)}")
        self.places, self.value, self.bits = self._parts()

    def made(self) -> Vectored:
        operands = [*dict.fromkeys(reads(self.value))]
        if len(operands) != 2 or operands[0].name == operands[1].name:
            raise _mistake(f"what points add is of {len(operands)} elements",
                           "add a value of one element of each of two inputs")
        left, right = (self._operand(operands, along) for along in (self.vectors.first, self.vectors.second))
        shape = tuple(1 + self._span(at)[1] for at in self.places)
        if least := [at for at in self.places if self._span(at)[0] < 0]:
            raise _mistake(f"{least[0]} is before the first element", "add a number to it")
        strides = [prod(shape[at + 1:]) for at in range(len(shape))]
        out, = self.recurrences.of(OUTPUT)
        result = Shaped(out.name, self.recurrences.bits(out.name), shape)
        sums, held = self._buffers(out.name, right)
        skipped = self._skipped(left, right)
        sides = self._sides(left, right, strides, skipped)
        feeds = {left.name: LEFT, right.name: RIGHT}
        kind = Cartesian(self.name, *self.vectors.sizes, sums.banks, sums.words, self.recurrences.bits(left.name),
                         self.recurrences.bits(right.name), result.bits, logic(self.value, feeds), self.bits, sums.lanes,
                         sums.depth, held.vectors, held.fibers)
        first = self.places[0] if self.places else Sum(())
        part = next((index for index in self.bounds if own(first, index) and not first.constant
                     and not any(index in dict(at.terms) for at in self.places[1:])), "")
        return Vectored(kind, tuple(self.bounds.items()), *sides, result, part)

    def _parts(self) -> tuple[list[Sum], Expr, int]:
        """Where points add, what, and of how many bits that is."""
        outputs = [one for one in self.recurrences.assignments if self.recurrences.declared[one.target.name].role == OUTPUT]
        if len(outputs) != 1 or not outputs[0].adds:
            raise _mistake("points do not add to one output, once each", "as in C(i + j).add(p(i, j)), with p a product")
        out, = outputs
        assert isinstance(out.value, Read), "outputs are assigned variables"
        own_place = [Index.named(index) for index in self.bounds]
        found = [one for one in self.recurrences.assignments if one.target.name == out.value.name]
        if len(found) != 1 or [*found[0].target.at] != own_place or [*out.value.at] != own_place or any(
                self.recurrences.declared[read.name].role != INPUT for read in reads(found[0].value)):
            raise _mistake(f"{out.value.name} is not one value of inputs at every point",
                           f"assign it once, as {out.value.name}({', '.join(self.bounds)}).eq(A(...) * B(...))")
        places = [at for at in out.target.at if isinstance(at, Sum)]
        return places, found[0].value, self.recurrences.bits(out.value.name)

    def _operand(self, operands: Sequence[Read], along: tuple[str, ...]) -> Read:
        """The operand that has the indices of a fiber."""
        other = set(self.vectors.first + self.vectors.second) - set(along)
        for read in operands:
            indices = [str(at) for at in read.at]
            if set(along) <= set(indices):
                plain = all(index in self.bounds for index in indices) and len(set(indices)) == len(indices)
                if not plain or other & set(indices):
                    raise _mistake(f"{read} is at more than indices of its own fiber and shared ones",
                                   f"read it at plain indices without {', '.join(sorted(other))}")
                return read
        raise _mistake(f"no operand has the indices {', '.join(along)}", f"choose those of {' or '.join(map(str, operands))}")

    def _span(self, at: Sum, indices: Sequence[str] | None = None) -> tuple[int, int]:
        """The least and the largest value of a sum, or of its part of some indices."""
        reach = [factor * (self.bounds[index] - 1) for index, factor in at.terms if indices is None or index in indices]
        constant = at.constant if indices is None else 0
        return constant + sum(min(0, each) for each in reach), constant + sum(max(0, each) for each in reach)

    def _sides(self, left: Read, right: Read, strides: Sequence[int], skipped: Mapping[str, Skip]) -> tuple[Side, Side]:
        """Both operands with their parts of the place of a product."""
        found, rest = [], sum(stride * at.constant for stride, at in zip(strides, self.places))
        for read, along in ((right, self.vectors.second), (left, self.vectors.first)):
            # What neither fiber goes along is added to the place of the left one.
            mine = along if read is right else tuple(index for index in self.bounds if index not in self.vectors.second)
            factors = {index: sum(stride * dict(at.terms).get(index, 0) for stride, at in zip(strides, self.places))
                       for index in mine}
            constant = -sum(min(0, factor * (self.bounds[index] - 1)) for index, factor in factors.items())
            if read is left:
                constant = rest
            rest -= constant
            shape = tuple(self.bounds[str(at)] for at in read.at)
            found.append(Side(Shaped(read.name, self.recurrences.bits(read.name), shape), tuple(map(str, read.at)), along,
                              read.name in skipped, tuple((index, each) for index, each in factors.items() if each), constant))
        return found[1], found[0]

    def _skipped(self, left: Read, right: Read) -> dict[str, Skip]:
        """The skip of each operand that has one."""
        found: dict[str, Skip] = {}
        for skip in self.skips:
            asked = zeros(skip.where)
            side = next(((read, along) for read, along in ((left, self.vectors.first), (right, self.vectors.second))
                         if asked == (read,)), None)
            if side is None or skip.of or fibers(skip.where):
                raise UserError("vectors have the elements of an operand that are not 0, and nothing else is skipped",
                                shown(str(skip), 120), f"give skips where {left} == 0 or {right} == 0, or a transform")
            if set(skip.indices) != set(side[1]):
                raise UserError(f"fibers of {side[0].name} go along {', '.join(side[1])}, and only {', '.join(skip.indices)} "
                                f"{'is' if len(skip.indices) == 1 else 'are'} skipped", shown(str(skip), 120),
                                f"skip {' and '.join(side[1])} together")
            found[side[0].name] = skip
        return found

    def _buffers(self, result: str, right: Read) -> tuple[Sums, Held]:
        """The buffers of both that need one; UserError for any other one."""
        wanted: dict[str, type[Sums | Held]] = {result: Sums, right.name: Held}
        for name, kind in wanted.items():
            why = {Sums: "its elements are added to in any order", Held: "each vector of the other one meets all of its"}[kind]
            if not isinstance(self.buffers.get(name), kind):
                raise UserError(f"{name} has no buffer for that: {why}", f"buffers: {name}", f"give sp.{kind.__name__}(...)")
        if unknown := [name for name in self.buffers if name not in self.recurrences.declared]:
            raise UserError(f"there is no operand {shown(str(unknown[0]))}", "buffers", f"choose from {', '.join(wanted)}")
        if other := [name for name in self.buffers if name not in wanted]:
            raise UserError(f"vectors of {other[0]} are used once, as they come", f"buffers: {other[0]}",
                            "leave its buffer out")
        sums, held = self.buffers[result], self.buffers[right.name]
        assert isinstance(sums, Sums) and isinstance(held, Held), "they are of these kinds"
        return sums, held


def _extents(recurrences: Recurrences, bounds: Mapping[str, int]) -> dict[str, int]:
    if unknown := [name for name in bounds if name not in recurrences.indices]:
        raise UserError(f"there is no index {shown(str(unknown[0]))}", "bounds", f"give {', '.join(recurrences.indices)}")
    if missing := [name for name in recurrences.indices if name not in bounds]:
        raise UserError(f"index {missing[0]} has no bound", "bounds", f"give the extent of {missing[0]}")
    found = {name: whole(bounds[name], f"bound of {name}") for name in recurrences.indices}
    for name, extent in found.items():
        if not 1 <= extent <= MOST_EXTENT:
            raise UserError(f"it is {extent}", f"bound of {name}", f"give a whole number 1..{MOST_EXTENT}")
    if (count := prod(found.values())) > MOST_POINTS:
        raise UserError(f"the iteration space has {count:,} points", "bounds", f"use {MOST_POINTS:,} or fewer")
    return found


def logic(expr: Expr, feeds: Mapping[str, str]) -> Logic:
    """An expression over elements as logic; feeds: what each input is there."""
    if isinstance(expr, Number):
        return Constant(expr.value)
    if isinstance(expr, Call):
        return Apply(expr.operation, tuple(logic(each, feeds) for each in expr.operands))
    return Feed(feeds[expr.name], 0)


def _mistake(what: str, fix: str) -> UserError:
    return UserError(f"{what}: its points cannot meet in vectors", "functionality", fix)
