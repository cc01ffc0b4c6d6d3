"""Cycle by cycle: start-up and throughput that `Level` promises, from the stamps of transfers."""

import functools
import random
from dataclasses import replace

import pytest

from sardonyx.hw.arch.primitive import LEVEL
from sardonyx.hw.arch.tile import MEM
from sardonyx.hw.arch.token import DONE, stop
from sardonyx.hw.memory.level import Level
from sardonyx.sim.rtl.bench import Bench

LOOKUP = {"output": "lookup", "values": 1}


@functools.cache
def bench():
    return Bench(Level(MEM))


def block(sizes):
    segments = [0]
    for size in sizes:
        segments.append(segments[-1] + size)
    return [len(segments), *segments, segments[-1], *range(segments[-1])]


def run(config, inputs):
    result = bench().run(inputs, LEVEL.config.encode(**config), idle=400)
    assert not result.left and not result.status["overflow"]
    return result


def scan(sizes, refs):
    """A scan of one level, alone."""
    return run({}, {"block": block(sizes), "ref": [*refs, DONE]})


def rate(stamps):
    return len(stamps) / (stamps[-1] - stamps[0] + 1)


def alternating(n):
    return [token for r in range(n) for token in (r, stop(0))]


def shuffled(n, count, seed=1):
    return random.Random(seed).choices(range(n), k=count)


@pytest.mark.parametrize("refs,cycles", [([0], 6), ([6], 6), ([3], 7), ([7], 7)])
def test_start_up(refs, cycles):
    result = scan([2] * 9, refs)
    assert result.stamps["crd"][0] - result.stamps["ref"][0] == cycles


def test_start_up_of_lookup_dense_and_root():
    for config, words in ((LOOKUP, [9, *range(9)]), ({"dense": 1}, [2, 0, 5, 0])):
        result = run(config, {"block": words, "ref": [3, DONE]})
        assert result.stamps["crd"][0] - result.stamps["ref"][0] == 6
    for config, name, given, taken in (({"root": 1}, "crd", "block", block([1])),
                                       ({"root": 1, "input": "stream"}, "crd", "wr", [7, stop(0), DONE]),
                                       ({"output": "block"}, "block_o", "block", block([1]))):
        result = run(config, {given: taken})
        assert result.stamps[name][0] - result.stamps[given][-1] == 9


@pytest.mark.parametrize("sizes,refs", [
    ([0] * 900, range(900)), ([1] * 900, range(900)), ([2] * 500, range(500)), ([3] * 300, range(300)),
    ([5] * 200, range(200)), ([1000], [0]), ([1] * 900, alternating(900)),
    ([1] * 900, [r // 3 for r in range(2700)]), ([1] * 900, [3] * 900), ([0, 3] * 300, range(600)),
    ([4] * 250, shuffled(250, 1000)), ([9] * 100, shuffled(100, 300))],
    ids=["empty", "ones", "twos", "threes", "fives", "one fiber", "ones with stops", "repeated", "the same",
         "empty and threes", "fours at random", "nines at random"])
def test_scan_without_a_bubble(sizes, refs):
    assert rate(scan(sizes, refs).stamps["crd"]) == 1


def test_empty_fibers_between_stops_take_their_references_without_a_bubble():
    assert rate(scan([0] * 900, alternating(900)).stamps["ref"]) == 1


@pytest.mark.parametrize("mix", [2, 3, 5])
def test_mixed_short_fibers_lose_less_than_one_cycle_in_a_hundred(mix):
    sizes = shuffled(mix, 500)
    assert rate(scan(sizes, range(500)).stamps["crd"]) > 0.99


@pytest.mark.parametrize("refs,least", [
    (shuffled(900, 2000), 0.88), ([4 * r + 3 for r in shuffled(200, 2000)], 0.66)],
                         ids=["random", "straddling"])
def test_the_sram_port_limits_random_fibers_of_one_entry(refs, least):
    # Two tokens cost one read of an entry and one or two of segments.
    assert least < rate(scan([1] * 900, refs).stamps["crd"]) < least + 0.05


@pytest.mark.parametrize("refs", [range(1000), shuffled(1000, 3000), [5] * 1000, alternating(1000)],
                         ids=["in order", "random", "the same", "with stops"])
def test_lookup_without_a_bubble(refs):
    result = run(LOOKUP, {"block": [1000, *range(1000)], "ref": [*refs, DONE]})
    assert rate(result.stamps["crd"]) == 1


@pytest.mark.parametrize("extent", [1, 2, 7])
def test_dense_scan_without_a_bubble(extent):
    result = run({"dense": 1}, {"block": [2, 0, extent, 0], "ref": [*shuffled(900, 500), DONE]})
    assert rate(result.stamps["crd"]) == 1


def test_the_next_transaction_follows_done_at_once():
    refs = [*range(100), *range(100), stop(0), DONE]
    result = run({}, {"block": block([1] * 100) * 6, "ref": refs * 6})
    done = [cycle for cycle, token in zip(result.stamps["crd"], result.outputs["crd"]) if token == DONE]
    first = [cycle for cycle, token in zip(result.stamps["crd"][1:], result.outputs["crd"]) if token == DONE]
    assert [after - before for before, after in zip(done, first)] == [1] * 5


VECTORS = pytest.mark.parametrize("size,idle", [(0, 0.5), (1, 0.5), (2, 0), (3, 0), (4, 0), (5, 0), (13, 0), (50, 0), (97, 0)])


def start_to_start(stamps, words):
    """Mean cycles between the last 20 transactions of so many words each."""
    return (stamps[-1] - stamps[-1 - 20 * words]) / 20


@VECTORS
def test_vectors_follow_each_other_with_no_cycle_but_for_the_words_of_their_blocks(size, idle):
    result = run({"root": 1}, {"block": [2, 0, size, size, *range(size)] * 40})
    assert start_to_start(result.stamps["crd"], size + 2) == size + 4 + idle


@VECTORS
def test_written_vectors_follow_each_other_with_no_cycle_but_for_the_words_of_their_blocks(size, idle):
    # Short ones are bound by the two levels held.
    idle = {0: 1.5, 1: 1.5, 2: 1, 3: 0.5}.get(size, idle)
    result = run({"input": "stream", "output": "block"}, {"wr": [*range(size), stop(0), DONE] * 40})
    assert start_to_start(result.stamps["block_o"], size + 4) == size + 4 + idle


def test_values_of_the_next_transaction_are_written_while_these_are_read():
    # Full halves: the next array is in the other half.
    words = [1024, *range(1024)] * 5
    in_order, random_refs = [*range(1024), DONE] * 5, [*shuffled(1024, 1400), DONE] * 5
    assert rate(run(LOOKUP, {"block": words, "ref": in_order}).stamps["crd"]) > 0.98
    assert rate(run(LOOKUP, {"block": words, "ref": random_refs}).stamps["crd"]) > 0.79


@pytest.mark.parametrize("values,tokens", [
    (0, [0, stop(0)] * 500), (0, [stop(0)] * 1000), (0, list(range(1000))), (1, list(range(1000))),
    (1, [0, 1, stop(0)] * 300)])
def test_a_token_is_written_every_cycle_and_the_block_read_every_cycle(values, tokens):
    config = {"input": "stream", "output": "block", "values": values}
    result = run(config, {"wr": [*tokens, DONE]})
    assert rate(result.stamps["wr"]) == 1
    assert rate(result.stamps["block_o"]) == 1


def test_a_word_of_a_block_is_written_every_cycle():
    words = block([1] * 500) + block([3] * 100)
    assert rate(run({"output": "block"}, {"block": words}).stamps["block"]) == 1


@functools.cache
def early():
    return Bench(Level(replace(MEM, sram_lines=64, early=True)))


@pytest.mark.parametrize("config,words,cycles,read_early", [
    ({"root": 1}, [2, 0, 1, 1, 5], 5.5, 5), ({"output": "lookup", "values": 1}, [1, 5], 4, 3.5),
    ({"output": "block", "values": 1}, [1, 5], 4.5, 3.5), ({"root": 1, "dense": 1}, [2, 0, 1, 0], 6, 5)])
def test_the_two_levels_held_bound_transactions_of_one_entry(config, words, cycles, read_early):
    inputs = {"block": words * 40} | ({"ref": [0, DONE] * 40} if config.get("output") == "lookup" else {})
    assert start_to_start(run(config, inputs).stamps["block"], len(words)) == cycles
    stamps = early().run(inputs, LEVEL.config.encode(**config), idle=400).stamps["block"]
    assert start_to_start(stamps, len(words)) == read_early


@pytest.mark.parametrize("config,words,arrived,first", [
    ({"root": 1}, block([40]), 3 + 5, 4), ({"root": 1, "dense": 1}, [2, 0, 5, 0], 3, 7),
    (LOOKUP, [40, *range(40)], 1 + 4, 4)])
def test_what_arrives_is_read_from_the_first_line_on(config, words, arrived, first):
    """arrived: words up to where the first token is known; first: cycles from there to it."""
    refs = {} if "root" in config else {"ref": [*range(40), DONE]}
    result = early().run({"block": words, **refs}, LEVEL.config.encode(**config), idle=400)
    assert not result.left
    assert result.stamps["crd"][0] - result.stamps["block"][arrived - 1] == first
    assert result.stamps["crd"][-1] - result.stamps["block"][-1] <= 12, "the last ones follow the last words"


def test_a_level_of_which_little_is_read_is_freed_when_all_of_it_has_come():
    """Levels of half a memory each, of which one word is read: nothing is written over before, and none is held for ever."""
    words = 64 // 2 * 4
    levels = [[(number * words + n) % 65536 for n in range(words)] for number in range(5)]
    result = early().run({"block": [word for each in levels for word in (words, *each)], "ref": [3, DONE] * 5},
                         LEVEL.config.encode(**LOOKUP), idle=400)
    assert not result.left and result.outputs["crd"] == [token for each in levels for token in (each[3], DONE)]
