"""Queues of descriptors of the load and store DMAs of a GLB tile: what follows what, when, and what the host reads of it."""

import random
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import pytest
from glb_script import (
    COLUMNS,
    COMMAND,
    EACH_QUEUE,
    ENDS,
    GLB,
    POLL,
    REGISTERS,
    SEEDS,
    STALLS,
    START,
    STOP,
    TABLE,
    UNITS,
    WAIT,
    WORDS,
    Descriptor,
    Script,
    arm,
    bench,
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
from sardonyx.hw.arch.soc import ENDED_BITS, RW, glb_registers, named
from sardonyx.sim.rtl.bench import Result

QUEUED = TABLE["load_control"].word(queued=1)
COLUMN = {"load": "g2f", "store": "f2g"}


def taken(script: Script, unit: str) -> None:
    """Wait till the registers are free again."""
    script.add(POLL, index=REGISTERS.index(f"{unit}_control"), value=QUEUED)


def scribble(script: Script, draw: random.Random) -> None:
    """Write anything to all registers that does not arm them."""
    for register in TABLE.values():
        if register.access == RW:
            arms = register.name in ("load_control", "store_control")
            kept = ~register.word(**{draw.choice(("queued", "enable")): 1}) if arms else -1
            script.registers(**{register.name: draw.getrandbits(32) & kept})


def launch(script: Script, unit: str, descriptors: Sequence[Descriptor], draw: "random.Random | None" = None) -> None:
    """Start the first and queue the others, each as soon as the one before was taken; scribble over the registers meanwhile."""
    for number, each in enumerate(descriptors):
        arm(script, unit, each)
        if number == 0:
            script.add(START)
        taken(script, unit)
        if unit == "store":
            script.show("store_words_before")
        if draw is not None:
            scribble(script, draw)


def moved(result: Result, unit: str) -> "list[tuple[int, int]]":
    """Cycle and column of every word of a unit, in order."""
    return sorted((stamp, column) for column in range(2) for stamp in result.stamps[f"{COLUMN[unit]}{column}"])


def columns(descriptors: Sequence[Descriptor]) -> list[int]:
    """The column of every word."""
    return [each.column for each in descriptors for _ in range(each.words)]


def split(descriptors: Sequence[Descriptor], words: Sequence[int]) -> dict[int, list[int]]:
    """Words one after the other, by column."""
    pairs = list(zip(words, columns(descriptors), strict=True))
    return {column: [word for word, its in pairs if its == column] for column in range(2)}


def started(script: Script, result: Result) -> int:
    """The cycle of the first start."""
    return result.stamps["command"][script.commands.index(COMMAND.const({"op": START}).as_bits())]


def descriptors_of(levels: int) -> "st.SearchStrategy[Descriptor]":
    return st.builds(Descriptor, nests(levels, GLB.tile_bytes, most=60), st.integers(0, 3), COLUMNS)


@st.composite
def sections(draw: st.DrawFn) -> Descriptor:
    """Sections, in every run as many, but of other lengths."""
    count, repeat = draw(st.integers(1, 4)), draw(st.integers(0, 3))
    lengths = st.lists(st.integers(0, 12), min_size=count, max_size=count).map(tuple)
    return Descriptor(linear(2 * draw(st.integers(0, WORDS - 60)), 1), repeat, draw(COLUMNS),
                      tuple(draw(lengths) for _ in range(repeat + 1)))


ONE, PRIME = linear(6, 1), Nest((7, 5), (-10, 58), 300)


@EACH_QUEUE
@settings(max_examples=60)
@example([Descriptor(ONE, 3), Descriptor(ONE, 0, 1), Descriptor(ONE)], 1, None, False)
@example([Descriptor(PRIME, 1), Descriptor(linear(0, 53), 2, 1), Descriptor(ONE, 2)], 2, 3, False)
@given(queue=st.lists(descriptors_of(GLB.load_loops), min_size=1, max_size=4), seed=SEEDS, stalls=STALLS,
       scribbles=st.booleans())
def test_queued_loads_stream_the_words_of_one_after_the_other_each_as_often_as_it_repeats(
        glb: Glb, queue: "list[Descriptor]", seed: int, stalls: "int | None", scribbles: bool) -> None:
    contents = random_words(seed)
    script = Script(contents, glb)
    launch(script, "load", queue, random.Random(seed) if scribbles else None)
    script.add(WAIT)
    script.show("ended")
    script.add(ENDS)
    result = script.run(stalls)
    words = [word for each in queue for _ in each.counts for word in loaded(contents, each.nest)]
    assert {column: result.outputs[f"g2f{column}"] for column in range(2)} == split(queue, words)
    assert [column for _, column in moved(result, "load")] == columns(queue)
    assert result.outputs["word"] == [len(queue), len(queue)], "the end of each is told once"


@settings(max_examples=120)
@example([Descriptor(ONE, 3), Descriptor(ONE, 0, 1), Descriptor(ONE)], 1, None, False)
@example([Descriptor(ONE, 2, 0, ((0,), (5,), (0,))), Descriptor(PRIME, 1), Descriptor(linear(40, 1), 0, 1, ((3, 0, 7),))],
         2, 3, False)
@given(queue=st.lists(descriptors_of(GLB.store_loops) | sections(), min_size=1, max_size=4), seed=SEEDS, stalls=STALLS,
       scribbles=st.booleans())
def test_queued_stores_write_the_words_of_one_after_the_other_over_those_of_the_repetition_before(
        queue: "list[Descriptor]", seed: int, stalls: "int | None", scribbles: bool) -> None:
    contents, arriving = random_words(seed), iter(random_words(seed + 1, 2000).tolist())
    tokens, after = list[int](), contents
    for each in queue:
        for run, count in enumerate(each.counts):
            lengths = each.sections[run] if each.sections else ()
            words = [word for length in lengths for word in (length, *(next(arriving) for _ in range(length)))] \
                or [next(arriving) for _ in range(count)]
            after = stored(after, linear(each.nest.start, count) if each.sections else each.nest, words)
            tokens += words
    script = Script(contents)
    launch(script, "store", queue, random.Random(seed) if scribbles else None)
    script.add(WAIT)
    for name in ("store_words_before", "store_words", "ended"):
        script.show(name)
    script.add(ENDS)
    script.dump()
    given_ = split(queue, tokens)
    result = script.run(stalls, **{f"f2g{column}": [*given_[column], 7] for column in range(2)})
    assert result.left == {"f2g0": 1, "f2g1": 1}
    assert result.status == {"busy": 0, "beyond": 0, "lost": 0}
    assert [column for _, column in moved(result, "store")] == columns(queue)
    counts = [each.counts[-1] for each in queue]
    before = [0, *counts[:-1]]
    assert result.outputs["word"][:len(queue) + 4] == [*before, before[-1], counts[-1], *[len(queue) << ENDED_BITS] * 2]
    np.testing.assert_array_equal(memory(result.outputs["word"][len(queue) + 4:]), after)


PAIRS = pytest.mark.parametrize("first,second", [
    (Descriptor(linear(0, 53)), Descriptor(linear(100, 47))),
    (Descriptor(linear(2, 53), 1), Descriptor(linear(100, 47), 2, 1)),
    (Descriptor(ONE, 60), Descriptor(ONE)),
    (Descriptor(ONE, 60, 1), Descriptor(linear(10, 1), 5)),
    (Descriptor(PRIME, 2), Descriptor(Nest((31,), (26,), 0), 1)),
    (Descriptor(Nest((31,), (26,), 0), 1), Descriptor(linear(106, 2), 3))],
    ids=["linear", "to another column", "one word, repeated", "one word, both repeated", "prime", "two words"])


@EACH_QUEUE
@PAIRS
def test_a_load_has_no_idle_cycle_between_two_launches(first: Descriptor, second: Descriptor, glb: Glb) -> None:
    contents = random_words(1)
    script = Script(contents, glb)
    launch(script, "load", [first, second])
    result = script.run()
    begin = started(script, result) + 1 + glb.read_latency
    assert moved(result, "load") == list(zip(range(begin, begin + first.words + second.words), columns([first, second])))


@PAIRS
def test_a_store_has_no_idle_cycle_between_two_launches(first: Descriptor, second: Descriptor) -> None:
    script = Script()
    launch(script, "store", [first, second])
    result = script.run(f2g0=[5] * 400, f2g1=[6] * 400)
    begin = started(script, result) + 1
    assert moved(result, "store") == list(zip(range(begin, begin + first.words + second.words), columns([first, second])))


@pytest.mark.parametrize("queue", [
    [Descriptor(ONE, 0, 0, ((40,),)), Descriptor(linear(200, 1), 2, 0, ((3, 0), (0, 5), (1, 1)))],
    [Descriptor(ONE, 40, 0, ((0,),) * 41), Descriptor(linear(200, 19), 1)],
    [Descriptor(linear(200, 19), 1), Descriptor(ONE, 1, 0, ((0,), (0,)))]],
    ids=["sections behind sections", "loops behind sections", "sections behind loops"])
def test_a_store_of_sections_has_no_idle_cycle_between_two_launches(queue: "list[Descriptor]") -> None:
    script = Script()
    launch(script, "store", queue)
    tokens = [word for each in queue for run in each.sections or [()] * (each.repeat + 1)
              for word in ([x for length in run for x in (length, *[9] * length)] or [9] * each.nest.size)]
    result = script.run(f2g0=[*tokens, 1, 1])
    begin = started(script, result) + 1
    assert result.left == {"f2g0": 2}
    assert result.stamps["f2g0"] == list(range(begin, begin + len(tokens)))


def test_a_static_store_takes_the_next_marked_word_for_the_next_launch() -> None:
    contents, draw = random_words(1), np.random.default_rng(2)
    arriving, marks = draw.integers(0, 1 << 16, 900), draw.random(900) < 0.8
    queue = [Descriptor(linear(0, 37), 1, static=True), Descriptor(linear(512, 1), 40, static=True),
             Descriptor(linear(100, 53), static=True)]
    script = Script(contents)
    launch(script, "store", queue)
    script.add(WAIT)
    script.dump()
    result = script.run(f2g0=arriving.tolist(), f2g_bit0=marks.astype(int).tolist())
    stamps = np.array(result.stamps["f2g0"])
    assert stamps.tolist() == result.stamps["f2g_bit0"] == list(range(stamps[0], stamps[0] + 900)), "one every cycle"
    words, after = iter(arriving[marks & (stamps > started(script, result))].tolist()), contents
    for each in queue:
        for count in each.counts:
            after = stored(after, each.nest, [next(words) for _ in range(count)])
    np.testing.assert_array_equal(memory(result.outputs["word"][3:]), after)


@EACH_QUEUE
@pytest.mark.parametrize("stalls", [None, 1, 2])
def test_a_descriptor_has_ended_when_its_last_word_moved(glb: Glb, stalls: "int | None") -> None:
    queues = {"load": [Descriptor(linear(0, 31), 1), Descriptor(PRIME, 0, 1)],
              "store": [Descriptor(linear(512, 29), 1), Descriptor(linear(640, 37), 2, 1)]}
    script = Script(random_words(3), glb)
    for number in range(2):
        for unit in UNITS:
            arm(script, unit, queues[unit][number])
        if number == 0:
            script.add(START)
    first = len(script.commands)
    for _ in range(300):
        script.show("ended")
    result = script.run(stalls, f2g0=[1] * 58, f2g1=[2] * 111)
    stamps = result.stamps["command"][first:]
    for unit, queue in queues.items():
        ends = [moved(result, unit)[words - 1][0] for words in accumulate(each.words for each in queue)]
        found = [word >> (unit == "store") * ENDED_BITS & (1 << ENDED_BITS) - 1 for word in result.outputs["word"]]
        assert found == [sum(end < stamp for end in ends) for stamp in stamps]
        assert {0, 2} <= {*found}


@EACH_QUEUE
@pytest.mark.parametrize("unit", UNITS)
def test_one_that_is_queued_behind_the_end_of_the_last_begins_at_once(unit: str, glb: Glb) -> None:
    contents = random_words(4)
    script = Script(contents, glb)
    first, second = Descriptor(linear(20, 5)), Descriptor(PRIME, 1)
    launch(script, unit, [first])
    script.add(WAIT)
    for _ in range(30):
        script.show("ended")
    arm(script, unit, second)
    armed = len(script.commands) - 1
    script.add(WAIT)
    script.show("ended")
    result = script.run(**({} if unit == "load" else {"f2g0": [8] * 80}))
    assert result.outputs["word"][-1] == 2 << (unit == "store") * ENDED_BITS, "it is busy until that has ended"
    begin = result.stamps["command"][armed] + (2 + glb.read_latency if unit == "load" else 2)
    assert [stamp for stamp, _ in moved(result, unit)][5:] == list(range(begin, begin + second.words))
    if unit == "load":
        assert result.outputs["g2f0"] == [*loaded(contents, first.nest), *loaded(contents, PRIME), *loaded(contents, PRIME)]


@EACH_QUEUE
@pytest.mark.parametrize("unit", UNITS)
def test_a_queued_descriptor_waits_for_a_start_without_a_run_and_is_run_once(unit: str, glb: Glb) -> None:
    script, control = Script(random_words(5), glb), f"{unit}_control"
    for number in range(2):
        arm(script, unit, Descriptor(linear(20, 5 + number)))
        script.add(WAIT)
        for _ in range(20):
            script.show(control)
        script.add(START)
        script.add(WAIT)
        script.show(control)
        script.show("ended")
        script.add(STOP)
    result = script.run(**({} if unit == "load" else {"f2g0": [8] * 80}))
    word = result.outputs["word"]
    assert {word[number] & QUEUED for number in (*range(20), *range(22, 42))} == {QUEUED}
    assert [word[20] & QUEUED, word[42] & QUEUED] == [0, 0]
    assert [word[21], word[43]] == [1 << (unit == "store") * ENDED_BITS] * 2
    starts = [stamp for stamp, command in zip(result.stamps["command"], script.commands)
              if command == COMMAND.const({"op": START}).as_bits()]
    stamps = [stamp for stamp, _ in moved(result, unit)]
    assert len(stamps) == 11
    assert starts[0] < stamps[0] and stamps[4] < starts[1] < stamps[5]


@EACH_QUEUE
@pytest.mark.parametrize("unit", UNITS)
def test_a_stop_ends_repetitions_too_and_leaves_what_is_queued_for_the_next_start(unit: str, glb: Glb) -> None:
    contents = random_words(6)
    script, control = Script(contents, glb), f"{unit}_control"
    first, second = Descriptor(linear(0, 11), 50), Descriptor(linear(100, 7), 0, 1)
    launch(script, unit, [first])
    arm(script, unit, second)
    for _ in range(20):
        script.show("ended")
    stop = len(script.commands)
    script.add(STOP)
    script.add(WAIT)
    for _ in range(50):
        script.show(control)
    script.show("ended")
    script.add(START)
    script.add(WAIT)
    script.show(control)
    script.show("ended")
    script.show("store_words_before")
    result = script.run(**({} if unit == "load" else {"f2g0": [8] * 600, "f2g1": [9] * 20}))
    word = result.outputs["word"]
    assert {each & QUEUED for each in word[-54:-4]} == {QUEUED}
    assert word[-4] == 0 and word[-3] & QUEUED == 0 and word[-2] == 1 << (unit == "store") * ENDED_BITS
    assert word[-1] == 0, "nothing ended before it since the start"
    stamps = result.stamps[f"{COLUMN[unit]}0"]
    assert 0 < len(stamps) < 200 and max(stamps) <= result.stamps["command"][stop]
    assert len(result.stamps[f"{COLUMN[unit]}1"]) == 7
    if unit == "load":
        assert result.outputs["g2f0"] == (loaded(contents, first.nest) * 51)[:len(stamps)]
        assert result.outputs["g2f1"] == loaded(contents, second.nest)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("first", [Descriptor(linear(0, 23)), Descriptor(linear(0, 5), 9)], ids=["queued", "repeated"])
def test_nothing_is_taken_or_begun_anew_in_the_cycle_of_a_stop(first: Descriptor, unit: str) -> None:
    scripts = []
    for waits in range(20):
        script = Script(random_words(6))
        launch(script, unit, [first])
        arm(script, unit, Descriptor(linear(100, 70), 0, 1))
        for _ in range(waits):
            script.registers(load_start=0)
        script.add(STOP)
        script.add(WAIT)
        script.show(f"{unit}_control")
        scripts.append(script)
    found = set()
    for script, result in zip(scripts, bench(GLB).run_many([each.case(f2g0=[1] * 99, f2g1=[1] * 99) for each in scripts])):
        stop, stamps = result.stamps["command"][-3], [stamp for stamp, _ in moved(result, unit)]
        last = started(script, result) + first.words        # the cycle of the last step of the first
        assert max(stamps) <= stop
        assert result.outputs["word"][-1] & QUEUED == (0 if stop > last else QUEUED)
        found.add(stop - last)
    assert {offset % 5 for offset in found} == {*range(5)} if first.repeat else {-1, 0, 1} <= found


@pytest.mark.parametrize("unit", UNITS)
def test_what_is_not_enabled_or_has_not_been_started_takes_nothing(unit: str) -> None:
    other = UNITS[1 - UNITS.index(unit)]
    script = Script(random_words(7))
    launch(script, unit, [Descriptor(linear(20, 5))])
    script.add(WAIT)
    arm(script, other, Descriptor(linear(60, 3)))
    script.registers(**{f"{unit}_control": QUEUED})
    script.add(WAIT)
    for _ in range(30):
        script.show(f"{unit}_control")
        script.show(f"{other}_control")
    result = script.run(f2g0=[8] * 80)
    assert {word & QUEUED for word in result.outputs["word"][-60:]} == {QUEUED}
    assert len(moved(result, unit)) == 5
    assert moved(result, other) == []


@EACH_QUEUE
def test_one_that_is_queued_in_the_cycle_in_which_another_is_taken_waits(glb: Glb) -> None:
    contents = random_words(8)
    first, second = Descriptor(linear(0, 40)), Descriptor(linear(100, 11))
    scripts = []
    for waits in range(40):
        script = Script(contents, glb)
        launch(script, "load", [first])
        arm(script, "load", second)
        for _ in range(waits):
            script.registers(store_limit=0)
        script.registers(load_control=TABLE["load_control"].word(enable=1, queued=1))
        scripts.append(script)
    found = set()
    for result in bench(glb).run_many([script.case() for script in scripts]):
        taken_in = result.stamps["g2f0"][first.words] - 1 - glb.read_latency
        written = result.stamps["command"][-1]
        runs = 1 + (written >= taken_in)
        assert result.outputs["g2f0"] == loaded(contents, first.nest) + loaded(contents, second.nest) * runs
        found.add(written - taken_in)
    assert {-1, 0, 1} <= found


@EACH_QUEUE
def test_a_repetition_and_a_queued_load_read_what_was_written_meanwhile(glb: Glb) -> None:
    # All is in one line, which the load holds; it has to wait for the array, so the host writes between the words.
    script = Script(np.full(WORDS, 1, "<u2"), glb)
    launch(script, "load", [Descriptor(linear(0, 2), 20)])
    arm(script, "load", Descriptor(linear(0, 2), 20))
    for value in range(2, 60):
        script.write(0, value * 0x0001_0001_0001_0001)
    result = script.run(stalls=1)
    words = result.outputs["g2f0"]
    assert len(words) == 84 and words == sorted(words)
    assert words[0::2] == words[1::2] and len({*words}) > 15


def test_without_a_queue_there_is_nothing_of_it_in_the_registers() -> None:
    plain = named(glb_registers(Glb(queue=False)))
    more = [name for name in named(glb_registers(Glb(queue=True))) if name not in plain]
    assert more == ["ended", "store_words_before"]
    assert {field[0] for name in ("load_control", "store_control") for field in plain[name].fields} \
        == {"enable", "affine", "static", "sliced", "column"}
