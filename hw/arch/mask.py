"""Mask: which tiles of a machine programs leave alone, as they are defective or somebody else's.

    Mask(((3, 5),))                                         a tile: nothing is placed there, and no wire enters or leaves it
    Mask.block(range(8, 16), range(9)) | Mask(glb=(2,))     columns 8..15 of an array of 8 rows, and GLB tile 2

Hardware is not changed by it: tiles that are left alone are there and switched off.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Annotated

from .check import Whole, check


@dataclass(frozen=True)
class Mask:
    """Tiles of the array and of the global buffer that programs leave alone.

    Parameters
    ----------
    tiles : tuple of (x, y)    Tiles, IO tiles in row 0; kept sorted, each once. x 0..255, y 0..254.
    glb : tuple of int         GLB tiles that have no stream, and whose banks no stream takes, 0..255; sorted likewise.
    """

    tiles: tuple[tuple[Annotated[int, Whole(0, 255)], Annotated[int, Whole(0, 254)]], ...] = ()
    glb: tuple[Annotated[int, Whole(0, 255)], ...] = ()

    def __post_init__(self) -> None:
        check(self, "avoid")
        object.__setattr__(self, "tiles", tuple(sorted(set(self.tiles))))
        object.__setattr__(self, "glb", tuple(sorted(set(self.glb))))

    @staticmethod
    def block(columns: Iterable[int], rows: Collection[int]) -> Mask:
        """All tiles that are in one of the columns and one of the rows."""
        return Mask(tuple((operator.index(x), operator.index(y)) for x in columns for y in rows))

    def __bool__(self) -> bool:
        return bool(self.tiles or self.glb)

    def __or__(self, other: Mask) -> Mask:
        """What either leaves alone."""
        return Mask(self.tiles + other.tiles, self.glb + other.glb)

    def part(self, first: int, glb_tiles: int, columns_per_tile: int) -> Mask:
        """The mask of GLB tiles first.. and their columns, counted from these."""
        begin, end = first * columns_per_tile, (first + glb_tiles) * columns_per_tile
        return Mask(tuple((x - begin, y) for x, y in self.tiles if begin <= x < end),
                    tuple(tile - first for tile in self.glb if first <= tile < first + glb_tiles))

    def text(self, most: int = 6) -> str:
        """The tiles for people, those of the array first; so many of them."""
        named = [*(f"tile ({x}, {y})" for x, y in self.tiles), *(f"GLB tile {tile}" for tile in self.glb)]
        return ", ".join(named[:most]) + (f" and {len(named) - most} more" if len(named) > most else "")
