import random
from itertools import pairwise

import numpy as np
import pytest
from glb_script import (
    COLUMNS,
    COMMAND,
    EACH_LATENCY,
    ENDS,
    GLB,
    LINES,
    READ,
    SEEDS,
    STALLS,
    START,
    STOP,
    WAIT,
    WORDS,
    Script,
    linear,
    loaded,
    memory,
    random_words,
    stored,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nests import Nest, nests

from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.soc import RO, RW, glb_registers


@EACH_LATENCY
@settings(max_examples=100)
@example(nest=linear(0, WORDS), seed=0, stalls=None, column=0)
@example(nest=linear(2, WORDS - 1), seed=1, stalls=5, column=1)
@example(nest=Nest((2, 3), (0, 0), 6), seed=2, stalls=3, column=0)
@given(nest=nests(GLB.load_loops, GLB.tile_bytes), seed=SEEDS, stalls=STALLS, column=COLUMNS)
def test_a_load_streams_the_words_of_its_loop_nest_to_the_chosen_column(glb: Glb, nest: Nest, seed: int, stalls: "int | None",
                                                                        column: int) -> None:
    contents = random_words(seed)
    script = Script(contents, glb)
    script.load(nest, column)
    script.add(START)
    script.add(WAIT)
    result = script.run(stalls)
    assert result.outputs[f"g2f{column}"] == loaded(contents, nest)
    assert result.outputs[f"g2f{1 - column}"] == []


@EACH_LATENCY
@pytest.mark.parametrize("nest", [linear(0, WORDS), linear(6, 200), Nest((LINES,), (8,), 0), Nest((7, 9), (-10, 58), 300),
                                  Nest((40,), (26,), 0), Nest((16, 4), (64, 2), 0)],
                         ids=["linear over both banks", "linear from a last lane", "a line each", "backwards in tiles",
                              "jumping lines", "columns"])
def test_a_load_gives_a_word_a_cycle_from_its_latency_and_a_cycle_after_start_on(nest: Nest, glb: Glb) -> None:
    script = Script(random_words(1), glb)
    script.load(nest)
    script.add(START)
    result = script.run()
    first = result.stamps["command"][-1] + 1 + glb.read_latency
    assert result.stamps["g2f0"] == list(range(first, first + nest.size))


@settings(max_examples=60)
@example([0], 2 * WORDS - 2, 0, None, 0)
@example([0, 0, 0], 0, 1, 3, 1)
@example([3, 0, 1], 510, 2, None, 0)
@given(lengths=st.lists(st.integers(0, 40), min_size=1, max_size=6), start=st.integers(0, WORDS - 250).map(lambda n: 2 * n),
       seed=SEEDS, stalls=STALLS, column=COLUMNS)
def test_a_store_of_sections_ends_with_the_last_and_takes_no_word_more(lengths: "list[int]", start: int, seed: int,
                                                                       stalls: "int | None", column: int) -> None:
    contents, values = random_words(seed), random_words(seed + 1).tolist()
    tokens = [word for length in lengths for word in (length, *values[:length])]
    script = Script(contents)
    script.store_sections(len(lengths), start, column)
    script.add(START)
    script.add(WAIT)
    script.show("store_words")
    script.dump()
    result = script.run(stalls, **{f"f2g{column}": [*tokens, 1, 2, 3], f"f2g{1 - column}": [9]})
    assert result.left == {f"f2g{column}": 3, f"f2g{1 - column}": 1}
    assert result.outputs["word"][0] == len(tokens)
    np.testing.assert_array_equal(memory(result.outputs["word"][1:]), stored(contents, linear(start, len(tokens)), tokens))
    assert result.status == {"busy": 0, "beyond": 0, "lost": 0}


@settings(max_examples=60)
@given(nest=nests(GLB.store_loops, GLB.tile_bytes), seed=SEEDS, stalls=STALLS)
def test_an_affine_store_writes_the_addresses_of_its_loop_nest(nest: Nest, seed: int, stalls: "int | None") -> None:
    contents, tokens = random_words(seed), random_words(seed + 1).tolist()[:nest.size]
    script = Script(contents)
    script.store(nest)
    script.add(START)
    script.add(WAIT)
    script.dump()
    result = script.run(stalls, f2g0=[*tokens, 7])
    assert result.left == {"f2g0": 1}
    np.testing.assert_array_equal(memory(result.outputs["word"]), stored(contents, nest, tokens))


def test_a_store_takes_a_word_a_cycle() -> None:
    script = Script()
    script.store(linear(0, WORDS))
    script.add(START)
    result = script.run(f2g0=[5] * WORDS)
    begin = result.stamps["command"][-1]
    assert result.stamps["f2g0"] == list(range(begin + 1, begin + 1 + WORDS))


@pytest.mark.parametrize("limit", [0, 1, 9])
@pytest.mark.parametrize("affine", [False, True])
def test_a_store_stops_at_its_limit_and_says_so(limit: int, affine: bool) -> None:
    contents, tokens = random_words(3), [100, *range(100)]
    script = Script(contents)
    if affine:
        script.store(linear(40, 101), limit=limit)
    else:
        script.store_sections(1, 40, limit=limit)
    script.add(START)
    script.show("store_words")
    script.dump()
    script.show("store_words")
    result = script.run(f2g0=tokens)
    assert result.status == {"busy": 1, "beyond": 1, "lost": 0}
    assert result.left == {"f2g0": len(tokens) - limit}
    assert result.outputs["word"][-1] == limit
    expected = stored(contents, linear(40, limit), tokens[:limit]) if limit else contents
    np.testing.assert_array_equal(memory(result.outputs["word"][1:-1]), expected)
    script.add(STOP)
    script.add(WAIT)
    assert script.run(f2g0=tokens).status == {"busy": 0, "beyond": 0, "lost": 0}


def test_a_store_that_ends_at_its_limit_is_complete() -> None:
    script = Script()
    script.store_sections(1, 0, limit=5)
    script.add(START)
    script.add(WAIT)
    assert script.run(f2g0=[4, 1, 2, 3, 4, 9]).status == {"busy": 0, "beyond": 0, "lost": 0}


@EACH_LATENCY
def test_a_stop_ends_both_and_the_next_start_begins_anew(glb: Glb) -> None:
    contents = random_words(4)
    script = Script(contents, glb)
    script.load(linear(0, 200))
    script.store_sections(1, 0)
    script.add(START)
    for _ in range(20):
        script.show("store_words")
    script.add(STOP)
    script.add(WAIT)
    script.load(linear(100, 30), column=1)
    script.store_sections(1, 512, column=1)
    script.add(START)
    script.add(WAIT)
    script.show("store_words")
    script.add(ENDS)
    script.dump()
    result = script.run(f2g0=[99, 1, 2, 3], f2g1=[2, 11, 12])
    assert result.left == {}
    first = result.outputs["g2f0"]
    assert 21 - glb.read_latency <= len(first) < 200
    assert first == contents[:len(first)].tolist()
    after = stored(stored(contents, linear(0, 4), [99, 1, 2, 3]), linear(512, 3), [2, 11, 12])
    assert result.outputs["g2f1"] == loaded(after, linear(100, 30))
    assert result.outputs["word"][19:22] == [4, 3, 1 | 1 << 16], "what is stopped has not ended"
    np.testing.assert_array_equal(memory(result.outputs["word"][22:]), after)


@EACH_LATENCY
def test_runs_follow_each_other_from_fresh_registers(glb: Glb) -> None:
    contents, draw = random_words(5), random.Random(5)
    script, tokens, given_, counts = Script(contents, glb), [], [], []
    after = contents
    for number in range(6):
        nest = linear(2 * draw.randrange(100), draw.randrange(1, 90))
        script.load(nest)
        given_ += loaded(after, nest)
        lengths = [draw.randrange(5) for _ in range(draw.randrange(1, 5))]
        words = [word for length in lengths for word in (length, *random_words(number, length).tolist())]
        # The words of a run go to the other half of the memory: the next run's load may meet them.
        script.store_sections(len(lengths), 512 + 64 * number)
        tokens += words
        counts.append(len(words))
        after = stored(after, linear(512 + 64 * number, len(words)), words)
        script.add(START)
        script.add(WAIT)
        script.show("store_words")
    script.add(ENDS)
    script.dump()
    for stalls in (None, 1, 2, 3):
        result = script.run(stalls, f2g0=tokens)
        assert result.outputs["g2f0"] == given_
        assert result.outputs["word"][:7] == [*counts, 6 | 6 << 16], "each ends once in a run"
        np.testing.assert_array_equal(memory(result.outputs["word"][7:]), after)


def test_a_disabled_stream_does_not_start() -> None:
    script = Script(random_words(6))
    script.load(linear(0, 10))
    script.store_sections(1, 0)
    script.registers(load_control=0, store_control=0)
    script.add(START)
    script.add(WAIT)
    script.add(ENDS)
    result = script.run(f2g0=[1, 1])
    assert result.outputs["g2f0"] == []
    assert result.outputs["word"] == [0]
    assert result.left == {"f2g0": 2}


@EACH_LATENCY
@settings(max_examples=40)
@given(seed=SEEDS, stalls=STALLS, same=st.booleans(), sections=st.lists(st.integers(0, 20), min_size=1, max_size=5))
def test_load_store_and_host_share_a_bank(glb: Glb, seed: int, stalls: "int | None", same: bool, sections: "list[int]") -> None:
    contents, draw = random_words(seed), random.Random(seed)
    bank = GLB.bank_bytes
    # The lower half of the first bank is loaded; the upper half of it or of the second is stored to; the host has the rest.
    nest, begin = linear(2 * draw.randrange(16), 100), bank // 2 + 64 if same else bank + bank // 2
    tokens = [word for length in sections for word in (length, *random_words(seed + 1, length).tolist())]
    after = stored(contents, linear(begin, len(tokens)), tokens)
    script = Script(contents, glb)
    script.load(nest)
    script.store_sections(len(sections), begin)
    script.add(START)
    expected = []
    lines = after.view("<u8").copy()
    free = [*range(bank // 16, bank // 16 + 8), *range(bank // 8, bank // 8 + bank // 16)]
    for _ in range(60):
        line, strobe, word = draw.choice(free), draw.randrange(256), draw.getrandbits(64)
        if draw.random() < 0.5:
            script.write(line, word, strobe)
            mask = sum(0xFF << 8 * byte for byte in range(8) if strobe >> byte & 1)
            lines[line] = int(lines[line]) & ~mask | word & mask
        else:
            script.add(READ, line=line)
            expected.append(int(lines[line]))
    script.add(WAIT)
    script.dump()
    result = script.run(stalls, f2g0=tokens)
    assert result.outputs["g2f0"] == loaded(contents, nest)
    assert result.outputs["word"] == [*expected, *lines.tolist()]


def test_a_store_beside_a_linear_load_in_one_bank_waits_once_at_most() -> None:
    script = Script(random_words(8))
    script.load(linear(0, 100))
    script.store(linear(256, 90))
    script.add(START)
    result = script.run(f2g0=[1] * 90)
    begin = result.stamps["command"][-1]
    assert result.stamps["g2f0"] == list(range(begin + 2, begin + 102)), "the load goes first"
    assert result.stamps["f2g0"][-1] - result.stamps["f2g0"][0] <= 90


@pytest.mark.parametrize("stores", [False, True])
def test_a_line_that_is_stored_takes_a_cycle_of_its_bank_and_leaves_three_to_the_host(stores: bool) -> None:
    script = Script()
    if stores:
        script.store(linear(0, 400))
    script.add(START)
    for line in range(60):
        script.add(READ, line=line)
    reads = script.run(f2g0=[1] * 400).stamps["word"]
    # The script asks every third cycle.
    assert {after - before for before, after in pairwise(reads)} == ({3, 4} if stores else {3})


@settings(max_examples=60)
@example(linear(0, 200), 0, 1.0, 0)
@given(nest=nests(GLB.store_loops, GLB.tile_bytes, most=60), seed=SEEDS, density=st.floats(0.2, 1), column=COLUMNS)
def test_a_static_store_takes_the_marked_words_and_ends_with_its_loop_nest(nest: Nest, seed: int, density: float,
                                                                           column: int) -> None:
    contents, draw = random_words(seed), np.random.default_rng(seed)
    arriving, marks = draw.integers(0, 1 << 16, 1500), draw.random(1500) < density
    script = Script(contents)
    script.store_static(nest, column)
    script.add(START)
    script.add(WAIT)
    script.show("store_words")
    script.dump()
    result = script.run(**{f"f2g{column}": arriving.tolist(), f"f2g_bit{column}": marks.astype(int).tolist(),
                           f"f2g{1 - column}": [1]})
    assert result.status == {"busy": 0, "beyond": 0, "lost": 0}
    begin = result.stamps["command"][script.commands.index(COMMAND.const({"op": START}).as_bits())]
    stamps = np.array(result.stamps[f"f2g{column}"])
    assert stamps.tolist() == result.stamps[f"f2g_bit{column}"] == list(range(stamps[0], stamps[0] + 1500)), "one every cycle"
    taken = arriving[marks & (stamps > begin)][:nest.size].tolist()
    assert result.outputs["word"][0] == nest.size == len(taken)
    np.testing.assert_array_equal(memory(result.outputs["word"][1:]), stored(contents, nest, taken))


@pytest.mark.parametrize("load,fits", [(linear(0, 128), True), (Nest((64,), (8,), 0), True), (Nest((64,), (8,), 512), False)],
                         ids=["linear in the other bank", "a line each in the other bank", "a line each in the same bank"])
def test_a_static_store_never_waits_and_loses_a_word_if_its_bank_is_busy(load: Nest, fits: bool) -> None:
    contents, arriving = random_words(2), random_words(3, 400).tolist()
    script = Script(contents)
    script.load(load)
    script.store_static(linear(512, 100))
    script.add(START)
    if fits:
        script.add(WAIT)
    for _ in range(150):
        script.show("store_words")
    script.dump()
    result = script.run(f2g0=arriving, f2g_bit0=[1] * 400)
    begin = result.stamps["command"][script.commands.index(COMMAND.const({"op": START}).as_bits())]
    assert result.stamps["g2f0"] == list(range(begin + 2, begin + 2 + load.size)), "the load has no gaps"
    assert result.status == {"busy": int(not fits), "beyond": 0, "lost": int(not fits)}
    first = begin + 1 - result.stamps["f2g0"][0]
    # A line waits from the first word of the next one on.
    count = 100 if fits else 5
    assert result.outputs["word"][149] == count
    expected = stored(contents, linear(512, count), arriving[first:first + count])
    np.testing.assert_array_equal(memory(result.outputs["word"][150:]), expected)


def test_registers_are_read_as_written_and_counters_cannot_be_written() -> None:
    draw, script, values = random.Random(9), Script(), {}
    for register in glb_registers(GLB):
        values[register.name] = draw.getrandbits(32)
        script.registers(**{register.name: values[register.name]})
    for name in values:
        script.show(name)
    found = dict(zip(values, script.run().outputs["word"], strict=True))
    access = {register.name: register.access for register in glb_registers(GLB)}
    assert set(access.values()) == {RO, RW}
    assert found == {name: value if access[name] == RW else 0 for name, value in values.items()}
