"""Random functionality over the grammar of recurrences, and transforms for which it is causal.

Programs that hypothesis draws, and shrinks, have extents of 1, too; inputs, variables and outputs of any type; assignments at
borders, at planes and inside; every operation, numbers, and reads of tensors at sums of indices. They are valid by
construction: variables are read at distances whose components all have one sign for each index, so that there is a transform
for which they are causal; at the same point only if they are earlier in a list; and what lies outside is assigned there.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from hypothesis import strategies as st
from recurrence_programs import BITS, OPERANDS, OPERATIONS, Apply, At, Expr, Line, Program, Read, reads

from sardonyx import spatial as sp

TYPES = st.sampled_from(list(BITS))


class _Drawing:
    """A program that is being drawn."""

    def __init__(self, draw: st.DrawFn, most_points: int) -> None:
        self.draw = draw
        rank = draw(st.sampled_from([2, 2, 3, 3, 4]))
        extents: list[int] = []
        for _ in range(rank):
            room = most_points
            for each in extents:
                room //= each
            extents.append(draw(st.integers(1, max(1, min(4, room)))))
        self.extents = tuple(extents)
        backwards = draw(st.sampled_from([*[None] * 3, *range(rank)]))
        self.signs = tuple(-1 if index == backwards else 1 for index in range(rank))
        self.backwards = backwards
        self.inputs = {name: draw(TYPES) for name in "ABD"[:draw(st.integers(1, 3))]}
        self.variables = {name: draw(TYPES) for name in "abcd"[:draw(st.integers(1, 4))]}
        self.outputs: dict[str, str] = {}

    def place(self, index: int, distance: int = 0) -> At:
        return At(((index, 1),), -distance)

    def point(self, fixed: Mapping[int, At] = {}) -> tuple[At, ...]:
        return tuple(fixed.get(index, self.place(index)) for index in range(len(self.extents)))

    def element(self, without: frozenset[int] = frozenset()) -> Read:
        """An element of an input, at sums of indices and numbers that are nowhere below 0; at borders of some indices without
        these, or far enough behind them."""
        name = self.draw(st.sampled_from(list(self.inputs)))
        usable = [index for index in range(len(self.extents)) if index not in without]
        at = []
        # The number of dimensions is that of the name.
        for _ in range({"A": 2, "B": 1, "D": 3}[name]):
            index = self.draw(st.sampled_from(range(len(self.extents))))
            kind = self.draw(st.integers(0, 7))
            if index in without:
                at.append(At(((index, 1),), 2) if kind > 4 else At((), kind % 2))
            elif kind < 4:
                at.append(At(((index, 1),), kind % 2 * self.draw(st.integers(0, 2))))
            elif kind == 4:
                at.append(At((), self.draw(st.integers(0, 2))))
            elif kind == 5:
                at.append(At(((index, -1),), self.extents[index] - 1))
            elif kind == 6:
                at.append(At(((index, 2),), self.draw(st.integers(0, 1))))
            else:
                other = self.draw(st.sampled_from(usable))
                at.append(At(((index, 1), (other, 1))) if other != index else At(((index, 1),)))
        return Read(name, tuple(at))

    def variable(self, reader: str, fixed: Mapping[int, int], ahead: Mapping[int, int]) -> Read | None:
        """A variable as one at these planes may read it; `ahead`: how far against the order of points, by index."""
        names = list(self.variables)
        name = self.draw(st.sampled_from(names))
        at, far = [], False
        for index, sign in enumerate(self.signs):
            kind = self.draw(st.integers(0, 9))
            reach = 2 if sign > 0 else ahead.get(index, 0)
            if kind < 5 or (kind < 8 and not reach):
                at.append(self.place(index))
            elif kind < 8:
                distance = min(reach, 1 if kind < 7 else 2)
                at.append(self.place(index, sign * distance))
                far = True
            elif kind == 8:
                at.append(At((), 0) if sign > 0 else At(((index, 1),), side="upper"))
            elif sign > 0 and self.draw(st.integers(0, 3)) == 0:
                at.append(At((), -1))
                far = True
            else:
                at.append(self.place(index))
        if not far and names.index(name) >= names.index(reader):
            ways = [index for index, sign in enumerate(self.signs) if sign > 0 or ahead.get(index, 0)]
            if not ways:
                return None
            way = self.draw(st.sampled_from(ways))
            at[way] = self.place(way, self.signs[way])
        return Read(name, tuple(at))

    def expr(self, reader: str, fixed: Mapping[int, int], ahead: Mapping[int, int], depth: int) -> Expr:
        kind = self.draw(st.integers(0, 9))
        if depth and kind < 6:
            operation = self.draw(st.sampled_from(["+", "+", "-", "*", "*", *OPERATIONS]))
            operands = [self.expr(reader, fixed, ahead, depth - 1) for _ in range(OPERANDS.get(operation, 2))]
            # Python computes with numbers alone before they are an expression.
            if all(isinstance(each, int) for each in operands):
                operands[0] = self.element()
            return Apply(operation, tuple(operands))
        if kind == 6:
            return self.draw(st.sampled_from([0, 1, -1, 5, 127, -128, 40_000, (1 << 31) - 1]))
        if kind == 7:
            return self.element()
        return self.variable(reader, fixed, ahead) or self.element()

    def inner(self, name: str) -> list[Line]:
        """The assignments of a variable inside: at planes first, then everywhere else."""
        lines = []
        top = 0 if self.backwards is None else self.draw(st.integers(0, 2))
        everywhere = {} if self.backwards is None else {self.backwards: top}
        if self.draw(st.integers(0, 2)) == 0:
            index = self.draw(st.sampled_from(range(len(self.extents))))
            at = self.draw(st.integers(0, self.extents[index] - 1))
            is_upper = at == self.extents[index] - 1 and self.draw(st.booleans())
            plane = At(((index, 1),), side="upper") if is_upper else At((), at)
            # At the last planes nothing is read further on.
            ahead = {} if index == self.backwards else everywhere
            special = Line(Read(name, self.point({index: plane})), self.expr(name, {index: at}, ahead, 2))
            lines.append((index, special))
        own = [line for _, line in lines]
        last = []
        for back in range(top):
            assert self.backwards is not None
            if (at := self.extents[self.backwards] - 1 - back) >= 0:
                plane = At((), at) if back or self.draw(st.booleans()) else At(((self.backwards, 1),), side="upper")
                last.append(Line(Read(name, self.point({self.backwards: plane})),
                                 self.expr(name, {self.backwards: at}, {}, 2)))
        return [*last, *own, Line(Read(name, self.point()), self.expr(name, {}, everywhere, 3))]

    def borders(self, lines: Sequence[Line]) -> list[Line]:
        """What is assigned before the first points, as far as it is read."""
        needed: dict[str, set[frozenset[int]]] = {}
        readers: dict[str, list[str]] = {}
        for line in lines:
            for read in reads(line.value):
                if read.name in self.variables:
                    readers.setdefault(read.name, []).append(line.target.name)
                    out = [index for index, each in enumerate(read.at) if not each.side and each.constant < 0]
                    needed.setdefault(read.name, set()).update(
                        frozenset(some) for count in range(1, 1 + len(out)) for some in itertools.combinations(out, count))
        names, found = list(self.variables), []
        for name, places in needed.items():
            for below in sorted(places, key=sorted):
                at = {index: At(((index, 1),), side="lower") for index in below}
                earlier = [other for other in names[:min(map(names.index, readers[name]))]
                           if BITS[self.variables[other]] <= BITS[self.variables[name]]]
                kind, value = self.draw(st.integers(0, 3)), None
                if kind == 0 and earlier:
                    value = Read(self.draw(st.sampled_from(earlier)), self.point(dict.fromkeys(below, At((), 0))))
                elif kind > 1:
                    element = self.element(below)
                    value = element if BITS[self.inputs[element.name]] <= BITS[self.variables[name]] else None
                found.append(Line(Read(name, self.point(at)), self.draw(st.sampled_from([0, 0, 1, -5, 100]))
                                  if value is None else value))
        return found

    def results(self) -> list[Line]:
        """Outputs, each of one variable or of several, beside each other or added up."""
        found: list[Line] = []
        for name in "XYZ"[:self.draw(st.sampled_from([1, 1, 2, 3]))]:
            self.outputs[name] = self.draw(TYPES)
            planes = {index: self.draw(st.sampled_from([At(((index, 1),), side="upper"), At((), 0)]))
                      for index in range(len(self.extents)) if self.draw(st.integers(0, 2)) == 0}
            left = self.draw(st.permutations([index for index in range(len(self.extents)) if index not in planes]))
            element = [self.place(index) if self.draw(st.integers(0, 4)) else At(((index, -1),), self.extents[index] - 1)
                       for index in left]
            variable = self.draw(st.sampled_from(list(self.variables)))
            several = self.draw(st.sampled_from([1, 1, 1, 2]))
            for nth in range(several):
                at = [*element, At((), nth)] if several > 1 or not element else element
                found.append(Line(Read(name, tuple(at)), Read(variable, self.point(planes))))
                variable = self.draw(st.sampled_from(list(self.variables)))
            if several == 1 and self.draw(st.integers(0, 3)) == 0:
                # Points add: of two indices their sum, or one that is left out.
                at = element[1:] if len(element) > 1 and self.draw(st.booleans()) else element
                if len(element) > 1 and at is element and self.draw(st.booleans()):
                    at = [At(((left[0], 1), (left[1], 1))), *element[2:]]
                found[-1] = Line(Read(name, tuple(at)), found[-1].value, adds=True)
        return found


@st.composite
def programs(draw: st.DrawFn, most_points: int = 64) -> Program:
    """A program over 2 to 4 indices."""
    work = _Drawing(draw, most_points)
    inner = [line for name in work.variables for line in work.inner(name)]
    lines = (*work.borders(inner), *inner, *work.results())
    return Program(work.extents, work.signs, work.inputs, work.variables, work.outputs, lines)


@st.composite
def transforms(draw: st.DrawFn, program: Program) -> sp.Transform:
    """A causal transform with a determinant of 1 to 4, with one or several axes of time."""
    rank = len(program.extents)
    time_axes = draw(st.sampled_from([1] * 3 + [*range(1, rank)]))
    rows: list[tuple[int, ...]] = []
    undecided = program.distances
    for _ in range(time_axes):
        # Along each axis no way goes back for which the slower ones do not say that it goes on.
        causal = [row for row in itertools.product(range(-1, 3), repeat=rank) if all(_dot(row, way) >= 0 for way in undecided)]
        row = draw(st.sampled_from(causal[::-1]))
        rows.append(row)
        undecided = {way for way in undecided if not _dot(row, way)}
    space = st.lists(st.tuples(*[st.integers(-1, 2)] * rank), min_size=rank - time_axes, max_size=rank - time_axes)
    found = draw(space.filter(lambda some: 1 <= abs(determinant([*some, *rows])) <= 4))
    return sp.Transform([*found, *rows], time_axes)


def _dot(row: Sequence[int], way: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(row, way))


def determinant(rows: Sequence[Sequence[int]]) -> int:
    """By the first row."""
    if not rows:
        return 1
    return sum((-1) ** at * entry * determinant([[*row[:at], *row[at + 1:]] for row in rows[1:]])
               for at, entry in enumerate(rows[0]) if entry)
