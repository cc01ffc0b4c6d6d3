"""GLB tiles with clock gates of every kind and form beside one without: under any traffic they do the same in every cycle."""

import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle, product
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator, SimulatorContext

from sardonyx.hw.arch.glb import CLOCK_GATES, DYNAMIC, ENABLE, HYBRID, STATIC, Glb
from sardonyx.hw.arch.soc import glb_registers
from sardonyx.hw.emit import macro
from sardonyx.hw.glb import banks, tile
from sardonyx.hw.glb.tile import GlbTile
from sardonyx.sim.rtl.bench import Bench, Case

PLAIN = Glb(columns_per_tile=2, banks=2, bank_bytes=256, load_loops=3, store_loops=2, queue=True)
GLBS = (PLAIN, replace(PLAIN, read_latency=2, bank_macros=2), replace(PLAIN, read_latency=3, bank_macros=2))
GATED = tuple(product((STATIC, DYNAMIC, HYBRID), CLOCK_GATES))
LINE_BITS = (PLAIN.tile_bytes // 8 - 1).bit_length()
REGISTERS = glb_registers(PLAIN)
CONTROL = data.StructLayout({"reset": 1, "start": 1, "stop": 1, "write": 1, "index": 6, "data": 32})
WRITE = data.StructLayout({"line": LINE_BITS, "strobe": 8, "data": 16})
# What the array and the host do in a cycle, each with probabilities of its own.
INPUTS = {"control": CONTROL, "write": WRITE, "read_line": LINE_BITS, "takes": 2, "word0": 16, "word1": 16, "bits": 4}


class Named(GlbTile):
    """A tile with a module of its own, for machines have tiles of one kind only."""

    @property
    def module_name(self) -> str:
        return f"glb_tile_{self.glb.clock_gating}_{self.glb.clock_gates}"


class Alike(wiring.Component):
    """Tiles under one traffic: `differs` has a bit for each kind that once did not do what the plain one did."""

    module_name = "alike"

    def __init__(self, glb: Glb, kinds: "Sequence[tuple[str, str]]" = GATED) -> None:
        self.glb, self.kinds = glb, tuple(kinds)
        super().__init__({**{name: In(stream.Signature(shape)) for name, shape in INPUTS.items()}, "differs": Out(len(kinds)),
                          "loaded": Out(32), "stored": Out(32), "read": Out(32)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        control, write = self.control.payload, self.write.payload
        reset = Signal()
        m.d.comb += reset.eq(self.control.valid & control.reset)
        kinds = [self.glb, *(replace(self.glb, clock_gating=gating, clock_gates=form) for gating, form in self.kinds)]
        tiles = []
        for number, kind in enumerate(kinds):
            m.submodules[f"tile{number}"] = each = macro(Named(kind), flush=reset)
            tiles.append(each)
            m.d.comb += [each.register_write.eq(self.control.valid & control.write), each.register_index.eq(control.index),
                         each.register_data.eq(control.data), each.start.eq(self.control.valid & control.start),
                         each.stop.eq(self.control.valid & control.stop),
                         each.host_write_valid.eq(self.write.valid), each.host_write_line.eq(write.line),
                         each.host_write_strobe.eq(write.strobe),
                         each.host_write_data.eq(write.data.replicate(4) ^ 0x0F0F_1234_5678_0000),
                         each.host_read_valid.eq(self.read_line.valid), each.host_read_line.eq(self.read_line.payload)]
            for column in range(2):
                word = getattr(self, f"word{column}")
                takes, from_array, mark = (getattr(each, f"{name}{column}") for name in ("g2f", "f2g", "f2g_bit"))
                m.d.comb += [takes.ready.eq(self.takes.valid & self.takes.payload[column]),
                             from_array.valid.eq(word.valid), from_array.payload.eq(word.payload),
                             mark.valid.eq(self.bits.valid & self.bits.payload[column]),
                             mark.payload.eq(self.bits.payload[2 + column])]
        plain, *gated = tiles
        m.d.comb += [self.control.ready.eq(1), self.takes.ready.eq(1), self.bits.ready.eq(1),
                     self.write.ready.eq(plain.host_write_ready), self.read_line.ready.eq(plain.host_read_ready),
                     self.word0.ready.eq(plain.f2g0.ready), self.word1.ready.eq(plain.f2g1.ready)]
        for number, each in enumerate(gated):
            with m.If(does(each) != does(plain)):
                m.d.sync += self.differs[number].eq(1)
        m.d.sync += [self.loaded.eq(self.loaded + Cat(each.valid & each.ready for each in (plain.g2f0, plain.g2f1)).any()),
                     self.stored.eq(self.stored + (plain.moved & ~Cat(plain.g2f0.ready, plain.g2f1.ready).any())),
                     self.read.eq(self.read + (self.read_line.valid & plain.host_read_ready & (plain.host_read_word != 0)))]
        return m


def does(each: Any) -> Value:
    """All outputs of a tile; payloads if they are offered."""
    names = [name for name, member in tile.control_members(PLAIN).items() if member.flow is Out]
    streams = (each.g2f0, each.g2f1)
    ready = (each.f2g0.ready, each.f2g1.ready, each.f2g_bit0.ready, each.f2g_bit1.ready)
    offers = [Cat(o.valid, Mux(o.valid, Value.cast(o.payload), 0)) for o in streams]
    return Cat(*(getattr(each, name) for name in names), *ready, *offers)


@functools.cache
def traffic(seed: int, cycles: int = 4000) -> "dict[str, list[int]]":
    """Runs that end, are stopped, started again, reset and configured anew at any time, beside accesses of the host."""
    draw = random.Random(seed)

    def value(name: str) -> int:
        match name.rpartition("_")[2]:
            case "control":
                return draw.getrandbits(4) | draw.randrange(2) << 8 | draw.randrange(3) << 16 | (draw.random() < 0.7)
            case "start":
                return 2 * draw.randrange(PLAIN.tile_bytes // 2)
            case "limit":
                return draw.choice((3, 40, 1 << 20))
            case "sections":
                return draw.randrange(4)
            case part if part.startswith("extent"):
                return draw.randrange(6)
        return draw.choice((2, 2, 8, draw.randrange(-64, 64, 2))) & 0xFFFF_FFFF

    def control() -> int:
        if draw.random() < 0.4:
            index = draw.randrange(len(REGISTERS))
            return packed(CONTROL, write=1, index=index, data=value(REGISTERS[index].name))
        kind = draw.choices(("start", "stop", "reset", ""), (20, 4, 1, 200))[0]
        return packed(CONTROL, **{kind: 1}) if kind else 0

    def write() -> int:
        return packed(WRITE, line=draw.getrandbits(LINE_BITS), strobe=draw.getrandbits(8), data=draw.getrandbits(16))

    return {"control": [control() for _ in range(cycles)], "write": [write() for _ in range(cycles // 8)],
            "read_line": [draw.getrandbits(LINE_BITS) for _ in range(cycles // 8)],
            "takes": draw.choices((0, 1, 2, 3, 3, 3), k=cycles), "bits": draw.choices(range(16), k=cycles),
            **{f"word{column}": draw.choices((0, 1, 2, 3, 700, 0xFFFF), k=cycles) for column in range(2)}}


def packed(layout: data.StructLayout, **fields: int) -> int:
    """Fields of a word; faster than `const`."""
    return sum(value << layout[name].offset for name, value in fields.items())


@pytest.mark.parametrize("glb", (GLBS[0], pytest.param(GLBS[1], marks=pytest.mark.slow), GLBS[2]),
                         ids=lambda glb: f"latency {glb.read_latency}")
def test_gated_tiles_do_in_every_cycle_what_others_do(glb: Glb) -> None:
    results = Bench(Alike(glb)).run_many([Case(traffic(seed), stalls=seed) for seed in range(1, 5)])
    assert min(result.status[name] for result in results for name in ("loaded", "stored", "read")) > 50, "there is traffic"
    assert {kind for result in results for bit, kind in enumerate(GATED) if result.status["differs"] >> bit & 1} == set()


def simulated(kinds: "Sequence[tuple[str, str]]", cycles: int = 800) -> "set[tuple[str, str]]":
    """Those of the kinds that differ, with the longest latency, in Amaranth's simulator."""
    dut, waiting = Alike(GLBS[-1], kinds), {name: cycle(each) for name, each in traffic(1).items()}
    draw, found = random.Random(1), set[tuple[str, str]]()

    async def drive(sim: SimulatorContext) -> None:
        offered = dict.fromkeys(waiting, False)
        for _ in range(cycles):
            for name, each in waiting.items():
                words = getattr(dut, name)
                if not offered[name] and draw.random() < 0.7:
                    offered[name] = True
                    sim.set(Value.cast(words.payload), next(each))
                    sim.set(words.valid, 1)
            taken = [name for name in waiting if offered[name] and sim.get(getattr(dut, name).ready)]
            await sim.tick()
            for name in taken:
                offered[name] = False
                sim.set(getattr(dut, name).valid, 0)
        assert min(sim.get(each) for each in (dut.loaded, dut.stored, dut.read)) > 5, "there is traffic"
        found.update(kind for bit, kind in enumerate(kinds) if sim.get(dut.differs) >> bit & 1)

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()
    return found


def test_gated_tiles_do_what_others_do_in_the_simulator_of_amaranth() -> None:
    assert simulated([(HYBRID, form) for form in CLOCK_GATES]) == set()


@pytest.mark.parametrize("module,name,wrong", [
    (banks, "lasting", lambda m, name, active, margin: active),
    (tile, "needed", lambda enabled, dma: enabled),
], ids=["lasting", "needed"])
def test_a_gate_that_closes_too_early_is_found(module: Any, name: str, wrong: "Callable[..., Any]",
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, name, wrong)
    assert simulated([(HYBRID, ENABLE)]) == {(HYBRID, ENABLE)}
