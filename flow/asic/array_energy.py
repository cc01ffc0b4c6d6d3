"""The energy of a component in a run: what its cells do while Amaranth simulates it, times what that takes them.

Each module is mapped alone, as of `energy`. What drives its cells is known for every cycle: its inputs, its registers and the
outputs of the modules in it are signals of the simulation. So all that its cells give follows, and each change of an output
takes what OpenSTA says; each flop takes its clock in each cycle, and time takes leakage. Nothing is gated, and cells change at
most once in a cycle: glitches are not in it.

Input:   a component, another one of the kind for its Verilog, testbenches, how many cycles, a library.
Output:  femtojoules.
Errors:  AssertionError for a register that is no signal of the simulation.
Cost:    an array of 4 x 4 PEs, 17 modules: three minutes, nearly all of it mapping, which the cache keeps, and OpenSTA.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from amaranth.lib.wiring import Component
from amaranth.sim import Simulator
from numpy.typing import NDArray

from ...hw.emitted import below
from .cells import Cell, cells, volts
from .energy import CellEnergy, alone, cell_energies
from .library import Library
from .synthesis import PERIOD_PS, Design, mapped
from .toggles import Netlist, evaluate, netlist

Scope = tuple[str, ...]
Waves = Mapping[Scope, Mapping[str, NDArray[np.uint64]]]
_FLOP = re.compile(r"(.+?)(?:\[(\d+)\])?\$_")
# Inputs that are no signal of the simulation are 0, but for this one.
_ONE = "clock_on"


@dataclass(frozen=True)
class _Mapped:
    """A module in cells: as Yosys writes it, its netlist, what its cells take."""

    module: Mapping[str, Any]
    netlist: Netlist
    energies: Mapping[str, CellEnergy]


def spent(component: Component, design: Design, benches: Iterable[Callable[[Any], Any]], cycles: int, library: Library,
          say: Callable[[str], None] = lambda line: None) -> float:
    """The energy of so many cycles from reset; words of up to 64 bits."""
    kinds, known, shares = cells(library), dict[str, _Mapped](), dict[str, float]()
    waves = simulated(component, benches, cycles)
    for path, modules in below(design.top, design.modules):
        name = modules[-1]
        if name not in known:
            known[name] = _mapped(alone(design.modules, name), library, kinds)
        found = known[name]
        values = {bit: np.packbits(bits) for bit, bits in _drivers(found, waves, path[1:], kinds, cycles).items()}
        evaluate(found.netlist, kinds, values)
        shares[name] = shares.get(name, 0.0) + _energy(found, kinds, values, cycles, volts(library))
    for name, share in shares.items():
        say(f"{name}: {share:,.0f} fJ")
    return sum(shares.values())


def _mapped(design: Design, library: Library, kinds: Mapping[str, Cell]) -> _Mapped:
    verilog, mapping = mapped(design, library)
    module = json.loads(mapping)["modules"][design.top]
    return _Mapped(module, netlist(module, kinds), cell_energies(design, verilog, library))


def _drivers(found: _Mapped, waves: Waves, scope: Scope, kinds: Mapping[str, Cell], cycles: int
             ) -> dict[int, NDArray[np.uint8]]:
    """What every net that no combinational cell drives is in each cycle, by its number."""
    signal = partial(_wave, waves, scope, cycles=cycles)
    drivers: dict[int, NDArray[np.uint8]] = {}
    for name, port in found.module["ports"].items():
        if port["direction"] == "input" and name != "clk":
            drivers |= {net: _bit(signal(name, constant=int(name == _ONE)), at) for at, net in enumerate(port["bits"])}
    for name, cell in found.module["cells"].items():
        if cell["type"] not in kinds:
            inner = partial(_wave, waves, (*scope, name), cycles=cycles)
            for pin, bits in cell["connections"].items():
                if cell["port_directions"][pin] == "output":
                    drivers |= {net: _bit(inner(pin, constant=0), at) for at, net in enumerate(bits)}
    for name, instance in found.netlist.cells.items():
        kind = kinds[instance.kind]
        if kind.sequential and (match := _FLOP.match(name)):
            register = _bit(signal(match[1]), int(match[2] or 0))
            # A flop may give the opposite of its register, which an inverter behind it makes up for.
            drivers |= {instance.pins[pin]: register ^ pin.endswith("N") for pin in kind.outputs if pin in instance.pins}
    return drivers


def _wave(waves: Waves, scope: Scope, name: str, *, cycles: int, constant: int | None = None) -> NDArray[np.uint64]:
    """A signal in each cycle. A register that drives an instance alone is called after the port there."""
    part, _, port = name.partition("__")
    for where, signal in ((scope, name), ((*scope, part), port)):
        if signal in waves.get(where, {}):
            return waves[where][signal]
    assert constant is not None, f"{name} of {'.'.join(scope) or 'the top'} is no signal of the simulation"
    return np.full(cycles, constant, np.uint64)


def _bit(wave: NDArray[np.uint64], at: int) -> NDArray[np.uint8]:
    return (wave >> np.uint64(at) & np.uint64(1)).astype(np.uint8)


def _energy(found: _Mapped, kinds: Mapping[str, Cell], values: Mapping[int, NDArray[np.uint8]], cycles: int, supply: float
            ) -> float:
    """What the cells of an instance take; values: every net in each cycle, packed."""
    total = 0.0
    for name, instance in found.netlist.cells.items():
        kind = kinds[instance.kind]
        # Of cells at the end of long chains OpenSTA has no power, see `energy.script`.
        each = found.energies.get(name, CellEnergy(0.0, 0.0, 0.0))
        changed = sum(int((np.diff(np.unpackbits(values[instance.pins[pin]], count=cycles)) != 0).sum())
                      for pin in kind.outputs if pin in instance.pins)
        clock = each.cycle_fj + kind.clock_ff * supply**2 if kind.sequential else 0.0
        total += changed * each.change_fj + cycles * (clock + each.leakage_nw * PERIOD_PS * 1e-6)
    return total


def simulated(component: Component, benches: Iterable[Callable[[Any], Any]], cycles: int) -> Waves:
    """Every signal at the end of each cycle, by its scope below the component."""
    simulator = Simulator(component)
    simulator.add_clock(1e-9)
    for bench in benches:
        simulator.add_testbench(bench, background=True)

    async def runs(context: Any) -> None:
        await context.tick().repeat(cycles)

    simulator.add_testbench(runs)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "run.vcd"
        with simulator.write_vcd(str(place)):
            simulator.run()
        return waves(place.read_text())


def waves(text: str) -> Waves:
    """The signals of a VCD below its top: what they are before each rising edge of the clock."""
    head, _, body = text.partition("$enddefinitions $end")
    scope: list[str] = []
    places: dict[str, list[tuple[Scope, str]]] = {}
    for words in map(str.split, head.splitlines()):
        if words[:1] == ["$scope"]:
            scope.append(words[2])
        elif words[:1] == ["$upscope"]:
            scope.pop()
        elif words[:1] == ["$var"]:
            places.setdefault(words[3], []).append((tuple(scope[2:]), words[4]))
    clocks = {each for each, found in places.items() if ((), "clk") in found}
    now: dict[str, int] = dict.fromkeys(places, 0)
    series: dict[str, list[int]] = {name: [] for name in places}
    later: dict[str, int] = {}
    for line in (*body.splitlines(), "#"):
        if line.startswith("#"):
            if any(later.get(clock) and not now[clock] for clock in clocks):
                for name, value in now.items():
                    series[name].append(value)
            now |= later
            later = {}
        elif line.startswith("b"):
            bits, _, name = line[1:].partition(" ")
            later[name] = int(bits, 2)
        elif line[:1] in ("0", "1"):
            later[line[1:]] = int(line[0])
    found: dict[Scope, dict[str, NDArray[np.uint64]]] = {}
    for name, values in series.items():
        for where, signal in places[name]:
            if max(values, default=0) < 1 << 64:
                found.setdefault(where, {})[signal] = np.array(values, np.uint64)
    return found
