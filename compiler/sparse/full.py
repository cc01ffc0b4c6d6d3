"""Levels that are full in every sub-tile, stored dense.

    x(i) = B(i,j) * c(j), no zero in c           c is stored as its extent and its values, and looked up at the coordinates of B
    X(i,j) = B(i,k) * C(k,j), no empty row in C  rows of C are located at the coordinates k of B

A fiber that has all coordinates says nothing by storing them: its level is loaded as four words, and where another factor has
coordinates it is neither scanned nor intersected, since each of them is there. Whether that is so is known once operands are
cut. Where positions are, and so what stands in levels below and in results, is the same both ways.

A copy stays as it is: of a dense operand it would have to drop zeros, which a compressed one has not.

So do two operands in tiles of one coordinate of every index, all of whose levels are full: nothing in such an item takes as
long as its levels, and a compressed one is loaded, scanned and freed in a cycle less than a dense one. More of them would take
joiners that small machines have no room for.

A term of a sum that some item lacks would be zeros instead of nothing: its levels stay. Those that are made dense are located,
if only the outermost ones where the statement locates none; a statement with dense levels of its own is taken at its word.

Needs:   Tiling.
Gives:   Tiling of a statement with other formats of operands, or the same one.
Source:  ours; fibertrees with dense levels are those of JSSC II-B.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from sardonyx.compiler.lang.einsum import OUTERMOST, SCANNED, Einsum
from sardonyx.compiler.lang.expr import Access, changed
from sardonyx.tensors.coordinates import Rows
from sardonyx.tensors.fibertree import DENSE, Format

from .pairing import ABSENT
from .tiles import Tiles, Tiling


def filled(tiling: Tiling) -> Tiling:
    """A tiling whose full levels are dense."""
    if isinstance(tiling.einsum.expr, Access) or _single(tiling):
        return tiling
    forms = {each.access.slot: _form(each, tiling.picks[:, at]) for at, each in enumerate(tiling.tiles)}
    if all(each.access.format == forms[each.access.slot] for each in tiling.tiles):
        return tiling
    tiles = tuple(replace(each, access=_stored(each.access, forms)) for each in tiling.tiles)
    return replace(tiling, einsum=_program(tiling.einsum, forms), tiles=tiles)


def _single(tiling: Tiling) -> bool:
    """Whether items are an element of each of two operands."""
    return len(tiling.tiles) <= 2 and all(edge == 1 for edge in tiling.edges.values())


def _program(einsum: Einsum, forms: Mapping[str, Format]) -> Einsum:
    own = any(DENSE in access.format.letters for access in einsum.operands)
    locate = OUTERMOST if einsum.locate == SCANNED and not own else einsum.locate
    return replace(einsum, expr=changed(einsum.expr, lambda access: _stored(access, forms)), locate=locate)


def _stored(access: Access, forms: Mapping[str, Format]) -> Access:
    return replace(access, format=forms[access.slot])


def _form(tiles: Tiles, picks: Rows) -> Format:
    """How an operand is stored, of which items take these tiles."""
    form = tiles.access.format
    if not len(tiles.ids) or (picks == ABSENT).any():
        return form
    above, letters = np.ones(len(tiles.ids), np.int64), ""
    for level, mode in enumerate(form.order):
        entries = tiles.counts[:, level]
        letters += DENSE if (entries == above * tiles.edges[mode]).all() else form.letters[level]
        above = entries
    return Format(letters, form.order)
