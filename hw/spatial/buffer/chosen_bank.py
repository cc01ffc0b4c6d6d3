"""A bank of a private buffer that gives whole fibers, as other operands find them, behind levels without zeros."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream

from ...arch.chain import ChainedBank, Link
from ...arch.private_buffer import COMPRESSED, DENSE, LINKED, Bank
from ...arch.token import DATA_BITS, TOKEN
from ...emit import macro
from ...memory.nest import Nest
from ...sparse.interface import fork, is_done
from ...stream.fifo import Fifo, Fifo2
from ...stream.lead import lead
from .absent import Absent
from .chain_bank import link_stage, without_zeros
from .closing import Closing
from .counted_level import CountedLevel
from .picker import Picker
from .private_buffer import AHEAD
from .row_bank import RowBank


class ChosenBank(RowBank):
    """Holds tensors, of which each level may leave out what is 0, and gives each port a fiber for each coordinate that it asks
    for.

    Behaviour: each level looks up the fiber at the position that the one in front has found, and a `Picker` the coordinate that
    is asked for in it. Where a level does not have it, the fiber is empty, or of zeros where ports take all elements.

    Example: with levels compressed and compressed, of 3 and 4, filled with ``2 0 2  2 0 2``, ``3 0 1 2  2 3 1`` and ``2 7 8``,
    of ``2`` at ask0 and ``1`` at ask1 come ``(1, 8) S1`` and ``S1``.

    Parameters
    ----------
    bank : ChainedBank      That is `whole`.
    module_name : str

    Members
    -------
    level0, bits1, lists, ... : In(stream)     As of `ChainBank`.
    values, o0, ask0, fault                    As of `RowBank`; coordinates that do not rise are a fault, too.

    Timing: as of `RowBank`, but at least a cycle for each coordinate of the fibers that are searched, and one for their ends,
    of bitvectors and linked lists as of `BitRows` and `ListLevel`; levels search for several ports at once, one after another.
    Source: Stellar III-C (rows that the nonzeros of another matrix choose), III-E and IV-C.
    """

    bank: ChainedBank

    def _place(self, base: Value, crd: Any, at: Value) -> Value:
        return crd.data         # levels have a number each, which `_level` makes of it

    def _closes(self, ends: Value) -> Value:
        return Const(0)         # levels whose fibers do not end themselves have a `Closing`

    def _level(self, m: Module, refs: Any) -> tuple[Any, Any, Value]:
        links = self.bank.links
        faults = list[Value]()
        asks, wants = self._asks(m, refs)
        for link, want in zip(links[:-1], wants, strict=True):
            crds, found, fault = self._looked_up(m, link, asks)
            m.submodules[f"picker{link.nth}"] = picker = macro(Picker(link.extent))
            m.submodules[f"found{link.nth}"] = cut = macro(Fifo2(TOKEN))
            for giver, taker in ((want, picker.want), (crds, picker.crd_i), (found, picker.ref_i), (picker.o, cut.i)):
                lead(m, giver, taker)
            faults += [fault, picker.fault]
            asks = cut.o
        crds, found, fault = self._looked_up(m, links[-1], asks)
        return crds, found, Cat(*faults, fault).any()

    def _asks(self, m: Module, refs: Any) -> tuple[Any, list[Any]]:
        """Of what is asked for, in turn: the fibers of the first level, and coordinates for each but the last."""
        bank, links = self.bank, self.bank.links
        m.submodules.turn_asked = turn = Nest(0, ((bank.sinks, 1),), max(1, (bank.sinks - 1).bit_length()))
        first: Any = stream.Signature(TOKEN).create(path=("first",))
        over = Signal(name="over_asked")
        there = Signal(name="there_asked")
        queues = []
        for link in links[:-1]:
            m.submodules[f"wants{link.nth}"] = queue = macro(Fifo(DATA_BITS, AHEAD))
            m.d.comb += queue.i.payload.eq(self._digit(turn.number, refs.payload.data, link.nth))
            queues.append(queue)
        number: Any = Const(0)
        for nth, level in enumerate(bank.levels[:links[0].nth]):
            number = number * level.extent + self._digit(turn.number, refs.payload.data, nth)
        m.d.comb += [over.eq(is_done(refs.payload)), there.eq(refs.valid & turn.valid),
                     first.payload.as_value().eq(Mux(refs.payload.control, refs.payload.as_value(), number[:DATA_BITS]))]
        gone = fork(m, there, (first, Const(1)), *((queue.i, ~over) for queue in queues))
        m.d.comb += [refs.ready.eq(there & gone), turn.step.eq(refs.ready & ~over)]
        return first, [queue.o for queue in queues]

    def _digit(self, port: Value, crd: Value, nth: int) -> Value:
        """The coordinate of a level in the fiber that a port asks for."""
        if nth == self.bank.searched:
            return crd
        return Array([Const(outer[nth], DATA_BITS) for outer in map(self.bank.outer, self.bank.bases)])[port]

    def _looked_up(self, m: Module, link: Link, asks: Any) -> tuple[Any, Any, Value]:
        """Coordinates and references of the fibers of a level that are asked for, ``N`` among them."""
        is_dense = link.kind == DENSE
        stage = macro(CountedLevel(link.extent, link.is_last and self.bank.complete)) if is_dense else link_stage(self, m, link)
        m.submodules[f"stage{link.nth}"] = stage
        if link.kind == COMPRESSED:
            m.submodules[f"closing{link.nth}"] = closing = macro(Closing())
            lead(m, asks, closing.i)
            lead(m, closing.o, stage.ref)
        if link.kind != LINKED:
            if link.kind != COMPRESSED:
                lead(m, asks, stage.ref)
            return stage.crd, stage.ref_o, stage.fault
        m.submodules[f"absent{link.nth}"] = absent = macro(Absent())
        for giver, taker in ((asks, absent.ref), (absent.asks, stage.ref), (stage.crd, absent.crd_i),
                             (stage.ref_o, absent.ref_i)):
            lead(m, giver, taker)
        return absent.crd, absent.ref_o, stage.fault

    def _sift(self, m: Module, crds: Any, values: Any) -> tuple[Any, Any]:
        return without_zeros(m, crds, values, self.bank.bits) if self.bank.sifted else (crds, values)


def choosing(bank: Bank, module_name: str) -> RowBank:
    """What gives the fibers of a bank that are asked for."""
    return ChosenBank(bank, module_name) if isinstance(bank, ChainedBank) else RowBank(bank, module_name)
