"""The global buffer: sizes of the memory beside the array and of its load and store engines.

Source: Onyx JSSC II (16 tiles of two 128 KB banks) and V-C; loop levels of the DMAs as in the public hardware.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from .check import PowerOfTwo, Whole, check

LINE_BYTES = 8


@dataclass(frozen=True)
class Glb:
    """Sizes of the global buffer.

    Parameters
    ----------
    columns_per_tile : int   Columns that share a GLB tile, so one load and one store stream, 1..256.
    banks : int              Banks a tile, a power of two 1..256.
    bank_bytes : int         Bytes a bank, a power of two from 16 to 16 M.
    load_loops, store_loops  Loop levels of the address generators, each 1..27; `Arch` says how many fit together.
    """

    columns_per_tile: Annotated[int, Whole(1, 256)] = 2
    banks: Annotated[int, PowerOfTwo(1, 256)] = 2
    bank_bytes: Annotated[int, PowerOfTwo(2 * LINE_BYTES, 1 << 24)] = 128 * 1024
    load_loops: Annotated[int, Whole(1, 27)] = 8
    store_loops: Annotated[int, Whole(1, 27)] = 7

    def __post_init__(self) -> None:
        check(self, "glb")

    @property
    def tile_bytes(self) -> int:
        return self.banks * self.bank_bytes
