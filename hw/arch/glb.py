"""The global buffer: sizes of the memory beside the array and of its load and store engines.

Source: Onyx JSSC II (16 tiles of two 128 KB banks) and V-C; loop levels of the DMAs as in the public hardware.
"""

from __future__ import annotations

from dataclasses import dataclass

from .errors import UserError

WORD_BYTES = 8


@dataclass(frozen=True)
class Glb:
    """Sizes of the global buffer.

    Parameters
    ----------
    columns_per_tile : int   Columns that share a GLB tile, so one load and one store stream.
    banks : int              Banks a tile, a power of two.
    bank_bytes : int         Bytes a bank, a power of two from 16.
    load_loops, store_loops  Loop levels of the address generators.
    """

    columns_per_tile: int = 2
    banks: int = 2
    bank_bytes: int = 128 * 1024
    load_loops: int = 8
    store_loops: int = 7

    def __post_init__(self) -> None:
        for name, size, least in (("banks", self.banks, 1), ("bank_bytes", self.bank_bytes, 2 * WORD_BYTES)):
            if size < least or size & size - 1:
                raise UserError(f"{name} is {size}", "glb", f"give a power of two from {least}")

    @property
    def tile_bytes(self) -> int:
        return self.banks * self.bank_bytes
