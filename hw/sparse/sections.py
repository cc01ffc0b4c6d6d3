"""Where a block ends, whose words say it themselves; and whose turn is next."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value

from ..arch.token import DATA_BITS


def last_of_block(m: Module, word: Value, sections: Value, taken: Value) -> Value:
    """Whether a word ends its block of so many sections, each a length and as many words.

    taken: the word is of a block, and leaves in this cycle; the one behind it is shown next.
    """
    left = Signal(DATA_BITS)    # words of the section that are to come, this one among them; 0: it is a length
    done = Signal(2)            # sections of the block that have ended
    ends = Signal()
    last = Signal()
    m.d.comb += [ends.eq(((left == 0) & (word == 0)) | (left == 1)), last.eq(ends & (done + 1 == sections))]
    with m.If(taken):
        with m.If(left == 0):
            m.d.sync += left.eq(word)
        with m.Else():
            m.d.sync += left.eq(left - 1)
        with m.If(ends):
            m.d.sync += done.eq(done + 1)
        with m.If(last):
            m.d.sync += done.eq(0)
    return last


def next_in_turn(m: Module, requests: Value, before: Value) -> Value:
    """The request whose turn it is behind that of number `before`; any number if there is none."""
    count = len(requests)
    chosen = Signal(range(count))
    with m.Switch(before):
        for at in range(count):
            with m.Case(at):
                # The nearest one is assigned last, so it counts.
                for step in range(count, 0, -1):
                    with m.If(requests[(at + step) % count]):
                        m.d.comb += chosen.eq((at + step) % count)
    return chosen
