"""The delays that a description holds (`hw.arch.timing.Timing`), measured on the modules of a machine.

pe, pe_bit, pe_valid from a register of the core to the words, the predicates and the validity that leave it
mem                  from a register of the core to one of its outputs
glb                  from a register of the GLB tile to the streams that the IO tiles take
switch_box, ..._valid
                     through the boxes of an even tile, from a core output or a track to a track that leaves
connection_box, ..._valid
                     from a track to a core input
register             from the clock to a track that leaves an odd tile
..._inside           from register to register: of cores, of a GLB tile, of the boxes of words and of predicates
setup                of the registers at the ends of those, the longest

What walls between regions add is measured on the logic of an even tile without its core, which is the same with them:

track           from a track to a track
walled          from a track to the register that says a word was led to a wall

Selections of multiplexers are configuration and do not change in a run: paths from them are no delays of a box or of a core,
of which they are ports. Whole tiles, and what abc makes of a row of them, are measured as components.
Registers of columns that can be stalled by enables are in modules of other names (`hw.enabled.ENABLED`), which are taken, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ...hw.emitted import Port, ports
from ...hw.enabled import ENABLED
from .library import Library
from .synthesis import netlist, read_design
from .timing import KINDS, Worst, worst_paths

_PAYLOAD, _VALID = "payload", "valid"
_TO_ARRAY = "g2f"
_SIDES = ("n", "e", "s", "w")
_EVEN = ("boxes_pe_data_even", "boxes_pe_bit_even")


@dataclass(frozen=True)
class _Path:
    """Where the worst path of a field is: the modules, the ports where it starts and ends, or else registers, and what of the
    streams there it is."""

    modules: tuple[str, ...]
    start: str = ""
    end: str = ""
    parts: tuple[str, ...] = (_PAYLOAD, _VALID)


_FIELDS = {
    "pe": _Path(("core_pe",), "", "words", (_PAYLOAD,)), "pe_bit": _Path(("core_pe",), "", "bits", (_PAYLOAD,)),
    "pe_valid": _Path(("core_pe",), "", "core", (_VALID,)),
    "mem": _Path(("core_mem",), "", "core"), "glb": _Path(("glb_tile",), "", "array"),
    "switch_box": _Path(_EVEN, "both", "tracks", (_PAYLOAD,)), "switch_box_valid": _Path(_EVEN, "both", "tracks", (_VALID,)),
    "connection_box": _Path(_EVEN, "both", "core", (_PAYLOAD,)),
    "connection_box_valid": _Path(_EVEN, "both", "core", (_VALID,)),
    "register": _Path(("boxes_pe_data_odd",), "", "tracks"),
    "pe_inside": _Path(("core_pe",)), "mem_inside": _Path(("core_mem",)), "glb_inside": _Path(("glb_tile",)),
    "boxes_inside": _Path(("boxes_pe_data_odd", "boxes_pe_bit_odd", *_EVEN))}
_WORDS, _BITS = "words", "bits"
_GROUPS = {"tracks": ("tracks",), _WORDS: (_WORDS,), _BITS: (_BITS,), "core": (_WORDS, _BITS),
           "both": ("tracks", _WORDS, _BITS), "array": (_TO_ARRAY,)}
SETUP = "setup"
HOP = ("switch_box", "switch_box_valid", "connection_box", "connection_box_valid", "register")
"""The fields that are delays of a hop."""


def delays(folder: Path, library: Library, fields: Iterable[str] = _FIELDS) -> dict[str, Worst]:
    """The worst path for fields of `Timing`, all of them if none are named, and the longest setup at the end of one."""
    found = {field: max(_worst(folder, library, _FIELDS[field]), key=lambda worst: worst.ps) for field in fields}
    latest = max(found.values(), key=lambda worst: worst.setup_ps)
    return {**found, SETUP: replace(latest, kind=SETUP, ps=latest.setup_ps)} if latest.setup_ps else found


def _worst(folder: Path, library: Library, path: _Path) -> Iterator[Worst]:
    """The worst path in each module that has one."""
    for module in path.modules:
        design = read_design(folder, emitted(folder, module))
        there = ports(design.modules[design.top])
        here = named(there, "input", path.start) if path.start else KINDS["reg-reg"][0]
        to = named(there, "output", path.end, path.parts) if path.end else KINDS["reg-reg"][1]
        yield from worst_paths(design, netlist(design, library), library, {module: (here, to)}).values()


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


def named(there: list[Port], flow: str, which: str, parts: tuple[str, ...] = (_PAYLOAD, _VALID)) -> str:
    """The ports that carry parts of streams forward, on tracks, to and from a core, or of a GLB tile to the array: in Tcl.

    Other ports of a GLB tile end at registers beside it, as those of configuration do: nothing is routed from them.
    """
    def wanted(port: Port) -> bool:
        track = port.name.split("_")[0] in _SIDES
        core = _BITS if port.name.startswith(_BITS[:-1]) else _WORDS
        group = "tracks" if track else _TO_ARRAY if port.name.startswith(_TO_ARRAY) else core
        return port.flow == flow and port.name.endswith(parts) and group in _GROUPS[which]

    names = [f"{port.name}*" for port in there if wanted(port)]
    assert names, f"no {flow} of {which}: the ports of tiles have changed"
    return f"[get_ports {{{' '.join(names)}}}]"


def lines(found: Mapping[str, Worst]) -> list[str]:
    """The delays as they stand in a description."""
    return [f"{field} = {round(worst.ps)}" for field, worst in found.items()]
