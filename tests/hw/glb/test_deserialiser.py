"""The deserialiser alone: its writes leave what words one by one would, and there are few of them."""

import functools
from collections.abc import Sequence

import pytest
from amaranth.hdl import Cat, Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sardonyx.hw.arch.glb import LANES
from sardonyx.hw.emit import macro
from sardonyx.hw.glb.deserialiser import Deserialiser
from sardonyx.sim.rtl.bench import Bench, Result

ADDRESS_BITS = 9
COMES = data.StructLayout({"address": ADDRESS_BITS, "data": 16})
# A stream of the bench has 64 bits, so words are small.
BITS = 12
WRITTEN = data.StructLayout({"line": ADDRESS_BITS - 3, "lanes": LANES, "words": data.ArrayLayout(BITS, LANES)})
Word = tuple[int, int]


class Streams(wiring.Component):
    """Words in, lines out."""

    module_name = "deserialiser_streams"

    def __init__(self) -> None:
        super().__init__({"i": In(stream.Signature(COMES)), "o": Out(stream.Signature(WRITTEN)), "holds": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.lines = lines = macro(Deserialiser(ADDRESS_BITS))
        m.d.comb += [
            lines.write.eq(self.i.valid), lines.address.eq(self.i.payload.address), lines.data.eq(self.i.payload.data),
            self.i.ready.eq(lines.taken), self.holds.eq(lines.holds),
            self.o.valid.eq(lines.request), self.o.payload.line.eq(lines.line), self.o.payload.lanes.eq(lines.lanes),
            self.o.payload.words.as_value().eq(Cat(lines.words.word_select(lane, 16)[:BITS] for lane in range(LANES))),
            lines.grant.eq(self.o.ready)]
        return m


@functools.cache
def bench() -> Bench:
    return Bench(Streams())


def run(words: Sequence[Word], stalls: "int | None" = None) -> Result:
    asked = [COMES.const({"address": address, "data": word}).as_bits() for address, word in words]
    result = bench().run({"i": asked}, {}, stalls)
    assert result.status == {"holds": 0} and not result.left
    return result


def writes(result: Result) -> "list[tuple[int, dict[int, int]]]":
    """Lines, and the words of each that are written, by lane."""
    found = [WRITTEN.from_bits(bits) for bits in result.outputs["o"]]
    return [(each.line, {lane: each.words[lane] for lane in range(LANES) if each.lanes >> lane & 1}) for each in found]


def linear(first: int, count: int) -> list[Word]:
    return [(first + 2 * at, at + 1) for at in range(count)]


words = st.lists(st.tuples(st.integers(0, (1 << ADDRESS_BITS - 1) - 1), st.integers(1, 9), st.sampled_from([2, 8, 6, 0, -2])),
                 min_size=1, max_size=12).map(
    lambda runs: [((2 * first + step * at) % (1 << ADDRESS_BITS), (97 * first + at) % (1 << BITS))
                  for first, count, step in runs for at in range(count)])


@settings(max_examples=150)
@given(words=words, stalls=st.none() | st.integers(1, 10_000))
@example(words=linear(6, 5), stalls=None)
@example(words=[(0, 1), (0, 2), (0, 3)], stalls=3)
def test_what_is_written_is_what_words_one_by_one_leave_and_in_their_order(words: list[Word], stalls: "int | None") -> None:
    memory: dict[int, int] = {}
    for line, lanes in writes(run(words, stalls)):
        for lane, word in lanes.items():
            memory[8 * line + 2 * lane] = word
        # No word is there before those that came before it, but for others of its line.
        count = next((at for at in range(len(words), -1, -1)
                      if dict(words[:at]).items() == memory.items()), None)
        assert count is not None, f"{memory} is no state that words one by one pass"
    assert memory == dict(words)


@pytest.mark.parametrize("first, count, lines", [(0, 64, 16), (6, 64, 17), (0, 1, 1), (2, 3, 1), (2, 4, 2)])
def test_a_run_of_words_takes_a_write_for_each_line(first: int, count: int, lines: int) -> None:
    result = run(linear(first, count))
    assert len(result.outputs["o"]) == lines
    assert result.stamps["i"] == list(range(result.stamps["i"][0], result.stamps["i"][0] + count)), "a word a cycle"
    assert result.stamps["o"][-1] == result.stamps["i"][-1] + 2


def test_words_of_other_lines_each_take_a_write_and_a_cycle() -> None:
    result = run([(8 * at, at) for at in range(20)])
    assert len(result.outputs["o"]) == 20
    assert result.stamps["i"][-1] - result.stamps["i"][0] == 19
