import functools
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from amaranth.hdl import Module, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator, SimulatorContext

from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.config import ConfigSet, Field
from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.arch.op import BY_NAME
from sardonyx.hw.arch.primitive import PASS_THROUGH, Flow, Primitive, StreamPort
from sardonyx.hw.arch.tile import IO, LAYERS, MEM, PE, TileSpec
from sardonyx.hw.arch.token import DONE, TOKEN, stop
from sardonyx.hw.configuration import packed
from sardonyx.hw.emit import macro
from sardonyx.hw.interconnect.stage import EVEN, ODD
from sardonyx.hw.tile.core import link_members
from sardonyx.hw.tile.tile import TileLogic
from sardonyx.sim.rtl.bench import Bench, Case

TRACKS = 5


class Probe(wiring.Component):
    """Copies one input to all outputs of its layer, marked with their numbers: makes every port visible."""

    module_name = "probe"

    def __init__(self, spec: TileSpec) -> None:
        self.spec = spec
        flows = {Flow.IN: In, Flow.OUT: Out}
        members = {port.name: flows[port.flow](stream.Signature(TOKEN if port.layer == "data" else 1))
                   for port in spec.ports}
        super().__init__(members | {"cfg": In(PROBE_CONFIG.layout)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        for layer in LAYERS:
            outs = [getattr(self, port.name) for port in self.spec.outputs(layer)]
            for number, port in enumerate(self.spec.inputs(layer)):
                picked = getattr(self, port.name)
                with m.If(self.cfg[layer] == number):
                    m.d.comb += picked.ready.eq(1)
                    for mark, out in enumerate(outs):
                        m.d.comb += [out.valid.eq(picked.valid),
                                     Value.cast(out.payload).eq(Value.cast(picked.payload) ^ mark)]
        return m


PROBE_CONFIG = ConfigSet("probe", Field("data", 2, "data input"), Field("bit", 2, "bit input"))


def probed(spec: TileSpec) -> TileSpec:
    """The tile with the probe as its only primitive."""
    if spec.kind == "io":
        return spec
    ports = tuple(StreamPort(port.name, port.flow, port.name, "", 17 if port.layer == "data" else 1)
                  for port in spec.ports)
    probe = Primitive("probe", "", ports, PROBE_CONFIG, f"{__name__}:Probe", sized=True)
    return replace(spec, primitives=(probe,))


def machine(fifo: str) -> Arch:
    return Arch("probed", 2, 2, pe=probed(PE), mem=probed(MEM), io=IO, glb=Glb(columns_per_tile=1),
                interconnect=Interconnect(TRACKS, fifo=fifo))


class Streams(wiring.Component):
    """A tile with every track as a stream: ``data_w_in1`` enters, ``data_e0`` leaves; links as they are."""

    module_name = "streams"

    def __init__(self, arch: Arch, spec: TileSpec, parity: int) -> None:
        self.logic, self.widths = TileLogic(arch, spec, parity), arch.interconnect.widths
        self.spec = spec
        members: dict[str, wiring.Member] = {"cfg": In(arch.config_map(spec.kind).layout.size),
                                             "waiting": Out(len(spec.ports))}
        for layer, side, track in product(LAYERS, spec.sides, range(TRACKS)):
            members[f"{layer}_{side}_in{track}"] = In(stream.Signature(self.widths[layer]))
            members[f"{layer}_{side}{track}"] = Out(stream.Signature(self.widths[layer]))
        super().__init__(members | link_members(spec))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.logic = logic = macro(self.logic)
        m.d.comb += [logic.cfg.as_value().eq(self.cfg), self.waiting.eq(logic.waiting)]
        for name in link_members(self.spec):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(logic, name))
        for layer, side, track in product(LAYERS, self.spec.sides, range(TRACKS)):
            for way, port in (("i", f"{layer}_{side}_in{track}"), ("o", f"{layer}_{side}{track}")):
                outer, inner = getattr(self, port), f"{side}_{layer}_{way}"
                payload = getattr(logic, f"{inner}_payload").word_select(track, self.widths[layer])
                valid, ready = (getattr(logic, f"{inner}_{part}")[track] for part in ("valid", "ready"))
                if way == "i":
                    m.d.comb += [payload.eq(outer.payload), valid.eq(outer.valid), outer.ready.eq(ready)]
                else:
                    m.d.comb += [outer.payload.eq(payload), outer.valid.eq(valid), ready.eq(outer.ready)]
        return m


def cfg(arch: Arch, kind: str, values: Mapping[str, Mapping[str, int | str]]) -> int:
    """The configuration of a tile as one number."""
    space = arch.config_map(kind)
    return packed(space, space.encode(values))


def edges(arch: Arch, spec: TileSpec) -> list[tuple[str, str, str]]:
    """Every edge of a tile's fan-in: layer, sink, source."""
    return [(layer, sink, source) for layer in LAYERS
            for sink, sources in arch.interconnect.fanin(spec, layer).items() for source in sources]


def route(arch: Arch, spec: TileSpec, layer: str, sink: str, source: str) -> tuple[int, str, str, int]:
    """A configuration that uses one edge; the stream to drive, the stream to watch, how words are marked.

    A core port is reached through the probe: from the first input, or to the first output on the first track
    that may select it.
    """
    fanin = arch.interconnect.fanin(spec, layer)
    ins = [port.name for port in spec.inputs(layer)]
    outs = [port.name for port in spec.outputs(layer)]
    sb: dict[str, int] = {}
    cb: dict[str, int] = {}
    enter, leave, mark, values = f"{layer}_{source}", f"{layer}_{sink}", 0, {}
    if spec.kind == "io":
        (cb if sink in ins else sb)[f"{sink}_sel"] = fanin[sink].index(source) + 1
        enter = f"link_{source}" if source in outs else enter
        leave = f"link_{sink}" if sink in ins else leave
    elif sink in ins:
        out = next(name for name in fanin if name not in ins)
        cb[f"{sink}_sel"] = fanin[sink].index(source) + 1
        sb[f"{out}_sel"] = fanin[out].index(outs[0]) + 1
        values, leave = {"core": {"mode": "probe"}, "probe": {layer: ins.index(sink)}}, f"{layer}_{out}"
    else:
        sb[f"{sink}_sel"] = fanin[sink].index(source) + 1
        if source in outs:
            enter, mark = f"{layer}_{fanin[ins[0]][0]}", outs.index(source)
            cb[f"{ins[0]}_sel"] = 1
            values = {"core": {"mode": "probe"}}
    return cfg(arch, spec.kind, {**values, f"sb_{layer}": sb, f"cb_{layer}": cb}), enter, leave, mark


@functools.cache
def bench(fifo: str, kind: str, parity: int) -> Bench:
    arch = machine(fifo)
    return Bench(Streams(arch, getattr(arch, kind), parity))


TILES = [("split", kind, parity) for kind in ("pe", "mem", "io") for parity in (EVEN, ODD)]


@pytest.mark.parametrize("fifo,kind,parity", [*TILES, ("full", "pe", EVEN), ("full", "pe", ODD)])
def test_every_edge_of_the_routing_graph_is_a_path(fifo: str, kind: str, parity: int) -> None:
    arch = machine(fifo)
    spec = getattr(arch, kind)
    # All streams carry words: none but the routed ones may appear anywhere.
    names = {f"{layer}_{source}": width for layer, width in arch.interconnect.widths.items()
             for source in arch.interconnect.fanin(spec, layer)[spec.inputs(layer)[0].name]}
    names |= {f"link_{port.name}": 17 if port.layer == "data" else 1
              for port in spec.ports if kind == "io" and port.flow is Flow.OUT}
    inputs = {name: [(7 * number + n) & ((1 << width) - 1) for n in range(3)]
              for number, (name, width) in enumerate(names.items())}
    routes = [route(arch, spec, *edge) for edge in edges(arch, spec)]
    results = bench(fifo, kind, parity).run_many([Case(inputs, raw) for raw, *_ in routes])
    for edge, (_, enter, leave, mark), result in zip(edges(arch, spec), routes, results, strict=True):
        found = {name: words for name, words in result.outputs.items() if words}
        assert found == {leave: [word ^ mark for word in inputs[enter]]}, edge


@pytest.mark.parametrize("kind", ["pe", "mem"])
@pytest.mark.parametrize("parity", [EVEN, ODD])
def test_every_edge_of_a_static_interconnect_is_a_path(kind: str, parity: int) -> None:
    arch = machine("none")
    spec = getattr(arch, kind)
    widths = arch.interconnect.widths
    # Every track carries a word of its own; bits come in as 1 on the routed track only.
    routes = [route(arch, spec, *edge) for edge in edges(arch, spec)]
    cases = []
    for (layer, _, _), (raw, enter, _, _) in zip(edges(arch, spec), routes, strict=True):
        values = {}
        for number, side in enumerate(spec.sides):
            words = [5 * number + track + 1 if layer == "data" else int(enter == f"bit_{side}_in{track}")
                     for track in range(TRACKS)]
            values[f"{side}_{layer}_i_payload"] = sum(w << widths[layer] * t for t, w in enumerate(words))
        cases.append(Case({}, {"cfg": raw, **values}))
    results = Bench(TileLogic(arch, spec, parity)).run_many(cases)
    for edge, (_, enter, leave, mark), result in zip(edges(arch, spec), routes, results, strict=True):
        layer, width = edge[0], widths[edge[0]]
        side, track = leave.removeprefix(f"{layer}_")[0], int(leave[-1])
        word = result.status[f"{side}_{layer}_o_payload"] >> width * track & (1 << width) - 1
        number = spec.sides.index(enter.removeprefix(f"{layer}_")[0])
        assert word == (5 * number + int(enter[-1]) + 1 if layer == "data" else 1) ^ mark, edge


def test_status_names_inputs_that_hold_tokens() -> None:
    arch = machine("split")
    for number, port in enumerate(arch.pe.inputs("data")):
        raw = cfg(arch, "pe", {"cb_data": {f"{port.name}_sel": 1}})      # no primitive is active
        result = bench("split", "pe", ODD).run({"data_n_in0": [1, 2, 3]}, raw)
        assert result.status["waiting"] == 1 << number
        assert result.left == {"data_n_in0": 1}


def test_a_static_input_never_stalls() -> None:
    arch = machine("split")
    for port in arch.pe.inputs("data"):
        raw = cfg(arch, "pe", {"cb_data": {f"{port.name}_sel": 1, f"{port.name}_static": 1}})
        result = bench("split", "pe", ODD).run({"data_n_in0": [1, 2, 3]}, raw)
        assert result.stamps["data_n_in0"] == [0, 1, 2]


def test_inputs_that_the_active_primitive_does_not_use_block_nothing() -> None:
    arch = Arch("real", 2, 2, glb=Glb(columns_per_tile=1))
    alu = {"op": BY_NAME["adc"].code, "stream_a": 1, "const_b": 100}
    raw = cfg(arch, "pe", {"core": {"mode": "alu"}, "alu": alu, "cb_data": {"data0_sel": 1},
                           "sb_data": {"e0_sel": 4, "s3_sel": 4}})
    words = [1, 2, stop(0), 3, DONE]
    result = Bench(Streams(arch, arch.pe, ODD)).run({"data_n_in0": words}, raw, 5)
    assert result.outputs["data_e0"] == result.outputs["data_s3"] == [101, 102, stop(0), 103, DONE]
    assert result.status["waiting"] == 0


def test_flush_empties_the_tile_and_an_inactive_primitive_forgets() -> None:
    spec = replace(PE, primitives=(PASS_THROUGH,))
    arch = Arch("flushed", 2, 2, pe=spec, interconnect=Interconnect(1), glb=Glb(columns_per_tile=1))
    tile = TileLogic(arch, spec, ODD)
    full = {"core": {"mode": "pass_through"}, "cb_data": {"data0_sel": 1},
            "sb_data": {"e0_sel": arch.interconnect.select(spec, "e0", "res0", "data")}}
    active, idle = (cfg(arch, "pe", {**full, "core": {"mode": mode}}) for mode in ("pass_through", "off"))

    async def drive(sim: SimulatorContext) -> None:
        async def fill() -> None:
            sim.set(tile.cfg.as_value(), active)
            sim.set(tile.n_data_i_valid, 1)
            await sim.tick().repeat(30)
            assert sim.get(tile.n_data_i_ready) == 0
            assert sim.get(tile.e_data_o_valid) == 1
            sim.set(tile.n_data_i_valid, 0)

        await fill()
        sim.set(tile.flush, 1)
        await sim.tick()
        sim.set(tile.flush, 0)
        assert sim.get(tile.waiting) == sim.get(tile.e_data_o_valid) == 0
        assert sim.get(tile.n_data_i_ready) == 1
        sim.set(tile.e_data_o_ready, 1)
        for _ in range(30):
            await sim.tick()
            assert sim.get(tile.e_data_o_valid) == sim.get(tile.active) == 0, "flush leaves no token behind"

        sim.set(tile.e_data_o_ready, 0)
        await fill()
        sim.set(tile.cfg.as_value(), idle)
        await sim.tick()
        sim.set(tile.cfg.as_value(), active)
        sim.set(tile.e_data_o_ready, 1)
        left = 0
        for _ in range(60):
            _, _, valid = await sim.tick().sample(tile.e_data_o_valid)
            left += valid
        assert left == 3, "one token in the stage and two in the input FIFO; the primitive's own are gone"

    simulator = Simulator(tile)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()
