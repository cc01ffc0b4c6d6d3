"""A FIFO in an SRAM is one of registers, cycle by cycle."""

import functools
import random
from collections.abc import Callable

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.hw.memory.sram_fifo import FRONT, SramFifo
from sardonyx.hw.stream.fifo import Fifo
from sardonyx.sim.rtl.bench import Bench

DEPTHS = (2 * FRONT, 13, 40)
# How likely a word comes, and is taken, in each part of a run.
Parts = list[tuple[float, float]]
RATES = st.lists(st.tuples(*[st.sampled_from((0.0, 0.2, 0.5, 0.8, 1.0))] * 2), min_size=1, max_size=6)


def compare(depth: int, parts: Parts, seed: int) -> None:
    """Both with the same words, taken in the same cycles."""
    m = Module()
    m.submodules.registers = registers = Fifo(8, depth)
    m.submodules.memory = memory = SramFifo(8, depth)
    source = random.Random(seed)

    async def stimulus(ctx):  # type: ignore[no-untyped-def]
        for comes, taken in parts:
            for _ in range(depth + 20):
                valid, ready, word = source.random() < comes, source.random() < taken, source.randrange(256)
                for each in (registers, memory):
                    ctx.set(each.i.valid, valid)
                    ctx.set(each.i.payload, word)
                    ctx.set(each.o.ready, ready)
                assert ctx.get(registers.i.ready) == ctx.get(memory.i.ready)
                assert ctx.get(registers.o.valid) == ctx.get(memory.o.valid)
                assert not ctx.get(registers.o.valid) or ctx.get(registers.o.payload) == ctx.get(memory.o.payload)
                await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-9)
    simulator.add_testbench(stimulus)
    simulator.run()


@pytest.mark.parametrize("depth", DEPTHS)
@settings(max_examples=25)
@given(parts=RATES, seed=st.integers(0, 1 << 30))
def test_it_takes_and_gives_what_registers_do_in_the_same_cycles(depth: int, parts: Parts, seed: int) -> None:
    compare(depth, parts, seed)


def test_it_fills_up_runs_full_and_becomes_empty() -> None:
    for depth in DEPTHS:
        compare(depth, [(1.0, 0.0), (1.0, 1.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.5), (0.5, 1.0)], depth)


@functools.cache
def bench() -> Bench:
    return Bench(SramFifo(9, 65))


@pytest.mark.slow
@given(count=st.integers(0, 300), stalls=st.none() | st.integers(1, 1 << 30))
def test_its_verilog_gives_words_once_and_in_order_whatever_stalls(count: int, stalls: "int | None") -> None:
    words = [(7 * n + n // 13) % 512 for n in range(count)]
    assert bench().run({"i": words}, stalls=stalls).outputs["o"] == words


@pytest.mark.parametrize("made", [lambda: SramFifo(8, 2 * FRONT - 1)])
def test_few_entries_are_refused(made: "Callable[[], SramFifo]") -> None:
    with pytest.raises(ValueError, match="has 8 entries or more, not 7"):
        made()
