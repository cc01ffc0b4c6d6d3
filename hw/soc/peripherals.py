"""The registers beside a processor: what the system DMA moves, what went wrong, and the serial line."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.soc import REGISTER_ADDRESS_BITS, named
from ..arch.system import HOST, IN_FAULT, MORE_ROWS_BITS, MOVE_FAULT, MOVES_BITS, OUT_FAULT
from .lite_master import access_members
from .mover import MOVE
from .setter import LIST

FAULTS = len(named(HOST)["faults"].fields)
DIRECTIONS = ("in", "out")


class Peripherals(wiring.Component):
    """The registers `HOST` of `arch.system`.

    Members
    -------
    valid, address, word, strobes, done, value : see `access_members`; strobes but for none mean the whole word.
    move_in, move_out : Out(stream)       Transfers for the system DMA.
    ended_in, ended_out : In(1)           One has ended.
    happens : In                          Faults of this cycle, by their bits; that of moves is told here.
    failed : Out(1)                       A transfer to the chip has met an error, and nobody has cleared it.
    pairs : Out(stream)                   Lists for `Setter`.
    send : Out(stream), received : In(stream)    Bytes of the serial line.

    Timing: `done` comes from a register, a cycle after `valid`, or later where a write waits for room.
    """

    def __init__(self) -> None:
        runs, bytes_ = stream.Signature(MOVE), stream.Signature(8)
        super().__init__({**access_members(REGISTER_ADDRESS_BITS), "move_in": Out(runs), "move_out": Out(runs),
                          "ended_in": In(1), "ended_out": In(1), "happens": In(FAULTS), "failed": Out(1),
                          "pairs": Out(stream.Signature(LIST)),
                          "send": Out(bytes_), "received": In(bytes_)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        asks = Signal()
        write = self.strobes.any()
        m.d.comb += asks.eq(self.valid & ~self.done)
        m.d.sync += [self.done.eq(asks), self.value.eq(0)]

        faults = Signal(FAULTS)
        clears = Signal(FAULTS)
        misfit = Signal()
        m.d.sync += faults.eq((faults & ~clears) | self.happens | (misfit << MOVE_FAULT))
        m.d.comb += self.failed.eq(faults[IN_FAULT])
        source = Signal(32)
        destination = Signal(32)
        more = Signal(MORE_ROWS_BITS + 1)     # with whether there are more than that
        pitches = [Signal(32, name=f"pitch_{end}") for end in ("from", "to")]
        left = {way: Signal(MOVES_BITS, name=f"left_{way}") for way in DIRECTIONS}
        first_pair = Signal(32)
        m.d.comb += [self.pairs.payload.first.eq(first_pair), self.pairs.payload.count.eq(self.word)]
        byte = Signal(9)
        time = Signal(32)
        m.d.sync += time.eq(time + 1)
        reads = {"moves": Cat(*left.values()), "move_from": source, "move_to": destination,
                 "move_more": more, "pitch_from": pitches[0], "pitch_to": pitches[1], "faults": faults, "serial": byte,
                 "set_from": first_pair, "time": time}

        # A byte that comes while there is one takes its place.
        m.d.comb += self.received.ready.eq(1)
        with m.If(self.received.valid):
            m.d.sync += byte.eq(Cat(self.received.payload, 1))
        skip = source[:3]
        low = Signal(5)         # bytes of the last line and of the one before it, so that carries go a short way only
        lines = Signal(29)
        m.d.comb += [low.eq(self.word[:3] + skip + 7), lines.eq(self.word[3:] + low[3:])]
        unfit = Signal()
        m.d.comb += unfit.eq((skip != destination[:3]) | (self.word == 0) | self.word[-1]
                             | (more[-1] | ((more != 0) & Cat(pitch[:3] for pitch in pitches).any())))
        for way in DIRECTIONS:
            run = getattr(self, f"move_{way}")
            m.d.comb += [run.payload.source.eq(source[3:]), run.payload.destination.eq(destination[3:]),
                         run.payload.source_pitch.eq(pitches[0][3:]), run.payload.destination_pitch.eq(pitches[1][3:]),
                         run.payload.more.eq(more),
                         run.payload.lines.eq(lines), run.payload.skip.eq(skip), run.payload.rest.eq(self.word[:3] + skip)]
            m.d.sync += left[way].eq(left[way] + (run.valid & run.ready) - getattr(self, f"ended_{way}"))
        m.d.comb += self.send.payload.eq(self.word)
        with m.Switch(self.address):
            for register in HOST:
                with m.Case(register.offset):
                    if register.name in reads:
                        m.d.sync += self.value.eq(Mux(asks & ~write, reads[register.name], 0))
                    with m.If(asks & write):
                        match register.name:
                            case "move_from":
                                m.d.sync += source.eq(self.word)
                            case "move_to":
                                m.d.sync += destination.eq(self.word)
                            case "move_more":
                                m.d.sync += more.eq(Cat(self.word[:MORE_ROWS_BITS], self.word[MORE_ROWS_BITS:].any()))
                            case "pitch_from" | "pitch_to":
                                m.d.sync += pitches[register.name == "pitch_to"].eq(self.word)
                            case "faults":
                                m.d.comb += clears.eq(self.word)
                            case "serial":
                                m.d.comb += self.send.valid.eq(1)
                                m.d.sync += self.done.eq(self.send.ready)
                            case "set_from":
                                m.d.sync += first_pair.eq(self.word)
                            case "set_count":
                                m.d.comb += self.pairs.valid.eq(1)
                                m.d.sync += self.done.eq(self.pairs.ready)
                            case "move_in" | "move_out":
                                run = getattr(self, register.name)
                                m.d.comb += [run.valid.eq(~unfit), misfit.eq(unfit)]
                                m.d.sync += self.done.eq(run.ready | unfit)
                                with m.If(run.ready | unfit):
                                    m.d.sync += more.eq(0)
                    if register.name == "serial":
                        with m.If(asks & ~write & ~self.received.valid):
                            m.d.sync += byte[8].eq(0)
        return m


assert OUT_FAULT == IN_FAULT + 1, "directions in their order"
