"""Sums around three indices and more of what MEM tiles keep for other statements, settled as those of one statement are.

    T(i,j,l) = B(i,j,k) * C(k,l), order k i j l; X(i,m) = T(i,j,l) * D(j,l,m)     sub-tiles of one i: T is kept for j and l

Indices that are summed for what is kept are whole (`fused_tiling.py`), so that sub-tiles have one coordinate of others: of the
outermost ones of the intermediate, where nobody says others. Loops that turn once are outermost, too, where it is read.

Needs:   Fused, edges of sub-tiles.
Gives:   Fused whose nests have other orders, and formats that agree with them; the same one where that cannot be.
Source:  ours.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.compiler.lang.expr import changed
from sardonyx.compiler.lang.loop_order import misplaced
from sardonyx.tensors.fibertree import Format

from .fuse import Fused
from .nest import Nest
from .settled import in_order, settled, too_many, with_lone


def settled_nests(fused: Fused, edges: Mapping[str, int]) -> Fused:
    """Fused statements as sub-tiles of some edges are computed."""
    if not any(too_many(each.einsum) for each in _all(fused)):
        return fused
    nest = _settled(fused.nest, edges)
    each = (*nest.walk(), nest)
    if any(access.format != one.kept[access.slot].einsum.result.format
           for one in each for access in one.einsum.operands if access.slot in one.kept):
        return fused
    formats = {access.slot: access.format for one in each for access in one.einsum.operands}
    whole = replace(fused.einsum, result=replace(fused.einsum.result, format=nest.einsum.result.format),
                    expr=changed(fused.einsum.expr, lambda access: replace(access, format=formats[access.slot])))
    made = {slot: _stored(einsum, [formats[leaf.slot] for leaf in fused.leaves(slot)]) for slot, einsum in fused.whole.items()}
    return replace(fused, einsum=whole, nest=nest, whole=made)


def lone(fused: Fused, edges: Mapping[str, int], said: Collection[str]) -> dict[str, int]:
    """Edges with 1 in place of some that nobody has said, so that no sums are too many, as far as these allow it."""
    found = dict(edges)
    for each in _all(fused):
        found |= with_lone(each.einsum, found, said)
    # Loops that turn once for one statement may be in the way of another one.
    while any(too_many(each.einsum) for each in _all(settled_nests(fused, found))):
        free = [index for each in _all(fused) for inner in too_many(each.einsum).values() for index in inner
                if index not in said and found[index] > 1]
        if not free:
            break
        found[free[0]] = 1
    return found


def _stored(einsum: Einsum, formats: Iterable[Format]) -> Einsum:
    """A statement whose operands, from left to right, are stored so."""
    each = iter(formats)
    return replace(einsum, expr=changed(einsum.expr, lambda access: replace(access, format=next(each))))


def _all(fused: Fused) -> tuple[Nest, ...]:
    return (*fused.nest.walk(), fused.nest)


def _settled(nest: Nest, edges: Mapping[str, int]) -> Nest:
    kept = {slot: _settled(inner, edges) for slot, inner in nest.kept.items()}
    return Nest(settled(_reading(nest.einsum, kept, edges), edges), kept)


def _reading(einsum: Einsum, kept: Mapping[str, Nest], edges: Mapping[str, int]) -> Einsum:
    """A statement with loops that turn once outermost, where what it takes is computed so."""
    for slot, made in kept.items():
        access, = (each for each in einsum.operands if each.slot == slot)
        own = made.einsum.result
        computed = [access.indices[mode] for mode in own.format.order]
        if access.format != own.format:
            once = [index for index in computed if edges[index] == 1]
            order = (*once, *(index for index in einsum.order if index not in once))
            if not misplaced(einsum.expr, einsum.result, order):
                einsum = in_order(einsum, order)
    return einsum
