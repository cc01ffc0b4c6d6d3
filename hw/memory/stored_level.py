"""A level of a fibertree, or values, that a private buffer holds: the level of a MEM tile, of fixed use."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from amaranth.hdl import Elaboratable, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import Component, In, Out

from ..arch.primitive import LEVEL
from ..arch.tile import MEM
from ..arch.token import DATA_BITS, TOKEN
from ..emit import macro
from .level import Level


class StoredLevel(Component):
    """Filled by blocks, and scanned, or as values looked up, transaction by transaction.

    Behaviour: that of a `Level` that is written from a block: its length and segments, its length and coordinates; values are
    one array. Two are held, and one is filled in meanwhile.

        level   fill ``4 0 2 2 3 3 4 7 9``, ref ``2 0 D``    crd ``9 S0 4 7 S0 D``, ref_o ``2 S0 0 1 S0 D``
        values  fill ``3 8 6 5``, ref ``2 0 S0 D``           crd ``5 8 S0 D``

    Parameters
    ----------
    lines, lanes : int     The SRAM, powers of two; each array has half of it.
    values : bool          Values; else a compressed level.

    Members
    -------
    fill : In(stream)      16-bit words.
    ref : In(stream of TOKEN)
    crd, ref_o : Out(stream of TOKEN)      Of values, `crd` has them, and there is no ref_o.
    fault : Out(1)         An array does not fit, or a block is none, or a reference is beyond it. Sticky until reset.

    Timing: as of `Level`.
    Source: Onyx JSSC III-B; Stellar IV-C has these as the stages of an axis.
    """

    def __init__(self, lines: int, lanes: int, values: bool) -> None:
        self.lines, self.lanes, self.values = lines, lanes, values
        tokens = stream.Signature(TOKEN)
        super().__init__({"fill": In(stream.Signature(DATA_BITS)), "ref": In(tokens), "crd": Out(tokens), "fault": Out(1)}
                         | ({} if values else {"ref_o": Out(tokens)}))

    @property
    def module_name(self) -> str:
        return f"stored_{'values' if self.values else 'level'}_{self.lines}x{self.lanes}"

    @property
    def emit_key(self) -> tuple[int, int, bool]:
        return self.lines, self.lanes, self.values

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.level = level = macro(SizedLevel(self.lines, self.lanes))
        settings = LEVEL.config.encode(input="block", output="lookup" if self.values else "scan", values=self.values)
        m.d.comb += [level.cfg.eq(settings), level.block.payload.data.eq(self.fill.payload),
                     level.block.valid.eq(self.fill.valid), self.fill.ready.eq(level.block.ready)]
        wiring.connect(m, wiring.flipped(self.ref), level.ref)
        wiring.connect(m, level.crd, wiring.flipped(self.crd))
        if not self.values:
            wiring.connect(m, level.ref_o, wiring.flipped(self.ref_o))
        m.d.comb += self.fault.eq(level.fault | level.overflow)
        return m


class SizedLevel(Level):
    """A `Level` that is called by its size, as there may be others in a design."""

    def __init__(self, lines: int, lanes: int) -> None:
        super().__init__(replace(MEM, sram_lines=lines, sram_lanes=lanes, multiplier_tree=False, locate=False))
        self.module_name = f"level_{lines}x{lanes}"
