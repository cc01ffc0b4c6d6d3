"""The energy of a run: what simulation counted, times what a clock cycle, a change of a bit and an access take in a library.

Input:   `Activity` of a run, the Verilog that ran, the energies of a library (`energies.toml`, which `make silicon` measures).
Output:  `Power`: by kind of tile, used and idle, and by part of it; femtojoules.
Errors:  UserError for a library without energies, and for a machine with modules that nothing like was measured of.
Left out: see `left_out`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ...hw.arch.errors import UserError
from ...hw.clock_gate import ClockGate
from ...hw.connectivity import Site, tile_name
from ...hw.emitted import below, registers
from ...hw.enabled import ENABLED
from ...sim.rtl.activity import Activity
from . import sram

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ENERGIES = Path(__file__).with_name("energies.toml")
COMPLETE = "sky130hd"
"""The library of which all is known: inner energies of cells, leakage, and an SRAM."""
_LEFT_OUT = ("wires", "the clock tree and what clock gates take", "glitches", "corners",
            "pads and what is outside the machine", "configuration and transfers between launches")
_HEAD = """\
# Energies of modules by library, as `make silicon ARGS="energy --write"` measures them (flow/asic/energy.py): of a flop in a
# clock cycle and of a change of a bit in femtojoules, and leakage of the module in nanowatts.
"""
_SIZES = re.compile(r"(_[wd]?\d[\dx]*)+$")
_KINDS = ("pe", "mem", "io")
# Modules that are no parts: what is in them is.
_FRAME = re.compile(r"(tile|core)_|(pe|mem|io)_(odd|even)$|glb_tile$|shell$")


@dataclass(frozen=True)
class Rates:
    """What a module takes: a flop in a cycle, a change of a bit, time. See `energy.Energy`."""

    flop_fj: float
    change_fj: float
    leakage_nw: float


@dataclass(frozen=True)
class Spent:
    """Energy in femtojoules, by what takes it; `gated`: the clock of those words of registers that change, in that cycle."""

    clock: float = 0.0
    gated: float = 0.0
    switching: float = 0.0
    memory: float = 0.0
    leakage: float = 0.0

    @property
    def total(self) -> float:
        return self.clock + self.switching + self.memory + self.leakage

    @property
    def total_gated(self) -> float:
        """If each word of a register had a clock gate of its own, open when it changes."""
        return self.total - self.clock + self.gated

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.clock + other.clock, self.gated + other.gated, self.switching + other.switching,
                     self.memory + other.memory, self.leakage + other.leakage)


@dataclass(frozen=True)
class Share:
    """The instances of a kind: how many, and the energy of their parts."""

    instances: int = 0
    parts: Mapping[str, Spent] = field(default_factory=dict)

    @property
    def spent(self) -> Spent:
        return sum(self.parts.values(), Spent())


@dataclass(frozen=True)
class Power:
    """The energy of a run.

    Parameters
    ----------
    library : str              Its family.
    cycles : int
    shares : {str: Share}      By kind: ``pe``, ``pe, idle`` and so on, ``glb``, ``control``.
    """

    library: str
    cycles: int
    shares: Mapping[str, Share]

    @property
    def spent(self) -> Spent:
        return sum((share.spent for share in self.shares.values()), Spent())


@cache
def energies(library: str) -> Mapping[str, Rates]:
    """The energies of a library by module, as measured on `onyx`."""
    table = tomllib.loads(ENERGIES.read_text())
    if library not in table:
        raise UserError(f"there are no energies of a library '{library}'", "power",
                        f"choose {' or '.join(table)}, or measure it: make silicon LIBERTY=folder ARGS=energy")
    return {name: Rates(*numbers) for name, numbers in table[library].items()}


def left_out(library: str) -> tuple[str, ...]:
    """What estimates in a library leave out. One that was measured without power tables has no leakage."""
    loads = () if any(each.leakage_nw for each in energies(library).values()) else (
        "what cells take inside, most of what flops take of the clock", "leakage")
    return *_LEFT_OUT, *loads, *(() if library in sram.ACCESS_FJ_PER_BIT else ("SRAMs",))


def write(library: str, found: Mapping[str, Rates]) -> None:
    """Put what was measured into the table, beside what is there of other libraries and modules."""
    table = {**tomllib.loads(ENERGIES.read_text())}
    table[library] = dict(sorted({**table.get(library, {}), **{
        name: [each.flop_fj, each.change_fj, each.leakage_nw] for name, each in found.items()}}.items()))
    lines = [_HEAD]
    for name, modules in table.items():
        lines += [f"[{name}]", *(f"{module} = [{', '.join(f'{number:.4g}' for number in numbers)}]"
                                 for module, numbers in modules.items()), ""]
    ENERGIES.write_text("\n".join(lines).rstrip("\n") + "\n")
    energies.cache_clear()


def rates(library: str, module: str) -> Rates:
    """What a module takes: measured, or the mean of those that differ from it in sizes alone, as `controller_2x12_12_5`."""
    found, module = energies(library), module.removesuffix(ENABLED)
    if module in found:
        return found[module]
    stem = _stem(module)
    like = [each for name, each in found.items() if stem != module and _stem(name) == stem and name != stem]
    if not like:
        raise UserError(f"the energy of module '{module}' was not measured", "power",
                        "measure this machine: make silicon LIBERTY=folder ARGS='energy --preset FILE --write'")
    return Rates(*(sum(getattr(each, name) for each in like) / len(like) for name in ("flop_fj", "change_fj", "leakage_nw")))


def _stem(module: str) -> str:
    return _SIZES.sub("", module.removesuffix(ENABLED))


def estimate(activity: Activity, modules: Mapping[str, str], used: Iterable[Site], library: str, period_ns: float) -> Power:
    """The energy of what was counted.

    modules: Verilog by name. used: the tiles that the program configures. period_ns: for leakage.
    """
    configured = {tile_name(site) for site in used}
    shares: dict[str, dict[str, Spent]] = {}
    instances: dict[str, int] = {}
    structure = {kind: list(_structure(kind, modules)) for kind in dict.fromkeys(activity.kinds.values())}
    for name, kind in activity.kinds.items():
        group = _group(name, kind, configured)
        instances[group] = instances.get(group, 0) + 1
        parts = shares.setdefault(group, {})
        for part, module, number in structure[kind]:
            parts[part] = parts.get(part, Spent()) + _steady(module, modules, library, period_ns, activity.cycles, number)
        owners = {module: part for part, module, _ in structure[kind]}
        for module, count in activity.counts[name].items():
            if module == ClockGate.module_name:
                continue
            if sram.is_sram(module):
                spent = Spent(memory=sram.access_fj(module, library, count.reads, count.writes))
            else:
                each = rates(library, module)
                spent = Spent(gated=count.clocked * each.flop_fj, switching=count.changes * each.change_fj)
            parts[owners[module]] += spent
    return Power(library, activity.cycles, {group: Share(instances[group], parts) for group, parts in sorted(
        shares.items(), key=lambda each: -sum(spent.total for spent in each[1].values()))})


def _steady(module: str, modules: Mapping[str, str], library: str, period_ns: float, cycles: int, count: int) -> Spent:
    """What instances of a module take in these cycles if nothing in them changes."""
    if sram.is_sram(module) or module == ClockGate.module_name:
        return Spent()
    each, flops = rates(library, module), sum(register.bits for register in registers(modules[module]).values())
    return Spent(clock=count * cycles * each.flop_fj * flops,
                 leakage=count * cycles * each.leakage_nw * period_ns * 1e-3)


def _group(name: str, kind: str, configured: set[str]) -> str:
    for each in _KINDS:
        if kind.startswith(f"tile_{each}_"):
            return each if name in configured else f"{each}, idle"
    return "glb" if kind.startswith("glb_") else "control"


def _structure(kind: str, modules: Mapping[str, str]) -> Iterator[tuple[str, str, int]]:
    """The modules in a kind with the part that they belong to, and how many there are."""
    counts: dict[tuple[str, str], int] = {}
    for _, path in below(kind, modules):
        owner = next((module for module in path if not _FRAME.match(module)), path[-1])
        key = _part(owner), path[-1]
        counts[key] = counts.get(key, 0) + 1
    return ((part, module, count) for (part, module), count in counts.items())


def _part(module: str) -> str:
    """What a part is called: without kind and parity of the tile, and without sizes."""
    words = [word for word in _stem(module).split("_") if word not in (*_KINDS, "odd", "even")]
    return " ".join(words) or "tile"
