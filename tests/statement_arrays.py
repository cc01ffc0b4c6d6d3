"""Random statements with skips, a balance and a transform, and what the statements mean worked out by itself.

A statement is a sum of products over 2 to 4 indices of any extents, 1 too, of tensors whose indices are in any order; where
nothing is summed, terms may go through functions. Skips are of what is 0 where each term of the sum is, of few of a group, or
of indices alone; they may contradict each other, and what does is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
from hypothesis import strategies as st
from recurrence_draws import determinant
from recurrence_programs import BITS

from sardonyx import spatial as sp
from sardonyx.compiler.lang.balance import Balance
from sardonyx.compiler.lang.sparsity import Skip

FUNCTIONS = {"relu": lambda e: max(e, 0), "abs": abs, "sign": lambda e: (e > 0) - (e < 0), "nonzero": lambda e: int(e != 0)}


@dataclass(frozen=True)
class Term:
    """A product of a number and tensors, or a function of that."""

    sign: str
    factor: int
    reads: tuple[str, ...]
    function: str = ""

    def __str__(self) -> str:
        product = " * ".join([*([str(self.factor)] if self.factor != 1 else []), *self.reads])
        return f"{self.function}({product})" if self.function else product

    def at(self, point: Mapping[str, int], operands: Mapping[str, Any]) -> int:
        value = self.factor
        for each in self.reads:
            value *= int(operands[each[0]][tuple(point[index] for index in indices_of(each))])
        return (-1 if self.sign == "-" else 1) * (FUNCTIONS[self.function](value) if self.function else value)


@dataclass(frozen=True)
class Statement:
    """A result at indices, the terms of which it is the sum, extents, and types of operands and of sums."""

    result: str
    terms: tuple[Term, ...]
    bounds: Mapping[str, int]
    dtype: str
    sums: str

    def __str__(self) -> str:
        first, *others = self.terms
        text = f"{'-' if first.sign == '-' else ''}{first}" + "".join(f" {each.sign} {each}" for each in others)
        return f"C({','.join(self.result)}) = {text}"

    def meaning(self, operands: Mapping[str, Any]) -> np.ndarray:
        """The result of one operation."""
        found = np.zeros([self.bounds[index] for index in self.result], object)
        for at in itertools.product(*map(range, self.bounds.values())):
            point = dict(zip(self.bounds, at))
            found[tuple(point[index] for index in self.result)] += sum(each.at(point, operands) for each in self.terms)
        half = 1 << BITS[self.sums] - 1
        return ((found + half) % (2 * half) - half).astype(np.int64)


def indices_of(read: str) -> str:
    return read[2:-1].replace(",", "")


@st.composite
def statements(draw: st.DrawFn, fibers: bool = False, most_points: int = 96) -> Statement:
    """A statement that is no error: each index that is summed is in every term; `fibers`: one is, and in every operand."""
    names = "ijkl"[:draw(st.sampled_from([2, 2, 3, 3, 3, 4]))]
    # Mostly a sum over one index, which skips may be of.
    count = len(names) - 1 if fibers else draw(st.sampled_from([*[len(names) - 1] * 3, *range(1, len(names) + 1)]))
    result = "".join(draw(st.permutations(names))[:count])
    summed = set(names) - set(result)
    ranks: dict[str, int] = {}

    def read(needed: set[str]) -> str:
        more = [index for index in names if index not in needed and draw(st.booleans())]
        at = draw(st.permutations(sorted({*needed, *more} or {draw(st.sampled_from(names))})))
        usable = [name for name in "ABDEFGHK" if ranks.get(name, len(at)) == len(at)]
        # A tensor that is read at several places has one rank.
        fresh = next(each for each in usable if each not in ranks)
        name = draw(st.sampled_from([*[fresh] * 3, *(each for each in usable if each in ranks)]))
        ranks[name] = len(at)
        return f"{name}({','.join(at)})"

    terms = []
    for nth in range(draw(st.sampled_from([1, 1, 1, 2]))):
        reads = [read(summed if fibers else set()) for _ in range(draw(st.sampled_from([0, 1, 1, 2])))]
        missing = summed.union(result if not nth else ()) - {index for each in reads for index in indices_of(each)}
        if missing or not reads:
            reads.append(read(missing))
        function = draw(st.sampled_from([""] * 3 + list(FUNCTIONS))) if not summed else ""
        sign = draw(st.sampled_from("++-")) if nth else "+"
        terms.append(Term(sign, draw(st.sampled_from([1, 1, 1, 3])), tuple(reads), function))
    extents: dict[str, int] = {}
    room = most_points
    for index in names:
        extents[index] = draw(st.integers(1, max(1, min(8 if draw(st.booleans()) else 3, room))))
        room //= extents[index]
    return Statement(result, tuple(terms), extents, draw(st.sampled_from(["int8", "int16"])),
                     draw(st.sampled_from(["int32", "int32", "int16"])))


@st.composite
def designs(draw: st.DrawFn) -> tuple[Statement, sp.Design]:
    """A statement as an array, which may be refused."""
    is_balanced = draw(st.integers(0, 3)) == 0
    statement = draw(statements(is_balanced))
    functionality = sp.functionality(str(statement), dtype=statement.dtype, sums=statement.sums)
    names = functionality.indices
    summed = [index for index in names if index not in statement.result]
    made = [draw(_skips(statement, summed[0] if is_balanced else "")) for _ in range(draw(st.sampled_from(
        [1, 1, 2] if is_balanced else [0, 1, 1, 2])))]
    bounds = dict(statement.bounds)
    for skip in made:
        if skip.of:
            bounds[skip.indices[0]] = skip.of * draw(st.integers(1, 2))
    # Mostly all indices but one are space, as elastic arrays want it; fibers go along what is found.
    found = [names.index(skip.indices[0]) for skip in made]
    time = draw(st.sampled_from([*found * 4, *range(len(names))]))
    if is_balanced or draw(st.integers(0, 4)):
        space = [index for index in draw(st.permutations(range(len(names)))) if index != time]
        rows = [[int(at == axis) * draw(st.sampled_from([1, 1, 1, -1])) for at in range(len(names))] for axis in space]
        last = [draw(st.integers(0, 2)) for _ in names]
        rows.append([max(1, each) if at == time else each for at, each in enumerate(last)])
    else:
        row = st.lists(st.integers(-1, 2), min_size=len(names), max_size=len(names))
        rows = draw(st.lists(row, min_size=len(names), max_size=len(names)).filter(lambda some: determinant(some) != 0))
    balance: list[Balance] = []
    if is_balanced or (any(not skip.of for skip in made) and draw(st.integers(0, 7)) == 0):
        balance = draw(_balances(names, time, bounds))
    return Statement(statement.result, statement.terms, bounds, statement.dtype, statement.sums), sp.Design(
        functionality, sp.Transform(rows), bounds, sparsity=made, balance=balance, clock_gate=not made and draw(st.booleans()))


@st.composite
def _skips(draw: st.DrawFn, statement: Statement, along: str = "") -> Skip:
    """One that leaves results as they are, mostly: of each term it asks for one tensor. along: by values, of this index."""
    shared = set.intersection(*({index for read in each.reads for index in indices_of(read)} for each in statement.terms))
    index = along or draw(st.sampled_from(sorted(shared) or sorted(statement.bounds)))
    (found,), kind = sp.indices(index), 9 if along else draw(st.integers(0, 9))
    if kind == 0:
        # Of indices alone: those of a matrix, which is then diagonal or triangular.
        pairs = [indices_of(read) for term in statement.terms for read in term.reads if read.count(",") == 1]
        # The two may be one: a condition that always holds, or never.
        found, other = (sp.indices(each)[0] for each in draw(st.sampled_from([*pairs, index + draw(st.sampled_from(sorted(
            statement.bounds)))])))
        return sp.skip(found, where=draw(st.sampled_from([found > other, found != other])))
    reads = [draw(st.sampled_from([each for each in term.reads if index in each] or term.reads)) for term in statement.terms]
    if kind == 1:
        of = draw(st.integers(2, 4))
        return sp.optimistic_skip(found, where=_element(reads[0]) == 0, keep=draw(st.integers(1, of - 1)), of=of)
    if kind == 2:
        at = [... if each == index else sp.indices(each)[0] for each in indices_of(reads[0])]
        return sp.skip(found, where=sp.inputs(reads[0][0], dtype=statement.dtype)[0](*at) == 0)
    return sp.skip(found, where=reduce(and_, [_element(each, statement.dtype) == 0 for each in dict.fromkeys(reads)]))


def _element(read: str, dtype: str = "int16") -> Any:
    return sp.inputs(read[0], dtype=dtype)[0](*sp.indices(" ".join(indices_of(read))))


@st.composite
def _balances(draw: st.DrawFn, names: tuple[str, ...], time: int, bounds: Mapping[str, int]) -> list[Balance]:
    """What moves along an index of PEs: by a shift or two, or by a queue; of some places, or of all."""
    (k,) = sp.indices(names[time])
    index = sp.indices(draw(st.sampled_from([name for at, name in enumerate(names) if at != time])))[0]
    at, grain = draw(st.integers(1, max(1, bounds[names[time]] - 1))), draw(st.sampled_from(["row", "row", "pe"]))
    where = k < at if draw(st.integers(0, 3)) == 0 else k >= at
    if draw(st.integers(0, 2)) == 0:
        other, = sp.indices(draw(st.sampled_from([name for nth, name in enumerate(names) if nth != time]))) if grain == "pe" \
            else (index,)
        place = draw(st.integers(0, max(0, bounds[str(other)] - 1)))
        where &= draw(st.sampled_from([other >= place, other <= place, other != place]))
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return [sp.work_queue(index, where=where, grain=grain)]
    if kind == 1:
        return [sp.shift(index, to=draw(st.integers(0, bounds[str(index)] - 1)), where=where, grain=grain)]
    return [sp.shift(index, by=by, where=where, grain=grain)
            for by in draw(st.lists(st.sampled_from([-2, -1, 1, 2]), min_size=1, max_size=2, unique=True))]
