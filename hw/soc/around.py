"""What is wired to what around the array: one list, of which the machine's Verilog is made and the stitched simulation.

Instances have the names that they have in the Verilog: ``array``, ``shell`` and ``glb0``, ``glb1``, ...
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from amaranth.lib.wiring import In, Out

from ..arch.cgra import Arch
from ..arch.primitive import Flow
from ..array import shell_members
from ..connectivity import ANSWER, REQUEST, RESET, STREAM, Constant, End, Wire, open_name
from ..glb.config import LINK
from ..glb.ring import ring_link
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
    for tile in range(arch.glb_tiles):
        yield from _between(arch, tile)
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
            if arch.glb.kept_bytes:
                yield Wire(ends[1], End(here, f"answer{way}__{part}"))
        elif arch.glb.configuration_dma:
            yield Wire(ends[0], End(here, f"request{way}__{part}"))
            yield Wire(End(here, f"config{way}__{part}"), ends[1])
        else:
            yield Wire(*ends)


def _between(arch: Arch, tile: int) -> Iterator[Wire | Constant]:
    """What a GLB tile takes from its neighbours."""
    here = glb_name(tile)

    def taken(port: str, from_east: bool, other: str) -> Wire | Constant:
        neighbour = tile + 1 if from_east else tile - 1
        sink = End(here, port)
        return Wire(End(glb_name(neighbour), other), sink) if neighbour in range(arch.glb_tiles) else Constant(sink, 0)

    if arch.glb.configuration_dma:
        yield from (taken(f"west__{part}", False, f"east__{part}") for part in LINK)
        yield taken("east_chained", True, "chained")
    if arch.glb.ring > 1:
        for part, member in ring_link(arch.glb).items():
            sides = ("ring_west", "ring_east") if member.flow is Out else ("ring_east", "ring_west")
            yield taken(f"{sides[0]}__{part}", member.flow is In, f"{sides[1]}__{part}")
        yield taken("east_connected", True, "connected")
    if arch.glb.configuration_dma or arch.glb.ring > 1:
        wall = open_name(tile) if tile and arch.regions > 1 else None
        yield Wire(End(SHELL, wall), End(here, "west_open")) if wall else Constant(End(here, "west_open"), 1)
