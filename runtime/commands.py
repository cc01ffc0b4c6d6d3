"""The commands of a plan: what a host does with a device, in order, as values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Configure:
    """Write configuration words, (address, data), over the controller's registers."""

    words: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class WriteRegister:
    """Write a register of the controller, or of a GLB tile."""

    name: str
    value: int
    glb_tile: int | None = None


@dataclass(frozen=True, eq=False)
class Box:
    """Part of an image as it lies in memory: some rows of it, whole or some columns of them.

    Parameters
    ----------
    image : uint16 array    ``[.., y, x]``, in C order. A row is a number of 64-bit lines, so x counts a multiple of 4.
    corner : tuple          Its first element there, x last, which is a multiple of 4.
    shape : tuple           Elements in each dimension; those of x are a multiple of 4.
    """

    image: np.ndarray
    corner: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def words(self) -> np.ndarray:
        """The words, of as many dimensions as the image; nothing is copied."""
        return self.image[tuple(slice(first, first + size) for first, size in zip(self.corner, self.shape, strict=True))]


@dataclass(frozen=True, eq=False)
class WriteMemory:
    """Write 16-bit words from a byte address of the global buffer on.

    words: in order; where they are those of a `box`, in its dimensions, row after row.
    """

    address: int
    words: np.ndarray
    box: Box | None = None


@dataclass(frozen=True)
class Start:
    """Start what the registers say: a run, or the configuration DMAs.

    configure: the latter.
    """

    configure: bool = False


@dataclass(frozen=True)
class Wait:
    """Wait for the interrupt, for so many cycles at most.

    configure: of the configuration DMAs.
    """

    limit: int
    configure: bool = False


@dataclass(frozen=True)
class Count:
    """Ask a GLB tile how many words it has stored, for the `Read` of a stream: the next run counts anew."""

    stream: str
    glb_tile: int


@dataclass(frozen=True)
class Read:
    """Read what a stream stored, from a byte address of the global buffer on.

    words: how many; None: as many as its `Count` has found.
    """

    stream: str
    address: int
    words: int | None


Command = Configure | WriteMemory | WriteRegister | Start | Wait | Count | Read
