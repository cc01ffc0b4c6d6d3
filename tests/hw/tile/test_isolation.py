"""What a tile is not set to does not switch: changes of every signal inside the idle primitives are counted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from amaranth.hdl import Value
from amaranth.sim import Simulator, SimulatorContext

from sardonyx.hw.arch import presets
from sardonyx.hw.arch.primitive import Flow
from sardonyx.hw.tile.core import TileCore

ARCH = presets.get("tiny")
NAMES = [primitive.name for primitive in ARCH.pe.primitives]
PERIOD, SETTLED, CYCLES = 1e-6, 3, 60


def switched(mode: str, path: Path) -> Counter[str]:
    """Changes of signals, clock and reset aside, inside each primitive of a PE set to a mode, while random tokens arrive."""
    core, draw = TileCore(ARCH, ARCH.pe), np.random.default_rng(7)

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
            await sim.tick()

    simulator = Simulator(core)
    simulator.add_clock(PERIOD)
    simulator.add_testbench(drive)
    with simulator.write_vcd(str(path)):
        simulator.run()

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
    found = switched(mode, tmp_path / "core.vcd")
    assert set(found) == {mode}
    assert found[mode] > 2 * CYCLES
