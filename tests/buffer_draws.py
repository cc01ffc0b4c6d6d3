"""Private buffers of random arrays: of each operand one of any format, order and banks, of those that the array takes."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from statement_arrays import Statement, designs, indices_of

from sardonyx import spatial as sp
from sardonyx.hw.arch.errors import UserError

KINDS = ("dense", "compressed", "bitvector", "linked list")


@st.composite
def buffered(draw: st.DrawFn) -> tuple[Statement, sp.Design]:
    """A statement as an array that can be made, with buffers of some operands, and of its result where it has fibers."""
    statement, design = draw(designs())
    assume(_is_made(design))
    ranks = {read[0]: len(indices_of(read)) for term in statement.terms for read in term.reads}
    for name in draw(st.lists(st.sampled_from(sorted(ranks)), min_size=1, unique=True)):
        design = draw(_with(design, name, ranks[name], True))
    if design.elastic is not None:
        design = draw(_with(design, "C", len(statement.result), False))
    assume(design.buffers)
    return statement, design


@st.composite
def _with(draw: st.DrawFn, design: sp.Design, name: str, rank: int, is_operand: bool) -> sp.Design:
    """With a buffer of a tensor, if any fits."""
    kinds = [(*["dense"] * (rank - 1), last) for last in KINDS]
    if draw(st.integers(0, 2)) == 0:
        kinds = [each for each in itertools.product(KINDS, repeat=rank) if set(each[:-1]) != {"dense"}]
    orders = draw(st.permutations([*itertools.permutations(range(rank))]))
    sizes = {"words": draw(st.sampled_from([64, 256])), "operations": draw(st.sampled_from([1, 1, 2])),
             "node": draw(st.sampled_from([1, 2, 4])), "banks": draw(st.sampled_from([1, 1, 2, 3])) if is_operand else 1}
    for levels, order in itertools.islice(itertools.product(draw(st.permutations(kinds)), orders), 12):
        made = dataclasses.replace(design, buffers={**design.buffers, name: sp.Buffer(*levels, order=order, **sizes)})
        if _is_made(made):
            return made
    return design


def _is_made(design: sp.Design) -> bool:
    try:
        return bool(design.random(1)) and (design.private, design.written) is not None
    except UserError:
        return False


def sparse(design: sp.Design, operations: int, seed: int) -> dict[str, np.ndarray]:
    """Operands from empty to dense, with empty fibers, each the same for as many operations as its buffer says."""
    random, found = np.random.default_rng(seed), design.random(operations, seed)
    for name, each in found.items():
        each *= random.random(each.shape) < random.choice([0.1, 0.5, 1])
        each *= random.random((*each.shape[:-1], 1)) < random.choice([0.5, 1])
        shared = design.buffers[name].operations if name in design.buffers else 1
        found[name] = each[np.arange(operations) // shared * shared]
    return found
