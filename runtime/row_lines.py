"""Commands that ask for transfers of rows, and that wait for rows to be stored, as lines of C."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..hw.arch.system import WAITING
from .lines import line
from .pages import Line
from .rows import Rows

WORD = (1 << 32) - 1
# Words of a command beside how its transfers lie: what it does, and where the first one is.
ROWS_WORDS = 3
# GLB tiles whose stores one command waits for: bytes of a word.
TILES = 4


class RowLines:
    """Transfers of rows that stand one behind the other and are alike are one command, as far as they have room to wait."""

    def __init__(self) -> None:
        self._like = "", ""
        self._places: list[tuple[int, int]] = []
        self._last: Line | None = None

    def add(self, lines: list[Line], brings: bool, each: Rows, pitches: tuple[int, int], source: int, destination: int) -> None:
        """Ask for rows behind some lines, or in the last one of them; source, destination: of the first one, pitches: there."""
        like = ("BRING_ROWS(0u), TO_GLB" if brings else "TAKE_ROWS(0u), FROM_GLB",
                f"{each.number}u, {', '.join(f'{size:#x}u' for size in (each.size, *pitches))}")
        if self._like == like and len(self._places) < WAITING and lines[-1] is self._last:
            self._places.append((source, destination))
            del lines[-1]
        else:
            self._like, self._places = like, [(source, destination)]
        (ask, shape), (one, other) = like, self._places[0]
        beside = [f"BESIDE({each - one & WORD:#x}u, {way - other & WORD:#x}u)" for each, way in self._places[1:]]
        shapes = ", ".join([f"ROWS({len(self._places)}u, {shape})", *beside])
        self._last = line(f"{ask}({one:#x}u, {other:#x}u), {shapes}", ROWS_WORDS + 2 + 2 * len(self._places), shape=shapes)
        lines.append(self._last)


def waits(stored: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Commands that wait until GLB tiles have stored so many words each; pairs of a tile and words."""
    for words in sorted({each for _, each in stored}):
        tiles = [tile for tile, each in stored if each == words]
        for first in range(0, len(tiles), TILES):
            some = [f"STORED({tile}u, {place}u)" for place, tile in enumerate(tiles[first:first + TILES])]
            yield f"WAIT_STORED({words}u), {' | '.join(some)}"
