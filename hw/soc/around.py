"""What is wired to what around the array: one list, of which the machine's Verilog is made and the stitched simulation.

Instances have the names that they have in the Verilog: ``array``, ``shell`` and ``glb0``, ``glb1``, ...
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from amaranth.lib.wiring import In

from ..arch.cgra import Arch
from ..arch.primitive import Flow
from ..array import shell_members
from ..connectivity import ANSWER, REQUEST, RESET, STREAM, Constant, End, Wire, open_name
from ..glb.config import LINK
from ..glb.tile import COLUMN_STREAMS, control_members

ARRAY, SHELL = "array", "shell"


def glb_name(tile: int) -> str:
    return f"glb{tile}"


def around(arch: Arch) -> Iterator[Wire | Constant]:
    """All wires between array, shell and GLB tiles; what comes from nowhere is 0."""
    def either(one: End, other: End, forward: bool) -> Wire:
        return Wire(one, other) if forward else Wire(other, one)

    for x in range(arch.columns):
        tile, way = divmod(x, arch.glb.columns_per_tile)
        for port, (part, forward) in product(arch.io.ports, STREAM):
            inner, outward = End(ARRAY, f"{port.name}{x}__{part}"), (port.flow is Flow.OUT) is forward
            if port.name in COLUMN_STREAMS:
                yield either(End(glb_name(tile), f"{port.name}{way}__{part}"), inner, outward)
            elif outward:
                yield Constant(inner, 0)
        yield from _configuration(arch, x)
    for name, member in shell_members(arch).items():
        if member.is_port:      # not the channels
            yield either(End(SHELL, name), End(ARRAY, name), member.flow is In)
    yield from (Wire(End(SHELL, "reset"), End(glb_name(tile), RESET)) for tile in range(arch.glb_tiles))
    for tile, (name, member) in product(range(arch.glb_tiles), control_members(arch.glb).items()):
        yield either(End(SHELL, f"{glb_name(tile)}_{name}"), End(glb_name(tile), name), member.flow is In)


def _configuration(arch: Arch, x: int) -> Iterator[Wire | Constant]:
    """The configuration channel of a column: requests by way of its GLB tile, where that has a DMA for them."""
    tile, way = divmod(x, arch.glb.columns_per_tile)
    here = glb_name(tile)
    for part in (*REQUEST, *ANSWER):
        ends = End(SHELL, f"config{x}__{part}"), End(ARRAY, f"config{x}__{part}")
        if part in ANSWER:
            yield Wire(*reversed(ends))
        elif arch.glb.configuration_dma:
            yield Wire(ends[0], End(here, f"request{way}__{part}"))
            yield Wire(End(here, f"config{way}__{part}"), ends[1])
        else:
            yield Wire(*ends)
    if not arch.glb.configuration_dma:
        return
    if way:
        return
    for part in LINK:
        sink = End(here, f"west__{part}")
        yield Wire(End(glb_name(tile - 1), f"east__{part}"), sink) if tile else Constant(sink, 0)
    wall = open_name(tile) if tile and arch.regions > 1 else None
    yield Wire(End(SHELL, wall), End(here, "west_open")) if wall else Constant(End(here, "west_open"), 1)
    east = End(here, "east_chained")
    yield Wire(End(glb_name(tile + 1), "chained"), east) if tile + 1 < arch.glb_tiles else Constant(east, 0)
