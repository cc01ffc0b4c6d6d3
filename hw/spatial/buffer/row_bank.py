"""A bank of a private buffer that gives whole fibers, as other operands find them."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In

from ...arch.private_buffer import BITVECTOR, LINKED, Bank
from ...arch.token import DATA_BITS, DONE, MAYBE, TOKEN, stop
from ...emit import macro
from ...memory.list_level import ListLevel
from ...memory.nest import Nest
from ...stream.fifo import Fifo2
from ...stream.lead import lead
from .absent import Absent
from .bit_rows import BitRows
from .private_buffer import PrivateBank


class RowBank(PrivateBank):
    """Holds tensors, and gives each port a fiber for each coordinate that it asks for.

    Behaviour: in an operation a port asks once, and gets the fiber at its base and so many further on, with its end. For ``N``
    it gets nothing but the end where zeros are not stored, and zeros of a dense level. Ports have their turns in their order:
    none gets the fiber of a later operation before all have had theirs of this one, so that no PE waits for a fiber that stands
    behind one for which there is no room. After as many operations as a tensor serves, its room is free.

    Example: with levels dense and compressed, of 2 and 4, filled with ``3 0 1 3  3 2 0 3`` and ``3 7 8 9``, of ``1`` at ask0
    and ``N`` at ask1 come ``(0, 8) (3, 9) S1`` and ``S1``; ends of dense fibers are ``S0``.

    Parameters
    ----------
    bank : Bank         That is `whole`.
    module_name : str

    Members
    -------
    level, bits, lists, values, o0, fault    As of `PrivateBank`; a coordinate beyond the last is a fault, too.
    ask0 : In(stream)           For each port, coordinates as tokens; any control token is none.

    Timing: as of `PrivateBank`, a pair a cycle, and one for the end of a fiber; of bitvectors as of `BitRows`.
    Source: Stellar III-C (rows that the nonzeros of another matrix choose), III-E.
    """

    def __init__(self, bank: Bank, module_name: str) -> None:
        super().__init__(bank, module_name, {f"ask{n}": In(stream.Signature(TOKEN)) for n in range(bank.sinks)})

    def _level(self, m: Module, refs: Any) -> tuple[Any, Any, Value]:
        bank = self.bank
        if bank.kind not in (BITVECTOR, LINKED):
            return super()._level(m, refs)
        is_bits = bank.kind == BITVECTOR
        made = BitRows(bank.fibers, bank.levels[-1].extent) if is_bits else ListLevel(bank.fibers, bank.nodes, bank.node)
        m.submodules.level = level = macro(made)
        lead(m, getattr(self, bank.streams[0]), level.fill)
        if is_bits:
            lead(m, refs, level.ref)
            return level.crd, level.ref_o, level.fault
        m.submodules.absent = absent = macro(Absent())
        for giver, taker in ((refs, absent.ref), (absent.asks, level.ref), (level.crd, absent.crd_i),
                             (level.ref_o, absent.ref_i)):
            lead(m, giver, taker)
        return absent.crd, absent.ref_o, level.fault

    def _place(self, base: Value, crd: Any, at: Value) -> Value:
        """What is asked for at a coordinate, from the base of its port."""
        return (base + crd.data * self.bank.asked.stride + at)[:DATA_BITS]

    def _closes(self, ends: Value) -> Value:
        """Whether a stop follows what is asked for. A fiber of a compressed level, or of values, is closed by the token behind
        it, which the next one that is asked for may be long in coming; bits and lists end their fibers themselves."""
        return Const(0) if self.bank.kind in (BITVECTOR, LINKED) else ends

    def _request(self, m: Module, refs: Any) -> list[Value]:
        bank = self.bank
        m.submodules.asking = asking = Nest(0, ((bank.sinks, 1),), max(1, (bank.sinks - 1).bit_length()))
        asked = []
        for n in range(bank.sinks):
            m.submodules[f"ask{n}_fifo"] = fifo = macro(Fifo2(TOKEN))
            lead(m, getattr(self, f"ask{n}"), fifo.i)
            asked.append(fifo.o)
        crd = Signal(TOKEN)
        there = Signal()
        base = Signal(DATA_BITS)
        at = Signal(DATA_BITS)          # in a dense fiber
        ends = Signal()
        goes = Signal()
        stopping = Signal()
        finishing = Signal()
        served = Signal(range(bank.operations))
        is_last = Signal()
        number = asking.number
        m.d.comb += [
            crd.as_value().eq(Array([Value.cast(each.payload) for each in asked])[number]), base.eq(Array(bank.bases)[number]),
            there.eq(asking.valid & Array([each.valid for each in asked])[number] & ~stopping & ~finishing),
            ends.eq(at == bank.loops[0].extent - 1 if bank.is_along else 1), goes.eq(there & refs.ready),
            asking.step.eq(goes & ends), is_last.eq(asking.last & (served == bank.operations - 1)),
            refs.valid.eq(there | stopping | finishing),
            *(each.ready.eq(asking.step & (number == n)) for n, each in enumerate(asked))]
        place = self._place(base, crd, at)
        token = Value.cast(refs.payload)
        with m.If(stopping):
            m.d.comb += token.eq(stop(0))
            m.d.sync += stopping.eq(~refs.ready)
        with m.Elif(finishing):
            m.d.comb += token.eq(DONE)
            m.d.sync += finishing.eq(~refs.ready)
        with m.Else():
            m.d.comb += token.eq(Mux(crd.control, MAYBE, place))
        with m.If(goes):
            m.d.sync += [at.eq(Mux(ends, 0, at + 1)), stopping.eq(self._closes(ends))]
        with m.If(asking.step & asking.last):
            m.d.sync += [finishing.eq(is_last), served.eq(Mux(is_last, 0, served + 1))]
        beyond = Signal()
        with m.If(there & ~crd.control & (crd.data > bank.asked.extent - 1)):
            m.d.sync += beyond.eq(1)
        return [beyond]
