"""Where the weights of a matrix product come on the streams of its rows, in front of these, so that memory need not be turned.

Weights left(x, r) stay in the register files of lanes x. A stream brings those of its own terms r, then rows of right(r, y),
and one loop nest of its load walks both. Where both have the terms of a row beside each other in memory, or both below each
other, a row of points has the weights of a lane:

    lanes 0, 1, steps 0..2          a0 a1 a2 | b0 b1 b2

Where those of left are below each other, neighbours of x are beside each other, four in a line, and each lane takes every
fourth word:

    lanes 0..3, steps 0..3          a0 b0 c0 d0 | a1 b1 c1 d1 | a2 b2 c2 d2 | a3 b3 c3 d3

Rows of right begin in lines and end within one, and the loop skips the rest of that; so of a row of points only whole lines are
taken. With rows of 10 points, which lie in 12 words, it takes 5:

    a0 b0 c0 d0  a5 b5 c5 d5  .  . | a1 b1 c1 d1  a6 b6 c6 d6  .  . | ...

Rows of a stream that begin within a line have the first whole one behind that. Where those of right alone are below each other,
the loop goes down columns of lines, which have four terms of a lane each, one below the other:

    lanes 0, 1, steps 0..6          a0 a4 b0 b4  .  .  . | a1 a5 b1 b5  .  .  . | a2 a6 b2 b6  .  .  . | a3  .  b3  .  .  .  .

Needs:   lanes, steps, streams, and which way terms lie.
Gives:   rows of points, and of which each PE keeps words.
Source:  ours. The public Amber and Onyx flows put weights into MEM tiles, which may be read in another order than written.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....hw.arch.glb import LANES as LINE_WORDS
from ...ir.pe_graph import Held


@dataclass(frozen=True)
class Weights:
    """How weights come.

    Parameters
    ----------
    lanes, steps : int         Of the product.
    rows : int                 Rows of points that they take.
    left, right : bool         Whether the terms of a factor are below each other, as the load walks it.
    beside : int               Where one of them is so alone: of left, lines of neighbours in a row of points; of right, lanes
                               whose lines are below each other.
    """

    lanes: int
    steps: int
    rows: int
    left: bool = False
    right: bool = False
    beside: int = 0

    @property
    def whole(self) -> bool:
        """Whether neighbours come without a gap, all lanes of a step beside each other."""
        return self.steps % LINE_WORDS == 0

    @property
    def down(self) -> int:
        """Of neighbours, terms below each other in the rows of points: those of four lanes take as many rows."""
        return -(-self.steps // self.beside)

    @property
    def lines(self) -> int:
        """Lines of the terms of a lane that are beside each other."""
        return -(-self.steps // LINE_WORDS)

    def held(self, lane: int, stream: int) -> Held:
        """What the PE of a lane and a stream keeps, from its operand a."""
        if self.left == self.right:
            return Held("a", (lane - self.rows,))
        if self.right:
            block, nth = divmod(lane, self.beside)
            return Held("a", (block * LINE_WORDS - self.rows,), nth * self.lines, 1, LINE_WORDS)
        if self.whole:
            return Held("a", (-self.rows,), lane, self.lanes)
        block, word = divmod(lane, LINE_WORDS)
        return Held("a", (block * self.down - self.rows,), gap(self.steps, stream) + word, LINE_WORDS, self.down)


def gap(steps: int, stream: int) -> int:
    """Points of a row of a stream in front of the first line that begins there."""
    return -steps * stream % LINE_WORDS


def alike(lanes: int, steps: int, down: bool = False) -> Weights:
    """A row of points for each lane; down: the terms of both factors are below each other."""
    return Weights(lanes, steps, lanes, down, down)


def neighbours(lanes: int, steps: int, streams: int, room: int) -> Weights | None:
    """Lines of neighbours; None where lanes are no lines, rows of points have none that is whole, or PEs keep up to `room`
    words, and these are more."""
    beside = (steps - max(gap(steps, stream) for stream in range(streams))) // LINE_WORDS
    if lanes % LINE_WORDS or beside < 1:
        return None
    down = -(-steps // beside)
    beside = -(-steps // down)
    return Weights(lanes, steps, lanes // LINE_WORDS * down, True, False, beside) if beside * down <= room else None


def on_end(lanes: int, steps: int, streams: int, room: int) -> Weights | None:
    """Lines of the terms of a lane below each other; None where streams begin within lines, or as of `neighbours`."""
    lines = -(-steps // LINE_WORDS)
    if lines * LINE_WORDS > room or any(gap(steps, stream) for stream in range(streams)):
        return None
    beside = steps // lines
    return Weights(lanes, steps, LINE_WORDS * -(-lanes // beside), False, True, beside)
