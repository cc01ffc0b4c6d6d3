import functools
import re
from collections.abc import Mapping
from typing import Any

import pytest
from amaranth.hdl import Module, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator, SimulatorContext
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.hw import emit
from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.arch.primitive import Flow
from sardonyx.hw.arch.tile import DATA, IO, LAYERS, PE, Port, TileSpec
from sardonyx.hw.emit import macro
from sardonyx.hw.interconnect.boxes import Boxes, track_members
from sardonyx.hw.interconnect.stage import EVEN, ODD
from sardonyx.hw.stream.fifo import Fifo2
from sardonyx.sim.rtl.bench import Bench

SPEC = TileSpec("small", tuple(Port(f"{flow.value}{n}_{layer}", flow, layer, "") for n in range(2)
                               for layer in LAYERS for flow in Flow))


class Streams(wiring.Component):
    """Boxes with every track as a stream of its own: ``w_in1`` enters, ``e0`` leaves, as in the fan-in table.

    Core inputs have their FIFO, as in a tile: a fork withdraws its offers when a sink is no longer ready. So have tracks that
    leave without a register, as the core input at the end of their route does.
    """

    module_name = "streams"

    def __init__(self, boxes: Boxes) -> None:
        self.boxes = boxes
        word, tracks = stream.Signature(boxes.width), range(boxes.interconnect.tracks)
        members = {f"{side}_in{track}": In(word) for side in boxes.spec.sides for track in tracks}
        members |= {f"{side}{track}": Out(word) for side in boxes.spec.sides for track in tracks}
        members |= {port.name: In(word) for port in boxes.spec.outputs(boxes.layer)}
        members |= {port.name: Out(word) for port in boxes.spec.inputs(boxes.layer)}
        super().__init__(members | {name: In(len(Value.cast(getattr(boxes, name)))) for name in ("sb", "cb")})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.boxes = boxes = macro(self.boxes)
        m.d.comb += [boxes.sb.as_value().eq(self.sb), boxes.cb.as_value().eq(self.cb)]
        m.d.comb += [getattr(boxes, name).eq(1) for name in boxes.signature.members if name.endswith("_awake")]
        for port in self.boxes.spec.inputs(self.boxes.layer):
            m.submodules[port.name] = fifo = macro(Fifo2(self.boxes.width))
            wiring.connect(m, getattr(boxes, port.name), fifo.i)
            wiring.connect(m, fifo.o, wiring.flipped(getattr(self, port.name)))
        for port in self.boxes.spec.outputs(self.boxes.layer):
            wiring.connect(m, wiring.flipped(getattr(self, port.name)), getattr(boxes, port.name))
        for side in self.boxes.spec.sides:
            for track in range(self.boxes.interconnect.tracks):
                for way, port in (("i", f"{side}_in{track}"), ("o", f"{side}{track}")):
                    outer, inner = getattr(self, port), f"{side}_{way}"
                    payload = getattr(boxes, f"{inner}_payload").word_select(track, self.boxes.width)
                    valid, ready = (getattr(boxes, f"{inner}_{part}")[track] for part in ("valid", "ready"))
                    if way == "i":
                        m.d.comb += [payload.eq(outer.payload), valid.eq(outer.valid), outer.ready.eq(ready)]
                    elif self.boxes.interconnect.fifo == "inputs":
                        m.submodules[port] = fifo = macro(Fifo2(self.boxes.width))
                        m.d.comb += [fifo.i.payload.eq(payload), fifo.i.valid.eq(valid), ready.eq(fifo.i.ready)]
                        wiring.connect(m, fifo.o, wiring.flipped(outer))
                    else:
                        m.d.comb += [outer.payload.eq(payload), outer.valid.eq(valid), ready.eq(outer.ready)]
        return m


# With FIFOs of each kind; and where neighbours may be off, but are not.
KINDS = ("split", False), ("full", False), ("inputs", False), ("split", True)
BOXES = [(fifo, layer, parity, domains) for fifo, domains in KINDS for layer in LAYERS for parity in (EVEN, ODD)]


@functools.cache
def bench(fifo: str, layer: str, parity: int, spec: TileSpec = SPEC, domains: bool = False) -> Bench:
    return Bench(Streams(Boxes(Interconnect(2, fifo=fifo), spec, layer, parity, domains)))


def config(interconnect: Interconnect, layer: str, selects: Mapping[str, int], spec: TileSpec = SPEC) -> dict[str, int]:
    """The values of ``sb`` and ``cb`` for select codes by sink."""
    sets = {each.name: each for each in interconnect.config_sets(spec)}
    names = {f"{sink}_sel": code for sink, code in selects.items()}
    return {box: sets[f"{box}_{layer}"].encode(**{
        name: code for name, code in names.items() if name in sets[f"{box}_{layer}"].fields})
        for box in ("sb", "cb")}


@pytest.mark.parametrize("spec", [SPEC, IO], ids=lambda spec: spec.kind)
@pytest.mark.parametrize("fifo,layer,parity,domains", BOXES)
@settings(max_examples=40)
@given(choice=st.data(), seed=st.integers(0, 1 << 32))
def test_every_sink_gets_the_whole_stream_it_selects(fifo: str, layer: str, parity: int, domains: bool, spec: TileSpec,
                                                     choice: st.DataObject, seed: int) -> None:
    """In an IO tile, too, where the tracks to the south share the word that they hold."""
    interconnect = Interconnect(2, fifo=fifo)
    fanin = interconnect.fanin(spec, layer)
    selects = {sink: choice.draw(st.integers(0, len(sources)), label=sink) for sink, sources in fanin.items()}
    sources = sorted({source for each in fanin.values() for source in each})
    word = st.integers(0, (1 << interconnect.widths[layer]) - 1)
    words = {source: choice.draw(st.lists(word, max_size=12), label=source) for source in sources}
    result = bench(fifo, layer, parity, spec, domains).run(words, config(interconnect, layer, selects, spec), seed or None)
    for sink, code in selects.items():
        assert result.outputs[sink] == (words[fanin[sink][code - 1]] if code else []), sink
    assert not result.left, "sources that nothing selects are drained"


@pytest.mark.parametrize("parity", [EVEN, ODD])
def test_the_tracks_of_an_io_tile_hold_one_word_together(parity: int) -> None:
    modules = emit.collect(Boxes(Interconnect(5), IO, DATA, parity)).modules
    registers = {name: re.findall(r"cell \$s?dff.*?parameter \\WIDTH (\d+)", module.rtlil, re.S)
                 for name, module in modules.items()}
    stage, boxes = registers
    assert stage.endswith("_17_shared") and registers == {stage: ["1"], boxes: ["17"]}


@pytest.mark.parametrize("fifo,layer,parity,domains", BOXES)
def test_a_fork_to_every_sink_moves_one_word_per_cycle(fifo: str, layer: str, parity: int, domains: bool) -> None:
    interconnect = Interconnect(2, fifo=fifo)
    source = SPEC.outputs(layer)[0].name
    selects = {sink: sources.index(source) + 1
               for sink, sources in interconnect.fanin(SPEC, layer).items() if source in sources}
    words = [n & 1 for n in range(50)]
    result = bench(fifo, layer, parity, domains=domains).run({source: words}, config(interconnect, layer, selects))
    assert result.stamps[source] == list(range(50))
    assert {sink: result.outputs[sink] for sink in selects} == dict.fromkeys(selects, words)


def test_codes_beyond_the_last_source_are_off() -> None:
    interconnect = Interconnect(2)
    inputs = {source: [1] for source in interconnect.fanin(SPEC, DATA)["e0"]}
    result = bench("split", DATA, ODD).run(inputs, config(interconnect, DATA, {"e0": 6}))
    assert result.outputs["e0"] == [] and not result.left


def test_static_interconnect_carries_payloads_only() -> None:
    members = track_members(Interconnect(fifo="none"), PE, DATA, "data_")
    assert {name: member.shape for name, member in members.items() if name[0] == "e"} == {
        "e_data_i_payload": 5 * 16, "e_data_o_payload": 5 * 16}


@pytest.mark.parametrize("parity,delay,cycles", [(EVEN, 0, 0), (EVEN, 1, 1), (ODD, 0, 1), (ODD, 1, 1)])
def test_static_tracks_are_registered_on_odd_tiles_and_if_delayed(parity: int, delay: int,
                                                                  cycles: int) -> None:
    boxes = Boxes(Interconnect(2, fifo="none"), SPEC, DATA, parity)
    seen = []

    async def drive(sim: SimulatorContext) -> None:
        sim.set(boxes.sb.e1_sel, boxes.interconnect.select(SPEC, "e1", "w_in1", DATA))
        sim.set(boxes.sb.e1_delay, delay)
        for word in range(1, 5):
            sim.set(boxes.w_i_payload, word << 16)
            _, _, out = await sim.tick().sample(boxes.e_o_payload[16:])
            seen.append(out)

    simulator = Simulator(boxes)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()
    assert seen == ([0, 1, 2, 3] if cycles else [1, 2, 3, 4])
