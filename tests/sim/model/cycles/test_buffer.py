"""The model of a MEM tile's dense controllers: what it gives, and every way in which it refuses a configuration."""

import pytest

from sardonyx.compiler.dense.map.affine import Pattern, fields
from sardonyx.hw.arch.tile import MEM
from sardonyx.sim.model.cycles.buffer import NOTHING, Result, ScheduleError, run

LATENCY = MEM.read_latency


def follow(cycles: int, contents: "dict[int, int] | None" = None, **patterns: Pattern) -> Result:
    """Every write port stores the number of the cycle, wr1 with 1000 added."""
    config = {name: value for port, pattern in patterns.items() for name, value in fields(MEM, port, pattern).items()}
    return run(MEM, config, {"wr0": range(cycles), "wr1": range(1000, 1000 + cycles)}, cycles, contents)


def line(count: int, cycle: int, address: int = 0, stride: int = 1) -> Pattern:
    return Pattern((count,), (1,), (stride,), cycle, address)


def test_a_read_gives_the_word_written_last() -> None:
    result = follow(60, wr0=line(8, 2), wr1=line(8, 20), rd0=line(8, 10), rd1=Pattern((8,), (2,), (1,), 30, 0))
    assert result.words["rd0"].tolist() == [NOTHING] * (10 + LATENCY) + list(range(2, 10)) + [NOTHING] * 36
    assert result.words["rd1"][30 + LATENCY:30 + LATENCY + 16].tolist() == \
        [word for n in range(8) for word in (1020 + n, NOTHING)]


def test_contents_can_stand_in_the_memory_before() -> None:
    result = follow(20, {7: 70, 8: 80}, rd0=line(2, 0, 7))
    assert result.words["rd0"][LATENCY:LATENCY + 2].tolist() == [70, 80]


def test_a_line_takes_one_access_each_way() -> None:
    assert follow(200, wr0=line(64, 0), rd0=line(64, 100)).accesses == 16 + 16
    # Words that are far apart, in the memory or in time, take one each.
    assert follow(300, wr0=line(64, 0, stride=4)).accesses == 64
    assert follow(700, wr0=Pattern((64,), (10,), (1,), 0, 0)).accesses == 64


@pytest.mark.parametrize("patterns,message", [
    ({"wr0": line(8, 0), "rd0": line(9, 10)}, "rd0 reads word 8 in cycle 18, which was never written"),
    ({"rd1": line(1, 3, 5)}, "rd1 reads word 5 in cycle 3, which was never written"),
    ({"wr0": line(8, 0), "rd0": line(8, 4)}, "rd0 reads word 0 in cycle 4, wr0 writes it in cycle 0, less than 5 apart"),
    ({"wr0": line(8, 0), "wr1": line(1, 24), "rd1": line(8, 20)},
     "rd1 reads word 0 in cycle 20, wr1 writes it in cycle 24, less than 5 apart"),
    ({"wr0": line(8, 0), "wr1": line(1, 6, 2)},
     "word 2 is written by wr0 in cycle 2 and by wr1 in cycle 6, less than 5 apart"),
    ({"wr0": line(9, 0, stride=4), "wr1": line(9, 0, 1024, 4)},
     "the port of the SRAM is overrun in cycle 1: wr1 needs line 256, wr0 line 0")])
def test_illegal_configurations_are_named(patterns: "dict[str, Pattern]", message: str) -> None:
    with pytest.raises(ScheduleError) as error:
        follow(60, **patterns)
    assert str(error.value) == message


def test_distances_that_just_suffice_are_legal() -> None:
    result = follow(60, wr0=line(8, 0), wr1=line(1, 25), rd0=line(8, 5), rd1=line(8, 20))
    assert result.words["rd0"][5 + LATENCY:13 + LATENCY].tolist() == result.words["rd1"][20 + LATENCY:28 + LATENCY].tolist() \
        == list(range(8))


def test_the_flag_follows_its_schedule() -> None:
    result = follow(30, valid=Pattern((3, 2), (1, 10), (0, 0), 4, 0))
    assert [cycle for cycle, flag in enumerate(result.valid) if flag] == [4, 5, 6, 14, 15, 16]


def test_a_rom_reads_what_it_is_asked_for() -> None:
    result = run(MEM, {"rom": 1}, {"wr0": [3, 1, 2, 2051]}, 12, {1: 11, 2: 22, 3: 33})
    assert result.words["rd0"].tolist()[LATENCY:LATENCY + 4] == [33, 11, 22, 33]
