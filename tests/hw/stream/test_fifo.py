import functools
import random

import pytest
from amaranth.sim import Simulator
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.token import TOKEN
from sardonyx.hw.component import module_name
from sardonyx.hw.stream.fifo import Fifo, Fifo2, LateFifo
from sardonyx.sim.rtl.bench import Bench, Result

KINDS = {"two entries": lambda: Fifo2(TOKEN), "two entries of a bit": lambda: Fifo2(1),
         "sixteen": lambda: Fifo(TOKEN, 16), "two of a word": lambda: Fifo(64, 2),
         "seven": lambda: Fifo(5, 7)}
ONE = {"one": lambda: Fifo(TOKEN, 1)}


@functools.cache
def bench(kind: str) -> Bench:
    return Bench((KINDS | ONE)[kind]())


def run(kind: str, count: int, stalls: "int | None") -> "tuple[list[int], Result]":
    bits = {"two entries of a bit": 1, "seven": 5}.get(kind, 17)
    tokens = [(7 * n + n // 13) % (1 << bits) for n in range(count)]
    return tokens, bench(kind).run({"i": tokens}, stalls=stalls)


@pytest.mark.parametrize("kind", [*KINDS, "one"])
@given(count=st.integers(0, 300), stalls=st.integers(1, 1 << 30))
def test_tokens_leave_once_and_in_order_whatever_stalls(kind: str, count: int, stalls: int) -> None:
    tokens, result = run(kind, count, stalls)
    assert result.outputs["o"] == tokens
    assert not result.left


@pytest.mark.parametrize("kind", KINDS)
def test_one_token_leaves_every_cycle_one_cycle_after_it_came(kind: str) -> None:
    _, result = run(kind, 100, None)
    assert result.stamps["i"] == list(range(100))
    assert result.stamps["o"] == list(range(1, 101))


def test_with_one_entry_a_token_leaves_every_other_cycle() -> None:
    _, result = run("one", 10, None)
    assert result.stamps["o"] == list(range(1, 21, 2))


@pytest.mark.parametrize("fifo,entries", [(Fifo2(8), 2), (Fifo(8, 2), 2), (Fifo(8, 7), 7)])
def test_it_fills_up_and_keeps_full_rate_when_full(fifo: "Fifo | Fifo2", entries: int) -> None:
    taken = []

    async def stimulus(ctx):  # type: ignore[no-untyped-def]
        ctx.set(fifo.i.valid, 1)
        for _ in range(entries + 3):
            taken.append(ctx.get(fifo.i.ready))
            await ctx.tick()
        assert taken == [1] * entries + [0] * 3
        ctx.set(fifo.o.ready, 1)
        taken.clear()
        for _ in range(8):
            taken.append(ctx.get(fifo.i.ready))
            assert ctx.get(fifo.o.valid)
            await ctx.tick()
        assert taken == [0] + [1] * 7

    simulate(fifo, stimulus)


@pytest.mark.parametrize("fifo", [Fifo2(8), Fifo(8, 2)])
def test_ready_and_valid_come_from_registers(fifo: "Fifo | Fifo2") -> None:
    async def stimulus(ctx):  # type: ignore[no-untyped-def]
        for fill in (1, 0, 1, 1, 0):
            before = ctx.get(fifo.i.ready), ctx.get(fifo.o.valid), ctx.get(fifo.o.payload)
            for valid, ready in ((0, 1), (1, 1), (0, 0), (fill, 0)):
                ctx.set(fifo.i.valid, valid)
                ctx.set(fifo.i.payload, 3 + valid + 2 * ready)
                ctx.set(fifo.o.ready, ready)
                await ctx.delay(1e-8)
                assert (ctx.get(fifo.i.ready), ctx.get(fifo.o.valid), ctx.get(fifo.o.payload)) == before
            await ctx.tick()

    simulate(fifo, stimulus)


@given(words=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 255), st.integers(0, 1)), max_size=20))
def test_static_mode_is_one_cycle_of_delay(words: "list[tuple[int, int, int]]") -> None:
    fifo = Fifo2(8)

    async def stimulus(ctx):  # type: ignore[no-untyped-def]
        ctx.set(fifo.is_static, 1)
        for valid, payload, ready in words:
            ctx.set(fifo.i.valid, valid)
            ctx.set(fifo.i.payload, payload)
            ctx.set(fifo.o.ready, ready)
            assert ctx.get(fifo.i.ready)
            await ctx.tick()
            assert (ctx.get(fifo.o.valid), ctx.get(fifo.o.payload)) == (valid, payload)

    simulate(fifo, stimulus)


@given(seed=st.integers(0, 1 << 30), depth=st.sampled_from([2, 4, 8]))
def test_a_late_fifo_holds_the_words_that_count(seed: int, depth: int) -> None:
    """Against a list, with words offered while there is room for them."""
    fifo, draw = LateFifo(8, depth), random.Random(seed)
    held: list[int] = []

    async def stimulus(ctx):  # type: ignore[no-untyped-def]
        drops = 0
        for _ in range(80):
            ctx.set(fifo.drops, drops)
            held[len(held) - drops:] = []
            assert ctx.get(fifo.o.valid) == bool(held)
            assert not held or ctx.get(fifo.o.payload) == held[0]
            word, offers, takes = (draw.randrange(n) for n in (256, 2, 2))
            offers &= len(held) < depth
            drops = offers & draw.randrange(2)
            ctx.set(fifo.i.payload, word)
            ctx.set(fifo.i.valid, offers)
            ctx.set(fifo.o.ready, takes)
            await ctx.tick()
            held[:takes] = []
            held.extend([word] * offers)

    simulate(fifo, stimulus)


def test_modules_are_named_after_width_and_depth() -> None:
    fifos = Fifo2(TOKEN), Fifo2(1), Fifo(TOKEN, 16), LateFifo(TOKEN, 4)
    assert [module_name(fifo) for fifo in fifos] == ["fifo2_w17", "fifo2_w1", "fifo_w17_d16", "late_fifo_w17_d4"]
    for fifo in fifos:
        simulate(fifo, None)


def test_no_entry_is_refused() -> None:
    class Refused(Fifo):
        _MustUse__silence = True    # Amaranth would complain that it is not used

    with pytest.raises(ValueError, match=r"^a FIFO needs at least one entry, not 0$"):
        Refused(8, 0)


@pytest.mark.parametrize("depth", [0, 1, 6])
def test_a_late_fifo_has_a_power_of_two_of_entries(depth: int) -> None:
    class Refused(LateFifo):
        _MustUse__silence = True

    with pytest.raises(ValueError, match=rf"^a late FIFO needs a power of two of entries, from 2, not {depth}$"):
        Refused(8, depth)


def simulate(fifo, stimulus) -> None:  # type: ignore[no-untyped-def]
    simulator = Simulator(fifo)
    simulator.add_clock(1e-6)
    if stimulus:
        simulator.add_testbench(stimulus)
    simulator.run_until(1e-4)
