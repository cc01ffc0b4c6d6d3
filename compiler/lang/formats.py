"""Formats as text: `ss10`, `d0`, `ss`; and how they must agree with the loop order.

A level can only be scanned inside the levels stored above it, so each tensor stores its modes in loop order.
Where the text names no modes, that order is taken, for each use of a tensor its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sardonyx.hw.arch.errors import UserError, shown
from sardonyx.hw.arch.primitive import BELOW_BITS
from sardonyx.tensors.fibertree import COMPRESSED, DENSE, Format

from .expr import Access

# Levels of a result that are written at positions, in whatever order.
MOST_FREE = 2
# Dense levels below a compressed one.
MOST_BELOW = 1 << BELOW_BITS


def choose_format(access: Access, uses: Sequence[Access], result: Access, order: tuple[str, ...], text: str | None) -> Format:
    """The format of an access (perhaps the result) in a loop order; `uses` are all accesses of its tensor, `text` is what the
    user gave for it, if anything. A result of dense levels only may be stored in another order.

    Raises UserError for a text that is not a format of this tensor or contradicts the order, and for a result with dense
    levels between compressed ones, or more than `MOST_BELOW` below them.
    """
    rank = len(access.indices)
    wanted = _stored(access, order)
    if text is None or (rank == 0 and text in ("", "none")):
        return Format(COMPRESSED * rank, wanted)
    if access.repeated and re.fullmatch(f"[{DENSE}{COMPRESSED}]{{{len(access.repeated)}}}[0-9]*", text):
        return Format(text[:rank], wanted)     # Of a diagonal, the letters of the first levels.
    where = f"format {shown(text)} of {access}"
    letters, modes = text[:rank], text[rank:] or "".join(map(str, wanted))
    known = re.fullmatch(f"[{DENSE}{COMPRESSED}]{{{rank}}}", letters)
    if not known or sorted(modes) != sorted(map(str, wanted)):
        raise UserError("it is not a letter d or s for each index, then perhaps the modes in stored order",
                        where, f"write {Format(COMPRESSED * rank, wanted)}")
    given = tuple(map(int, modes))
    free = access == result and letters == DENSE * rank and rank <= MOST_FREE
    if given != wanted and not free:
        stored = " ".join(access.indices[mode] for mode in given)
        # What is right for one use can be wrong for another.
        fix = f"use {letters}, in which every use of {access.tensor} is stored in loop order" \
            if any(_stored(use, order) != wanted for use in uses) \
            else f"use {Format(letters, wanted)}{_other_order(given, access, result, order)}"
        raise UserError(f"it stores {stored} but the loop order is {' '.join(order)}", where, fix)
    found = Format(letters, given)
    if access == result:
        _check_dense(found, [access.indices[mode] for mode in given], where)
    return found


def gap(form: Format) -> bool:
    """Whether a result would have dense levels between compressed ones."""
    return DENSE in form.letters.rstrip(DENSE)[form.dense_levels:]


def _check_dense(form: Format, names: Sequence[str], where: str) -> None:
    """UserError for dense levels of a result, its indices as stored, between compressed ones, or too many below them."""
    letters, rank = form.letters, form.rank
    compressed = letters.rstrip(DENSE)
    if gap(form):
        level = letters.index(DENSE, form.dense_levels)
        raise UserError(f"level {names[level]} of the result is dense below a compressed level and above compressed level "
                        f"{names[letters.index(COMPRESSED, level)]}: only the innermost levels can be", where,
                        f"use {Format(letters[:level] + COMPRESSED * (rank - level), form.order)} or "
                        f"{Format(DENSE * rank, form.order)}")
    if compressed and rank - len(compressed) > MOST_BELOW:
        raise UserError(f"{rank - len(compressed)} levels of the result are dense below a compressed one: {MOST_BELOW} can be",
                        where, f"use {Format(COMPRESSED * (rank - MOST_BELOW) + DENSE * MOST_BELOW, form.order)} or "
                        f"{Format(DENSE * rank, form.order)}")


def _stored(access: Access, order: tuple[str, ...]) -> tuple[int, ...]:
    """The modes of an access in loop order."""
    return tuple(sorted(range(len(access.indices)), key=lambda mode: order.index(access.indices[mode])))


def _other_order(given: tuple[int, ...], access: Access, result: Access, order: tuple[str, ...]) -> str:
    """The remedy of reordering the loops, where that needs no accumulator: those of the result stay outermost."""
    names = iter(access.indices[mode] for mode in given)
    other = [next(names) if index in access.indices else index for index in order]
    works = set(other[:len(result.indices)]) == set(result.indices)
    return f" or loop order {' '.join(other)}" if works else ""


def check_named(formats: Mapping[str, str], tensors: list[str]) -> None:
    """Refuse formats of tensors that are not in the expression."""
    for name in formats:
        if name not in tensors:
            raise UserError(f"there is a format for {shown(name)} but no such tensor", "formats",
                            f"name one of {', '.join(tensors)}")
