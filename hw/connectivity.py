"""What is wired to what in the array: one list, of which its Verilog is made and the stitched simulation.

Instances have the names that they have in the Verilog: ``x3_y2`` a tile, ``column3`` what stands beside a column, and
``window_x3_y2`` what fills the SRAM of a tile where tiles have no registers; ``""`` is the border, the ports of the array
itself.

Output:  `Wire`: a port or a bit of one drives a port or a bit of one; `Constant`: a port that a number drives.
Cost:    0.1 s for 32 x 16 tiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from .arch.cgra import Arch
from .arch.config import config_segment
from .arch.interconnect import STEP
from .arch.primitive import Flow
from .arch.tile import LAYERS, OPPOSITE, WALLED, TileSpec

Site = tuple[int, int]
STREAM = (("payload", True), ("valid", True), ("ready", False))
REQUEST, ANSWER = ("valid", "write", "addr", "wdata"), ("rvalid", "rdata")
SRAM_REQUEST = ("enable", "address", "write", "data")
# What Amaranth calls clock and reset of a module: where a wire leads to one, it is not that of the border.
CLOCK, RESET = "clk", "rst"
BORDER = ""


@dataclass(frozen=True)
class End:
    """A port of an instance as Verilog names it, or one bit of it."""

    instance: str
    port: str
    bit: int | None = None


@dataclass(frozen=True)
class Wire:
    """What drives what."""

    source: End
    sink: End


@dataclass(frozen=True)
class Constant:
    """A port that always has one value."""

    sink: End
    value: int


def tile_name(site: Site) -> str:
    return f"x{site[0]}_y{site[1]}"


def window_name(site: Site) -> str:
    return f"window_{tile_name(site)}"


def column_name(x: int) -> str:
    return f"column{x}"


def reports(arch: Arch) -> tuple[str, ...]:
    """What every tile reports as a bit, and a column as the OR of its tiles: with regions also words at a closed wall."""
    return ("active", "overflow", "walled") if arch.regions > 1 else ("active", "overflow")


def stall_sides(arch: Arch, spec: TileSpec) -> list[str]:
    """The sides of a tile on which a neighbour may be frozen while it is not: words cross there with valid and ready."""
    return [side for side in spec.sides if side in WALLED and arch.column_stall and arch.interconnect.fifo != "none"]


def flush_name(arch: Arch, x: int) -> str:
    """The port of the border that flushes a column."""
    return "flush" if arch.regions == 1 else f"flush{x // arch.glb.columns_per_tile}"


def stall_name(x: int) -> str:
    """The port of the border that freezes a column."""
    return f"stall{x}"


def open_name(tile: int) -> str:
    """The port of the border that says of the columns of a GLB tile that no wall is to the west of them."""
    return f"open{tile}"


def connections(arch: Arch, sites: Mapping[Site, TileSpec], registers: bool,
                abutted: bool = False) -> Iterator[Wire | Constant]:
    """All wires of an array of these tiles.

    registers: tiles have configuration registers and hang on the channels of their columns; else only the windows do.
    abutted: what a column shares goes through its tiles, all of which are there.
    """
    for site in sites:
        yield from _tracks(arch, sites, site)
        yield from _awake(arch, sites, site, registers)
        yield from _walls(arch, sites, site, registers)
        yield from _stalled(arch, sites, site, abutted)
        if site[1] == 0:
            yield from _links(arch, site)
    for x in sorted({x for x, _ in sites}):
        column = [site for site in sites if site[0] == x]
        if abutted:
            yield from _through(arch, x)
            continue
        yield from _control(arch, x, column)
        yield from _channel(arch, x, column) if registers else _windows(x, column, sites)


def _tracks(arch: Arch, sites: Mapping[Site, TileSpec], site: Site) -> Iterator[Wire | Constant]:
    """Every track that enters a tile, and readiness where a track that leaves it goes nowhere."""
    (x, y), here = site, tile_name(site)
    elastic = arch.interconnect.fifo != "none"
    for side, layer in product(sites[site].sides, LAYERS):
        (dx, dy), near, far = STEP[side], f"{side}_{layer}", f"{OPPOSITE[side]}_{layer}"
        there = (x + dx, y + dy)
        if there not in sites or OPPOSITE[side] not in sites[there].sides:
            if elastic:
                yield Constant(End(here, f"{near}_o_ready"), (1 << arch.interconnect.tracks) - 1)
            continue
        other = tile_name(there)
        yield Wire(End(other, f"{far}_o_payload"), End(here, f"{near}_i_payload"))
        if elastic:
            yield Wire(End(other, f"{far}_o_valid"), End(here, f"{near}_i_valid"))
            yield Wire(End(other, f"{far}_i_ready"), End(here, f"{near}_o_ready"))


def _awake(arch: Arch, sites: Mapping[Site, TileSpec], site: Site, registers: bool) -> Iterator[Wire | Constant]:
    """Whether the neighbours of a tile are awake: a tile without registers is, one that is not there is not."""
    if not arch.power_domains or arch.interconnect.fifo == "none":
        return
    (x, y), here = site, tile_name(site)
    for side in sites[site].sides:
        (dx, dy), sink = STEP[side], End(here, f"{side}_awake_i")
        there = (x + dx, y + dy)
        known = there in sites and OPPOSITE[side] in sites[there].sides
        if registers and known:
            yield Wire(End(tile_name(there), f"{OPPOSITE[side]}_awake_o"), sink)
        else:
            yield Constant(sink, int(known))


def _walls(arch: Arch, sites: Mapping[Site, TileSpec], site: Site, registers: bool) -> Iterator[Wire | Constant]:
    """Whether a tile and its neighbours to the west and to the east are of one region; a tile without registers is alone."""
    for side in sites[site].sides if arch.regions > 1 else ():
        if side not in WALLED:
            continue
        east, way = divmod(site[0] + (side == "e"), arch.glb.columns_per_tile)
        sink, wall = End(tile_name(site), f"{side}_open"), registers and not way and 0 < east < arch.glb_tiles
        yield Wire(End(BORDER, open_name(east)), sink) if wall else Constant(sink, 1)


def _stalled(arch: Arch, sites: Mapping[Site, TileSpec], site: Site, abutted: bool) -> Iterator[Wire | Constant]:
    """Whether the columns beside a tile are frozen: their tiles say so where they abut, else what stands beside them."""
    columns = {x for x, _ in sites}
    for side in stall_sides(arch, sites[site]):
        x, sink = site[0] + STEP[side][0], End(tile_name(site), f"{side}_stall")
        if x not in columns:
            yield Constant(sink, 0)
        elif abutted:
            yield Wire(End(tile_name((x, site[1])), f"{OPPOSITE[side]}_stall_o"), sink)
        else:
            yield Wire(End(column_name(x), "tiles_stall"), sink)


def _links(arch: Arch, site: Site) -> Iterator[Wire]:
    """The streams between an IO tile and the border."""
    for port, (part, forward) in product(arch.io.ports, STREAM):
        outer, inner = End(BORDER, f"{port.name}{site[0]}__{part}"), End(tile_name(site), f"link_{port.name}__{part}")
        # What is an output of the tile's core comes from the border.
        yield Wire(outer, inner) if (port.flow is Flow.OUT) is forward else Wire(inner, outer)


def _control(arch: Arch, x: int, column: list[Site]) -> Iterator[Wire]:
    """Flush and reset to the tiles of a column, and what they report."""
    here = column_name(x)
    yield Wire(End(BORDER, flush_name(arch, x)), End(here, "flush"))
    yield Wire(End(BORDER, "reset"), End(here, "reset"))
    if arch.column_stall:
        yield Wire(End(BORDER, stall_name(x)), End(here, "stall"))
        yield from (Wire(End(here, "tiles_stall"), End(tile_name(site), "stall")) for site in column)
    for site in column:
        yield Wire(End(here, "tiles_flush"), End(tile_name(site), "flush"))
        yield Wire(End(here, f"reset{config_segment(site[1], arch.config_rows)}"), End(tile_name(site), RESET))
        for report in reports(arch):
            yield Wire(End(tile_name(site), report), End(here, f"tiles_{report}", site[1]))
    for report in reports(arch):
        yield Wire(End(here, report), End(BORDER, report, x))


def _place(instance: str, site: Site) -> Constant:
    return Constant(End(instance, "tile_y"), site[1])


def _channel(arch: Arch, x: int, column: list[Site]) -> Iterator[Wire | Constant]:
    """The configuration channel of a column, from its top to the tiles and back."""
    beside = column_name(x)
    yield from (Wire(End(BORDER, f"config{x}__{part}"), End(beside, f"config__{part}")) for part in REQUEST)
    yield from (Wire(End(beside, f"config__{part}"), End(BORDER, f"config{x}__{part}")) for part in ANSWER)
    for site in column:
        here, segment, tile = tile_name(site), f"segment{config_segment(site[1], arch.config_rows)}", f"tile{site[1]}"
        yield _place(here, site)
        yield from (Wire(End(beside, f"{segment}__{part}"), End(here, f"config__{part}")) for part in REQUEST)
        yield from (Wire(End(here, f"config__{part}"), End(beside, f"{tile}__{part}")) for part in ANSWER)


def _through(arch: Arch, x: int) -> Iterator[Wire | Constant]:
    """What goes through the tiles of a column: down from the border, and back up to it."""
    down = ("flush", "reset", *["stall"] * arch.column_stall, *(f"config__{part}" for part in REQUEST))
    up = (*reports(arch), *(f"config__{part}" for part in ANSWER))
    for y in range(arch.rows + 1):
        here, above = tile_name((x, y)), tile_name((x, y - 1))
        yield _place(here, (x, y))
        if y == 0:
            for name in (*down, *up):
                border = {"flush": flush_name(arch, x), "stall": stall_name(x)}.get(name, name)
                if name.startswith("config"):
                    border = f"config{x}{name.removeprefix('config')}"
                ends = End(BORDER, border, x if name in reports(arch) else None), End(here, f"n_{name}")
                yield Wire(*ends) if name in down else Wire(*reversed(ends))
            continue
        yield Constant(End(here, "cut"), int(config_segment(y, arch.config_rows) != config_segment(y - 1, arch.config_rows)))
        yield Wire(End(above, "s_clk"), End(here, CLOCK))
        yield from (Wire(End(above, f"s_{name}"), End(here, f"n_{name}")) for name in down)
        yield from (Wire(End(here, f"n_{name}"), End(above, f"s_{name}")) for name in up)


def _windows(x: int, column: list[Site], sites: Mapping[Site, TileSpec]) -> Iterator[Wire | Constant]:
    """The channel of a column where tiles have no registers: it fills memories, and nothing answers."""
    for site in column:
        if sites[site].has_memory:
            window = window_name(site)
            yield _place(window, site)
            yield from (Wire(End(BORDER, f"config{x}__{part}"), End(window, part)) for part in REQUEST)
            yield from (Wire(End(window, f"sram__{part}"), End(tile_name(site), f"contents__{part}")) for part in SRAM_REQUEST)
    yield from (Constant(End(BORDER, f"config{x}__{part}"), 0) for part in ANSWER)
