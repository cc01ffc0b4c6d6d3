"""The boards that a machine is built for: what is special about each.

    ulx3s-85f     Lattice ECP5-85F, synthesised, placed and routed with open tools to a bitstream
    arty-a7-100   AMD Artix-7 100T, project files for Vivado; its synthesis is also done by Yosys, for the numbers
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from amaranth.hdl import ClockDomain, ClockSignal, Const, Elaboratable, Instance, Module, ResetSignal, Signal, Value
from amaranth.lib import io
from amaranth.lib.cdc import ResetSynchronizer

from ..hw.arch.errors import UserError

MHZ = 1_000_000
# Where a target has no script of its own: tile by tile, then the whole flattened, so that a kind of tile is mapped once.
PARTS = "tile_* glb_tile shell"
# Every column has registers of its own for flush and stall, and every row of it for reset, which hold the same as others:
# synthesis would make one of all, with a net over the whole FPGA. It fails where these names lead to no registers.
APART = ("select -set apart column_*/w:tiles_flush column_*/w:tiles_stall channel_register/w:reset_below %u %u "
         "%ci */t:$dff %i; select -assert-min 2 @apart; setattr -set keep 1 @apart")


@dataclass(frozen=True)
class Target:
    """A board.

    Parameters
    ----------
    name, about : str
    platform : str           ``module:Class`` of amaranth-boards.
    clock_mhz : int          The machine's: what the PLL makes, and what a routed machine must reach.
    asked_mhz : int, None    What nextpnr is asked for, where that is another.
    baud : int               Of the serial line, which the chip behind the USB socket can do and `clock_mhz` divides into.
    pll : function           (module, oscillator, clock) -> locked: makes the machine's clock of the board's.
    options : {str: str}     Overrides of the platform's scripts, all but what is asked for.
    routed : bool            Whether open tools from PyPI make a bitstream; else the project is for the vendor's tool.
    resources : {what: (number, cells)}     What the FPGA has, and Yosys' cells that take one of it each.
    """

    name: str
    about: str
    platform: str
    clock_mhz: int
    asked_mhz: int | None
    baud: int
    pll: Callable[[Module, Signal, Signal], Value]
    options: dict[str, str]
    routed: bool
    resources: dict[str, tuple[int, tuple[str, ...]]]

    @property
    def divisor(self) -> int:
        """Cycles a bit of the line."""
        assert self.clock_mhz * MHZ % self.baud == 0, "the clock divides into bits"
        return self.clock_mhz * MHZ // self.baud

    @property
    def patience(self) -> int:
        """Cycles of a tenth of a second: longer than any pause that a USB stack makes within a request."""
        return self.clock_mhz * MHZ // 10

    @property
    def overrides(self) -> dict[str, str]:
        """Of the platform's scripts; what is asked for stands in place of what follows from the PLL."""
        asked = self.asked_mhz
        return self.options if asked is None else self.options | {"add_preferences": f'FREQUENCY NET "clk" {asked} MHZ;\n'}

    def make(self) -> Any:
        """A platform of Amaranth, for one build."""
        module, _, name = self.platform.partition(":")
        return getattr(import_module(module), name)()


def _ecp5_pll(m: Module, oscillator: Signal, clock: Signal) -> Value:
    """25 to 50 MHz: an oscillator of 600 MHz, divided by 12."""
    locked = Signal()
    m.submodules.pll = Instance("EHXPLLL", p_CLKI_DIV=1, p_CLKFB_DIV=2, p_CLKOP_DIV=12, p_CLKOP_CPHASE=5, p_FEEDBK_PATH="CLKOP",
                                i_CLKI=oscillator, i_CLKFB=clock, i_RST=Const(0), i_STDBY=Const(0), i_ENCLKOP=Const(0),
                                o_CLKOP=clock, o_LOCK=locked)
    return locked


def _artix_pll(m: Module, oscillator: Signal, clock: Signal) -> Value:
    """100 to 25 MHz: an oscillator of 800 MHz, divided by 32."""
    locked, feedback, made = Signal(), Signal(), Signal()
    m.submodules.pll = Instance("PLLE2_BASE", p_CLKIN1_PERIOD=10.0, p_CLKFBOUT_MULT=8, p_CLKOUT0_DIVIDE=32, p_DIVCLK_DIVIDE=1,
                                i_CLKIN1=oscillator, i_CLKFBIN=feedback, i_RST=Const(0), i_PWRDWN=Const(0),
                                o_CLKFBOUT=feedback, o_CLKOUT0=made, o_LOCKED=locked)
    m.submodules.buffer = Instance("BUFG", i_I=made, o_O=clock)
    return locked


TARGETS = {target.name: target for target in (
    Target("ulx3s-85f", "Radiona ULX3S with a Lattice ECP5-85F", "amaranth_boards.ulx3s:ULX3S_85F_Platform",
           # Asked for 50 MHz, nextpnr places `fpga` worse than asked for 40: 44.9 MHz expected, not 50.0 (docs/boards.md).
           50, 40, MHZ, _ecp5_pll,
           # Wide LUTs and multiplexers as sums of products cost 11 % more LUTs, tiles mapped one by one 8 %, in half the time:
           # mapping does not know then what comes late.
           {"script_after_read": f"hierarchy -top top; proc; {APART}; flatten; opt -full; pmuxtree; opt -full",
            "synth_opts": "-nowidelut"}, True,
           {"LUTs": (83_640, ("LUT4", "CCU2C", "CCU2C")), "registers": (83_640, ("TRELLIS_FF",)),
            "block RAMs": (208, ("DP16KD",)), "multipliers": (156, ("MULT18X18D",))}),
    Target("arty-a7-100", "Digilent Arty A7 with an AMD Artix-7 100T", "amaranth_boards.arty_a7:ArtyA7_100Platform",
           25, None, MHZ, _artix_pll, {}, False,
           {"LUTs": (63_400, ("LUT1", "LUT2", "LUT3", "LUT4", "LUT5", "LUT6")),
            "registers": (126_800, ("FDRE", "FDSE")), "block RAMs": (135, ("RAMB36E1",)), "multipliers": (240, ("DSP48E1",))}),
)}


def target(name: str) -> Target:
    """A board by name; UserError names what comes close."""
    if name in TARGETS:
        return TARGETS[name]
    close = difflib.get_close_matches(name, TARGETS, n=1)
    raise UserError(f"there is no board '{name}'" + (f", do you mean '{close[0]}'?" if close else ""),
                    fix=f"choose one of {', '.join(TARGETS)}")


class OnBoard(Elaboratable):
    """The module ``top`` of a board: clock, reset, pins, and `SerialMachine` as an instance, whose Verilog stands beside it."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        oscillator, clock = Signal(), Signal()
        m.domains.sync = ClockDomain("sync")
        # Pins of these that are not used (rts, dtr) do not become ports.
        uart = platform.request("uart", 0, dir="-")
        ports = {"clock": platform.request(platform.default_clk, dir="-"), "button": platform.request("button", 1, dir="-"),
                 "rx": uart.rx, "tx": uart.tx, "light": platform.request("led", 0, dir="-")}
        pins = {}
        for name, port in ports.items():
            m.submodules[name] = pins[name] = io.Buffer("o" if name in ("tx", "light") else "i", port)
        m.d.comb += [oscillator.eq(pins["clock"].i), ClockSignal("sync").eq(clock)]
        locked = self.target.pll(m, oscillator, clock)
        m.submodules.reset = ResetSynchronizer(~locked | pins["button"].i, domain="sync")
        m.submodules.serial_machine = Instance(
            "serial_machine", i_clk=ClockSignal("sync"), i_rst=ResetSignal("sync"), i_rx=pins["rx"].i, o_tx=pins["tx"].o,
            o_irq=pins["light"].o)
        return m
