"""A bank of a private buffer that gives elements by coordinate of a tensor whose zeros are not stored."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Value

from ...emit import macro
from ...stream.lead import lead
from .chain_bank import walking
from .gather_bank import GatherBank
from .matcher import Matcher


class AssociativeBank(GatherBank):
    """Holds tensors without zeros, and gives each port the elements whose coordinates it asks for.

    Behaviour: that of `GatherBank`, for tensors of any format; an element that is not stored is 0. A bank walks a tensor as it
    is stored, and all its elements are in a `Matcher`, where the ports search for theirs in turn.

    Parameters
    ----------
    bank : Bank         That is `matched`: with `bases`, and up to 256 words.
    module_name : str

    Members
    -------
    values, level, bits, lists : In(stream)     As of `PrivateBank`.
    ask0 : In(stream)         For each port, coordinates as tokens; any control token ends a fiber.
    row0 : In(stream)         With `chosen`, as of `GatherBank`.
    o0 : Out(stream)          For each port, `pair`s.
    fault : Out(1)            What it was filled with does not fit, or a coordinate is beyond the last. Sticky until reset.

    Timing: as of `GatherBank`, with 4 cycles from a coordinate to its pair; a tensor is there a cycle for each of its elements
    and fibers after it was filled in, and is walked while another one is read.
    Source: Stellar IV-D (the register file that is searched, where no other one will do).
    """

    def _stored(self, m: Module) -> tuple[Any, Value]:
        bank = self.bank
        m.submodules.walk = walk = macro(walking(bank.walked, f"{self.module_name}_walk"))
        for name in bank.streams:
            lead(m, getattr(self, name), getattr(walk, name))
        m.submodules.values = values = macro(Matcher(bank.fibers, bank.levels[-1].extent, bank.words, bank.bits))
        lead(m, walk.o0, values.i)
        return values, walk.fault | values.fault
