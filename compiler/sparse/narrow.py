"""Indices of which tiles have one coordinate, left out of the program of an item.

    X(i,j) = B(i,k) * C(k,j), tiles of one k                =>  X(i,j) = B(i) * C(j)
    X(i,j) = B(i,k,l) * C(j,k) * D(j,l), of one j, k and l   =>  X(i) = B(i) * C * D
    X(i,j) = B(i,j) * C(i,j), of one i and j                 =>  X = B * C

The loop over such an index turns once, so what it scans, joins and adds up is known before: without it an item loads fewer
levels, a copy of the program takes fewer tiles, and more copies have links of their own. Where tiles stand in the whole
operands and result says the tiling, as before.

A term of a sum needs a level that can be empty, for items in which it has no nonzeros, a function may be of a sum, and a
level below a dense one says which of its coordinates occur: indices of such levels stay.

Where no index is left an item is one product of numbers, in 3.5 cycles (`item_cycles.LEAST`); with levels of one
coordinate it takes more. A copy keeps its loops then, as nothing would be left of it for the array.

Needs:   Tiling.
Gives:   Tiling of a statement with fewer indices, or the same one.
Source:  ours. Onyx cuts all indices alike, so that none has one coordinate a tile.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.compiler.lang.expr import Access, Call, Expr, Total, changed, children, is_sum
from sardonyx.tensors.fibertree import DENSE, Format

from .tiles import Tiles, Tiling


def narrowed(tiling: Tiling) -> Tiling:
    """A tiling whose program has no loops that turn once."""
    program, lone = narrow(tiling.einsum, tiling.edges)
    if not lone:
        return tiling
    tiles = tuple(_tiles(each, lone) for each in tiling.tiles)
    return replace(tiling, einsum=program, tiles=tiles, statement=tiling.whole)


def narrow(einsum: Einsum, edges: Mapping[str, int]) -> tuple[Einsum, frozenset[str]]:
    """A statement without indices of edge 1, and which these are."""
    if _has_functions(einsum.expr):
        return einsum, frozenset()
    lone = frozenset(index for index in einsum.order if edges[index] == 1) - _needed(einsum, edges)
    if not lone or (len(lone) == len(einsum.order) and isinstance(einsum.expr, Access)):
        return einsum, frozenset()
    result, expr = _access(einsum.result, lone), changed(einsum.expr, lambda access: _access(access, lone))
    order = tuple(index for index in einsum.order if index not in lone)
    return replace(einsum, text=f"{result} = {expr}", result=result, expr=expr, order=order), lone


def _has_functions(expr: Expr) -> bool:
    return isinstance(expr, Call | Total) or any(map(_has_functions, children(expr)))


def _needed(einsum: Einsum, edges: Mapping[str, int]) -> frozenset[str]:
    """The indices of levels that stay, whatever their edges."""
    within = [(einsum.result, False), *_uses(einsum.expr)]
    return frozenset(index for access, summed in within for index in _levels(access, summed, edges))


def _uses(expr: Expr, summed: bool = False) -> Iterator[tuple[Access, bool]]:
    """The operands, and whether each is in a term of a sum."""
    if isinstance(expr, Access):
        yield expr, summed
    for part in children(expr):
        yield from _uses(part, summed or is_sum(expr))


def _levels(access: Access, summed: bool, edges: Mapping[str, int]) -> tuple[str, ...]:
    """The levels of an operand that stay."""
    form, stored = access.format, access.stored
    if summed:
        return stored if DENSE in form.letters else stored[-1:] if all(edges[index] == 1 for index in stored) else ()
    dense = [level for level, index in enumerate(stored) if form.is_dense(level) and edges[index] > 1]
    return tuple(index for level, index in enumerate(stored) if dense and level > dense[0] and not form.is_dense(level))


def _access(access: Access, lone: Collection[str]) -> Access:
    """An access without some indices; a diagonal is an operand with one mode for each of its indices by then."""
    modes = [mode for mode, index in enumerate(access.indices) if index not in lone]
    levels = [level for level, index in enumerate(access.stored) if index not in lone]
    letters = "".join(access.format.letters[level] for level in levels)
    order = tuple(modes.index(access.format.order[level]) for level in levels)
    return replace(access, indices=tuple(access.indices[mode] for mode in modes), format=Format(letters, order), repeated=())


def _tiles(tiles: Tiles, lone: Collection[str]) -> Tiles:
    """Tiles without modes of one coordinate; a level below one that is left out has as many positions as before."""
    modes = [mode for mode, index in enumerate(tiles.access.indices) if index not in lone]
    levels = [level for level, index in enumerate(tiles.access.stored) if index not in lone]
    return replace(tiles, access=_access(tiles.access, lone), edges=tuple(tiles.edges[mode] for mode in modes),
                   ids=tiles.ids[:, modes], coords=tiles.coords[:, modes], counts=tiles.counts[:, levels],
                   tensor=tiles.whole._replace(modes=tuple(tiles.whole.modes[mode] for mode in modes)))
