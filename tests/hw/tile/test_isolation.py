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
from sardonyx.hw.arch.tile import TileSpec
from sardonyx.hw.arch.token import DATA_BITS, DONE
from sardonyx.hw.tile.core import TileCore

TINY = presets.get("tiny")
# The trees of its multipliers take most of the time: that of a PE is seen to rest, a MEM has none here.
ARCH = replace(TINY, mem=replace(TINY.mem, multiplier_tree=False))
CORES = {primitive.name: spec for spec in (ARCH.pe, ARCH.mem) for primitive in spec.primitives}
PERIOD, FILLED, SETTLED, CYCLES = 1e-6, 40, 3, 60
SETTINGS = {"alu": {"stream_a": 1, "stream_b": 1}, "buffer": {"rom": 1}, "level": {"input": 1, "output": 1, "values": 1}}


class Bench:
    """The core of a PE or MEM in a simulator, which begins anew with each mode: to make it takes most of the time."""

    def __init__(self, arch: Arch, spec: TileSpec) -> None:
        self.spec, self.core = spec, TileCore(arch, spec)
        self._simulator = Simulator(self.core)
        self._simulator.add_clock(PERIOD)
        self._simulator.add_testbench(self._drive)
        self._mode, self._found = "", list[tuple[int, ...]]()

    def given(self, mode: str, path: Path) -> list[tuple[int, ...]]:
        """What leaves it set to a mode in each cycle, while random tokens arrive; changes of its signals go to a file."""
        if self._mode:
            self._simulator.reset()
        self._mode, self._found = mode, []
        with self._simulator.write_vcd(str(path)):
            self._simulator.run()
        return self._found

    async def _drive(self, sim: SimulatorContext) -> None:
        mode, spec, core, draw = self._mode, self.spec, self.core, np.random.default_rng(7)
        for field, value in SETTINGS.get(mode, {}).items():
            sim.set(getattr(core.cfg[mode], field), value)
        if spec.has_memory:
            # Words that the primitive will read.
            sim.set(core.contents.enable, 1)
            sim.set(core.contents.write, -1)
        for line in range(FILLED):
            if spec.has_memory:
                sim.set(core.contents.address, line)
                sim.set(Value.cast(core.contents.data), int.from_bytes(draw.bytes(2 * spec.sram_lanes), "big"))
            await sim.tick()
        if spec.has_memory:
            sim.set(core.contents.enable, 0)
        sim.set(core.cfg.core.mode, spec.mode(mode))
        for _ in range(CYCLES):
            for port in spec.ports:
                words = getattr(core, port.name)
                if port.flow is Flow.IN:
                    payload = Value.cast(words.payload)
                    # Any tokens, whether they belong together or not; the multiplier would see all of them. A level ends now
                    # and then, and is looked up.
                    word = int(draw.integers(0, 1 << min(DATA_BITS, len(payload))))
                    sim.set(payload, word if not spec.has_memory else DONE if word % 8 == 0 else word % 16)
                    sim.set(words.valid, int(draw.integers(0, 2)))
                else:
                    sim.set(words.ready, int(draw.integers(0, 2)))
            outputs = [getattr(core, port.name).payload if port.flow is Flow.OUT else getattr(core, port.name).ready
                       for port in spec.ports]
            valid = [getattr(core, port.name).valid for port in spec.ports if port.flow is Flow.OUT]
            shown = [*outputs, *valid, core.active, core.waiting, core.overflow, core.fault]
            self._found.append(tuple(int(sim.get(Value.cast(each))) for each in shown))
            await sim.tick()


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
                owners.setdefault(code, set()).update(set(CORES) & set(scopes[2:3]))    # bench, top, a part of it
            case [change] if change.startswith("#"):
                cycle = int(change[1:]) * 1e-15 / PERIOD    # femtoseconds
            case [change] if change[0] in "01" and cycle > FILLED + SETTLED:
                found.update(owners.get(change[1:], ()))
            case [change, code] if change[0] == "b" and cycle > FILLED + SETTLED:
                found.update(owners.get(code, ()))
    return found


@pytest.mark.parametrize("kind", ["pe", "mem"])
def test_only_the_chosen_primitive_switches_and_without_isolation_others_do_for_equal_words(kind: str, tmp_path: Path) -> None:
    spec: TileSpec = getattr(ARCH, kind)
    isolated, exposed = Bench(ARCH, spec), Bench(replace(ARCH, operand_isolation=False), spec)
    modes = [primitive.name for primitive in spec.primitives]
    for mode in modes:
        words = isolated.given(mode, tmp_path / "isolated.vcd")
        found = switched(tmp_path / "isolated.vcd")
        assert set(found) == {mode}
        assert found[mode] > 2 * CYCLES
        assert exposed.given(mode, tmp_path / "exposed.vcd") == words
        assert set(switched(tmp_path / "exposed.vcd")) == set(modes)
