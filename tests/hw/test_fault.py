"""Streams that do not belong together: the hardware waits or raises a fault exactly where the token model refuses them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from amaranth.sim import Simulator, SimulatorContext
from fibers import stuck
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.config import STATUS_FAULT, STATUS_OVERFLOW, STATUS_REGISTER
from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.arch.primitive import JOINER, PRIMITIVES
from sardonyx.hw.arch.tile import PE
from sardonyx.hw.arch.token import CONTROL, DONE, MAYBE, parse_stream, stop
from sardonyx.hw.array import Array
from sardonyx.sim.model.tokens.network import DeadlockError, Network
from sardonyx.sim.model.tokens.process import ProtocolError
from sardonyx.sim.rtl.bench import Case, primitive_bench

SCAN, LOOKUP, DENSE = {"output": "scan"}, {"output": "lookup", "values": 1}, {"output": "scan", "dense": 1}
ROOT = SCAN | {"root": 1}
BOTH = {"use_ref0": 1, "use_ref1": 1}
JOINED = {"crd0": "0 S0 D", "ref0": "7 S0 D", "crd1": "0 S0 D", "ref1": "3 S0 D"}


def refusal(name: str, config: Mapping[str, Any], inputs: Mapping[str, list[int]]) -> str:
    """Why the token model refuses streams; empty if it does not."""
    network = Network({name: (name, config)}, ())
    try:
        network.run({(name, port): tokens for port, tokens in inputs.items()},
                    [(name, port.name) for port in PRIMITIVES[name].outputs])
    except ProtocolError as error:
        return error.what
    except DeadlockError:
        pass
    return ""


@pytest.mark.parametrize("name,config,inputs,why", [
    ("level", SCAN, {"block": "2 0 1 1 9", "ref": "1 D"}, "the level has 1 fibers"),
    ("level", SCAN, {"block": "2 0 1 1 9", "ref": "65535 D"}, "the level has 1 fibers"),
    ("level", {"input": "stream"}, {"wr": "9 S0 D", "ref": "0 1 D"}, "the level has 1 fibers"),
    ("level", ROOT, {"block": "1 0 0"}, "the level has 0 fibers"),
    ("level", LOOKUP, {"block": "2 5 6", "ref": "1 2 D"}, "there are 2 values"),
    ("level", LOOKUP, {"block": "0", "ref": "0 D"}, "there are 0 values"),
    ("level", SCAN, {"block": "3 0 2 1 2 8 9", "ref": "0 D"}, "segments fall from 2 to 1"),
    ("level", {"output": "block"}, {"block": "3 0 2 1 2 8 9"}, "segments fall from 2 to 1"),
    ("level", ROOT, {"block": "2 0 3 1 9"}, "segments reach 3 of 1 coordinates"),
    ("level", DENSE, {"block": "1 0 0", "ref": "0 D"}, "a dense level has no extent"),
    ("level", SCAN, {"block": "2 0 1 1 9", "ref": "S255 D"}, "no stop is higher"),
    ("level", {"output": "block"}, {"block": "2 0 1 S1 9"}, "a block has no control tokens"),
    ("level", LOOKUP, {"block": "1 N", "ref": "D"}, "a block has no control tokens"),
    ("joiner", BOTH, JOINED | {"ref0": "7 S1 D"}, "the sides are out of step"),
    ("joiner", BOTH | {"op": "union"}, JOINED | {"ref1": "3 D D"}, "the sides are out of step"),
    ("joiner", {}, {"crd0": "N S0 D", "crd1": "N S0 D"}, "the sides are out of step")])
def test_streams_that_nothing_would_stop_are_a_fault(name: str, config: dict[str, Any], inputs: dict[str, str],
                                                     why: str) -> None:
    tokens = {port: parse_stream(text) for port, text in inputs.items()}
    assert refusal(name, config, tokens) == why
    code = PRIMITIVES[name].config.encode(**config)
    for result in primitive_bench(name).run_many([Case(tokens, code, seed) for seed in (None, 1, 2)]):
        assert result.status["fault"] == 1


@pytest.mark.parametrize("config,inputs", [
    (SCAN, {"block": "2 1 1 1 9", "ref": "0 D"}),           # a fiber that does not begin at 0
    (SCAN, {"block": "3 0 1 1 1 9", "ref": "1 N 0 D"}),
    (DENSE, {"block": "2 0 65535 0", "ref": "S254 D"}),     # an extent is no segment
    (LOOKUP, {"block": "2 5 6", "ref": "S255 1 D"}),        # no stop rises
    (LOOKUP, {"block": "0", "ref": "N S0 D"}),
    ({"output": "block"}, {"block": "0 2 8 9"})])
def test_what_is_unusual_but_right_is_no_fault(config: dict[str, Any], inputs: dict[str, str]) -> None:
    tokens = {port: parse_stream(text) for port, text in inputs.items()}
    assert not refusal("level", config, tokens)
    result = primitive_bench("level").run(tokens, PRIMITIVES["level"].config.encode(**config))
    assert not result.left and not result.status["fault"]


def test_a_maybe_is_no_coordinate_of_values() -> None:
    inputs = {port: parse_stream("N S0 D") for port in ("outer", "inner")}
    assert refusal("dropper", {"form": "value"}, inputs) == "the streams are out of step"
    assert not any(any(each.outputs.values()) for each in stuck("dropper", {"form": "value"}, inputs))


CASES: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("joiner", {"op": "intersect"}, ("crd0", "crd1")), ("joiner", {"op": "union"} | BOTH, ("crd0", "ref0", "crd1", "ref1")),
    ("repeater", {}, ("ref", "crd")), ("repeater", {"root": 1}, ("crd",)), ("reducer", {}, ("val",)),
    ("reducer", {"guided": 1}, ("val", "crd")), ("dropper", {"form": "coordinate"}, ("outer", "inner")),
    ("dropper", {"form": "value"}, ("outer", "inner")), ("alu", {"stream_a": 1, "stream_b": 1}, ("a", "b")),
    ("level", SCAN, ("block", "ref")), ("level", ROOT, ("block",)), ("level", DENSE, ("block", "ref")),
    ("level", LOOKUP, ("values", "ref")), ("level", {"output": "block"}, ("block",)),
    ("level", {"input": "stream"}, ("wr", "ref")), ("level", {"input": "stream"} | LOOKUP, ("wr", "ref"))]

token = st.sampled_from([0, 1, 2, 5, stop(0), stop(0), stop(1), stop(255), MAYBE])
small = st.lists(st.integers(0, 4), max_size=4)


@st.composite
def related(draw: st.DrawFn, ports: tuple[str, ...]) -> dict[str, list[int]]:
    """Streams that nearly fit, blocks among them, offered three times, so that tokens are left where something waits."""
    first = draw(st.lists(token, max_size=5))
    inputs = {}
    for port in ports:
        if port in ("block", "values"):
            seg = sorted(draw(small)) if draw(st.booleans()) else draw(small)
            words = [word for array in ([seg] if port == "block" else []) + [draw(small)] for word in (len(array), *array)]
            if draw(st.integers(0, 9)) == 0:
                words[draw(st.integers(0, len(words) - 1))] |= CONTROL
        else:
            words = list(first)
            if draw(st.booleans()) and words:
                words[draw(st.integers(0, len(words) - 1))] = draw(token)
            words.append(DONE)
        inputs["block" if port == "values" else port] = words * 3
    return inputs


@pytest.mark.parametrize("name,config,ports", CASES, ids=lambda each: each if isinstance(each, str) else None)
@settings(max_examples=20)
@given(data=st.data())
def test_a_refused_stream_waits_or_is_a_fault_and_no_other_is_one(name: str, config: dict[str, Any], ports: tuple[str, ...],
                                                                 data: st.DataObject) -> None:
    many = data.draw(st.lists(related(ports), min_size=1, max_size=10))
    code = PRIMITIVES[name].config.encode(**config)
    # After a fault the level may give 65,536 entries of nowhere.
    enough = {"crd": 300} if name == "level" and config.get("output") != "block" else None
    cases = [Case(inputs, code, expect=enough) for inputs in many]
    for inputs, result in zip(many, primitive_bench(name).run_many(cases), strict=True):
        refused = refusal(name, config, inputs)
        fault = result.status.get("fault", 0)
        assert not refused or fault or result.left
        assert not fault or refused


# One column whose PE can only join: both sides come from the same stream.
MEETING = Arch("meeting", 1, 1, mem_every=0, pe=replace(PE, primitives=(JOINER,)), interconnect=Interconnect(1),
               glb=Glb(columns_per_tile=1))


def test_a_fault_stops_the_run_like_an_overflow_and_its_tile_says_so() -> None:
    array = Array(MEETING)
    channel = array.config0
    fanin = {kind: MEETING.interconnect.fanin(getattr(MEETING, kind), "data") for kind in ("io", "pe")}
    values = {(0, 0): {"sb_data": {"s0_sel": fanin["io"]["s0"].index("g2f") + 1}},
              (0, 1): {"core": {"mode": "joiner"},
                       "cb_data": {f"{port}_sel": fanin["pe"][port].index("n_in0") + 1 for port in ("data0", "data2")}}}

    async def ask(sim: SimulatorContext, row: int, register: int, word: int | None) -> None:
        for signal, value in ((channel.valid, 1), (channel.write, word is not None), (channel.wdata, word or 0),
                              (channel.addr, row << 16 | register)):
            sim.set(signal, value)
        await sim.tick()
        sim.set(channel.valid, 0)

    async def give(sim: SimulatorContext, word: int) -> None:
        sim.set(array.g2f0.payload, {"data": word & 0xFFFF, "control": word >> 16})
        sim.set(array.g2f0.valid, 1)
        await sim.tick()
        sim.set(array.g2f0.valid, 0)
        await sim.tick().repeat(6)

    async def status(sim: SimulatorContext) -> int:
        await ask(sim, 1, STATUS_REGISTER, None)
        while not sim.get(channel.rvalid):
            await sim.tick()
        return sim.get(channel.rdata)

    async def drive(sim: SimulatorContext) -> None:
        for (x, row), each in values.items():
            for register, word in enumerate(MEETING.config_map(MEETING.tiles[x, row].kind).encode(each)):
                await ask(sim, row, register, word)
        await sim.tick().repeat(8)
        await give(sim, 5)
        assert (sim.get(array.overflow), await status(sim)) == (0, 0)
        await give(sim, MAYBE)
        assert (sim.get(array.overflow), await status(sim)) == (1, 1 << STATUS_FAULT | 1 << STATUS_OVERFLOW)
        await give(sim, 5)
        assert sim.get(array.overflow) == 1, "it stays"
        sim.set(array.flush, 1)
        await sim.tick()
        sim.set(array.flush, 0)
        await sim.tick().repeat(2)
        assert (sim.get(array.overflow), await status(sim)) == (0, 0)

    simulator = Simulator(array)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()
