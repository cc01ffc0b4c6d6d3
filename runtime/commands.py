"""The commands of a plan: what a host does with a device, in order, as values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ..hw.arch.glb import LANES, LINE_BYTES


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
    apart : int             Words from row to row in the global buffer, a multiple of 4; 0: rows stand one behind the other.
    """

    image: np.ndarray
    corner: tuple[int, ...]
    shape: tuple[int, ...]
    apart: int = 0

    @property
    def lead(self) -> int:
        """Words in front of it in a row of the global buffer: none."""
        return 0

    @property
    def pitch(self) -> int:
        """Words from row to row there."""
        return self.apart or self.shape[-1]

    @property
    def reach(self) -> int:
        """Words there from its first one to behind its last one."""
        return (math.prod(self.shape[:-1]) - 1) * self.pitch + self.shape[-1]

    @property
    def words(self) -> np.ndarray:
        """The words, of as many dimensions as the image; nothing is copied."""
        return self.image[tuple(slice(first, first + size) for first, size in zip(self.corner, self.shape, strict=True))]


@dataclass(frozen=True, eq=False)
class Landing:
    """Part of an image that the global buffer has as it lies, row after row.

    Parameters
    ----------
    image : uint16 array    As of `Box`.
    corner, shape : tuple   The part's first element, and elements in each dimension, x last.
    pitch : int             Words from row to row in the global buffer, a multiple of 4. There, too, rows begin at lines, with
                            what the image has in front of the part there.
    """

    image: np.ndarray
    corner: tuple[int, ...]
    shape: tuple[int, ...]
    pitch: int

    @property
    def lead(self) -> int:
        """Words in front of the part in a row."""
        return self.corner[-1] % LANES

    @property
    def words(self) -> int:
        """Those that it takes in the global buffer."""
        return math.prod(self.shape[:-1]) * self.pitch

    def put(self, words: np.ndarray) -> None:
        """Put what the global buffer has into the image."""
        rows = words.reshape(*self.shape[:-1], self.pitch)[..., self.lead:self.lead + self.shape[-1]]
        self.image[tuple(slice(first, first + size) for first, size in zip(self.corner, self.shape, strict=True))] = rows


@dataclass(frozen=True, eq=False)
class WriteMemory:
    """Write 16-bit words from a byte address of the global buffer on.

    words: in order; where they are those of a `box`, in its dimensions, row after row.
    """

    address: int
    words: np.ndarray
    box: Box | None = None

    @property
    def reach(self) -> int:
        """Words from the first one to behind the last one."""
        return self.words.size if self.box is None else self.box.reach

    @property
    def pieces(self) -> Iterator[tuple[int, np.ndarray]]:
        """Words that stand one behind the other, and where: all of them, or those of each row."""
        if self.box is None or self.box.pitch == self.box.shape[-1]:
            yield self.address, self.words.reshape(-1)
            return
        for number, row in enumerate(self.words.reshape(-1, self.box.shape[-1])):
            yield self.address + LINE_BYTES // LANES * self.box.pitch * number, row


@dataclass(frozen=True)
class Start:
    """Start what the registers say: a run, or the configuration DMAs.

    configure: the latter. runs: and a run behind them.
    """

    configure: bool = False
    runs: bool = False

    @property
    def commands(self) -> Mapping[str, int]:
        """The bits of the register `control`."""
        return {"configure": int(self.configure), "start": int(self.runs or not self.configure)}


@dataclass(frozen=True)
class Wait:
    """Wait for the interrupt, for so many cycles at most.

    configure: of the configuration DMAs.
    """

    limit: int
    configure: bool = False


@dataclass(frozen=True)
class WaitTaken:
    """Wait until no descriptor of these loads and stores of GLB tiles waits: those before have ended in a run that goes on.

    limit: cycles that this takes at most.
    """

    limit: int
    loads: tuple[int, ...]
    stores: tuple[int, ...]


@dataclass(frozen=True)
class Count:
    """Ask a GLB tile how many words it has stored, for the `Read` of a stream: the next run counts anew.

    before: by the descriptor before the one that goes on.
    """

    stream: str
    glb_tile: int
    before: bool = False


@dataclass(frozen=True)
class Read:
    """Read what a stream stored, from a byte address of the global buffer on.

    words: how many; None: as many as its `Count` has found. landing: where they belong, if that is part of an image.
    rising: each of its words is stored before any that lies behind it.
    """

    stream: str
    address: int
    words: int | None
    landing: Landing | None = None
    rising: bool = False


Command = Configure | WriteMemory | WriteRegister | Start | Wait | WaitTaken | Count | Read
