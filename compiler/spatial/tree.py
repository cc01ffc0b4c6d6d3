"""Sums over an index as trees: the index becomes digits, and what is summed along each digit is a level of the tree.

    x(i) = A(i,k) * B(k), k as a tree of 2 x 2:

    x_k_0(i, k_1, k_0) = x_k_0(i, k_1, k_0 - 1) + A(i, 2 k_1 + k_0) * b(i, k_1, k_0)
    x_k_1(i, k_1, k_0.upper) = x_k_1(i, k_1 - 1, k_0.upper) + x_k_0(i, k_1, k_0.upper)

Operands keep their dimensions. Where each digit is an axis of PEs, sums take a step for each sibling of each level, in place of
one for each place of the index; the transform says which digits are in space, as of any index. Skips name the index itself: it
is its digits that they find, or that find others, and where a sum is cut along them it becomes a tree of mergers (`elastic`).

Input:   the text of a statement, trees, types as of `derive`.
Output:  Treed, recurrences over the digits that know those without trees.
Errors:  UserError for a tree of an index that is not summed, and names that are taken.
Source:  Stellar IV-F names tree reductions and hierarchical mergers as what its affine transforms cannot express.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Annotated

from ...hw.arch.check import Identifier, Tuple, Whole, check
from ...hw.arch.errors import UserError, many
from ..lang import expr as text_of
from ..lang.parser import Parser
from ..lang.recurrence import INPUT, Call, Expr, Index, Place, Read, Recurrences, Sum, call, summed
from ..lang.recurrence_checks import recurrences
from ..lang.sparsity import Both, Compare, Condition, Either, Skip
from .derive import derive

MOST_LEVELS, MOST_RADIX = 8, 64


@dataclass(frozen=True)
class Tree:
    """An index whose sums are trees; `radices`: how many a node of each level adds, the root first."""

    index: Annotated[str, Identifier()]
    radices: Annotated[tuple[int, ...], Tuple((Whole(2, MOST_RADIX),), True)]

    def __post_init__(self) -> None:
        check(self, "tree")
        if not 1 <= len(self.radices) <= MOST_LEVELS:
            raise UserError(f"a tree has {many(len(self.radices), 'level')}", f"tree of {self.index}", f"give 1..{MOST_LEVELS}")

    @property
    def digits(self) -> tuple[str, ...]:
        """The indices that stand for it, that of the root first."""
        return tuple(f"{self.index}_{nth}" for nth in reversed(range(len(self.radices))))

    @property
    def bounds(self) -> dict[str, int]:
        """The extents of the digits."""
        return dict(zip(self.digits, self.radices, strict=True))

    @property
    def place(self) -> Sum:
        """The place of the index as a sum of digits."""
        return Sum(tuple((digit, prod(self.radices[nth + 1:])) for nth, digit in enumerate(self.digits)), 0)


@dataclass(frozen=True)
class Treed(Recurrences):
    """Recurrences over digits.

    Parameters
    ----------
    whole : Recurrences    Of the statement without trees.
    places : mapping       Of an index with a tree, its place as a sum of digits.
    """

    whole: Recurrences
    places: Mapping[str, Sum]


def whole(recurrences: Recurrences) -> Recurrences:
    """Recurrences over the indices that were written, which skips name."""
    return recurrences.whole if isinstance(recurrences, Treed) else recurrences


def places(recurrences: Recurrences) -> Mapping[str, Sum]:
    """The place of each index that has a tree, as a sum of digits."""
    return recurrences.places if isinstance(recurrences, Treed) else {}


def on_digits(skip: Skip, places: Mapping[str, Sum]) -> Skip:
    """A skip over digits. All digits of an index that is skipped by values are found together."""
    indices = [digit for index in skip.indices for digit, _ in places.get(index, Index.named(index)).terms]
    return replace(skip, indices=tuple(indices), where=_on_digits(skip.where, places)) if places else skip


def _on_digits(condition: Condition, places: Mapping[str, Sum]) -> Condition:
    if isinstance(condition, Both | Either):
        return type(condition)(_on_digits(condition.first, places), _on_digits(condition.second, places))
    if isinstance(condition, Compare):
        return replace(condition, sum=_placed(condition.sum, places))
    at = tuple(_placed(each, places) if isinstance(each, Sum) else each for each in condition.read.at)
    return replace(condition, read=replace(condition.read, at=at))


def _placed(of: Sum, places: Mapping[str, Sum]) -> Sum:
    """A sum of indices as one of digits."""
    return sum((factor * places.get(index, Index.named(index)) for index, factor in of.terms), summed(of.constant))


def with_trees(text: str, trees: Sequence[Tree], dtype: str, sums: str) -> Treed:
    """The recurrences of a statement in which some indices are summed by trees."""
    plain = derive(text, dtype, sums)
    if len({tree.index for tree in trees}) < len(trees):
        raise UserError("an index has two trees", "functionality", "give one for each")
    result, expr = Parser(text).statement()
    known = set(text_of.indices(expr))
    for tree in trees:
        if tree.index not in known or tree.index in result.indices:
            raise UserError(f"{tree.index} is not summed in {text}", f"tree of {tree.index}",
                            f"choose from {', '.join(sorted(known - set(result.indices))) or 'none'}")
        if taken := known & set(tree.digits):
            raise UserError(f"{min(taken)} is an index, too", f"tree of {tree.index}", "rename it")
        # Of names in front of brackets none is an index.
        text = re.sub(rf"\b{tree.index}\b(?!\s*\()", ",".join(tree.digits), text)
    found = derive(text, dtype, sums)
    inputs = {each.name for each in found.of(INPUT)}
    assignments = tuple(replace(each, value=_joined(each.value, inputs, trees)) for each in found.assignments)
    made = recurrences(assignments, found.declared)
    return Treed(made.indices, made.declared, made.assignments, plain, {tree.index: tree.place for tree in trees})


def _joined(expr: Expr, inputs: set[str], trees: Sequence[Tree]) -> Expr:
    """An expression whose inputs are read at the index in place of its digits."""
    if isinstance(expr, Call):
        return call(expr.operation, *(_joined(operand, inputs, trees) for operand in expr.operands))
    if not isinstance(expr, Read) or expr.name not in inputs:
        return expr
    at: tuple[Place, ...] = expr.at
    for tree in trees:
        digits = tuple(Sum(((digit, 1),), 0) for digit in tree.digits)
        for first in range(len(at)):
            if tuple(map(str, at[first:first + len(digits)])) == tuple(map(str, digits)):
                at = (*at[:first], tree.place, *at[first + len(digits):])
                break
    return replace(expr, at=at)
