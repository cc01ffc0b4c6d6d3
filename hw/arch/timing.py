"""The delays of a machine, of which static timing makes the period of a program (`compiler/backend/timing.py`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from .check import Whole, check

PICOSECONDS = Whole(1, 1_000_000)
MORE = Whole(0, 1_000_000)


@dataclass(frozen=True)
class Timing:
    """Delays in picoseconds, 1..1,000,000, by where their paths begin and end.

    Parameters
    ----------
    pe, pe_bit, pe_valid : int        From a register of a PE's core to the words, the predicates and the validity that leave.
    mem, glb : int                    From a register of a MEM's core, and of a GLB tile, to what leaves it.
    switch_box, switch_box_valid      Through the boxes of a tile to a track: of words and predicates, and of validity.
    connection_box, connection_box_valid
                                      From a track to a core input, the same.
    register : int                    From the clock to a track that leaves an odd tile.
    pe_inside, mem_inside, glb_inside, boxes_inside
                                      From register to register within a core, a GLB tile, and the boxes of a tile.
    setup : int                       Of the register at the end of each path.
    protection, wall : int            More of a way into a tile from the next one, 0 or more: with power domains, and with
                                      regions where it leads from the west or the east.
    walled : int                      From a track to the register which says that it led to a wall (regions), validity.

    Defaults: measured on `onyx` in ASAP7 (RVT, typical, 0.7 V, 25 C) without wires by `make silicon ARGS=delays`, and those
    inside of tiles also as parts of whole tiles, see docs/silicon.md.
    """

    pe: Annotated[int, PICOSECONDS] = 560
    pe_bit: Annotated[int, PICOSECONDS] = 655
    pe_valid: Annotated[int, PICOSECONDS] = 425
    mem: Annotated[int, PICOSECONDS] = 370
    glb: Annotated[int, PICOSECONDS] = 342
    switch_box: Annotated[int, PICOSECONDS] = 120
    switch_box_valid: Annotated[int, PICOSECONDS] = 136
    connection_box: Annotated[int, PICOSECONDS] = 140
    connection_box_valid: Annotated[int, PICOSECONDS] = 170
    register: Annotated[int, PICOSECONDS] = 63
    pe_inside: Annotated[int, PICOSECONDS] = 932
    mem_inside: Annotated[int, PICOSECONDS] = 882
    glb_inside: Annotated[int, PICOSECONDS] = 816
    boxes_inside: Annotated[int, PICOSECONDS] = 411
    setup: Annotated[int, PICOSECONDS] = 22
    protection: Annotated[int, MORE] = 2
    wall: Annotated[int, MORE] = 18
    walled: Annotated[int, PICOSECONDS] = 244

    def __post_init__(self) -> None:
        check(self, "timing")

    def inside(self, kind: str) -> int:
        """The longest path within the core of a kind of tile, ``pe`` or ``mem``, or behind an ``io`` tile in its GLB tile."""
        return {"pe": self.pe_inside, "mem": self.mem_inside, "io": self.glb_inside}[kind]

    def leaving(self, kind: str, layer: str) -> tuple[int, int]:
        """From a register of the core of a kind of tile to an output of a layer, ``data`` or ``bit``: payload, validity."""
        if kind == "pe":
            return self.pe_bit if layer == "bit" else self.pe, self.pe_valid
        delay = {"mem": self.mem, "io": self.glb}[kind]
        return delay, delay

    def entering(self, protected: bool, walled: bool) -> int:
        """What a way into a tile takes more, if tiles have power domains, and if it leads through the wall of a region."""
        return protected * self.protection + walled * self.wall

    def through(self, node: str) -> tuple[int, int]:
        """Through the boxes of a tile to a switch-box output, ``sb``, or to a core input, ``in``: payload, validity."""
        if node == "sb":
            return self.switch_box, self.switch_box_valid
        return self.connection_box, self.connection_box_valid
