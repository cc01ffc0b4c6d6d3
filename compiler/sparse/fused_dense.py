"""Intermediates that MEM tiles keep as dense values: no coordinates, each value found at its own.

    a(i) = A(i,j) * x(j); y(i) = A(i,j) * a(j)     A by dense rows, x and a dense

    A --> A * x, sum over j --> MEM: values written, one for each row ..., looked up --> * --> sum over j --> y
    A --> coordinates j of its nonzeros ----------------------------------^

Nothing is scanned or intersected for it where it is read, and nothing is accumulated: a product takes a cycle, as does the end
of a row. That is so for one level that the loop where it is computed runs over as a whole, as some operand is dense there, and
that is located where it is read.

Needs:   nests of fused statements.
Errors:  UserError for a dense level of which coordinates would be missing, or that would be scanned.
Source:  locators are those of SAM; that a vector is resident as values is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sardonyx.compiler.lang.einsum import OUTERMOST, SCANNED, Einsum
from sardonyx.compiler.lang.expr import Access
from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors.fibertree import DENSE

from .counted import everywhere
from .normalize import Node, Product, located, nested


def with_dense(user: Einsum, made: Mapping[str, Einsum]) -> Einsum:
    """A statement that takes results of others from MEM tiles; made: these, by slot. What is dense is located, always."""
    kept = [access for access in user.operands if access.slot in made and DENSE in access.format.letters]
    if kept and user.locate == SCANNED:
        user = replace(user, locate=OUTERMOST)
    for access in kept:
        _check(user, access, made[access.slot])
    return user


def _check(user: Einsum, access: Access, made: Einsum) -> None:
    tensor = access.tensor
    keep = f"store {tensor} compressed, or do not fuse {tensor}"
    if len(access.stored) > 1:
        raise UserError(f"{tensor} has dense levels, and MEM tiles hand over one dense level, or compressed ones", user.text,
                        keep)
    index, = made.result.stored
    if not everywhere(nested(made)[0], index):
        raise UserError(f"{tensor} is kept dense, but loop {index} meets only what is stored of compressed levels", made.text,
                        f"store a level of {index} dense, as in format ds of a matrix, or {keep}")
    at, = access.stored
    if all(each.slot != access.slot for each in _located(nested(user)[0], at, user)):
        raise UserError(f"{tensor} is kept dense, but no other factor of {at} says at which coordinates it is read",
                        user.text, keep)


def _located(part: Node, index: str, user: Einsum) -> tuple[Access, ...]:
    """What is located at an index, at whichever loop over it in a part."""
    if isinstance(part, Access):
        return ()
    inner = part.factors if isinstance(part, Product) else tuple(term for _, term in part.terms)
    return (*located(part, index, user.locate), *(each for one in inner for each in _located(one, index, user)))
