"""A bank of a private buffer in which a level without zeros is above another one: a chain of scanners."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream

from ...arch.chain import ChainedBank, Link
from ...arch.private_buffer import BITVECTOR, COMPRESSED, DENSE, LANES, STREAMS, Bank, Loop
from ...arch.token import TOKEN
from ...emit import Macro, macro
from ...memory.list_level import SomeLists
from ...memory.stored_level import StoredLevel
from ...sparse.interface import is_stop
from ...stream.fifo import Fifo, Fifo2
from ...stream.lead import lead
from .bit_rows import SomeBitRows
from .counted_level import CountedLevel
from .expander import Expander
from .private_buffer import AHEAD, PrivateBank


class ChainBank(PrivateBank):
    """Holds tensors, of which each level may leave out what is 0, and gives their fibers to the ports of an array.

    Behaviour: each level looks up the fibers at the positions of the one in front, and an `Expander` gives an empty fiber, or
    zeros, for each coordinate that a level does not store. So ports get what they get of any `PrivateBank`.

    Example: with levels compressed and compressed, of 3 and 4, a loop of 3 to one port, filled with ``2 0 2  2 0 2``,
    ``3 0 1 2  2 3 1`` and ``2 7 8``: ``(3, 7) S0  S0  (1, 8) S0``.

    Parameters
    ----------
    bank : ChainedBank
    module_name : str

    Members
    -------
    level0, bits1, lists, ... : In(stream)     For each level that is not dense what it is filled with, as of `PrivateBank`;
                                               with its number, but for the last level.
    values, o0, fault          As of `PrivateBank`; coordinates that do not rise are a fault, too.

    Timing: a pair a cycle, one for the end of each fiber, stored or not, and one for the end of a fiber of each level above; of
    bitvectors and linked lists as of `BitRows` and `ListLevel`.
    Source: Stellar III-E and IV-C (a pipeline of stages, one for each axis).
    """

    bank: ChainedBank

    def __init__(self, bank: ChainedBank, module_name: str) -> None:
        super().__init__(bank, module_name)

    def _loops(self) -> tuple[Loop, ...]:
        return (Loop(self.bank.links[0].fibers, 1, 0),)

    def _level(self, m: Module, refs: Any) -> tuple[Any, Any, Value]:
        bank = self.bank
        above: Any = None
        faults, extent = list[Value](), 0
        for link in bank.links:
            m.submodules[f"stage{link.nth}"] = stage = link_stage(self, m, link)
            faults.append(stage.fault)
            self._refs(m, refs, stage.ref, link.kind == COMPRESSED)
            refs, inside = stage.ref_o, stage.crd
            if not link.is_last:
                m.submodules[f"ahead{link.nth}"] = ahead = macro(Fifo(TOKEN, AHEAD))
                lead(m, inside, ahead.i)
                inside = ahead.o
            if above is None:
                above, extent = inside, link.extent
                continue
            zeros = link.extent if link.is_last and bank.complete else 0
            m.submodules[f"expander{link.nth}"] = expander = macro(Expander(extent, link.is_last, zeros))
            faults.append(expander.fault)
            lead(m, above, expander.above)
            lead(m, inside, expander.crd_i)
            if link.is_last:
                lead(m, refs, expander.ref_i)
                return expander.crd, expander.ref_o, Cat(faults).any()
            m.submodules[f"above{link.nth}"] = cut = macro(Fifo2(TOKEN))
            lead(m, expander.crd, cut.i)
            above, extent = cut.o, link.extent
        raise AssertionError("a chain has a level behind one without zeros")

    def _refs(self, m: Module, giver: Any, taker: Any, stops: bool) -> None:
        """The positions of a level as numbers of fibers: with the stops that are directly behind one, so that a fiber ends
        before the next one comes; or without any, where levels end their fibers themselves."""
        behind = Signal()       # a number was the token before
        drops = is_stop(giver.payload) & ~(behind if stops else 0)
        moves = giver.valid & giver.ready
        m.d.comb += [taker.payload.eq(giver.payload), taker.valid.eq(giver.valid & ~drops),
                     giver.ready.eq(taker.ready | drops)]
        with m.If(moves):
            m.d.sync += behind.eq(~giver.payload.control)

    def _sift(self, m: Module, crds: Any, values: Any) -> tuple[Any, Any]:
        return without_zeros(m, crds, values, self.bank.bits) if self.bank.sifted else (crds, values)


def link_stage(bank: PrivateBank, m: Module, link: Link) -> Macro:
    """What looks up the fibers of a level, with what fills it."""
    made = {DENSE: lambda: CountedLevel(link.extent),
            COMPRESSED: lambda: StoredLevel(4 * link.words // LANES, LANES, False),
            BITVECTOR: lambda: SomeBitRows(link.fibers, link.extent),
            }.get(link.kind, lambda: SomeLists(link.fibers, link.nodes, link.node))()
    stage = macro(made)
    if link.kind != DENSE:
        lead(m, getattr(bank, STREAMS[link.kind] + link.suffix), stage.fill)
    return stage


def without_zeros(m: Module, crds: Any, values: Any, bits: int) -> tuple[Any, Any]:
    """Coordinates and values of fibers, whose zeros are left out."""
    tokens = stream.Signature(TOKEN)
    out_crds: Any = tokens.create(path=("left_crds",))
    out_values: Any = tokens.create(path=("left_values",))
    there = crds.valid & values.valid
    drops = ~crds.payload.control & (values.payload.data[:bits] == 0)
    for giver, taker in ((crds, out_crds), (values, out_values)):
        m.d.comb += [taker.payload.eq(giver.payload), taker.valid.eq(there & ~drops),
                     giver.ready.eq(Mux(drops, there, taker.ready))]
    return out_crds, out_values


def walking(bank: Bank, module_name: str) -> PrivateBank:
    """What gives the fibers or words of a bank in the order of its request."""
    return ChainBank(bank, module_name) if isinstance(bank, ChainedBank) else PrivateBank(bank, module_name)
