"""Words that move between memory outside and what is on the chip, as the processor asks, in Verilog.

Most of it with one clock for all, and with two; cycles are those of the processor's.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from assembler import image
from by_hand import GLB, OUTSIDE, RAM, SCRATCH, WAIT, each_clocking, move, run, shown, values
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.hw.arch.system import GLB_WINDOW, WAITING


class Move(NamedTuple):
    """In bytes; pitches outside and on the chip, where the GLB is behind the scratch memory."""

    direction: str
    outside: int
    on_chip: int
    size: int
    rows: int
    pitches: "tuple[int, int]"

    @property
    def copies(self) -> "Iterator[tuple[slice, slice]]":
        """The bytes of each row, outside and on the chip."""
        for row in range(self.rows):
            yield tuple(slice(first + row * pitch, first + row * pitch + self.size)
                        for first, pitch in zip((self.outside, self.on_chip), self.pitches, strict=True))


@st.composite
def moves(draw: st.DrawFn) -> "list[Move]":
    found = []
    for _ in range(draw(st.integers(1, 2 * WAITING + 2))):
        scratch, rows = draw(st.booleans()), draw(st.sampled_from([1, 1, 2, 3, 7]))
        room = SCRATCH if scratch else GLB
        size = draw(st.one_of(st.integers(1, 3), st.integers(1, 3).map(lambda lines: 8 * lines),
                              st.integers(1, room // rows - 7)))
        # Rows on the chip may touch; outside they may overlap, and go back.
        pitches = tuple(8 * draw(lines) * (rows > 1)
                        for lines in (st.integers(-64, 64), st.integers(-(-size // 8), room // rows // 8)))
        reach = [(rows - 1) * pitch for pitch in pitches]
        first = draw(st.integers(0, room - size - reach[1])) + (0 if scratch else SCRATCH)
        # Both begin at the same byte of a word.
        outside = 8 * draw(st.integers(max(0, -reach[0]) // 8, (OUTSIDE - size - max(0, reach[0])) // 8 - 1)) + first % 8
        found.append(Move(draw(st.sampled_from(["in", "out"])), outside, first, size, rows, pitches))
    return found


def chip_address(byte: int) -> int:
    return SCRATCH + byte if byte < SCRATCH else GLB_WINDOW + byte - SCRATCH


@each_clocking
@settings(max_examples=8)
@given(moves=moves(), latency=st.sampled_from([1, 2, 13, 50]))
def test_moves_leave_what_copies_in_their_order_do(periods: "tuple[int, int] | None",
                                                   moves: "list[Move]", latency: int) -> None:
    outside = np.random.default_rng(latency).integers(0, 256, OUTSIDE, dtype=np.uint8)
    chip = np.zeros(SCRATCH + GLB, np.uint8)
    expected = outside.copy()
    program: list[list[int]] = [move("in", RAM, chip_address(0), SCRATCH), move("in", RAM, chip_address(SCRATCH), GLB)]
    chip[:SCRATCH], chip[SCRATCH:] = outside[:SCRATCH], outside[:GLB]
    before = "in"
    for each in moves:
        # Directions overtake each other; moves of one do not.
        program += [WAIT] * (each.direction != before)
        ends, pitches = (RAM + each.outside, chip_address(each.on_chip)), each.pitches
        for there, here in each.copies:
            if each.direction == "in":
                chip[here] = expected[there]
            else:
                expected[there] = chip[here]
        turn = 1 if each.direction == "in" else -1
        program.append(move(each.direction, *ends[::turn], each.size, each.rows, pitches[::turn]))
        before = each.direction
    memory, _, _ = run(*program, WAIT, latency=latency, outside=outside, periods=periods)
    assert len(image(*program, WAIT)) < SCRATCH, "the program is not where words move"
    assert np.array_equal(memory[RAM // 8:].view(np.uint8), expected)


@pytest.mark.parametrize("direction, ends", [("in", (RAM, GLB_WINDOW)), ("out", (GLB_WINDOW, RAM))])
@pytest.mark.parametrize("periods", [None, (1, 1), (3, 1)], ids=str)
def test_words_cross_as_fast_as_they_come(periods: "tuple[int, int] | None", direction: str, ends: "tuple[int, int]") -> None:
    """Over and over, so that what waits at the end of a transfer plays no part; a machine that is faster holds up nothing."""
    def cycles(count: int) -> int:
        start, end = values(shown("time", 0), *[move(direction, *ends, GLB)] * count, WAIT, shown("time", 1), count=2,
                            periods=periods)
        return end - start

    # The processor looks again in a few cycles.
    assert cycles(3) - cycles(1) <= 2 * GLB // 8 + 20


@pytest.mark.parametrize("direction, ends, pitches", [
    ("in", (RAM, GLB_WINDOW), (48, 32)), ("out", (GLB_WINDOW, RAM), (32, 48))])
@pytest.mark.parametrize("periods", [None, (3, 1)], ids=str)
def test_rows_cross_as_fast_as_a_run_of_their_words(periods: "tuple[int, int] | None", direction: str, ends: "tuple[int, int]",
                                                    pitches: "tuple[int, int]") -> None:
    """Of 4 words each: the processor asks for all of them at once."""
    rows = GLB // 32
    found = []
    for size, count in ((32, rows), (32 * rows, 1)):
        start, end = values(shown("time", 0), move(direction, *ends, size, count, pitches), WAIT, shown("time", 1), count=2,
                            periods=periods)
        found.append(end - start)
    # It sets three registers more, and looks again in a few cycles.
    assert found[0] - found[1] <= 60, found


def test_rows_are_those_of_one_transfer() -> None:
    """The next one has a row again."""
    kept, _, _ = run(move("in", RAM, SCRATCH, 8, 3, (8, 8)), move("in", RAM + 64, SCRATCH + 64, 8), WAIT,
                     move("out", SCRATCH, RAM + 256, 128), WAIT, outside=np.arange(1, 33, dtype=np.uint64))
    assert kept[RAM // 8 + 32:RAM // 8 + 48].tolist() == [1, 2, 3, *[0] * 5, 9, *[0] * 7]
