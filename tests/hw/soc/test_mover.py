import functools

import pytest
from amaranth.lib import data
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sardonyx.hw.soc.mover import BEATS, LINES, PIECE, Pieces
from sardonyx.sim.rtl.bench import Bench

RUN = data.StructLayout({"line": LINES, "lines": LINES})
PAGE_LINES = 512


@functools.cache
def bench() -> Bench:
    return Bench(Pieces())


@settings(max_examples=30)
@given(runs=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(1, 500)), min_size=1, max_size=6),
       stalls=st.none() | st.integers(1, 99))
@example(runs=[(62, 67), ((1 << LINES) - 64, 64), (0, 1)], stalls=None)
def test_bursts_are_the_words_of_their_runs_in_order(runs: "list[tuple[int, int]]", stalls: "int | None") -> None:
    asked = [RUN.const({"line": line, "lines": lines}).as_bits() for line, lines in runs]
    found = [PIECE.from_bits(bits) for bits in bench().run({"i": asked}, {}, stalls).outputs["o"]]
    words = [(piece.line + beat, piece.last and beat == piece.beats) for piece in found for beat in range(piece.beats + 1)]
    assert words == [(line + at, at == lines - 1) for line, lines in runs for at in range(lines)]
    assert all(piece.line // PAGE_LINES == (piece.line + piece.beats) // PAGE_LINES for piece in found), "within 4 KB"


@pytest.mark.parametrize("lines", [1, BEATS, BEATS + 1, 10 * BEATS])
def test_bursts_follow_each_other_in_each_cycle(lines: int) -> None:
    asked = RUN.const({"line": 0, "lines": lines}).as_bits()
    pieces = -(-lines // BEATS)
    assert bench().run({"i": [asked] * 3}, {}, None).cycles <= 3 * pieces + 4
