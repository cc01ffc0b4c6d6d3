"""Transfers of rows, from bus to bus, against copies of bytes."""

import functools
from typing import Any, NamedTuple

import numpy as np
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sardonyx.hw.emit import macro
from sardonyx.hw.soc.mover import MOVE, Mover
from sardonyx.hw.stream.fifo import Fifo
from sardonyx.sim.rtl.bench import Bench, Result

BYTES = 1 << 14
# Of a word the bench sees so many bits, beside its strobes and whether it is the last of a burst.
DATA_BITS = 55
# The fields of a transfer, in parts that the bench can give.
PARTS = {"source": ("source", "source_pitch"), "destination": ("destination", "destination_pitch"),
         "rows": ("lines", "more", "skip", "rest")}


class Between(wiring.Component):
    """A mover with its buses as streams: no answer comes before its burst has all beats."""

    def __init__(self) -> None:
        parts = {name: In(stream.Signature(sum(MOVE[field].width for field in fields))) for name, fields in PARTS.items()}
        super().__init__({**parts, "r": In(stream.Signature(64)), "b": In(stream.Signature(1)), "ar": Out(stream.Signature(40)),
                          "aw": Out(stream.Signature(40)), "w": Out(stream.Signature(64)), "ended": Out(stream.Signature(1))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.mover = mover = macro(Mover())
        m.submodules.ends = ends = macro(Fifo(1, 64))
        parts = [getattr(self, name) for name in PARTS]
        m.d.comb += mover.i.valid.eq(Cat(part.valid for part in parts).all())
        for part, fields in zip(parts, PARTS.values(), strict=True):
            m.d.comb += [Cat(mover.i.payload[field] for field in fields).eq(part.payload),
                         part.ready.eq(mover.i.valid & mover.i.ready)]
        for name in ("ar", "aw"):
            here, (valid, ready, address, beats) = getattr(self, name), [
                getattr(mover, f"m_axi_{name}{each}") for each in ("valid", "ready", "addr", "len")]
            m.d.comb += [here.valid.eq(valid), ready.eq(here.ready), here.payload.eq(Cat(address, beats))]
        unanswered = Signal(8)
        written = mover.m_axi_wvalid & mover.m_axi_wready & mover.m_axi_wlast
        m.d.sync += unanswered.eq(unanswered + written - (mover.m_axi_bvalid & mover.m_axi_bready))
        m.d.comb += [
            mover.m_axi_rvalid.eq(self.r.valid), self.r.ready.eq(mover.m_axi_rready), mover.m_axi_rdata.eq(self.r.payload),
            self.w.valid.eq(mover.m_axi_wvalid), mover.m_axi_wready.eq(self.w.ready),
            self.w.payload.eq(Cat(mover.m_axi_wdata[:DATA_BITS], mover.m_axi_wstrb, mover.m_axi_wlast)),
            self.b.ready.eq((unanswered != 0) & mover.m_axi_bready), mover.m_axi_bvalid.eq(self.b.valid & (unanswered != 0)),
            ends.i.valid.eq(mover.ended), self.ended.valid.eq(ends.o.valid), ends.o.ready.eq(self.ended.ready),
        ]
        return m


class Transfer(NamedTuple):
    """In bytes; the number of rows."""

    source: int
    destination: int
    size: int
    rows: int = 1
    source_pitch: int = 0
    destination_pitch: int = 0

    @property
    def lines(self) -> int:
        """Words of a row."""
        return (self.source % 8 + self.size + 7) // 8


def moved(memory: np.ndarray, transfers: "list[Transfer]") -> np.ndarray:
    """What is written: -1 where nothing is."""
    found = np.full(BYTES, -1)
    for each in transfers:
        for row in range(each.rows):
            at, to = each.source + row * each.source_pitch, each.destination + row * each.destination_pitch
            found[to:to + each.size] = memory[at:at + each.size]
    return found


def asked(transfers: "list[Transfer]") -> "dict[str, list[int]]":
    """The transfers for the bench."""
    found: dict[str, list[int]] = {name: [] for name in PARTS}
    for each in transfers:
        fields = {"source": each.source // 8, "source_pitch": each.source_pitch // 8, "destination": each.destination // 8,
                  "destination_pitch": each.destination_pitch // 8, "lines": each.lines, "more": each.rows - 1,
                  "skip": each.source % 8, "rest": (each.source + each.size) % 8}
        for name, names in PARTS.items():
            word = shift = 0
            for field in names:
                width = MOVE[field].width
                word, shift = word | fields[field] % (1 << width) << shift, shift + width
            found[name].append(word)
    return found


@functools.cache
def bench() -> Bench:
    return Bench(Between())


def bursts(words: "list[int]") -> "list[tuple[int, int]]":
    """Addresses and beats."""
    return [(word & 0xFFFFFFFF, (word >> 32) + 1) for word in words]


def run(transfers: "list[Transfer]", stalls: "int | None") -> "tuple[Result, np.ndarray]":
    """What the buses see, where words of memory are as the bench sees them; the memory."""
    memory = np.random.default_rng(1).integers(0, 256, BYTES).reshape(-1, 8)
    memory[:, 6:] %= (128, 1)
    reads = [each.source // 8 + row * (each.source_pitch // 8) + line
             for each in transfers for row in range(each.rows) for line in range(each.lines)]
    words = memory.astype(np.uint8).view("<u8").ravel()
    found = bench().run({**asked(transfers), "r": [int(words[line]) for line in reads], "b": [0] * 3 * len(reads)}, {}, stalls)
    assert [address // 8 + beat for address, beats in bursts(found.outputs["ar"]) for beat in range(beats)] == reads
    return found, memory.ravel()


def written(result: Result) -> np.ndarray:
    """What the buses have written; each burst has the beats that it announced, within 4 KB."""
    found, beats = np.full(BYTES, -1), iter(result.outputs["w"])
    for address, count in bursts(result.outputs["aw"]):
        assert address // 4096 == (address + 8 * count - 1) // 4096
        for beat in range(count):
            word = next(beats)
            assert word >> 63 == (beat == count - 1)
            for byte in range(8):
                if word >> DATA_BITS + byte & 1:
                    found[address + 8 * beat + byte] = (word & (1 << DATA_BITS) - 1) >> 8 * byte & 0xFF
    assert next(beats, None) is None
    return found


@st.composite
def transfers(draw: st.DrawFn) -> Transfer:
    """Any that stay within the memory, both ways; of one row, too."""
    rows = draw(st.integers(1, 7))
    size = draw(st.one_of(st.integers(1, 9), st.integers(1, 700)))
    pitches = [8 * draw(st.integers(-100, 100)) for _ in range(2)]
    byte, starts = draw(st.integers(0, 7)), []
    for pitch in pitches:
        reach = (rows - 1) * pitch
        starts.append(8 * draw(st.integers(max(0, -reach) // 8, (BYTES - 16 - size - max(0, reach)) // 8)) + byte)
    return Transfer(*starts, size, rows, *pitches)


@settings(max_examples=40)
@given(transfers=st.lists(transfers(), min_size=1, max_size=6), stalls=st.none() | st.integers(1, 99))
@example(transfers=[Transfer(4090, 8186, 13, 3, 4096, 8), Transfer(0, 8, 8)], stalls=3)       # borders of 4 KB in rows
@example(transfers=[Transfer(496, 504, 4001), Transfer(9, 1, 4001)], stalls=None)    # many bursts
@example(transfers=[Transfer(8, 800, 24, 5, 0, 8)], stalls=None)        # one row read over and over, rows written that overlap
@example(transfers=[Transfer(8000, 16, 31, 31, -248, 32)], stalls=5)    # from the last row to the first one
def test_rows_are_copied_in_order(transfers: "list[Transfer]", stalls: "int | None") -> None:
    result, memory = run(transfers, stalls)
    assert np.array_equal(written(result), moved(memory, transfers))
    assert len(result.outputs["ended"]) == len(transfers), "each ends once, with its last row"


def test_rows_follow_each_other_without_a_cycle_between() -> None:
    """17 words are a row of a lane of the blur in docs/soc.md; bursts of a word each are the shortest."""
    for lines, rows in ((17, 30), (1, 60)):
        result, _ = run([Transfer(0, 0, 8 * lines, rows, 136, 136)] * 3, None)
        for name in ("ar", "w"):
            first, *_, last = result.stamps[name]
            assert last - first < (3 * rows * lines if name == "w" else 3 * rows * 2), name
        assert result.cycles < 3 * rows * lines + 12


def test_the_next_transfer_is_asked_for_before_the_one_ahead_has_ended() -> None:
    """Without a processor between: its first read comes while words of the one ahead are still written."""
    result, _ = run([Transfer(0, 0, 800, 2, 800, 800), Transfer(4096, 4096, 80)], None)
    assert result.stamps["ar"][-1] < result.stamps["w"][199]


def test_a_transfer_has_up_to_65536_rows() -> None:
    rows = 1 << 16
    result: Any = bench().run({**asked([Transfer(0, 0, 8, rows, 8, 8)]), "r": [0] * rows, "b": [0] * rows}, {}, None)
    assert bursts(result.outputs["aw"])[-1] == (8 * (rows - 1), 1) and len(result.outputs["w"]) == rows
    assert len(result.outputs["ended"]) == 1


def test_a_row_may_end_with_the_last_word_of_the_addresses() -> None:
    top = (1 << 32) - 8 * 70
    result: Any = bench().run({**asked([Transfer(top, top, 8 * 70)]), "r": [0] * 70, "b": [0] * 2}, {}, None)
    assert bursts(result.outputs["aw"]) == bursts(result.outputs["ar"]) == [(top, 6), (top + 48, 64)]
