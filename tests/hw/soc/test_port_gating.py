"""The port for data, clocked while it is used only, beside one that always is: under any signals both do the same."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from amaranth.hdl import Cat, Value
from gated_ports import Alike, Held, offered, run
from machines import LEAST
from simulators import run_cocotb

from sardonyx.hw.arch.glb import CELL, HYBRID
from sardonyx.hw.soc import shell
from sardonyx.hw.soc.axi_data import AxiData
from sardonyx.hw.soc.top import Sardonyx

LINES = 16
# How often a master or the memory holds a signal for some cycles, and what it is then.
MEMORY = ("write_ready", "read_ready")
BITS = ("s_axi_awvalid", "s_axi_wvalid", "s_axi_arvalid", "s_axi_bready", "s_axi_rready", "s_axi_wlast", *MEMORY)


def does(port: AxiData) -> Value:
    """All outputs; what belongs to an offer if there is one."""
    return offered(
        (port.s_axi_awready, port.s_axi_wready, port.s_axi_arready),
        [(port.s_axi_bvalid, Cat(port.s_axi_bid, port.s_axi_bresp)),
         (port.s_axi_rvalid, Cat(port.s_axi_rid, port.s_axi_rdata, port.s_axi_rresp, port.s_axi_rlast)),
         (port.write_valid, Cat(port.write_line, port.write_data, port.write_strobe)), (port.read_valid, port.read_line)])


def ran(read_latency: int, margin: int) -> "dict[str, int]":
    """Signals at random, some for long, and rests of the bus, in which bursts may wait for beats, late for the memory."""
    draw, held = random.Random(1), Held(BITS, (0, 0, 1, 5, 40))

    def signals(cycle: int) -> "dict[str, int]":
        rests = {name: name in MEMORY and cycle % 150 > 130 for name in BITS} if cycle % 150 > 100 else {}
        accesses = {f"s_axi_{channel}{name}": value for channel in ("aw", "ar") for name, value in (
            ("addr", 8 * draw.randrange(LINES + 4)), ("len", draw.choice((0, 0, 1, 2, 7))),
            ("size", 3 - (draw.random() < 0.1)), ("burst", 1), ("id", draw.getrandbits(4)))}
        return {**held.drawn(draw, rests), **accesses, "s_axi_wdata": draw.getrandbits(64), "s_axi_wstrb": draw.getrandbits(8),
                "read_word": draw.getrandbits(64), "reset": draw.random() < 0.01}

    counted = {"answers": lambda port: (port.s_axi_rvalid & port.s_axi_rready) + (port.s_axi_bvalid & port.s_axi_bready)}
    return run(Alike(lambda: AxiData(8 * LINES, read_latency=read_latency), shell.port_is_used, margin, does, counted), 2000,
               signals)


@pytest.mark.parametrize("read_latency", [1, 3])
def test_a_gated_port_does_in_every_cycle_what_another_does(read_latency: int) -> None:
    found = ran(read_latency, shell.PORT_MARGIN + read_latency)
    assert not found["differs"] and found["answers"] > 20 and found["rested"] > 50, found


def test_a_margin_that_is_too_short_is_found() -> None:
    assert ran(1, 0)["differs"]


# That a gated port does in every cycle what another does says the same sooner: building this machine takes most of a minute.
@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=pytest.mark.icarus)])
def test_the_buses_of_a_machine_with_gated_clocks_answer_as_axi_demands(simulator: str, tmp_path: Path) -> None:
    machine = replace(LEAST, glb=replace(LEAST.glb, clock_gating=HYBRID, clock_gates=CELL))
    run_cocotb(Sardonyx(machine), "cocotb_buses", simulator, tmp_path)
