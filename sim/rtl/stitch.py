"""The wire list of a machine: which instances of a tile library there are, and what joins them.

It says what `hw.connectivity` says, of which the array's Verilog is made too. With the configuration of a program it has the
tiles that the program uses, each with its configuration as a constant; without, all tiles with their configuration registers.

    kind pe_even 0 10 n_data_i_payload ...        see stitched.h
    part x3_y2 pe_odd
    wire x3_y2 e_data_o_payload x4_y2 w_data_i_payload

Early inputs, those that an output follows in the same cycle, are a matter of parity: the outputs of an even tile follow the
words that enter it, and the readiness of an odd tile what takes its words. tests/sim/rtl/test_stitch.py proves it of the
modules' netlists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...hw.arch.cgra import Arch
from ...hw.arch.primitive import Flow
from ...hw.arch.tile import LAYERS, TileSpec
from ...hw.connectivity import BORDER, End, Site, Wire, column_name, connections, tile_name, window_name
from ...hw.tile.tile import logic_name

SHELL, WINDOW = "shell", "memory_window"
# In which order parts settle after the tiles: a shell follows the columns, what fills memories follows the shell.
COLUMN_RANK, SHELL_RANK, WINDOW_RANK = 1, 2, 3


def early_inputs(arch: Arch, spec: TileSpec, parity: int) -> list[str]:
    """The inputs of a tile that outputs of it follow in the same cycle."""
    elastic = arch.interconnect.fifo != "none"
    if parity:
        return [f"{side}_{layer}_o_ready" for side in spec.sides for layer in LAYERS] if elastic else []
    parts = ("payload", "valid") if elastic else ("payload",)
    tracks = [f"{side}_{layer}_i_{part}" for side in spec.sides for layer in LAYERS for part in parts]
    links = [f"link_{port.name}__{part}" for port in spec.ports for part in ("payload", "valid")
             if spec.kind == "io" and port.flow is Flow.OUT]
    return tracks + links


def wire_list(arch: Arch, configuration: Mapping[Site, int] | None) -> str:
    """The wire list; configuration: as `folding.specialised` gives it, or None for the whole machine."""
    sites = {site: spec for site, spec in arch.tiles.items() if configuration is None or site in configuration}
    registers = configuration is None
    lines = [*_parts(arch, sites, registers)]
    for wire in connections(arch, sites, registers):
        sink = _instance(wire.sink)
        if not isinstance(wire, Wire):
            lines.append(f"set {sink} {wire.sink.port} {wire.value:x}")
        elif wire.sink.bit is None:
            lines.append(f"wire {_instance(wire.source)} {wire.source.port} {sink} {wire.sink.port}")
        else:
            lines.append(f"bit {_instance(wire.source)} {wire.source.port} {sink} {wire.sink.port} {wire.sink.bit}")
    lines += [f"set {tile_name(site)} cfg {number:x}" for site, number in (configuration or {}).items()]
    return "\n".join(lines) + "\n"


def _instance(end: End) -> str:
    return SHELL if end.instance == BORDER else end.instance


def _parts(arch: Arch, sites: Mapping[Site, TileSpec], registers: bool) -> Iterator[str]:
    """Kinds, and instances of them."""
    seen: set[str] = set()

    def part(name: str, kind: str, rank: int, early: Sequence[str] = ()) -> Iterator[str]:
        if kind not in seen:
            seen.add(kind)
            yield " ".join(["kind", kind, str(rank), str(len(early)), *early])
        yield f"part {name} {kind}"

    for (x, y), spec in sites.items():
        logic = logic_name(spec, x + y & 1)
        yield from part(tile_name((x, y)), f"tile_{logic}" if registers else logic, 0, early_inputs(arch, spec, x + y & 1))
        if spec.has_memory and not registers:
            yield from part(window_name((x, y)), WINDOW, WINDOW_RANK)
    for x in sorted({x for x, _ in sites}):
        yield from part(column_name(x), f"column_{arch.rows + 1}", COLUMN_RANK)
    yield from part(SHELL, SHELL, SHELL_RANK)
