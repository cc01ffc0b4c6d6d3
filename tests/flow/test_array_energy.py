"""What drives the cells of a component in each cycle is what Amaranth simulates."""

from typing import Any

import numpy as np
from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import Component, In, Out

from sardonyx.flow.asic.array_energy import _energy, _Mapped, _wave, simulated, waves
from sardonyx.flow.asic.cells import Cell
from sardonyx.flow.asic.energy import CellEnergy
from sardonyx.flow.asic.toggles import Instance, Netlist


class Doubled(Component):
    """Two registers behind each other, one of them in a module of its own."""

    def __init__(self, inner: bool = False) -> None:
        self.inner = inner
        super().__init__({"i": In(4), "o": Out(4)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        held = Signal(4)
        m.d.sync += held.eq(self.i)
        if self.inner:
            m.d.comb += self.o.eq(held)
        else:
            m.submodules.part = part = Doubled(True)
            m.d.comb += [part.i.eq(held), self.o.eq(part.o)]
        return m


def test_a_register_has_what_entered_in_the_cycle_before_in_each_module() -> None:
    component = Doubled()

    async def gives(context: Any) -> None:
        for word in (15, 0, 5, 6):
            context.set(component.i, word)
            await context.tick()

    found = simulated(component, [gives], 7)
    # A bench sets its word behind the edge.
    entered = found[()]["i"].tolist()
    assert [word for word, before in zip(entered, [None, *entered]) if word != before][-4:] == [15, 0, 5, 6]
    assert found[()]["held"].tolist() == [0, *entered[:-1]]
    assert found["part",]["held"].tolist() == [0, 0, *entered[:-2]]


def test_what_a_signal_is_on_its_way_within_a_time_does_not_count() -> None:
    text = """$scope module bench $end
$scope module top $end
$var wire 1 c clk $end
$var wire 2 ! a $end
$scope module part $end
$var wire 1 " b $end
$upscope $end
$upscope $end
$upscope $end
$enddefinitions $end
#0
b0 !
0"
0c
#10
1c
b11 !
b1 !
1"
0"
#15
0c
#20
1c
b10 !
1"
"""
    found = waves(text)
    assert found[()]["a"].tolist() == [0, 1] and found["part",]["b"].tolist() == [0, 0]
    # A register that drives an instance alone is called after the port there; what is constant is no signal.
    assert _wave(found, (), "part__b", cycles=2).tolist() == [0, 0]
    assert _wave(found, (), "clock_on", cycles=2, constant=1).tolist() == [1, 1]


def test_a_change_and_a_cycle_of_a_flop_take_their_energy() -> None:
    kinds = {"FLOP": Cell({"Q": "IQ"}, True, 2.0), "INV": Cell({"Y": "~A"}, False, 0.0)}
    cells = {"r$_DFF_P_": Instance("FLOP", {"Q": 2}), "inverter": Instance("INV", {"A": 2, "Y": 3})}
    each = {"r$_DFF_P_": CellEnergy(10.0, 3.0, 0.0), "inverter": CellEnergy(0.0, 5.0, 0.0)}
    bits = np.array([0, 1, 1, 0, 0], np.uint8)
    values = {2: np.packbits(bits), 3: np.packbits(1 - bits)}
    found = _Mapped({}, Netlist(cells, (), (2,)), each)
    # Two changes of both cells, and five cycles of the flop, whose clock pin has 2 fF at 0.5 V.
    assert _energy(found, kinds, values, 5, 0.5) == 2 * (3 + 5) + 5 * (10 + 2 * 0.25)
