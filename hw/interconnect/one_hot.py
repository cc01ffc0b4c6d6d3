"""The boundary protection of power domains: gates that let nothing pass of a tile that is off.

What leaves a tile without power is neither 0 nor 1, so it may reach no gate whose other inputs do not settle the output. A
multiplexer by the bits of a code has such gates; one that ANDs each input with a select of its own and ORs the results has
none, as an AND with a 0 is 0 whatever the other input is. Both components here are modules of their own, with the selects as
inputs: whoever maps a module alone finds no code to choose by, and cannot take the AND away from its input.

Source: Amber JSSC III-A (one-hot encoding, clamping, an OR tree).
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class OneHotMux(wiring.Component):
    """A multiplexer that masks what it does not select; the module is called ``one_hot_mux_{inputs}_{width}``.

    Parameters
    ----------
    inputs, width : int             Words to choose from, and their bits; 1 or more.

    Members
    -------
    select : In(inputs)             At most one bit is 1.
    i : In(inputs * width)          The words, the first one lowest.
    o : Out(width)                  The selected one; 0 without any.

    Timing: combinational.
    Source: Amber JSSC III-A (boundary protection).
    """

    def __init__(self, inputs: int, width: int) -> None:
        assert inputs > 0 and width > 0, "a multiplexer chooses among words"
        self.inputs, self.width = inputs, width
        super().__init__({"select": In(inputs), "i": In(inputs * width), "o": Out(width)})

    @property
    def module_name(self) -> str:
        return f"one_hot_mux_{self.inputs}_{self.width}"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(reduce(or_, (self.i.word_select(n, self.width) & self.select[n].replicate(self.width)
                                           for n in range(self.inputs))))
        return m


class Isolation(wiring.Component):
    """Wires that leave a power domain, at 0 while it is off; the module is called ``isolation_{width}``, with `each`
    ``isolation_each_{width}``.

    Parameters
    ----------
    width : int                     Wires, 1 or more.
    each : bool                     Whether each wire has a bit of `awake`: its gate masks what its reader would mask, too.

    Members
    -------
    awake : In(1), In(width)        The domain has power and was reset, with `each` and a wire may pass.
    i : In(width)                   What it says.
    o : Out(width)                  The same, or 0.

    Timing: combinational.
    Source: Amber JSSC III-A (clamping).
    """

    def __init__(self, width: int, each: bool = False) -> None:
        assert width > 0, "something is isolated"
        self.width, self.each = width, each
        super().__init__({"awake": In(width if each else 1), "i": In(width), "o": Out(width)})

    @property
    def module_name(self) -> str:
        return f"isolation_{'each_' if self.each else ''}{self.width}"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(self.i & (self.awake if self.each else self.awake.replicate(self.width)))
        return m
