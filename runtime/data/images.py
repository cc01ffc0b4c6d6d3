"""Configuration words as configuration DMAs read them: per GLB tile, one behind the other, columns counted from its first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from ...hw.arch.cgra import Arch


def images(writes: Iterable[tuple[int, int]], arch: Arch) -> Iterator[dict[int, np.ndarray]]:
    """Writes (address, word) as rounds, GLB tile -> its 64-bit words; a round's fit their memory, most often all do.

    Writes of a column keep their order.
    """
    lines: dict[int, list[int]] = defaultdict(list)
    for where, word in writes:
        tile, meant = address(where, arch)
        lines[tile].append(meant << 32 | word)
    room = arch.glb.program_bytes // 8
    for first in range(0, max(map(len, lines.values()), default=0), room):
        yield {tile: np.array(each[first:first + room], "<u8") for tile, each in sorted(lines.items()) if len(each) > first}


def address(where: int, arch: Arch) -> tuple[int, int]:
    """The GLB tile of a configuration address, and the address as its DMA's words have it."""
    tile, way = divmod(where >> 24, arch.glb.columns_per_tile)
    return tile, way << 24 | where & 0xFF_FFFF
