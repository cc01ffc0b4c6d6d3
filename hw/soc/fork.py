"""One master of a bus in front of two slaves, which the highest address bit tells apart."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring

from ..arch.system import GLB_WINDOW
from .axi_data import axi_part
from .mover import ADDRESS_BITS, UNDER_WAY

assert GLB_WINDOW == 1 << ADDRESS_BITS - 1, "the highest bit tells the global buffer from the processor's memory"

LOW, HIGH = SIDES = ("low_axi_", "high_axi_")
READ, WRITE = ("ar", "r"), ("aw", "w", "b")


class Fork(wiring.Component):
    """Leads the bursts of one direction to where they belong. Slaves see addresses without the bit that tells them apart.

    Behaviour: a burst for the other slave waits until all before it are answered, so that answers come in order.

    Parameters
    ----------
    channels : tuple of str      `READ` or `WRITE`.

    Members
    -------
    s_axi_* : In                        From the master, which offers beats to write in the order of its bursts.
    low_axi_*, high_axi_* : Out         To the slaves.

    Timing: requests and answers pass within their cycle; beats to write from the cycle after that of their address on.
    """

    def __init__(self, channels: tuple[str, ...]) -> None:
        self.channels = channels
        slaves = {name: member.flip() for side in SIDES for name, member in axi_part(channels, ADDRESS_BITS, side).items()}
        super().__init__({**axi_part(channels, ADDRESS_BITS, "s_axi_"), **slaves})

    @property
    def module_name(self) -> str:
        return "axi_fork_read" if self.channels == READ else "axi_fork_write"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, answer = self.channels[0], self.channels[-1]
        toward = Signal()
        meant = Signal()
        bursts = Signal(range(UNDER_WAY))       # not answered
        unsent = Signal(range(UNDER_WAY))       # of which not all beats were taken
        allowed = Signal()
        accepted = Signal()
        answered = Signal()
        ended = Signal()

        def of(name: str) -> Value:
            return getattr(self, f"s_axi_{name}")

        m.d.comb += [meant.eq(of(f"{request}addr")[-1]),
                     allowed.eq(((bursts == 0) | (toward == meant)) & (bursts != UNDER_WAY - 1)),
                     accepted.eq(of(f"{request}valid") & of(f"{request}ready")),
                     answered.eq(of(f"{answer}valid") & of(f"{answer}ready") & (of("rlast") if answer == "r" else 1))]
        m.d.sync += bursts.eq(bursts + accepted - answered)
        with m.If(accepted):
            m.d.sync += toward.eq(meant)
        if "w" in self.channels:
            m.d.comb += ended.eq(of("wvalid") & of("wready") & of("wlast"))
            m.d.sync += unsent.eq(unsent + accepted - ended)
        for number, side in enumerate(SIDES):
            for name in axi_part(self.channels, ADDRESS_BITS, ""):
                channel = next(each for each in self.channels if name.startswith(each))
                outer, inner = of(name), getattr(self, side + name)
                here = (allowed & (meant == number) if channel == request else
                        (toward == number) & (unsent != 0) if channel == "w" else (toward == number) & (bursts != 0))
                source, sink = (outer, inner) if channel != answer else (inner, outer)
                if name.endswith("ready"):
                    source, sink = sink, source
                elif name == f"{request}addr":
                    source = source[:-1]
                if name.endswith(("valid", "ready")):
                    with m.If(here):
                        m.d.comb += sink.eq(source)
                elif channel == answer:
                    with m.If(toward == number):
                        m.d.comb += sink.eq(source)
                else:
                    m.d.comb += sink.eq(source)
        return m
