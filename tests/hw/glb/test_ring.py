"""Chains of GLB tiles, of which the first one's load and store reach the banks of all: against a flat memory."""

import random
from dataclasses import replace

import numpy as np
import pytest
from amaranth.sim import Simulator, SimulatorContext
from glb_chain import EACH, FINE, RING, RINGS, Chain, Linked, words_of
from glb_script import (
    COLUMNS,
    COMMAND,
    ENDS,
    READ,
    SEEDS,
    STALLS,
    START,
    STOP,
    WAIT,
    Descriptor,
    Script,
    arm,
    linear,
    loaded,
    memory,
    random_words,
    stored,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from nests import Nest, nests_within

from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.soc import glb_registers, named


def start_of(script: Script, stamps: "list[int]") -> int:
    """The cycle of the first start."""
    return stamps[script.commands.index(COMMAND.const({"op": START}).as_bits())]


def lengths(glb: Glb) -> "st.SearchStrategy[int]":
    return st.integers(2, glb.ring)


@EACH
@settings(max_examples=25, deadline=None)
@given(more=st.data(), seed=SEEDS, stalls=STALLS, column=COLUMNS)
def test_a_load_streams_the_words_of_its_loop_nest_out_of_all_tiles(glb: Glb, more: st.DataObject, seed: int,
                                                                    stalls: "int | None", column: int) -> None:
    contents = words_of(glb, more.draw(lengths(glb)), seed)
    nest = more.draw(nests_within(glb.load_loops, contents.nbytes))
    script = Linked(contents, glb)
    script.load(nest, column)
    script.add(START)
    script.add(WAIT)
    result = script.run(stalls)
    assert result.outputs[f"g2f{column}"] == loaded(contents, nest)
    assert result.outputs[f"g2f{1 - column}"] == []
    assert result.status == FINE


@EACH
@pytest.mark.parametrize("length", range(1, 9))
def test_a_load_gives_a_word_a_cycle_from_the_same_cycle_on_in_every_chain(length: int, glb: Glb) -> None:
    """And out of whichever tile, with all strides: as a static program needs it."""
    length = min(length, glb.ring)
    contents = words_of(glb, length, 1)
    last, size = contents.nbytes - 8, len(contents)
    for nest in (linear(0, size), linear(6, 1), linear(2, size - 1), Nest((size // 4,), (8,), 6),
                 Nest((size // 4,), (-8,), last), Nest((7, 6), (last // 8 // 2 * 2, 2), 0)):
        script = Linked(contents, glb)
        script.load(nest)
        script.add(START)
        script.add(WAIT)
        result = script.run()
        first = start_of(script, result.stamps["command"]) + 1 + glb.load_start_cycle
        assert result.stamps["g2f0"] == list(range(first, first + nest.size))
        assert result.outputs["g2f0"] == loaded(contents, nest)


@EACH
@settings(max_examples=25, deadline=None)
@given(more=st.data(), seed=SEEDS, stalls=STALLS, affine=st.booleans())
def test_what_is_stored_is_in_its_bank_when_the_run_ends(glb: Glb, more: st.DataObject, seed: int, stalls: "int | None",
                                                         affine: bool) -> None:
    contents = words_of(glb, more.draw(lengths(glb)), seed)
    script = Linked(contents, glb)
    if affine:
        nest = more.draw(nests_within(glb.store_loops, contents.nbytes))
        tokens = random_words(seed + 1, nest.size).tolist()
        script.store(nest, limit=nest.size)
    else:
        sections = more.draw(st.lists(st.integers(0, 40), min_size=1, max_size=6))
        tokens = [word for length in sections for word in (length, *random_words(seed + 1, length).tolist())]
        room = max(0, len(contents) - len(tokens))
        tokens = tokens if len(tokens) <= len(contents) else [0]
        nest = linear(2 * more.draw(st.integers(0, room)), len(tokens))
        script.store_sections(len(sections) if len(tokens) > 1 else 1, nest.start, limit=len(contents))
    after = stored(contents, nest, tokens)
    last = int(nest.addresses(contents.nbytes)[-1]) // 8
    script.add(START)
    script.add(WAIT)
    script.add(READ, line=last)
    script.show("store_words")
    script.dump()
    result = script.run(stalls, f2g0=[*tokens, 7])
    assert result.left == {"f2g0": 1} and result.status == FINE
    assert result.outputs["word"][0] == int(after.view("<u8")[last]), "the last line is read at once"
    assert result.outputs["word"][1] == len(tokens)
    np.testing.assert_array_equal(memory(result.outputs["word"][2:]), after)


@pytest.mark.parametrize("glb", RINGS[:2], ids=["queue", "no queue"])
@pytest.mark.parametrize("length", [2, 5, 8])
def test_a_store_takes_a_word_a_cycle_and_its_words_are_there_when_its_end_is_told(length: int, glb: Glb) -> None:
    """Without waiting for the end of the run."""
    contents = words_of(glb, length, 2)
    script = Linked(contents, glb)
    script.store(linear(0, len(contents)), limit=len(contents))
    script.add(START)
    for _ in range(len(contents)):
        script.add(ENDS)
        script.add(READ, line=len(contents) // 4 - 1)
    tokens = random_words(3, len(contents)).tolist()
    result = script.run(f2g0=tokens)
    first = start_of(script, result.stamps["command"]) + 1
    assert result.stamps["f2g0"] == list(range(first, first + len(contents)))
    ends, words = result.outputs["word"][::2], result.outputs["word"][1::2]
    new = int(np.array(tokens[-4:], "<u2").view("<u8")[0])
    assert 0 < ends.index(1 << 16) < len(ends) - 1
    assert {word for end, word in zip(ends, words, strict=True) if end} == {new}


@pytest.mark.parametrize("glb", [replace(RING, ring=2), *RINGS[:2]], ids=["2 tiles, queue", "queue", "no queue"])
def test_a_read_of_the_last_line_in_the_cycle_of_the_end_or_later_gives_what_was_stored(glb: Glb) -> None:
    """Cycle by cycle, of the tile that is furthest away."""
    dut, lines = Chain(glb, glb.ring), glb.chain_bytes // 8
    names = [each.name for each in glb_registers(glb)]
    told, found = list[int](), list[bool]()

    async def bench(sim: SimulatorContext) -> None:
        async def write(name: str, value: int, tile: int = 0) -> None:
            sim.set(dut.register_index, tile << 6 | names.index(name))
            sim.set(dut.register_data, value)
            sim.set(dut.register_write, 1)
            await sim.tick()
            sim.set(dut.register_write, 0)

        for tile in range(1, glb.ring):
            await write("ring_control", 1, tile)
        control = named(glb_registers(glb))["store_control"].word(enable=1, static=0, affine=1)
        for name, value in (("ring_control", glb.ring - 1 << 8), ("store_control", control), ("store_limit", 12),
                            ("store_extent0", 11), ("store_stride0", 2), ("store_start", 8 * (lines - 3))):
            await write(name, value)
        for port, value in ((dut.start, 1), (dut.f2g0.valid, 1), (dut.f2g0.payload.data, 0x7777),
                            (dut.host_read_line, lines - 1), (dut.host_read_valid, 1)):
            sim.set(port, value)
        await sim.tick()
        sim.set(dut.start, 0)
        granted = [False] * glb.read_latency
        for _ in range(80):
            told.append(sim.get(dut.store_ends))
            if granted.pop(0):
                found.append(sim.get(dut.host_read_word) == 0x7777_7777_7777_7777)
            # Asked for in the cycle of the end, or later.
            granted.append(bool(sim.get(dut.host_read_ready)) and any(told))
            await sim.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert sum(told) == 1 and len(found) > 40 and all(found)


@EACH
@settings(max_examples=25, deadline=None)
@given(more=st.data(), seed=SEEDS, stalls=STALLS, sections=st.lists(st.integers(0, 20), min_size=1, max_size=4))
def test_load_store_and_host_share_the_banks_of_a_chain(glb: Glb, more: st.DataObject, seed: int, stalls: "int | None",
                                                        sections: "list[int]") -> None:
    """Two runs one behind the other: the second one loads what the first has stored."""
    length, draw = more.draw(lengths(glb)), random.Random(seed)
    contents = words_of(glb, length, seed)
    # Lines in turn: to be loaded, to be stored to, and of the host.
    lines = len(contents) // 4
    count = lines // 3
    nest = Nest((4, count), (2, 24), 0)
    there = Nest((4, count), (2, 24), 8)
    tokens = random_words(seed + 1, 4 * count).tolist()
    script = Linked(contents, glb)
    script.load(nest)
    script.store(there, limit=4 * count)
    script.add(START)
    now, expected = contents.view("<u8").copy(), []

    def host() -> None:
        for _ in range(30):
            line, strobe, word = 3 * draw.randrange(count) + 2, draw.randrange(256), draw.getrandbits(64)
            if draw.random() < 0.5:
                script.write(line, word, strobe)
                mask = sum(0xFF << 8 * byte for byte in range(8) if strobe >> byte & 1)
                now[line] = int(now[line]) & ~mask | word & mask
            else:
                script.add(READ, line=line)
                expected.append(int(now[line]))

    host()
    script.add(WAIT)
    now = stored(now.view("<u2"), there, tokens).view("<u8").copy()
    script.load(there)
    script.registers(store_control=0)
    script.add(START)
    host()
    script.add(WAIT)
    script.dump()
    result = script.run(stalls, f2g0=tokens)
    assert result.status == FINE
    assert result.outputs["g2f0"] == loaded(contents, nest) + tokens
    assert result.outputs["word"] == [*expected, *now.tolist()]


@EACH
def test_a_stop_ends_both_and_the_next_start_begins_anew(glb: Glb) -> None:
    contents = words_of(glb, glb.ring, 4)
    for wait in range(3, 24, 4):
        script = Linked(contents, glb)
        script.load(linear(0, len(contents) // 2))
        script.store(linear(contents.nbytes // 2, 60), limit=60)
        script.add(START)
        for _ in range(wait):
            script.show("store_words")
        script.add(STOP)
        script.load(linear(10, 50), column=1)
        script.store(linear(contents.nbytes - 40, 20), column=1, limit=20)
        script.add(START)
        script.add(WAIT)
        script.add(READ, line=len(contents) // 4 - 1)
        result = script.run(f2g0=[9] * 60, f2g1=range(20))
        first = result.outputs["g2f0"]
        assert first == contents[:len(first)].tolist() and len(first) < len(contents) // 2
        assert result.outputs["g2f1"] == loaded(contents, linear(10, 50))
        assert result.outputs["word"][-1] == int(np.arange(16, 20, dtype="<u2").view("<u8")[0])


@pytest.mark.parametrize("glb", [RINGS[0], RINGS[2]], ids=["latency 1", "latency 3"])
@pytest.mark.parametrize("length", [1, 2, 8])
def test_a_queued_descriptor_follows_without_an_idle_cycle(length: int, glb: Glb) -> None:
    contents = words_of(glb, length, 5)
    nests = linear(6, 7), Nest((5,), (-8,), contents.nbytes - 6), linear(0, len(contents) - 1)
    script = Linked(contents, glb)
    arm(script, "load", Descriptor(nests[0], repeat=2))
    script.add(START)
    arm(script, "load", Descriptor(nests[1], repeat=9))
    script.add(WAIT)
    result = script.run()
    assert result.outputs["g2f0"] == 3 * loaded(contents, nests[0]) + 10 * loaded(contents, nests[1])
    first = start_of(script, result.stamps["command"]) + 1 + glb.load_start_cycle
    # Registers are written meanwhile: the second may come after the first ended.
    assert result.stamps["g2f0"][:21] == list(range(first, first + 21))
    second = result.stamps["g2f0"][21:]
    assert second == list(range(second[0], second[0] + 50))


@pytest.mark.parametrize("apart", [True, False], ids=["another bank", "the same bank"])
def test_a_static_store_never_waits_and_loses_a_word_if_the_load_means_its_bank(apart: bool) -> None:
    contents, arriving = words_of(RING, 8, 6), random_words(7, 400).tolist()
    script = Linked(contents, RING)
    # Bank 5 of tile 5 is loaded a line each; stored is to the other one, or to this.
    bank = 5 * RING.tile_bytes
    script.load(Nest((8, 12), (8, 0), bank))
    target = linear(bank + RING.bank_bytes * apart, 32)
    script.store_static(target, limit=32)
    script.add(START)
    for _ in range(90):
        script.show("store_words")
    script.dump()
    result = script.run(f2g0=arriving, f2g_bit0=[1] * 400)
    assert result.status["lost"] == (not apart)
    first = start_of(script, result.stamps["command"]) + 1 - result.stamps["f2g0"][0]
    assert result.outputs["g2f0"] == loaded(contents, Nest((8, 12), (8, 0), bank)), "the load comes first"
    if apart:
        expected = stored(contents, target, arriving[first:first + 32])
        np.testing.assert_array_equal(memory(result.outputs["word"][90:]), expected)
