import functools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sardonyx.hw.soc.mover import BEATS, LINES, PIECE, RUN, Pieces
from sardonyx.sim.rtl.bench import Bench

PAGE_LINES = 512


@functools.cache
def bench() -> Bench:
    return Bench(Pieces())


@settings(max_examples=30)
@given(runs=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(1, 500)), min_size=1, max_size=6),
       stalls=st.none() | st.integers(1, 99))
@example(runs=[(62, 67), ((1 << LINES) - 64, 64), (0, 1)], stalls=None)
def test_bursts_are_the_words_of_their_runs_in_order(runs: "list[tuple[int, int]]", stalls: "int | None") -> None:
    asked = [RUN.const({"line": line, "lines": lines, "skip": line % 8, "rest": lines % 8}).as_bits() for line, lines in runs]
    found = [PIECE.from_bits(bits) for bits in bench().run({"i": asked}, {}, stalls).outputs["o"]]
    words = [(piece.line + beat, piece.last and beat == piece.beats) for piece in found for beat in range(piece.beats + 1)]
    assert words == [(line + at, at == lines - 1) for line, lines in runs for at in range(lines)]
    # The first burst of a run has its begin, the last one its end.
    begins = [True, *(piece.last for piece in found[:-1])]
    assert [piece.skip for piece, begin in zip(found, begins, strict=True) if begin] == [line % 8 for line, _ in runs]
    assert [piece.rest for piece in found if piece.last] == [lines % 8 for _, lines in runs]
    assert not any(piece.skip for piece, begin in zip(found, begins, strict=True) if not begin)
    assert not any(piece.rest for piece in found if not piece.last)
    assert all(piece.line // PAGE_LINES == (piece.line + piece.beats) // PAGE_LINES for piece in found), "within 4 KB"


@pytest.mark.parametrize("lines", [1, BEATS, BEATS + 1, 10 * BEATS])
def test_bursts_follow_each_other_in_each_cycle(lines: int) -> None:
    asked = RUN.const({"line": 0, "lines": lines}).as_bits()
    pieces = -(-lines // BEATS)
    assert bench().run({"i": [asked] * 3}, {}, None).cycles <= 3 * pieces + 4
