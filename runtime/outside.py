"""What of memory outside is given to what, and where results are in it.

Input:   pieces of content, images.
Output:  addresses, each at the begin of a burst of the system DMA.
Errors:  UserError where memory outside is too small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..compiler.ir.transfer import WORD_BYTES
from ..hw.arch.errors import UserError

# Where pieces of memory outside begin: at bursts of the system DMA.
PIECE_BYTES = 512


@dataclass(frozen=True)
class Result:
    """Where a stream of a launch is: byte address, how many words, or the number of its count.

    image: it is part of that, all of which is there.
    """

    stream: str
    address: int
    words: int | None
    count: int
    image: np.ndarray | None = None


class Memory:
    """Memory outside, given away piece by piece."""

    def __init__(self, first: int, size: int) -> None:
        self.used, self._size = first, size
        self.content: list[tuple[int, bytes]] = []
        self._images: dict[int, tuple[np.ndarray, int]] = {}    # which stay, so that no other one has their identity
        self._results: dict[int, tuple[np.ndarray, int]] = {}

    def room(self, size: int) -> int:
        """The address of so many bytes."""
        at = -(-self.used // PIECE_BYTES) * PIECE_BYTES
        self.used = at + size
        if self.used > self._size:
            raise UserError(f"these programs need more than its {self._size} bytes", "memory outside", "give smaller operands")
        return at

    def hold(self, content: bytes) -> int:
        """The address of these bytes."""
        at = self.room(len(content))
        self.content.append((at, content))
        return at

    def image(self, image: np.ndarray) -> int:
        """The address of the words of an image, which are there once."""
        if id(image) not in self._images:
            self._images[id(image)] = image, self.hold(image.astype("<u2").tobytes())
        return self._images[id(image)][1]

    def result(self, image: np.ndarray) -> int:
        """The address of an image whose words will be there."""
        if id(image) not in self._results:
            self._results[id(image)] = image, self.room(WORD_BYTES * image.size)
        return self._results[id(image)][1]
