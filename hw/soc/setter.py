"""Writes lists of registers, from the processor's memory to the machine and beside it, while the processor goes on."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.soc import REGISTER_ADDRESS_BITS, offsets
from ..arch.system import HOST, HOST_REGISTERS, MACHINE_REGISTERS, SETS_BITS

LIST = data.StructLayout({"first": 32, "count": 32})


class Setter(wiring.Component):
    """Sets registers as a list of pairs of 32-bit words says: the address, as the processor has it, and the value.

    Behaviour: pairs are set in order, each when the one before is; a list waits while there is another one. What is no list
    within the memory is left out, and so is a pair whose address is neither of the machine's registers nor of those beside the
    processor, or is `set_count`, which would wait for the list that it is in; either is told.

    Parameters
    ----------
    ram_bytes : int      Of the processor's memory.

    Members
    -------
    i : In(stream)                  Byte address of a list, and how many pairs.
    left : Out                      Pairs that are not set yet.
    read : Out(1), at : Out         Asks for a word of the memory, by its number.
    grant : In(1)                   It is read: its word comes in the next cycle.
    word : In(32)
    valid, address, value : Out     A write to the machine, offered until `done`; see `access_members`.
    beside : Out(1)                 The same to a register beside the processor, in place of `valid`.
    done : In(1)                    Of either.
    astray : Out(1)                 Something is left out.

    Timing: four cycles a pair, as long as it is granted what it asks for and writes are done within their cycle; a machine's
    takes five or six then, one beside the processor five.
    Source: a design of its own; Onyx JSSC IV-F and Amber JSSC IV-B stream configuration words likewise.
    """

    def __init__(self, ram_bytes: int) -> None:
        self.ram_bytes = ram_bytes
        self.word_bits = (ram_bytes // 4 - 1).bit_length()
        super().__init__({"i": In(stream.Signature(LIST)), "left": Out(SETS_BITS), "read": Out(1), "at": Out(self.word_bits),
                          "grant": In(1), "word": In(32), "valid": Out(1), "beside": Out(1),
                          "address": Out(REGISTER_ADDRESS_BITS), "value": Out(32), "done": In(1), "astray": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        asked = self.i.payload
        at = Signal(self.word_bits, reset_less=True)
        address = Signal(32, reset_less=True)
        fresh = Signal()        # the word of an address comes
        fits = Signal()
        ends = Signal()
        m.d.comb += [fits.eq((asked.first[:2] == 0) & (asked.count != 0) & (asked.count >> SETS_BITS == 0)
                             & (asked.first < self.ram_bytes)
                             & (asked.first[:len(at) + 2] + (asked.count[:SETS_BITS] << 3) <= self.ram_bytes)),
                     self.at.eq(at), self.address.eq(address), ends.eq(self.left == 1)]
        m.d.sync += fresh.eq(0)
        with m.If(fresh):
            m.d.sync += address.eq(self.word)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [self.i.ready.eq(1), self.astray.eq(self.i.valid & ~fits)]
                with m.If(self.i.valid & fits):
                    m.d.sync += [at.eq(asked.first[2:]), self.left.eq(asked.count)]
                    m.next = "ADDRESS"
            with m.State("ADDRESS"):
                m.d.comb += self.read.eq(1)
                with m.If(self.grant):
                    m.d.sync += [at.eq(at + 1), fresh.eq(1)]
                    m.next = "VALUE"
            with m.State("VALUE"):
                m.d.comb += self.read.eq(1)
                with m.If(self.grant):
                    m.d.sync += at.eq(at + 1)
                    m.next = "COMES"
            with m.State("COMES"):
                m.d.sync += self.value.eq(self.word)
                m.next = "WRITE"
            with m.State("WRITE"):
                machine, host = (address[REGISTER_ADDRESS_BITS:] == registers >> REGISTER_ADDRESS_BITS
                                 for registers in (MACHINE_REGISTERS, HOST_REGISTERS))
                astray = ~machine & (~host | (address[:REGISTER_ADDRESS_BITS] == offsets(HOST)["set_count"]))
                m.d.comb += [self.valid.eq(machine), self.beside.eq(host & ~astray), self.astray.eq(astray)]
                with m.If(self.done | astray):
                    m.d.sync += self.left.eq(self.left - 1)
                    with m.If(ends):
                        m.next = "IDLE"
                    with m.Else():
                        m.next = "ADDRESS"
        return m
