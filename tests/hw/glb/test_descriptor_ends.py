"""Queued descriptors of a GLB tile begin and end, are started and stopped, and what the host reads of it."""

from itertools import accumulate

import pytest
from glb_queue import COLUMN, PRIME, QUEUED, launch, moved, started
from glb_script import (
    COMMAND,
    EACH_QUEUE,
    GLB,
    START,
    STOP,
    TABLE,
    UNITS,
    WAIT,
    Descriptor,
    Script,
    arm,
    bench,
    linear,
    loaded,
    random_words,
)

from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.soc import ENDED_BITS


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
