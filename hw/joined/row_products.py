"""Scanners and a joiner of the CGRA, a spatial array, and a writer of the CGRA: products of rows of two sparse matrices."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.elastic import Elastic
from ..arch.primitive import JOINER, LEVEL
from ..arch.token import DATA_BITS, TOKEN
from ..emit import macro
from ..memory.stored_level import SizedLevel, StoredLevel
from ..sparse.interface import fork
from ..sparse.joiner import Joiner
from ..spatial.array.elastic_array import ElasticArray
from ..stream.fifo import Fifo, Fifo2
from ..stream.lead import lead
from .dealer import Dealer

LANES = 4
AHEAD = 8


class RowProducts(wiring.Component):
    """x(i) = sum over k of B(i,k) C(i,k), of matrices in CSR.

    Behaviour: a level scanner counts the rows; one for each operand gives the coordinates of a row, a joiner those that both
    have, and look-ups their values. An array multiplies and adds, a row in each of its own, and a level writer gathers sums.

    Parameters
    ----------
    array : Elastic        Of ``x(i) = B(i,k) * C(i,k)``, with i in space, k in time, skipped where either is 0.
    lines : int            Of the SRAM of each level, of 4 words, half of which an array may take.

    Members
    -------
    rows : In(stream)                    Blocks: the dense level of i, ``2 0 rows 0``.
    b_level, b_values, c_level, c_values : In(stream)      Blocks of the operands.
    x : Out(stream)                      Blocks of sums, the low 16 bits of each.
    fault : Out(1)                       Something does not fit, or is no block. Sticky until reset.

    Timing: a coordinate of either operand a cycle; tensors follow each other.
    Source: Onyx JSSC III-B and III-C (scanner, joiner, writer); Stellar IV-B (the array).
    """

    def __init__(self, array: Elastic, lines: int) -> None:
        self.array, self.lines = array, lines
        words = stream.Signature(DATA_BITS)
        super().__init__({name: In(words) for name in ("rows", "b_level", "b_values", "c_level", "c_values")}
                         | {"x": Out(words), "fault": Out(1)})

    module_name = "row_products"

    @property
    def emit_key(self) -> str:
        return repr((self.array, self.lines))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        count = len(self.array.outputs)
        m.submodules.rows_level = rows = macro(SizedLevel(self.lines, LANES))
        m.d.comb += [rows.cfg.eq(LEVEL.config.encode(input="block", output="scan", dense=True, root=True)),
                     rows.block.payload.data.eq(self.rows.payload), rows.block.valid.eq(self.rows.valid),
                     self.rows.ready.eq(rows.block.ready), rows.crd.ready.eq(1)]
        m.submodules.joiner = joiner = macro(Joiner())
        m.d.comb += joiner.cfg.eq(JOINER.config.encode(op="intersect", use_ref0=True, use_ref1=True))
        m.submodules.dealer = dealer = macro(Dealer(count, 2, self.array.bits("x")))
        faults = [rows.fault | rows.overflow, joiner.fault]
        levels = []
        for n, name in enumerate("bc"):
            m.submodules[f"{name}_level"] = level = macro(StoredLevel(self.lines, LANES, False))
            m.submodules[f"{name}_values"] = values = macro(StoredLevel(self.lines, LANES, True))
            lead(m, getattr(self, f"{name}_level"), level.fill)
            lead(m, getattr(self, f"{name}_values"), values.fill)
            self._behind(m, f"{name}_crd", level.crd, getattr(joiner, f"crd{n}"))
            self._behind(m, f"{name}_ref", level.ref_o, getattr(joiner, f"ref{n}"))
            self._behind(m, f"{name}_joined", getattr(joiner, f"ref{n}_o"), values.ref)
            self._behind(m, f"{name}_value", values.crd, getattr(dealer, f"val{n}"))
            levels.append(level)
            faults += [level.fault, values.fault]
        both = fork(m, rows.ref_o.valid, *((level.ref, Const(1)) for level in levels))
        m.d.comb += [rows.ref_o.ready.eq(rows.ref_o.valid & both),
                     *(level.ref.payload.eq(rows.ref_o.payload) for level in levels)]
        # Coordinates are ahead of their values, which are looked up in as many cycles.
        m.submodules.ahead = ahead = macro(Fifo(TOKEN, AHEAD))
        lead(m, joiner.crd, ahead.i)
        lead(m, ahead.o, dealer.crd)
        self._array(m, dealer)
        m.submodules.writer = writer = macro(SizedLevel(self.lines, LANES))
        m.d.comb += [writer.cfg.eq(LEVEL.config.encode(input="stream", output="block", values=True)),
                     self.x.payload.eq(writer.block_o.payload.data), self.x.valid.eq(writer.block_o.valid),
                     writer.block_o.ready.eq(self.x.ready),
                     self.fault.eq(Cat(*faults, writer.fault, writer.overflow).any())]
        lead(m, dealer.sum, writer.wr)
        return m

    def _array(self, m: Module, dealer: Any) -> None:
        """The array between the sides of the dealer."""
        m.submodules.array = array = macro(ElasticArray(self.array))
        for row, port in enumerate(self.array.outputs):
            word, gives = getattr(dealer, f"word{row}"), getattr(array, port.name)
            m.d.comb += [word.payload.eq(gives.payload.value), word.valid.eq(gives.valid), gives.ready.eq(word.ready)]
        for n, tensor in enumerate("BC"):
            ports = [port.name for port in self.array.inputs if port.tensor == tensor]
            for row, name in enumerate(ports):
                lead(m, getattr(dealer, f"o{n}_{row}"), getattr(array, name))

    def _behind(self, m: Module, name: str, giver: Any, taker: Any) -> None:
        """A FIFO where a stream enters a part, as tiles have them."""
        m.submodules[f"{name}_fifo"] = fifo = macro(Fifo2(giver.payload.shape()))
        lead(m, giver, fifo.i)
        lead(m, fifo.o, taker)
