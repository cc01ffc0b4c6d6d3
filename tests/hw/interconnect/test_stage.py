import functools
from typing import Any

import pytest
from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator, SimulatorContext
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.emit import macro
from sardonyx.hw.interconnect.stage import DELAY, ELASTIC, EVEN, MODE_BITS, ODD, STATIC, stage
from sardonyx.hw.stream.fifo import Fifo2
from sardonyx.sim.rtl.bench import Bench

WIDTH = 17


class Chain(wiring.Component):
    """Stages of alternating parity, the first of `first`, as a route through a row of tiles."""

    module_name = "chain"

    def __init__(self, fifo: str, first: int, length: int) -> None:
        self.interconnect, self.first, self.length = Interconnect(fifo=fifo), first, length
        word = stream.Signature(WIDTH)
        super().__init__({"i": In(word), "o": Out(word), "mode": In(MODE_BITS * length)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        source = wiring.flipped(self.i)
        for n in range(self.length):
            m.submodules[f"stage{n}"] = each = macro(stage(self.interconnect, (self.first + n) & 1, WIDTH))
            wiring.connect(m, source, each.i)
            m.d.comb += each.mode.eq(self.mode.word_select(n, MODE_BITS))
            source = each.o
        wiring.connect(m, source, wiring.flipped(self.o))
        return m


CHAINS = [(fifo, first, length) for fifo in ("split", "full", "inputs")
          for first, length in ((EVEN, 1), (ODD, 1), (EVEN, 4), (ODD, 5))]


@functools.cache
def bench(fifo: str, first: int, length: int) -> Bench:
    return Bench(Chain(fifo, first, length))


def registers(fifo: str, first: int, length: int) -> int:
    """Those of a chain by which words pass where they may."""
    return {"full": length, "inputs": 0, "split": sum((first + n) & 1 for n in range(length))}[fifo]


def modes(*each: int) -> dict[str, int]:
    return {"mode": sum(mode << MODE_BITS * n for n, mode in enumerate(each))}


@pytest.mark.parametrize("fifo,first,length", CHAINS)
@given(words=st.lists(st.integers(0, (1 << WIDTH) - 1), max_size=40), seed=st.integers(1, 1 << 32))
def test_no_word_is_lost_doubled_or_overtaken(fifo: str, first: int, length: int, words: list[int],
                                              seed: int) -> None:
    result = bench(fifo, first, length).run({"i": words}, modes(*[ELASTIC] * length), seed)
    assert result.outputs["o"] == words
    assert not result.left


@pytest.mark.parametrize("fifo,first,length", CHAINS)
def test_one_word_moves_per_cycle(fifo: str, first: int, length: int) -> None:
    words = list(range(100))
    result = bench(fifo, first, length).run({"i": words}, modes(*[ELASTIC] * length))
    latency = registers(fifo, first, length)
    assert result.stamps["i"] == words
    assert result.stamps["o"] == [cycle + latency for cycle in words]


@pytest.mark.parametrize("fifo,first,length", CHAINS)
@pytest.mark.parametrize("mode", [STATIC, DELAY])
def test_static_stages_are_registers_of_fixed_latency(fifo: str, first: int, length: int, mode: int) -> None:
    words = list(range(100))
    latency = length if mode == DELAY and fifo == "split" else registers(fifo, first, length)
    result = bench(fifo, first, length).run({"i": words}, modes(*[mode] * length))
    assert result.outputs["o"] == words
    assert result.stamps["o"] == [cycle + latency for cycle in words]


@pytest.mark.parametrize("fifo,first,length,capacity", [
    ("split", EVEN, 1, 1), ("split", ODD, 1, 1), ("split", EVEN, 2, 2), ("split", ODD, 2, 2),
    ("split", ODD, 5, 5), ("full", EVEN, 2, 4)])
def test_a_blocked_chain_holds_one_word_a_stage(fifo: str, first: int, length: int, capacity: int) -> None:
    chain = Chain(fifo, first, length)
    taken = []

    async def drive(sim: SimulatorContext) -> None:
        for word in range(20):
            sim.set(chain.i.payload, word)
            sim.set(chain.i.valid, 1)
            _, _, ready = await sim.tick().sample(chain.i.ready)
            if ready:
                taken.append(word)
            sim.set(chain.i.valid, 0)

    simulator = Simulator(chain)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()
    assert len(taken) == capacity


@pytest.mark.parametrize("register", [lambda: stage(Interconnect(), EVEN, 1), lambda: stage(Interconnect(), ODD, 1),
                                      lambda: stage(Interconnect(fifo="full"), EVEN, 1), lambda: Fifo2(1)],
                         ids=["even", "odd", "full", "core input"])
def test_a_bit_on_its_way_is_0_after_a_flush(register: Any) -> None:
    dut, flush = register(), Signal()

    async def drive(sim: SimulatorContext) -> None:
        for name, value in (("mode", DELAY), ("is_static", 1)):
            if hasattr(dut, name):
                sim.set(getattr(dut, name), value)
        sim.set(dut.i.payload, 1)
        await sim.tick()
        assert sim.get(dut.o.payload) == 1, "whatever valid says"
        sim.set(flush, 1)
        await sim.tick()
        sim.set(flush, 0)
        assert sim.get(dut.o.payload) == 0

    simulator = Simulator(ResetInserter(flush)(dut))
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()
