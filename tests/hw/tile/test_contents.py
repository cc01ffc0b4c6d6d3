"""The SRAM of a MEM tile filled by configuration, in both forms of a tile, and read as a ROM."""

from typing import Any

import pytest
from amaranth.hdl import Module, ResetSignal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.config import MEMORY_REGISTER, STATUS_REGISTER, memory_words
from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.array import Array
from sardonyx.hw.configuration import packed
from sardonyx.hw.emit import macro
from sardonyx.sim.rtl.bench import Bench

# A column of one PE column and a MEM column is the smallest machine that reaches a ROM from its IO tile and back.
AMBER = presets.get("amber")
MACHINE = Arch("rom", 1, 1, mem_every=1, mem=AMBER.mem, interconnect=AMBER.interconnect, glb=Glb(columns_per_tile=1))
ROM = (0, 1)


def routes() -> dict[tuple[int, int], dict[str, Any]]:
    """From the global buffer to in0, from out0 back."""
    def select(kind: str, sink: str, source: str) -> dict[str, int]:
        return {f"{sink}_sel": MACHINE.interconnect.select(getattr(MACHINE, kind), sink, source, "data")}

    return {(0, 0): {"sb_data": select("io", "s0", "g2f"), "cb_data": select("io", "f2g", "s_in0")},
            ROM: {"core": {"mode": "buffer"}, "buffer": {"rom": 1}, "cb_data": select("mem", "in0", "n_in0"),
                  "sb_data": select("mem", "n0", "out0")}}


class Looked(wiring.Component):
    """The array with its configuration as a stream of {address, data} words, and the streams of its column."""

    load: In(stream.Signature(64, always_ready=True))
    i: In(stream.Signature(16, always_ready=True))
    o: Out(stream.Signature(16, always_valid=True))

    def __init__(self, specialised: bool) -> None:
        self.program = None
        if specialised:
            spaces = {site: MACHINE.config_map(MACHINE.tiles[site].kind) for site in routes()}
            self.program = {site: packed(spaces[site], spaces[site].encode(values)) for site, values in routes().items()}
        super().__init__()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.array = array = macro(Array(MACHINE, self.program))
        m.d.comb += [array.reset.eq(ResetSignal()), array.config0.valid.eq(self.load.valid), array.config0.write.eq(1),
                     array.config0.addr.eq(self.load.payload[32:]), array.config0.wdata.eq(self.load.payload[:32]),
                     array.g2f0.payload.eq(self.i.payload), array.g2f0.valid.eq(1), array.f2g0.ready.eq(1),
                     self.o.payload.eq(array.f2g0.payload)]
        return m


def words(registers: "list[tuple[int, int]]", site: "tuple[int, int]") -> "list[int]":
    x, y = site
    return [(x << 24 | y << 16 | register) << 32 | data for register, data in registers]


@pytest.mark.parametrize("specialised", [True, False])
def test_a_table_of_the_bitstream_is_looked_up(specialised: bool) -> None:
    table = [(n * 40503 + 7) & 0xFFFF for n in range(301)]
    load = words(memory_words(table), ROM)
    # Of another tile, beyond the memory, or the status: nothing of it is written.
    load += words([(MEMORY_REGISTER, 1)], (0, 0)) + words([(MEMORY_REGISTER + 1024, 2), (STATUS_REGISTER, 3)], ROM)
    if not specialised:
        for site, values in routes().items():
            space = MACHINE.config_map(MACHINE.tiles[site].kind)
            load += words(list(enumerate(space.encode(values))), site)
    addresses = [(n * 77) % 301 for n in range(500)]
    # There is no flush here, so another line than those of the table is read until they are all there.
    lead = len(load) + 10
    result = Bench(Looked(specialised)).run({"load": load, "i": [2000] * lead + addresses}, expect={"o": lead + 540})
    found = result.outputs["o"]
    expected = [table[address] for address in addresses]
    # Register of the odd tile's output, of the core's input, and of the io tile's input, besides the latency of a read.
    late = 3 + MACHINE.mem.read_latency
    assert found[lead + late:][:len(expected)] == expected


def test_two_words_go_into_a_register() -> None:
    assert memory_words([1, 2, 3]) == [(MEMORY_REGISTER, 0x20001), (MEMORY_REGISTER + 1, 3)]
    assert memory_words([]) == []
