"""The port for registers, clocked while it is used only, beside one that always is: under any signals both do the same."""

import random

import pytest
from amaranth.hdl import Cat, Value
from gated_ports import Alike, Held, offered, run

from sardonyx.hw.soc import shell
from sardonyx.hw.soc.axi_lite import AxiLite

BITS = ("s_axil_awvalid", "s_axil_wvalid", "s_axil_arvalid", "s_axil_bready", "s_axil_rready")
REST, WORK = 60, 90
# Cycles of rest and work in turn; so many in all.
CYCLES = 4000


def does(port: AxiLite) -> Value:
    """All outputs; what belongs to an offer, a write or an access if there is one."""
    return offered((port.s_axil_awready, port.s_axil_wready, port.s_axil_arready),
                   [(port.s_axil_bvalid, port.s_axil_bresp), (port.s_axil_rvalid, Cat(port.s_axil_rdata, port.s_axil_rresp)),
                    (port.write, Cat(port.address, port.data)), (port.accepts, port.next)])


def ran(margin: int, seed: int) -> "dict[str, int]":
    """Signals at random, some for long, and rests of the bus, in which answers may wait or a write for its data."""
    draw, held = random.Random(seed), Held(BITS, (0, 0, 1, 5, 30))

    def signals(cycle: int) -> "dict[str, int]":
        rests = cycle % (REST + WORK) >= WORK
        return {**held.drawn(draw, {name: False for name in BITS if rests and name.endswith("valid")}),
                "s_axil_awaddr": draw.getrandbits(8), "s_axil_araddr": draw.getrandbits(8),
                "s_axil_wdata": draw.getrandbits(32), "s_axil_wstrb": draw.choice((15, 15, 15, 3)),
                "value": draw.getrandbits(32), "error": draw.random() < 0.1, "reset": draw.random() < 0.005}

    counted = {"answers": lambda port: (port.s_axil_rvalid & port.s_axil_rready) + (port.s_axil_bvalid & port.s_axil_bready),
               "writes": lambda port: port.write}
    return run(Alike(lambda: AxiLite(8), shell.registers_are_used, margin, does, counted), CYCLES, signals)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_gated_port_for_registers_does_in_every_cycle_what_another_does(seed: int) -> None:
    found = ran(shell.PORT_MARGIN, seed)
    assert not found["differs"] and found["answers"] > 100 and found["writes"] > 50 and found["rested"] > 400, found


def test_a_margin_that_is_too_short_for_registers_is_found() -> None:
    assert ran(1, 1)["differs"]
