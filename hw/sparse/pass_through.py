"""Pass-through: a FIFO that takes up the slack between two paths that meet again."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring

from ..arch.primitive import PASS_THROUGH
from ..arch.tile import TileSpec
from ..arch.token import TOKEN
from ..stream.fifo import Fifo
from .interface import members


class PassThrough(wiring.Component):
    """Hold up to `spec.pass_depth` tokens.

    Behaviour: ``o`` is ``i``.

    Parameters
    ----------
    spec : TileSpec     Its `pass_depth`, 2..256.

    Members
    -------
    i : In
    o : Out

    Timing: one token per cycle, one cycle of latency; both ready and valid come from registers.
    Source: Onyx IEEE Micro (pass-through primitive).
    """

    def __init__(self, spec: TileSpec) -> None:
        self.depth = spec.pass_depth
        super().__init__(members(PASS_THROUGH))

    @property
    def module_name(self) -> str:
        return f"pass_through_{self.depth}"

    @property
    def emit_key(self) -> int:
        return self.depth

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.tokens = tokens = Fifo(TOKEN, self.depth)
        wiring.connect(m, wiring.flipped(self.i), tokens.i)
        wiring.connect(m, tokens.o, wiring.flipped(self.o))
        return m
