"""The delays that a description holds (`hw.arch.cgra.Timing`), measured on the modules of a machine.

pe, mem         from a register of the core to one of its outputs
glb             from a register of the GLB tile to the streams that the IO tiles take
switch_box      through the boxes of an even tile, from a core output or a track to a track that leaves
connection_box  from a track to a core input
register        from the clock to a track that leaves an odd tile

What walls between regions add is measured on the logic of an even tile without its core, which is the same with them:

track           from a track to a track
walled          from a track to the register that says a word was led to a wall

Selections of multiplexers are configuration and do not change in a run: paths from them are no delays of a box.
Registers of columns that can be stalled by enables are in modules of other names (`hw.emit.ENABLED`), which are taken, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from ...hw.emit import ENABLED
from ...hw.emitted import Port, ports
from .library import Library
from .synthesis import netlist, read_design
from .timing import KINDS, Worst, worst_paths

_FORWARD = ("payload", "valid")
_TO_ARRAY = "g2f"
_SIDES = ("n", "e", "s", "w")


# Where the worst path of each field starts and ends: a module, the ports of it or else its registers, the ports.
_FIELDS = {"pe": ("core_pe", "", "core"), "mem": ("core_mem", "", "core"), "glb": ("glb_tile", "", "array"),
           "switch_box": ("boxes_pe_data_even", "both", "tracks"),
           "connection_box": ("boxes_pe_data_even", "both", "core"),
           "register": ("boxes_pe_data_odd", "", "tracks")}
_GROUPS = {"tracks": ("tracks",), "core": ("core",), "both": ("tracks", "core"), "array": (_TO_ARRAY,)}
HOP = ("switch_box", "connection_box", "register")
"""The fields that are delays of a hop."""


def delays(folder: Path, library: Library, fields: Iterable[str] = _FIELDS) -> dict[str, Worst]:
    """The worst path for fields of `Timing`, all of them if none are named."""
    registers = KINDS["reg-out"][0]
    found = {}
    for field in fields:
        module, start, end = _FIELDS[field]
        design = read_design(folder, emitted(folder, module))
        there = ports(design.modules[design.top])
        here = named(there, "input", start) if start else registers
        to = named(there, "output", end)
        found[field] = worst_paths(design, netlist(design, library), library, {field: (here, to)})[field]
    return found


def through_tile(folder: Path, library: Library) -> dict[str, Worst]:
    """The worst path from a track to a track, and with walls to what says that one was reached."""
    design = replace(read_design(folder, "pe_even"), boxes=frozenset(("core_pe",)))
    there = ports(design.modules[design.top])
    kinds = {"track": (named(there, "input", "tracks"), named(there, "output", "tracks"))}
    if any(port.name == "walled" for port in there):
        kinds["walled"] = kinds["track"][0], "[get_pins walled*/D]"
    return worst_paths(design, netlist(design, library), library, kinds)


def emitted(folder: Path, module: str) -> str:
    """The name under which a module was written: its own, or that of the module whose registers have an enable."""
    return module if (folder / f"{module}.sv").exists() else f"{module}{ENABLED}"


def named(there: list[Port], flow: str, which: str) -> str:
    """The ports that carry words forward, on tracks, to and from a core, or of a GLB tile to the array, as a list in Tcl.

    Other ports of a GLB tile end at registers beside it, as those of configuration do: nothing is routed from them.
    """
    def wanted(port: Port) -> bool:
        track = port.name.split("_")[0] in _SIDES
        group = "tracks" if track else _TO_ARRAY if port.name.startswith(_TO_ARRAY) else "core"
        return port.flow == flow and port.name.endswith(_FORWARD) and group in _GROUPS[which]

    names = [f"{port.name}*" for port in there if wanted(port)]
    assert names, f"no {flow} of {which}: the ports of tiles have changed"
    return f"[get_ports {{{' '.join(names)}}}]"


def lines(found: Mapping[str, Worst]) -> list[str]:
    """The delays as they stand in a description."""
    return [f"{field} = {round(worst.ps)}" for field, worst in found.items()]
