"""Chains of GLB tiles that are made, cut and asked for what they do not have: nothing is done wrong, and it is told."""

import random
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from glb_chain import EACH, FINE, RING, RINGS, Chain, Linked, chained, connect, hops, words_of
from glb_script import START, STOP, WAIT, Script, linear, loaded, memory, stored
from nests import Nest

from sardonyx.hw.arch.glb import Glb

WALLED = partial(Chain, wall=2)


def runs(script: Script, unit: str, nest: Nest) -> None:
    """Let a unit run alone, and then show what the banks hold."""
    if unit == "load":
        script.load(nest)
    else:
        script.store(nest, limit=8)
    script.add(START)
    script.add(WAIT)
    script.dump()


@EACH
@pytest.mark.parametrize("unit", ["load", "store"])
def test_an_access_beyond_the_chain_changes_nothing_and_is_told(unit: str, glb: Glb) -> None:
    contents = words_of(glb, glb.ring, 8)
    length = glb.ring - 1
    script = Script(contents, glb, glb.ring, Chain)
    chained(script, length)
    nest = linear(length * glb.tile_bytes - 8, 8)
    runs(script, unit, nest)
    result = script.run(f2g0=range(8))
    assert result.status == FINE | {"lost": 1}
    expected = contents if unit == "load" else stored(contents, linear(nest.start, 4), range(4))
    np.testing.assert_array_equal(memory(result.outputs["word"]), expected)
    # It is forgotten with the next start.
    script.load(linear(0, 4))
    script.registers(store_control=0)
    script.add(START)
    script.add(WAIT)
    assert script.run(f2g0=range(8)).status == FINE


@pytest.mark.parametrize("unit", ["load", "store"])
def test_a_unit_inside_a_chain_does_not_start_and_is_told(unit: str) -> None:
    script = Linked(words_of(RING, 3, 9), RING)
    script.registers(2, **{f"{unit}_control": 3, "load_extent0": 5, "load_stride0": 2, "store_limit": 9})
    script.add(START)
    script.add(WAIT)
    assert script.run(f2g0=[1, 2]).status == FINE | {"lost": 1}
    script.registers(2, **{f"{unit}_control": 0})
    script.add(START)
    script.add(WAIT)
    assert script.run(f2g0=[1, 2]).status == FINE


@EACH
def test_a_load_that_counts_on_another_chain_than_there_is_is_told(glb: Glb) -> None:
    for length, count in ((1, 1), (2, 0), (2, 2), (glb.ring, glb.ring - 2), (glb.ring - 1, glb.ring - 1), (glb.ring, 0)):
        script = Script(words_of(glb, glb.ring, 11), glb, glb.ring, Chain)
        chained(script, length)
        script.registers(ring_control=hops(script, count % 8))
        script.load(linear(0, 40))
        script.add(START)
        for _ in range(2 * glb.ring):
            script.show("load_start")
        script.add(STOP)
        script.add(WAIT)
        assert script.run().status == FINE | {"lost": 1}, (length, count)
        # It is forgotten with the next start, of a load that has the number.
        script.registers(ring_control=hops(script, length - 1))
        script.add(START)
        script.add(WAIT)
        assert script.run().status == FINE, (length, count)


def test_a_chain_that_is_made_right_before_a_start_is_counted_in_time_and_no_store_counts() -> None:
    contents = words_of(RING, RING.ring, 12)
    script = Script(contents, RING, RING.ring, Chain)
    script.load(linear(0, 4 * RING.tile_bytes // 2))
    script.registers(ring_control=hops(script, RING.ring - 1))
    for tile in range(1, RING.ring):
        connect(script, tile, True)
    script.add(START)
    script.add(WAIT)
    result = script.run()
    assert result.status == FINE and result.outputs["g2f0"] == loaded(contents, linear(0, 4 * RING.tile_bytes // 2))
    script = Script(contents, RING, RING.ring, Chain)
    chained(script, 3)
    script.registers(ring_control=hops(script, 1))
    script.store(linear(0, 20), limit=20)
    script.add(START)
    script.add(WAIT)
    assert script.run(f2g0=range(20)).status == FINE


def test_of_a_chain_that_is_too_long_no_number_is_right() -> None:
    glb = replace(RINGS[3], ring=2)
    for count in range(8):
        script = Script(words_of(glb, 4, 13), glb, 4, Chain)
        chained(script, 4)
        script.registers(ring_control=hops(script, count))
        script.load(linear(0, 8))
        script.add(START)
        for _ in range(2 * glb.ring):
            script.show("load_start")
        script.add(STOP)
        script.add(WAIT)
        assert script.run().status == FINE | {"lost": 1}, count


@pytest.mark.parametrize("glb", RINGS[:2], ids=["queue", "no queue"])
def test_a_tile_that_is_connected_while_its_store_runs_ends_the_run_and_its_banks_are_free(glb: Glb) -> None:
    contents = words_of(glb, 8, 3)
    script = Script(contents, glb, 8, Chain)
    script.store(linear(0, 50), limit=50)
    script.add(START)
    for _ in range(6):
        script.show("store_start")
    connect(script, 0, True)
    for _ in range(6):
        script.show("store_start")
    script.add(STOP)
    script.add(WAIT)
    script.dump()
    result = script.run(f2g0=range(50))
    assert result.status == FINE | {"lost": 1}
    assert len(memory(result.outputs["word"])) >= len(contents), "the host reads all"


@pytest.mark.parametrize("unit", ["load", "store"])
def test_nothing_passes_a_wall(unit: str) -> None:
    """Whatever the registers behind it say: what is asked beyond it is dropped and told, and memory there stays."""
    contents = words_of(RING, 8, 10)
    script = Script(contents, RING, 8, WALLED)
    chained(script, 8)
    script.registers(ring_control=hops(script, 1))
    nest = linear(2 * RING.tile_bytes - 8, 8)
    runs(script, unit, nest)
    result = script.run(f2g0=range(100, 108))
    assert result.status == FINE | {"lost": 1}
    expected = contents if unit == "load" else stored(contents, linear(nest.start, 4), range(100, 104))
    np.testing.assert_array_equal(memory(result.outputs["word"]), expected)
    if unit == "load":
        assert result.outputs["g2f0"][:4] == loaded(contents, linear(nest.start, 4))
        beyond = {*loaded(contents, linear(2 * RING.tile_bytes, 4))}
        assert not set(result.outputs["g2f0"][4:]) & beyond, "no word of the other side"


def test_chains_are_made_and_ended_between_runs() -> None:
    """Of any length one after the other, and stopped with accesses on their way, which come to nothing later."""
    contents, draw = words_of(RINGS[2], 8, 11), random.Random(11)
    script, expected = Script(contents, RINGS[2], 8, Chain), list[int]()
    for _ in range(12):
        length = draw.randrange(1, 9)
        chained(script, length)
        nest = linear(2 * draw.randrange(0, 32 * length), 32 * length)
        script.load(nest)
        script.add(START)
        script.add(WAIT)
        expected += loaded(contents, nest)
        script.load(linear(0, 200), column=1)
        script.add(START)
        for _ in range(draw.randrange(20)):
            script.show("load_start")
        script.add(STOP)
        connect(script, draw.randrange(1, 8), False)
    result = script.run()
    assert result.outputs["g2f0"] == expected and result.status["strays"] == 0
