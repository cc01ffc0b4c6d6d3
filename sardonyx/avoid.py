"""What programs are told to avoid, as the mask of a machine.

    "3,5"            tile (3, 5)                    "column:4"      a column, from its IO tile down
    "3-6,2-4"        tiles of columns and rows      "column:8-15"   columns, and the GLB tiles that have no other ones
    "glb:2"          a GLB tile                     "row:3"         a row

Input:   a text of such items with blanks between, a sequence of such texts and pairs (x, y), or a `Mask`; the machine.
Output:  `Mask`.
Errors:  UserError naming the item that is none, or that the machine has not.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from .arguments import said
from .hw.arch.cgra import Arch
from .hw.arch.errors import UserError, shown
from .hw.arch.mask import Mask

AVOID = "avoid"
_RANGE = r"([0-9]{1,9})(?:-([0-9]{1,9}))?"
_ITEM = re.compile(rf"(?:(?P<one>column|row|glb):{_RANGE}|{_RANGE},{_RANGE})")
FORMS = "write tiles as 3,5 or 3-6,2-4, columns as column:4 or column:8-15, rows as row:3, GLB tiles as glb:2"
# Items of an argument; no machine has more tiles.
MOST_ITEMS = 1 << 16


def avoiding(arch: Arch, value: object) -> Arch:
    """The machine, whose programs also avoid what an argument says; nothing is no mask."""
    found = mask(value, arch)
    return replace(arch, avoid=arch.avoid | found) if found else arch


def mask(value: object, arch: Arch) -> Mask:
    """The mask that an argument says."""
    if isinstance(value, Mask):
        return value
    tiles, columns, glb = set[tuple[int, int]](), set[int](), set[int]()
    for item in _items(value):
        xs, ys, banks = _ranges(item, arch)
        tiles |= {(x, y) for x in xs for y in ys}
        columns |= {*xs} if len(ys) == arch.rows + 1 else set()
        glb |= {*banks}
    wide = arch.glb.columns_per_tile
    glb |= {tile for tile in range(arch.glb_tiles) if columns.issuperset(range(tile * wide, (tile + 1) * wide))}
    return Mask(tuple(tiles), tuple(glb))


def _items(value: object) -> Iterable[str]:
    """The items of an argument, as texts."""
    if value is None:
        return []
    if isinstance(value, str):
        return value.split()
    if not isinstance(value, Iterable) or isinstance(value, bytes | Mapping):
        raise UserError(f"it is {said(value)}, which names no tiles", AVOID, FORMS)
    found: list[str] = []
    for each in value:
        found += each.split() if isinstance(each, str) else [_pair(each)]
        if len(found) > MOST_ITEMS:
            raise UserError(f"it has more than {MOST_ITEMS} items", AVOID, FORMS)
    return found


def _pair(value: object) -> str:
    """A pair (x, y) as a text."""
    try:
        x, y = map(operator.index, value)  # type: ignore[call-overload]
        return f"{x},{y}"
    except (TypeError, ValueError):
        raise UserError(f"it holds {said(value)}, which is no tile", AVOID, f"give pairs (x, y), or {FORMS}") from None


def _ranges(item: str, arch: Arch) -> tuple[range, range, range]:
    """The columns and rows of tiles, or the GLB tiles, of an item."""
    found, nothing = _ITEM.fullmatch(item), range(0)
    if found is None:
        raise UserError(f"'{shown(item)}' names no tiles", AVOID, FORMS)
    columns, rows, banks = ("columns", arch.columns), ("rows", arch.rows + 1), ("GLB tiles", arch.glb_tiles)

    def span(at: int, of: tuple[str, int]) -> range:
        low, high = int(found[at]), int(found[at + 1] or found[at])
        if not low <= high < of[1]:
            raise UserError(f"'{item}' is not on machine '{arch.name}'", AVOID,
                            f"give {of[0]} of 0..{of[1] - 1}, the lower first")
        return range(low, high + 1)

    if found["one"] == "glb":
        return nothing, nothing, span(2, banks)
    if found["one"] == "column":
        return span(2, columns), range(arch.rows + 1), nothing
    if found["one"] == "row":
        return range(arch.columns), span(2, rows), nothing
    return span(4, columns), span(6, rows), nothing
