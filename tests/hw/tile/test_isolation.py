"""What a tile is not set to does not switch: changes of every signal inside the idle primitives are counted.

Without operand isolation it does, and nothing else changes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from amaranth.hdl import Value
from amaranth.sim import Simulator, SimulatorContext

from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.primitive import Flow
from sardonyx.hw.tile.core import TileCore

ARCH = presets.get("tiny")
NAMES = [primitive.name for primitive in ARCH.pe.primitives]
PERIOD, SETTLED, CYCLES = 1e-6, 3, 60


def given(mode: str, path: Path, arch: Arch = ARCH) -> list[tuple[int, ...]]:
    """What leaves a PE set to a mode in each cycle, while random tokens arrive; changes of its signals go to a file."""
    core, draw = TileCore(arch, arch.pe), np.random.default_rng(7)
    found = []

    async def drive(sim: SimulatorContext) -> None:
        sim.set(core.cfg.core.mode, ARCH.pe.mode(mode))
        for port in ("a", "b"):
            sim.set(core.cfg.alu[f"stream_{port}"], 1)
        for _ in range(CYCLES):
            for port in ARCH.pe.ports:
                words = getattr(core, port.name)
                if port.flow is Flow.IN:
                    payload = Value.cast(words.payload)
                    # Any tokens, whether they belong together or not; the multiplier would see all of them.
                    sim.set(payload, int(draw.integers(0, 1 << min(16, len(payload)))))
                    sim.set(words.valid, int(draw.integers(0, 2)))
                else:
                    sim.set(words.ready, int(draw.integers(0, 2)))
            outputs = [getattr(core, port.name).payload if port.flow is Flow.OUT else getattr(core, port.name).ready
                       for port in ARCH.pe.ports]
            valid = [getattr(core, port.name).valid for port in ARCH.pe.ports if port.flow is Flow.OUT]
            shown = [*outputs, *valid, core.active, core.waiting, core.overflow, core.fault]
            found.append(tuple(int(sim.get(Value.cast(each))) for each in shown))
            await sim.tick()

    simulator = Simulator(core)
    simulator.add_clock(PERIOD)
    simulator.add_testbench(drive)
    with simulator.write_vcd(str(path)):
        simulator.run()
    return found


def switched(path: Path) -> Counter[str]:
    """Changes of signals, clock and reset aside, inside each primitive."""
    # The reader of pyvcd refuses signals without a name, of which there are some.
    owners: dict[str, set[str]] = {}
    scopes: list[str] = []
    found: Counter[str] = Counter()
    cycle = 0.0
    for line in path.read_text().splitlines():
        match line.split():
            case ["$scope", _, name, "$end"]:
                scopes.append(name)
            case ["$upscope", "$end"]:
                scopes.pop()
            case ["$var", _, _, code, *name] if name[:1] not in (["clk"], ["rst"]):
                owners.setdefault(code, set()).update(set(NAMES) & set(scopes))
            case [change] if change.startswith("#"):
                cycle = int(change[1:]) * 1e-15 / PERIOD    # femtoseconds
            case [change] if change[0] in "01" and cycle > SETTLED:
                found.update(owners.get(change[1:], ()))
            case [change, code] if change[0] == "b" and cycle > SETTLED:
                found.update(owners.get(code, ()))
    return found


@pytest.mark.parametrize("mode", NAMES)
def test_nothing_switches_in_a_primitive_that_is_not_chosen(mode: str, tmp_path: Path) -> None:
    given(mode, tmp_path / "core.vcd")
    found = switched(tmp_path / "core.vcd")
    assert set(found) == {mode}
    assert found[mode] > 2 * CYCLES


@pytest.mark.parametrize("mode", NAMES)
def test_without_isolation_the_same_leaves_and_others_switch(mode: str, tmp_path: Path) -> None:
    exposed = given(mode, tmp_path / "exposed.vcd", replace(ARCH, operand_isolation=False))
    assert exposed == given(mode, tmp_path / "isolated.vcd")
    assert set(switched(tmp_path / "exposed.vcd")) == set(NAMES)
