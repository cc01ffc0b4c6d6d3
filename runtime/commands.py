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
class WriteMemory:
    """Write 16-bit words from a byte address of the global buffer on."""

    address: int
    words: np.ndarray


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
