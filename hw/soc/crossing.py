"""The crossing between the clocks of host and machine: every channel of both buses through an asynchronous FIFO.

Each clock has a module of its own, `HostSide` and `MachineSide`, and each FIFO a half in both: `Entrance`, which keeps the
words, and `Exit`. What goes between the modules comes from registers and ends in a synchroniser, or it is a word that has not
changed for an edge of the clock that takes it when that is told of it. So no module has two clocks, and constraints for what
crosses begin and end at the ports of two instances.

No word is lost or doubled in a reset, because neither side is reset without the other. What resets the host asks for a reset
of the machine and holds the host's channels: they take and offer nothing. Only while the machine is in reset, which is
synchronised both ways, are the host's halves emptied; the machine leaves its reset when they are, and the host's channels go on
when it has. A cycle of reset is enough for that, however fast the clocks are; where registers begin with any value, the first
one lasts 8 cycles of the slower clock. Words on their way are gone, as all is in a reset.

Timing: a word that enters at an edge of one clock can leave at the third edge of the other after it; the interrupt takes a
        cycle of the machine's clock and two of the host's. One word a cycle and channel where both clocks are equal: a word
        keeps its place for six cycles, or seven. After a reset the buses are held for 5 cycles of the machine's clock and 7 of
        the host's at most.
Source:  C. Cummings, Simulation and Synthesis Techniques for Asynchronous FIFO Design, SNUG 2002, style 1: Gray counts,
         synchronised to the other clock and compared there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from amaranth.hdl import Cat, Module, ResetSignal, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..arch.soc import DATA_ADDRESS_BITS, REGISTER_ADDRESS_BITS
from ..emit import macro
from ..interconnect.boxes import Members
from .axi_data import axi_ports
from .axi_lite import axi_lite_ports
from .register_slice import CHANNELS, carried

# Words of a FIFO: a power of two, from 4.
DEPTH = 8
# A count says how many words have passed, modulo twice the depth: an empty FIFO's are equal, a full one's `DEPTH` apart.
COUNT_BITS = DEPTH.bit_length()
# Counts that are `DEPTH` apart differ in the two highest bits of their Gray code, and in no other.
APART = 0b11 << COUNT_BITS - 2
# What the names of a bus begin with.
BUSES = ("s_axi_", "s_axil_")


def gray(count: Value) -> Value:
    """The Gray code of a count: one bit changes with each step, so that who sees it change sees the count before or after."""
    return count ^ count[1:]


class Entrance(wiring.Component):
    """The half of an asynchronous FIFO at which words enter, with the clock of those.

    Parameters
    ----------
    width : int      Bits of a word.

    Members
    -------
    i : In(stream)
    entered : Out    How many words have entered: a Gray code, from a register.
    left : In        How many have left, by the other clock.
    address : In     Of the word that the other half takes next.
    word : Out       It follows `address` in the same cycle. It is written before `entered` says so, and not again before
                     `left` does.

    Timing: one word a cycle; what leaves makes room two cycles after `left` says so. `i.ready` depends on registers only.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.module_name = f"entrance_w{width}"
        super().__init__({"i": In(stream.Signature(width)), "entered": Out(COUNT_BITS), "left": In(COUNT_BITS),
                          "address": In(range(DEPTH)), "word": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = Signal(COUNT_BITS)
        following = Signal(COUNT_BITS)
        left_here = Signal(COUNT_BITS)
        m.submodules.left_sync = FFSynchronizer(self.left, left_here, reset_less=False)
        m.submodules.storage = storage = Memory(shape=self.width, depth=DEPTH, init=[])
        write, read = storage.write_port(), storage.read_port(domain="comb")
        enters = self.i.valid & self.i.ready
        m.d.comb += [
            self.i.ready.eq((self.entered ^ left_here) != APART), following.eq(count + enters),
            write.addr.eq(count), write.data.eq(self.i.payload), write.en.eq(enters),
            read.addr.eq(self.address), self.word.eq(read.data),
        ]
        m.d.sync += [count.eq(following), self.entered.eq(gray(following))]
        return m


class Exit(wiring.Component):
    """The half of an asynchronous FIFO at which words leave, with the clock of those.

    Parameters
    ----------
    width : int      Bits of a word.

    Members
    -------
    entered, left, address, word : the other side of those of `Entrance`.
    o : Out(stream)

    Timing: a word is offered two cycles after `entered` says so; one word a cycle. `o.valid` and `o.payload` depend on
    registers only, `address` on `o.ready`.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.module_name = f"exit_w{width}"
        super().__init__({"entered": In(COUNT_BITS), "left": Out(COUNT_BITS), "address": Out(range(DEPTH)), "word": In(width),
                          "o": Out(stream.Signature(width))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = Signal(COUNT_BITS)
        following = Signal(COUNT_BITS)
        entered_here = Signal(COUNT_BITS)
        # Takes whatever is there. What it takes together with the second register of the synchroniser was there before.
        taken = Signal(self.width, reset_less=True)
        m.submodules.entered_sync = FFSynchronizer(self.entered, entered_here, reset_less=False)
        m.d.comb += [
            self.o.valid.eq(entered_here != self.left), self.o.payload.eq(taken),
            following.eq(count + (self.o.valid & self.o.ready)), self.address.eq(following),
        ]
        m.d.sync += [count.eq(following), self.left.eq(gray(following)), taken.eq(self.word)]
        return m


@dataclass(frozen=True)
class Channel:
    """A channel of a bus.

    Parameters
    ----------
    name : str               With that of its bus: ``axil_aw``.
    port : str               What the names of its ports begin with: ``s_axil_aw``.
    fields : tuple of str    Its ports that cross.
    width : int              Bits of these.
    inward : bool            Goes to the machine.
    """

    name: str
    port: str
    fields: tuple[str, ...]
    width: int
    inward: bool

    def between(self) -> Members:
        """What goes between the two halves of its FIFO, as members of the host's side."""
        halves = {"entered": Out(COUNT_BITS), "left": In(COUNT_BITS), "address": In(range(DEPTH)), "word": Out(self.width)}
        return {f"{self.name}_{name}": member if self.inward else member.flip() for name, member in halves.items()}


def bus_ports() -> Members:
    """The ports of the machine's two buses."""
    return axi_ports(DATA_ADDRESS_BITS) | axi_lite_ports(REGISTER_ADDRESS_BITS)


def channels(ports: Mapping[str, wiring.Member]) -> Iterator[Channel]:
    """The channels of buses that have these ports."""
    for bus in BUSES:
        for channel in CHANNELS:
            port = bus + channel
            if f"{port}valid" in ports:
                fields = tuple(carried(ports, bus, channel))
                width = sum(len(Signal(ports[name].shape)) for name in fields)
                yield Channel(port.removeprefix("s_"), port, fields, width, ports[f"{port}valid"].flow is In)


def interrupts(regions: int) -> Members:
    """The lines of interrupts that cross: that of the machine, or those of its regions."""
    return {"irq": Out(1)} if regions == 1 else {"region_irq": Out(regions)}


def lines(part: wiring.Component) -> Value:
    """Those of a part that has them."""
    return Value.cast(next(getattr(part, name) for name in ("irq", "region_irq") if name in part.signature.members))


def between_members(ports: Mapping[str, wiring.Member], regions: int = 1) -> Members:
    """What goes between both sides, as members of the host's."""
    words = {name: member for channel in channels(ports) for name, member in channel.between().items()}
    return {**words, "reset_asked": Out(1), "reset_there": In(1), "raised": In(regions)}


def flipped(members: Mapping[str, wiring.Member]) -> Members:
    """The other side of ports."""
    return {name: member.flip() for name, member in members.items()}


class _Side(wiring.Component):
    """A half of every FIFO."""

    # Which way words go that enter here.
    inward: bool

    def _halves(self, m: Module, reset: Value, held: Value) -> None:
        """reset: empties the halves. held: the channels take and offer nothing."""
        ports = {name: member for name, member in self.signature.members.items() if name.startswith(BUSES)}
        for channel in channels(ports if self.inward else flipped(ports)):
            entering = channel.inward is self.inward
            m.submodules[channel.name] = half = macro((Entrance if entering else Exit)(channel.width), reset=reset)
            for name in ("entered", "left", "address", "word"):
                inner, outer = getattr(half, name), getattr(self, f"{channel.name}_{name}")
                m.d.comb += outer.eq(inner) if half.signature.members[name].flow is Out else inner.eq(outer)
            fields = Cat(getattr(self, name) for name in channel.fields)
            valid, ready = (getattr(self, f"{channel.port}{part}") for part in ("valid", "ready"))
            if entering:
                m.d.comb += [half.i.payload.eq(fields), half.i.valid.eq(valid & ~held), ready.eq(half.i.ready & ~held)]
            else:
                m.d.comb += [fields.eq(half.o.payload), valid.eq(half.o.valid & ~held), half.o.ready.eq(ready & ~held)]


class HostSide(_Side):
    """The module ``host_side``: what of the crossing has the host's clock.

    Parameters
    ----------
    ports : dict     Of the buses; default: those of the machine.
    regions : int    Of the machine.

    Members
    -------
    s_axi_*, s_axil_*, irq : to the host, as those of the machine; with several regions `region_irq`.
    {channel}_entered, {channel}_left, {channel}_address, {channel}_word : to the other side, see `Entrance`.
    reset_asked : Out(1)   The machine is to be in reset.
    reset_there : In(1)    It is, by its clock.
    raised : In(regions)   `irq` or `region_irq` of the machine, from registers.

    Timing: see the top of `hw/soc/crossing.py`. A reset in any cycle is one of the machine, too: buses are held from that cycle
    on until it is over there.
    """

    module_name = "host_side"
    inward = True

    def __init__(self, ports: Mapping[str, wiring.Member] | None = None, regions: int = 1) -> None:
        buses = dict(ports or bus_ports())
        super().__init__({**buses, **interrupts(regions), **between_members(buses, regions)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pending = Signal(init=1)                        # a reset since the machine was asked for the last one
        asked = Signal(init=1, reset_less=True)
        there = Signal()
        held = Signal()
        irq_here = Signal.like(self.raised)
        m.submodules.there_sync = FFSynchronizer(self.reset_there, there)
        m.submodules.irq_sync = FFSynchronizer(self.raised, irq_here)
        m.d.comb += [held.eq(ResetSignal() | pending | asked | there), self.reset_asked.eq(asked),
                     lines(self).eq(irq_here & (~held).replicate(len(irq_here)))]
        # Four steps, each seen at the other side before the next: a reset in the midst of them is not overlooked there.
        with m.If(~asked & ~there):
            m.d.sync += asked.eq(pending)
        with m.Elif(asked & there & ~ResetSignal()):
            m.d.sync += [asked.eq(0), pending.eq(0)]
        self._halves(m, there, held)
        return m


class MachineSide(_Side):
    """The module ``machine_side``: what of the crossing has the machine's clock.

    Parameters
    ----------
    ports, regions   As of `HostSide`.

    Members
    -------
    s_axi_*, s_axil_*, irq, region_irq : the other side of the machine's ports.
    reset : Out(1)   Of the machine, from a register.
    {channel}_*, reset_asked, reset_there, raised : the other side of those of `HostSide`.

    Timing: see the top of `hw/soc/crossing.py`. `reset` follows `reset_asked` in two cycles, both ways.
    """

    module_name = "machine_side"
    inward = False

    def __init__(self, ports: Mapping[str, wiring.Member] | None = None, regions: int = 1) -> None:
        buses = dict(ports or bus_ports())
        super().__init__({**flipped(buses), **flipped(between_members(buses, regions)), **flipped(interrupts(regions)),
                          "reset": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Nothing here is reset by `rst`: that is of the host's clock.
        irq_before = Signal.like(self.raised, reset_less=True)
        m.submodules.reset_sync = FFSynchronizer(self.reset_asked, self.reset, init=1)
        m.d.comb += [self.reset_there.eq(self.reset), self.raised.eq(irq_before)]
        # In reset, the machine's outputs are those from before.
        m.d.sync += irq_before.eq(lines(self) & (~self.reset).replicate(len(irq_before)))
        self._halves(m, self.reset, self.reset)
        return m
