"""Programs of one to three statements, drawn by hypothesis with all that may be said of how they are computed, and what they
mean on dense arrays."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import scipy.sparse
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from random_statements import SUMMED, Ints, Names, bracketed, dense, part

import sardonyx
from sardonyx.compiler.lang.program import Program, parse_program
from sardonyx.compiler.lang.schedule import Schedule
from sardonyx.execute import Result
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError
from sardonyx.options import DISPATCH, FEATURES, LOCATE
from sardonyx.runtime.data.dispatch import ORDER
from sardonyx.tensors.coordinates import wrap
from sardonyx.tensors.values import random_tensor, to_array

RESULTS = "STX"
EXTENTS = (1, 2, 3, 5, 8)


@dataclass(frozen=True)
class Case:
    """A program and how it is computed.

    Parameters
    ----------
    text : str
    fused : tuple          Intermediates that stay inside the array.
    letters : str          Of formats, for levels in turn; what cannot be stored so is refused.
    tile : int | None      Edge of sub-tiles.
    copies : int
    dispatch, locate, without
    shuffle : int          Seed of the order of the loops; 0: that of the program.
    extents : tuple        Of dimensions in turn; those that have to agree have the first of theirs.
    densities : tuple      Of operands in turn.
    seed : int
    """

    text: str
    fused: tuple[str, ...]
    letters: str
    tile: int | None
    copies: int
    dispatch: str
    locate: str
    without: tuple[str, ...]
    shuffle: int
    extents: tuple[int, ...]
    densities: tuple[float, ...]
    seed: int

    def formats(self, program: Program) -> dict[str, str]:
        """For each tensor."""
        ranks = {**program.inputs, **{each.result.tensor: len(each.result.indices) for each in program.statements}}
        return {name: "".join(self.letters[at % len(self.letters)] for at in range(rank)) for name, rank in ranks.items()}

    def orders(self, program: Program) -> str:
        """Of the loops of each statement."""
        random = np.random.default_rng(self.shuffle)
        return "; ".join(" ".join(random.permutation(each.order) if self.shuffle else each.order)
                         for each in program.statements)

    def operands(self, program: Program) -> dict[str, Ints]:
        """Dense ones whose shapes agree."""
        return {name: to_array(random_tensor(shape, self.densities[at % len(self.densities)], self.seed + at)).astype(np.int64)
                for at, (name, shape) in enumerate(agreeing(program, self.extents).items())}


def cases(most: int = 3) -> SearchStrategy[Case]:
    """Programs of at most so many statements."""
    @st.composite
    def drawn(draw: DrawFn) -> Case:
        text, intermediates = _program(draw, draw(st.integers(1, most)))
        return Case(text, tuple(name for name in intermediates if draw(st.integers(0, 3))),
                    "".join(draw(st.lists(st.sampled_from("sssd"), min_size=1, max_size=5))),
                    draw(st.sampled_from([None, None, 1, 2, 3, 4])), draw(st.sampled_from([1, 1, 1, 2, 3])),
                    draw(st.sampled_from([*DISPATCH])), draw(st.sampled_from([*LOCATE])), draw(st.sampled_from(
                        [(), (), *((name,) for name in FEATURES), *combinations(FEATURES, 2)])),
                    draw(st.integers(0, 5)), tuple(draw(st.lists(st.sampled_from(EXTENTS), min_size=5, max_size=9))),
                    tuple(draw(st.lists(st.sampled_from([0.0, 0.2, 0.6, 1.0]), min_size=3, max_size=3))),
                    draw(st.integers(0, 99)))

    return drawn()


def _program(draw: DrawFn, count: int) -> tuple[str, list[str]]:
    """The text of a program, and its intermediates: statements whose results nobody uses are left out."""
    names, found = Names(0), list[tuple[str, str]]()
    for result in RESULTS[-count:]:
        own = draw(st.sampled_from(["", "i", "i", "ij", "ij", "ji"]))
        names.left = 4 if count == 1 else 3
        before = [*names.made][-1:] if draw(st.integers(0, 3)) else []
        right = _times(draw, own, names, before[0]) if before else part(draw, own, names, 3 if count == 1 else 2, False)
        found.append((result, f"{result}{bracketed(own)} = {right}"))
        names.made[result] = len(own)
    used = [found.pop()]
    while found:
        result, text = found.pop()
        if any(result in other.partition("=")[2] for _, other in used):
            used.append((result, text))
    return "; ".join(text for _, text in reversed(used)), [result for result, _ in reversed(used[1:])]


def _times(draw: DrawFn, wanted: str, names: Names, tensor: str) -> str:
    """A product of a tensor, with indices of the result and summed ones, and of a part that has those that are missing."""
    own = "".join(draw(st.permutations(wanted + SUMMED)))[:names.made[tensor]]
    both = [index for index in own if index not in wanted or draw(st.booleans())]
    other = part(draw, "".join(index for index in wanted if index not in own) + "".join(both), names, 1, False)
    sides = [tensor + bracketed(own), f"({other})"]
    return " * ".join(sides if draw(st.booleans()) else reversed(sides))


def agreeing(program: Program, extents: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """The shapes of the operands: dimensions that an index or a tensor joins have one extent."""
    joined: dict[tuple[object, ...], tuple[object, ...]] = {}

    def root(of: tuple[object, ...]) -> tuple[object, ...]:
        while joined.setdefault(of, of) != of:
            of = joined[of]
        return of

    for number, each in enumerate(program.statements):
        for access in (each.result, *each.operands):
            for mode, index in enumerate(access.modes):
                joined[root((access.tensor, mode))] = root((number, index))
    of_root: dict[tuple[object, ...], int] = {}
    return {name: tuple(of_root.setdefault(root((name, mode)), extents[len(of_root) % len(extents)]) for mode in range(rank))
            for name, rank in program.inputs.items()}


def meaning(program: Program, data: Mapping[str, Ints]) -> Ints:
    """What a program gives, statement by statement on dense arrays."""
    known = dict(data)
    for each in program.statements:
        extents = {index: extent for access in each.operands
                   for index, extent in zip(access.modes, known[access.tensor].shape, strict=True)}
        found = dense(each.expr, each.order, extents, known, each.result.indices)
        at = [each.order.index(index) for index in each.result.indices]
        kept = found.transpose([*at, *(axis for axis in range(len(each.order)) if axis not in at)])
        known[each.result.tensor] = kept.reshape([extents[index] for index in each.result.indices])
    return wrap(known[program.result.result.tensor])


# Why what is drawn may be refused; anything else is a fault.
REASONS = (
    r"the largest values over \w+ would be kept for each [\w ]+, but only sums are accumulated",
    r"sums over \w+ are for each [\w ]+, but an accumulator keeps those for 2 indices",
    r"has dense levels, and MEM tiles hand over", r"is kept dense, but",
    r"are nested in one order where an intermediate is computed and in another",
    r"is summed for what MEM tiles keep, so that it cannot be cut", r"is computed as \w*, in loop order [\w ]+, but",
    r"the diagonal of \w+ is read, which MEM tiles do not give", r"would leave the array from one fused program",
    r"stands outside of (sum|max)\(", r"are summed each inside the loop of the other", r" has no index \w+ but other ",
    r"is -?\d+ where every tensor is 0, so the result would be dense",
    r"is dense below a compressed level and above level",
    r"is summed on both sides of a quotient",
    r"the program is too large for", r"copies of the program: they are too", r"dynamic dispatch needs primitives",
    r"is summed inside a function, so that it cannot be cut")


def read(text: str) -> Program | None:
    """The program; None for one that is refused with a reason."""
    try:
        return parse_program(text)
    except UserError as error:
        assert any(re.search(reason, str(error)) for reason in REASONS), error
        return None


def computed(case: Case, program: Program, data: Mapping[str, Ints], arch: Arch, engine: str) -> Result | None:
    """What an engine makes of a case; of what is refused with a reason without copies, orders and formats of its own; None if
    that is refused as well."""
    plain = replace(case, copies=1, shuffle=0, letters="s")
    for tried in dict.fromkeys((case, replace(case, copies=1), plain, replace(plain, fused=()))):
        try:
            return sardonyx.einsum(
                tried.text, order=tried.orders(program), formats=tried.formats(program), schedule=Schedule(fused=tried.fused),
                tile=tried.tile, unroll=tried.copies, dispatch=tried.dispatch if tried.copies > 1 else ORDER,
                locate=tried.locate, without=tried.without, seed=tried.seed, arch=arch, engine=engine, **data)
        except UserError as error:
            assert any(re.search(reason, str(error)) for reason in REASONS), error
    return None


def array(result: Result) -> Ints:
    """The value of a result, dense."""
    return np.asarray(result.value.toarray() if scipy.sparse.issparse(result.value) else result.value)
