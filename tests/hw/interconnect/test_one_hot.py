"""Boundary protection: what it says, and that whoever maps it finds an AND in front of all that may float."""

import json
from pathlib import Path

import pytest
from amaranth.lib import wiring
from amaranth.sim import Simulator, SimulatorContext
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.hw import emit
from sardonyx.hw.component import module_name
from sardonyx.hw.interconnect.one_hot import Isolation, OneHotMux
from sardonyx.hw.yosys import run_yosys

WIDTH = 5


def shown(component: wiring.Component, inputs: "dict[str, int]") -> int:
    found = []

    async def look(sim: SimulatorContext) -> None:
        for name, value in inputs.items():
            sim.set(getattr(component, name), value)
        found.append(sim.get(component.o))

    simulator = Simulator(component)
    simulator.add_testbench(look)
    simulator.run()
    return int(found[0])


@settings(max_examples=30)
@given(words=st.lists(st.integers(0, (1 << WIDTH) - 1), min_size=1, max_size=6), chosen=st.integers(0, 6))
def test_the_selected_word_leaves_and_0_without_any(words: "list[int]", chosen: int) -> None:
    i = sum(word << WIDTH * n for n, word in enumerate(words))
    select = (1 << chosen) % (1 << len(words))
    assert shown(OneHotMux(len(words), WIDTH), {"i": i, "select": select}) == (words[chosen] if chosen < len(words) else 0)


@pytest.mark.parametrize("awake", [0, 1])
def test_what_is_isolated_is_0_while_its_domain_is_not_awake(awake: int) -> None:
    assert shown(Isolation(4), {"i": 0b1010, "awake": awake}) == 0b1010 * awake
    assert shown(Isolation(4, each=True), {"i": 0b1010, "awake": 0b0011 * awake}) == 0b0010 * awake


@pytest.mark.parametrize("component,settling", [
    (OneHotMux(6, 17), "select"), (OneHotMux(5, 17), "select"), (OneHotMux(3, 1), "select"), (Isolation(10), "awake"),
    (Isolation(5, each=True), "awake")],
    ids=lambda each: each if isinstance(each, str) else each.module_name)
def test_every_input_that_may_float_enters_one_gate_which_its_select_settles(component: wiring.Component, settling: str,
                                                                             tmp_path: Path) -> None:
    top, files = module_name(component), emit.emit(component, tmp_path)
    run_yosys(["-q", "-p", f"read_verilog -sv {files[-1].name}; synth -top {top}; abc -g AND,NAND,OR,NOR,MUX,XOR,AOI3,OAI3; "
                           "opt_clean -purge; write_json found.json"], tmp_path)
    module = json.loads((tmp_path / "found.json").read_text())["modules"][top]
    floating, steady = (set(module["ports"][name]["bits"]) for name in ("i", settling))
    taking = [(cell, pin, bit) for cell in module["cells"].values() for pin, (bit,) in cell["connections"].items()
              if bit in floating]
    assert len(taking) == len(floating) == len({bit for _, _, bit in taking})
    for cell, pin, _ in taking:
        other, = cell["connections"][{"A": "B", "B": "A"}[pin]]
        assert cell["type"] in ("$_AND_", "$_NAND_", "$_AOI3_") and other in steady, cell
