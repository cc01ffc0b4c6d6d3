import collections
import functools
import random
from collections.abc import Sequence

import pytest
from axi_model import FIXED, INCR, PAGE, WRAP, Address, any_burst
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.hw.soc.burst import Burst, address_layout, beat_layout
from sardonyx.sim.rtl.bench import Bench, Result

# One that ends within a page, one of whole pages, and one of all addresses.
MEMORIES = (48, 5 * PAGE, 1 << 32)
ADDRESSES = address_layout(32)


@functools.cache
def bench(memory: int) -> Bench:
    return Bench(Burst(memory, 32))


def run(memory: int, bursts: Sequence[Address], stalls: "int | None" = None, cut: int = 0) -> Result:
    asked = [ADDRESSES.const(vars(burst)).as_bits() for burst in bursts]
    return bench(memory).run({"i": asked}, {"cut": cut}, stalls)


def shown(memory: int, burst: Address) -> "list[tuple[int | None, int, int, int]]":
    """The beats of a burst; those of a refused one mean no word."""
    served = burst.served(memory)
    lines = [at // 8 if served else None for at in burst.beats()] if served else [None] * (burst.len + 1)
    return [(line, burst.id, int(beat == burst.len), int(not served)) for beat, line in enumerate(lines)]


def found(memory: int, result: Result) -> "list[tuple[int | None, int, int, int]]":
    layout = beat_layout((memory // 8 - 1).bit_length())
    beats = [layout.from_bits(bits) for bits in result.outputs["o"]]
    return [(None if beat.refused else beat.line, beat.id, beat.last, beat.refused) for beat in beats]


def drawn(memory: int, seed: int) -> list[Address]:
    draw = random.Random(seed)
    return [any_burst(draw, memory, 0.7) for _ in range(200)]


@pytest.mark.parametrize("memory", MEMORIES)
@settings(max_examples=8)
@given(seed=st.integers(0, 1 << 30), stalls=st.none() | st.integers(1, 99))
def test_beats_are_those_that_axi_says(memory: int, seed: int, stalls: "int | None") -> None:
    asked = drawn(memory, seed)
    result = run(memory, asked, stalls)
    assert found(memory, result) == [beat for burst in asked for beat in shown(memory, burst)]
    assert not result.left


@pytest.mark.parametrize("memory", MEMORIES)
def test_beats_at_the_edges(memory: int) -> None:
    asked = [
        Address(0, memory - 8, 0), Address(1, memory - 16, 1, burst=WRAP), Address(2, memory - 1, 15, 0, FIXED),
        Address(3, min(memory, (1 << 32) - 8), 0), Address(4, 0xFF8, 1), Address(5, 0xFF9, 1, 2), Address(6, 0xFF5, 1, 2),
        Address(7, 0, 255), Address(8, 0x808, 255), Address(9, 0x18, 3, 3, WRAP), Address(10, 0xC, 3, 2),
        Address(11, 0, 2, 3, WRAP), Address(12, 4, 1, 3, WRAP), Address(13, 0, 16, 0, FIXED), Address(14, 0, 0, 4),
        Address(15, 0, 0, 3, 3), Address(0, memory - 8, 1)]
    assert found(memory, run(memory, asked)) == [beat for burst in asked for beat in shown(memory, burst)]


def test_the_examples_of_the_docstring() -> None:
    assert [beat[0] for beat in found(48, run(48, [Address(0, 0xC, 3, 2), Address(0, 0x18, 3, 3, WRAP)]))] == [
        1, 2, 2, 3, 3, 0, 1, 2]


def test_a_beat_comes_every_cycle_also_between_bursts() -> None:
    asked = [Address(0, 0, 3), Address(1, 8, 0), Address(2, 0, 0, 7), Address(3, 0, 15, 2)]
    stamps = run(1 << 32, asked).stamps
    assert stamps["o"] == list(range(1, 1 + sum(burst.len + 1 for burst in asked)))


def test_a_beat_that_ends_its_burst_is_the_last_one() -> None:
    assert [beat[:3] for beat in found(48, run(48, [Address(3, 0, 3), Address(4, 8, 0)], cut=1))] == [(0, 3, 0), (1, 4, 1)]


def test_drawn_bursts_are_of_every_kind() -> None:
    """So the comparison above is of all of them."""
    kinds = collections.Counter((burst.burst, burst.served(5 * PAGE)) for seed in range(8) for burst in drawn(5 * PAGE, seed))
    assert min(kinds[kind, served] for kind in (FIXED, INCR, WRAP) for served in (False, True)) > 50, kinds
