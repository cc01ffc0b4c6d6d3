"""The data port before the banks of a GLB tile, in Verilog: rates, and random traffic beside DMAs against a model in bytes.

That an offer stands as it is until it is taken is checked in every cycle (`sim/rtl/bench.py`). tests/hw/soc/test_buses.py runs
masters of cocotbext-axi on whole machines.
"""

import functools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from axi_model import BUS_BYTES, PAGE, Address, History, Transfer, Write, any_burst, judge
from hypothesis import given, settings
from hypothesis import strategies as st
from nests import Nest

from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.soc import glb_registers
from sardonyx.hw.emit import macro
from sardonyx.hw.glb.tile import GlbTile
from sardonyx.hw.soc.axi_data import AxiData
from sardonyx.hw.soc.burst import address_layout
from sardonyx.hw.stream.fifo import Fifo2
from sardonyx.sim.rtl.bench import Bench, Case, Result

GLB = Glb(columns_per_tile=1, banks=2, bank_bytes=4096, load_loops=2, store_loops=1)
MEMORY, BANK = GLB.tile_bytes, GLB.bank_bytes
EACH_LATENCY = pytest.mark.parametrize("latency", [1, 2, 3], ids="latency {}".format)
CHANNELS = {
    "aw": In(address_layout(32)), "w": In(data.StructLayout({"data": 64})),
    "w_known": In(data.StructLayout({"strb": 8, "last": 1})), "b": Out(data.StructLayout({"id": 4, "resp": 2})),
    "ar": In(address_layout(32)), "r": Out(data.StructLayout({"data": 64})),
    "r_known": Out(data.StructLayout({"id": 4, "resp": 2, "last": 1}))}
LAYOUTS = {name: member.shape for name, member in CHANNELS.items()}
# A read that waits until so many writes are answered, or also until the DMAs have run; and a register of the tile, or its
# start, that waits likewise.
ASKED = data.StructLayout({"address": LAYOUTS["ar"], "after": 12, "at_rest": 1})
SET = data.StructLayout({"start": 1, "index": 6, "value": 32, "after": 12})
REGISTERS = [register.name for register in glb_registers(GLB)]


class Port(wiring.Component):
    """Every channel as a stream, with a GLB tile behind them."""

    module_name = "port"

    def __init__(self, latency: int) -> None:
        self.glb = replace(GLB, read_latency=latency)
        layouts = {**CHANNELS, "ar": In(ASKED), "set": In(SET)}     # streams of up to 64 bits
        tile = GlbTile(self.glb).signature.members
        super().__init__({**{name: member.flow(stream.Signature(member.shape)) for name, member in layouts.items()},
                          "g2f0": tile["g2f0"], "f2g0": tile["f2g0"]})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.port = port = macro(AxiData(MEMORY, 32, self.glb.read_latency))
        m.submodules.tile = tile = macro(GlbTile(self.glb))
        for name, member in tile.signature.members.items():
            if name.startswith("host_"):
                inner, outer = getattr(tile, name), getattr(port, name.removeprefix("host_"))
                m.d.comb += inner.eq(outer) if member.flow is In else outer.eq(inner)
        for name in ("g2f0", "f2g0"):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(tile, name))

        answers, started = Signal(12), Signal()
        m.d.sync += answers.eq(answers + (self.b.valid & self.b.ready))
        m.submodules.known = known = macro(Fifo2(LAYOUTS["r_known"].size))
        wiring.connect(m, wiring.flipped(self.r_known), known.o)
        for channel, member in CHANNELS.items():
            payload = {"ar": self.ar.payload.address, "r_known": known.i.payload}.get(channel, getattr(self, channel).payload)
            payload = data.View(member.shape, payload)
            for name in member.shape.members:
                bus = getattr(port, f"s_axi_{channel.removesuffix('_known')}{name}")
                m.d.comb += bus.eq(payload[name]) if member.flow is In else payload[name].eq(bus)
        m.d.comb += [
            port.s_axi_awvalid.eq(self.aw.valid), self.aw.ready.eq(port.s_axi_awready),
            port.s_axi_wvalid.eq(self.w.valid & self.w_known.valid),
            self.w.ready.eq(port.s_axi_wready & self.w_known.valid), self.w_known.ready.eq(port.s_axi_wready & self.w.valid),
            self.b.valid.eq(port.s_axi_bvalid), port.s_axi_bready.eq(self.b.ready)]
        asked, waits = self.ar.payload, Signal()
        m.d.comb += [waits.eq((answers < asked.after) | (asked.at_rest & (tile.busy | ~started))),
                     port.s_axi_arvalid.eq(self.ar.valid & ~waits), self.ar.ready.eq(port.s_axi_arready & ~waits)]
        # Room does not go while a beat waits, so its offer stands.
        m.d.comb += [self.r.valid.eq(port.s_axi_rvalid & known.i.ready), port.s_axi_rready.eq(self.r.ready & known.i.ready),
                     known.i.valid.eq(port.s_axi_rvalid & self.r.ready)]
        command = self.set.payload
        m.d.comb += [self.set.ready.eq(answers >= command.after), tile.register_index.eq(command.index),
                     tile.register_data.eq(command.value)]
        with m.If(self.set.valid & self.set.ready):
            m.d.comb += [tile.start.eq(command.start), tile.register_write.eq(~command.start)]
            m.d.sync += started.eq(command.start)
        return m


@functools.cache
def bench(latency: int) -> Bench:
    return Bench(Port(latency))


Asked = tuple[Address, Sequence[int], Sequence[int]]
"""A write burst with words and strobes by beat."""


@dataclass(frozen=True)
class Traffic:
    """What masters ask for: writes, and reads, each after so many answers; the reads `at_rest` come last."""

    writes: Sequence[Asked] = ()
    reads: Sequence[tuple[Address, int]] = ()
    at_rest: Sequence[Address] = ()

    def case(self, stalls: "int | None" = None, **streams: Sequence[int]) -> Case:
        known = [LAYOUTS["w_known"].const({"strb": strobe, "last": beat == address.len}).as_bits()
                 for address, _, strobes in self.writes for beat, strobe in enumerate(strobes)]
        asked = [{"address": vars(address), "after": after} for address, after in self.reads]
        asked += [{"address": vars(address), "after": len(self.writes), "at_rest": 1} for address in self.at_rest]
        return Case({"aw": [LAYOUTS["aw"].const(vars(address)).as_bits() for address, _, _ in self.writes],
                     "w": [word for _, words, _ in self.writes for word in words], "w_known": known,
                     "ar": [ASKED.const(each).as_bits() for each in asked], **streams}, stalls=stalls, idle=200)

    def judge(self, result: Result, others: Sequence[Write] = ()) -> None:
        """Every answer is as AXI4 and the model say, where others wrote, too."""
        assert not result.left

        def transfers(*streams: str) -> list[Transfer]:
            fields = ([LAYOUTS[name].from_bits(bits) for bits in result.outputs[name]] for name in streams)
            return [Transfer(cycle, {name: each[name] for each in beat for name, _ in each.shape()})
                    for cycle, *beat in zip(result.stamps[streams[0]], *fields, strict=True)]

        def given(channel: str, fields: Sequence[Mapping[str, int]]) -> list[Transfer]:
            return [Transfer(*each) for each in zip(result.stamps[channel], fields, strict=True)]

        words = [{"data": word, "strb": strobe} for _, *beats in self.writes for word, strobe in zip(*beats, strict=True)]
        found = {"aw": given("aw", [vars(address) for address, _, _ in self.writes]), "w": given("w", words),
                 "ar": given("ar", [vars(address) for address in (*(each for each, _ in self.reads), *self.at_rest)]),
                 "b": transfers("b"), "r": transfers("r", "r_known")}
        judge(found, bytes(MEMORY), others)
        lasts = np.cumsum([address.len + 1 for address, _, _ in self.writes]) - 1
        assert all(answer.cycle > found["w"][last].cycle for answer, last in zip(found["b"], lasts, strict=True))


def full(at: int, count: int, draw: random.Random) -> Asked:
    """A write of that many 64-bit words."""
    return Address(draw.randrange(16), at, count - 1), [draw.getrandbits(64) for _ in range(count)], [0xFF] * count


def filled(draw: random.Random) -> list[Asked]:
    """Writes of the whole memory."""
    return [full(at, 256, draw) for at in range(0, MEMORY, 2048)]


DUMP = [Address(0, at, 255) for at in range(0, MEMORY, 2048)]


def touched(address: Address) -> set[int]:
    """The words of a burst."""
    return {at // BUS_BYTES for at in address.beats()} if address.served(MEMORY) else set()


def started(after: int, **values: int) -> list[int]:
    """Registers, and a start."""
    return [SET.const({"index": REGISTERS.index(name), "value": value & 0xFFFFFFFF, "after": after}).as_bits()
            for name, value in values.items()] + [SET.const({"start": 1, "after": after}).as_bits()]


def consecutive(stamps: Sequence[int]) -> bool:
    return list(stamps) == list(range(stamps[0], stamps[0] + len(stamps)))


@EACH_LATENCY
@settings(max_examples=8)
@given(seed=st.integers(0, 1 << 30), stalls=st.none() | st.integers(1, 1 << 30))
def test_random_traffic_beside_dmas_is_that_of_a_memory_of_bytes(latency: int, seed: int, stalls: "int | None") -> None:
    """The load jumps from line to line; it has 512 bytes that no master writes, and the store as many that none touches."""
    draw = random.Random(seed)
    load, store = (512 * place for place in draw.sample(range(MEMORY // 512), 2))
    loaded, stored = (set(range(at // BUS_BYTES, (at + 512) // BUS_BYTES)) for at in (load, store))
    writes, reads = filled(draw), []
    first = len(writes)
    while len(writes) < 80:
        address = any_burst(draw, MEMORY, most=64)
        if not touched(address) & (loaded | stored):
            strobes = [sum(1 << lane for lane in address.lanes(beat) if draw.random() < 0.9) if address.legal else 0xFF
                       for beat in range(address.len + 1)]
            writes.append((address, [draw.getrandbits(64) for _ in strobes], strobes))
    while len(reads) < 80:
        address = any_burst(draw, MEMORY, most=64)
        if not touched(address) & stored:
            reads.append((address, first))
    tokens = [draw.getrandbits(16) for _ in range(256)]
    nest = Nest((64, 4), (8, 2), load)
    loops = {f"load_{part}{level}": value for level, pair in enumerate(nest.registers(GLB.load_loops))
             for part, value in zip(("extent", "stride"), pair, strict=True)}
    traffic = Traffic(writes, reads, DUMP)
    result = bench(latency).run_many([traffic.case(stalls, f2g0=tokens, set=started(
        first, load_start=load, load_control=1, **loops,
        store_start=store, store_extent0=255, store_stride0=2, store_limit=256, store_control=3))])[0]
    places = zip(range(store, store + 512, 2), tokens, result.stamps["f2g0"], strict=True)
    traffic.judge(result, [Write(Address(0, at, 0, 1), [token << 8 * (at % 8)], [3 << at % 8], [stamp], stamp)
                           for at, token, stamp in places])
    memory = History(bytes(MEMORY), [Write(*each, [0] * 256, 0) for each in writes[:first]]).memory
    assert result.outputs["g2f0"] == np.frombuffer(memory, "<u2")[nest.addresses(MEMORY) // 2].tolist()


LENGTHS = {"bursts of 256": [256] * 2, "bursts of 16": [16] * 32, "single beats": [1] * 512, "of all lengths": [*range(1, 32)]}


def rows(at: int, lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Bursts that follow each other in memory: where each begins, and its beats."""
    begins = np.cumsum([0, *lengths[:-1]]) * BUS_BYTES + at
    return [(int(begin), length) for begin, length in zip(begins, lengths, strict=True)]


@EACH_LATENCY
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("source", [0, BANK], ids=["first bank", "second bank"])
def test_a_beat_goes_each_way_in_every_cycle_with_none_between_bursts(latency: int, lengths: "list[int]", source: int) -> None:
    """In two banks of a tile: one is read and the other written."""
    draw = random.Random(1)
    first = filled(draw)
    writes = [full(at, count, draw) for at, count in rows(BANK - source, lengths)]
    reads = [(Address(5, at, count - 1), len(first)) for at, count in rows(source, lengths)]
    traffic = Traffic([*first, *writes], reads)
    result = bench(latency).run_many([traffic.case()])[0]
    traffic.judge(result)
    beats = sum(lengths)
    assert consecutive(result.stamps["w"][-beats:]) and consecutive(result.stamps["r"])
    assert len({*result.stamps["w"][-beats:]} & {*result.stamps["r"]}) > beats - 20, "at the same time"


@pytest.mark.parametrize("stalls", [None, 1])
def test_bursts_up_to_4_kb_are_served_and_those_across_are_errors_and_change_nothing(stalls: "int | None") -> None:
    """Inside the memory, so that nothing but the border is in the way."""
    draw = random.Random(4)
    first = filled(draw)
    assert 2 * PAGE <= MEMORY
    bursts = [Address(0, PAGE - (beats - across << size), beats - 1, size)
              for size in (0, 2, 3) for beats in (1, 2, 5, 16) for across in (-1, 0, 1)]
    refused = [address for address in bursts if not address.legal]
    assert len(refused) == 9 and all(address.addr < PAGE for address in refused)
    writes = [(address, [draw.getrandbits(64) for _ in range(address.len + 1)],
               [sum(1 << lane for lane in (address.lanes(beat) if address.legal else range(8)))
                for beat in range(address.len + 1)]) for address in bursts]
    reads = [(address, len(first)) for address in bursts] + [(address, len(first) + len(writes)) for address in DUMP]
    traffic = Traffic([*first, *writes], reads)
    traffic.judge(bench(1).run_many([traffic.case(stalls)])[0])


@EACH_LATENCY
def test_a_read_and_a_write_of_one_bank_take_turns(latency: int) -> None:
    draw, count = random.Random(2), 200
    first = filled(draw)
    traffic = Traffic([*first, full(0, count, draw)], [(Address(5, 2048, count - 1), len(first))])
    result = bench(latency).run_many([traffic.case()])[0]
    traffic.judge(result)
    reads, writes = result.stamps["r"], result.stamps["w"][-count:]
    assert {*np.diff(reads).tolist()[2:-20]} == {*np.diff(writes).tolist()[20:-2]} == {2}


@EACH_LATENCY
def test_the_first_word_and_the_answer_come_after_the_cycles_that_the_docstring_says(latency: int) -> None:
    traffic = Traffic([full(0, 3, random.Random(3))], [(Address(0, 0, 0), 1)])
    stamps = bench(latency).run_many([traffic.case()])[0].stamps
    assert stamps["r"][0] - stamps["ar"][0] == latency + 3
    assert stamps["b"][0] - stamps["w"][-1] == 2
