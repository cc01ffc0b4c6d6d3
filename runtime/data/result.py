"""Results as they lie in memory: every tile is stored where the image of the result has it.

What the tiles of a launch give is a box of the image. In the global buffer its rows stand one behind the other, each from the
line on in which the image has its begin; the store DMA walks a tile by its loops, and the tiles of a launch by one more:

    image of 36 columns, two tiles of 6 x 3 from columns 10 and 16 on, row 6 for both

        box          columns 10..21, rows 6..8, in rows of 16 words: those of columns 8..23
        first word   2
        loops        6 of 1, 3 of 16; tiles: 2 of 6

So what is read is rows of the image, all at once where they are whole. Tiles that are no box together, as those of two rows of
which one is not whole, or that are in no single step, as those of two rows of several, are several launches (`batches.py`).
Words of a tile that has no room in lines are stored one behind the other, and the host puts them at their places.

Needs:   the parts of the image that tiles are.
Gives:   loops and box; None where there are no such loops.
Cost:    no copy of a word.
Source:  Onyx JSSC V-C (affine loops of the store unit).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...compiler.dense.map.affine import Loop
from ...hw.arch.glb import LANES
from .load_loops import joined
from .window import filled


@dataclass(frozen=True)
class Part:
    """What a transaction gives of an image, y first.

    Parameters
    ----------
    whole : tuple      Elements of the image in each dimension; those of x are a multiple of 4.
    corner, shape      First element of the part, and elements, in each dimension.
    image : str        The image, where several streams give parts of one; else it is that of the stream.
    """

    whole: tuple[int, ...]
    corner: tuple[int, ...]
    shape: tuple[int, ...]
    image: str = ""

    def of(self, image: np.ndarray) -> np.ndarray:
        """The part of the image; nothing is copied."""
        return image[tuple(slice(first, first + size) for first, size in zip(self.corner, self.shape, strict=True))]


@dataclass(frozen=True)
class Writes:
    """How the transactions of a launch are stored.

    Parameters
    ----------
    loops : tuple         Of one, iterations and stride in words, innermost first.
    step : int            Words from one transaction to the next.
    first : int           The word of the stream's place that is stored first.
    box : Part            What all of them give together, if it stands there as it lies in the image.
    pitch : int           Words from row to row then.
    """

    loops: tuple[Loop, ...]
    step: int
    first: int = 0
    box: Part | None = None
    pitch: int = 0


def beside(parts: Sequence[Part]) -> int:
    """How many of the first parts are in a single step."""
    steps = np.diff(np.array([each.corner for each in parts]), axis=0)
    others = np.flatnonzero((steps != steps[:1]).any(axis=1))
    return int(others[0]) + 1 if len(others) else len(parts)


def landed(parts: Sequence[Part], most: int, room: int) -> Writes | None:
    """How parts of an image are stored as a box of it: with at most `most` loops a part, in at most `room` words.

    None if they are no box, in no single step, or have no such loops or room.
    """
    whole, dims = parts[0].whole, range(len(parts[0].whole))
    low = tuple(min(each.corner[dim] for each in parts) for dim in dims)
    shape = tuple(max(each.corner[dim] + each.shape[dim] for each in parts) - low[dim] for dim in dims)
    words = math.prod(shape)
    if words != sum(math.prod(each.shape) for each in parts):
        return None
    pitch = shape[-1]
    if pitch % LANES or low[-1] % LANES:
        # As long wherever in a line it begins, so that registers keep what they say.
        pitch = min(filled(pitch + LANES - 1), whole[-1])
    sides = (pitch, *shape[-2::-1])
    loops = joined([[(count, 1)] for count in parts[0].shape[::-1]], sides)
    if len(loops) > most or math.prod(sides) > room:
        return None
    pitches = [math.prod(sides[:dim]) for dim in dims]
    begins = [low[-1] % LANES + sum((at - start) * step for at, start, step in zip(each.corner[::-1], low[::-1], pitches,
                                                                                   strict=True)) for each in parts]
    steps = set(np.diff(begins).tolist())
    if len(steps) > 1:
        return None
    return Writes(loops, steps.pop() if steps else 0, begins[0], replace(parts[0], corner=low, shape=shape), pitch)
