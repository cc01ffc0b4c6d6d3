"""The wire list of a machine: which instances of a tile library there are, and what joins them.

It says what `hw.connectivity` says, of which the array's Verilog is made too. Without a program it has all tiles with their
configuration registers, with one the tiles that the program uses, folded to it.

    kind tile_pe_even 0 10 n_data_i_payload ...        see stitched.h
    part x3_y2 tile_pe_odd
    clock host 1
    wire x3_y2 e_data_o_payload x4_y2 w_data_i_payload

Early inputs, those that an output follows in the same cycle (`hw/paths.py`), are a matter of parity: the outputs of an even
tile follow the words that enter it, and the readiness of an odd tile what takes its words. Besides, what a tile answers follows
the request for it. Where tracks have no registers (`fifo` inputs) the list says that they are ``open``: then all that passes is
early, and tiles settle until nothing moves. tests/sim/rtl/test_stitch.py proves it of the modules' netlists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from ...hw.arch.cgra import Arch
from ...hw.arch.tile import TileSpec
from ...hw.connectivity import BORDER, Constant, End, Site, Wire, column_name, connections, tile_name, window_name
from ...hw.glb.tile import GlbTile
from ...hw.paths import early_inputs
from ...hw.soc.around import ARRAY, SHELL, around, glb_name
from ...hw.soc.system import BY_HOST_CLOCK, HOST, HOST_SIDE, MACHINE_SIDE, in_front
from ...hw.tile.tile import logic_name
from .folding import folded_name

WINDOW = "memory_window"
# In which order parts settle after the tiles: the shell follows the columns, GLB tiles the shell, which then follows them, and
# what fills memories follows the shell.
# Nothing that the host gives follows what it is given within a cycle. The crossing follows host and shell, and gives them
# nothing that does; the words that its sides give each other follow what they ask for.
COLUMN_RANK, SHELL_RANK, GLB_RANK, WINDOW_RANK = 1, 2, 3, 4
HOST_RANK, CROSSING_RANK = COLUMN_RANK, GLB_RANK


def wire_list(arch: Arch, program: Mapping[Site, int] | None = None, host: bool = False) -> str:
    """The wire list of a machine; program: the configurations to which tiles are folded, see `folding.configurations`.

    host: with the host in front of it.
    """
    sites = {site: spec for site, spec in arch.tiles.items() if program is None or site in program}
    registers = program is None
    lines = [*_parts(arch, sites, program), *(["open"] if arch.interconnect.fifo == "inputs" else [])]
    if host:
        lines += _host(arch)
    for wire in chain(wires(arch, sites, registers), in_front(arch.system, arch.regions) if host else ()):
        sink = wire.sink
        if not isinstance(wire, Wire):
            lines.append(f"set {sink.instance} {sink.port} {wire.value:x}")
        elif sink.bit is None:
            lines.append(f"wire {wire.source.instance} {wire.source.port} {sink.instance} {sink.port}")
        else:
            lines.append(f"bit {wire.source.instance} {wire.source.port} {sink.instance} {sink.port} {sink.bit}")
    return "\n".join(lines) + "\n"


def wires(arch: Arch, sites: Mapping[Site, TileSpec], registers: bool) -> Iterator[Wire | Constant]:
    """All wires between instances, the array not being one: what reaches its border is joined to what is around."""
    sources: dict[str, End | int] = {}
    sinks: dict[str, list[End]] = {}
    for wire in around(arch):
        source: End | int = wire.source if isinstance(wire, Wire) else wire.value
        if wire.sink.instance == ARRAY:
            sources[wire.sink.port] = source
        elif isinstance(wire, Wire) and wire.source.instance == ARRAY:
            sinks.setdefault(wire.source.port, []).append(wire.sink)
        else:
            yield wire
    for each in connections(arch, sites, registers):
        source = each.source if isinstance(each, Wire) else each.value
        if isinstance(source, End) and source.instance == BORDER:
            source = sources[source.port]
        at_border = each.sink.instance == BORDER    # where several ask, or nobody
        asked = [replace(sink, bit=each.sink.bit) for sink in sinks.get(each.sink.port, ())] if at_border else [each.sink]
        for sink in asked:
            yield Wire(source, sink) if isinstance(source, End) else Constant(sink, source)


def _host(arch: Arch) -> Iterator[str]:
    """What stands in front of the machine, each a kind of its own."""
    ranks = {HOST: HOST_RANK}
    if arch.system.own_clock:
        ranks |= {HOST_SIDE: CROSSING_RANK, MACHINE_SIDE: CROSSING_RANK}
    for name, rank in ranks.items():
        yield from (f"kind {name} {rank} 0", f"part {name} {name}")
    if arch.system.own_clock:
        yield from (f"clock {name} 1" for name in BY_HOST_CLOCK)


def _parts(arch: Arch, sites: Mapping[Site, TileSpec], program: Mapping[Site, int] | None) -> Iterator[str]:
    """Kinds, and instances of them."""
    seen: set[str] = set()

    def part(name: str, kind: str, rank: int, early: Sequence[str] = ()) -> Iterator[str]:
        if kind not in seen:
            seen.add(kind)
            yield " ".join(["kind", kind, str(rank), str(len(early)), *early])
        yield f"part {name} {kind}"

    for (x, y), spec in sites.items():
        logic = logic_name(spec, x + y & 1)
        kind = f"tile_{logic}" if program is None else folded_name(logic, program[x, y])
        early = early_inputs(arch, spec, x + y & 1, program is None) if kind not in seen else ()
        yield from part(tile_name((x, y)), kind, 0, early)
        if spec.has_memory and program is not None:
            yield from part(window_name((x, y)), WINDOW, WINDOW_RANK)
    for x in sorted({x for x, _ in sites}):
        yield from part(column_name(x), f"column_{arch.rows + 1}", COLUMN_RANK)
    for number in range(arch.glb_tiles):
        yield from part(glb_name(number), GlbTile.module_name, GLB_RANK)
    yield from part(SHELL, SHELL, SHELL_RANK)
