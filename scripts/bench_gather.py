"""The lists of partial sums of a sparse product, gathered by a DMA with one request port and with up to sixteen.

The multiply phase of OuterSPACE leaves, for every element A(i,k), a node with the products of row k of B, at the end of the
list of row i; nodes lie in the order in which they were made, k by k. The merge phase reads the list of each row: its first
node from a table, then node after node. Here A is squared; elements are words of 32 bits, a column and a value. Rows are dealt
to the ports, each of which adds the elements of a row up and writes the sum, which is compared with NumPy's. Memory is the same
for all: 64 bits a cycle each way, the first word of a burst after 60 cycles. A port follows one list at a time, so that as many
requests are under way as there are ports: a few ports are what one port is that has a few requests under way, as the paper's,
for all of them ask one bus for a burst a cycle.

Source: Stellar VI-C, Fig. 16b: 16 requests at once in place of one raise 1.42 to 2.1 GFLOP/s, 1.48 times.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from bench_mergers import suite

from sardonyx.hw.arch.dma import NODE_BYTES, NODES_AXIS, Dma
from sardonyx.hw.dma.dma import DmaEngine, bus
from sardonyx.hw.emit import macro
from sardonyx.sim.rtl.accelerator import SimulatedAccelerator

LATENCY = 60
PORTS = (1, 2, 4, 8, 16)
NAMES = ("band", "uniform 8 a row", "poisson 8^3", "power law, mean 8", "power law, mean 3")
# Where the first nodes of rows are, and where their sums go; nodes come behind.
TABLE, SUMS, NODES = 0, 1 << 12, 2 << 12
ROWS = 512
WORD = 2        # logarithm of the bytes of an element


class Gather(wiring.Component):
    """Ports of a DMA that gather the lists of rows, each row by one of them.

    Members
    -------
    m_axi_* : memory.
    trap : Out(1)        All rows are done.
    status : Out(32)     0; of how a run ended nothing else is to be said.
    """

    def __init__(self, ports: int) -> None:
        self.ports = ports
        super().__init__({**bus(), "trap": Out(1), "status": Out(32)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.dma = dma = macro(DmaEngine(Dma(self.ports, loops=2, lists=True)))
        for name, member in bus().items():
            own, inner = getattr(self, name), getattr(dma, name)
            m.d.comb += inner.eq(own) if member.flow is In else own.eq(inner)
        done = Signal(self.ports)
        m.d.comb += self.trap.eq(done.all())
        for port in range(self.ports):
            self._row_by_row(m, dma, port, done)
        return m

    def _row_by_row(self, m: Module, dma: Any, port: int, done: Signal) -> None:
        request, load, store = (getattr(dma, f"{name}{port}") for name in ("request", "load", "store"))
        row = Signal(range(ROWS + self.ports), init=port, name=f"row{port}")
        total = Signal(32, name=f"total{port}")
        first = Signal(32, name=f"first{port}")
        asks = request.payload
        for loop in (asks.loops[0], asks.loops[NODES_AXIS]):
            m.d.comb += [loop.span.eq(1), loop.there.eq(1)]
        m.d.comb += [asks.size.eq(WORD), load.ready.eq(1), store.payload.eq(total), store.valid.eq(1)]
        ended = getattr(dma, f"ended{port}")
        with m.FSM(name=f"port{port}"):
            with m.State("TABLE"):
                m.d.comb += [asks.base.eq(TABLE + (row << WORD)), request.valid.eq(row < ROWS), done[port].eq(row >= ROWS)]
                with m.If(request.valid & request.ready):
                    m.next = "FIRST"
            with m.State("FIRST"):
                with m.If(load.valid):
                    m.d.sync += [first.eq(load.payload), total.eq(0)]
                with m.If(ended):
                    m.next = "LIST"
            with m.State("LIST"):
                m.d.comb += [asks.base.eq(first), asks.linked.eq(1), asks.loops[NODES_AXIS].span.eq(0xFFFF),
                             request.valid.eq(first != 0)]
                with m.If(first == 0):
                    m.next = "SUM"
                with m.Elif(request.ready):
                    m.next = "ELEMENTS"
            with m.State("ELEMENTS"):
                with m.If(load.valid):
                    m.d.sync += total.eq(total + load.payload)
                with m.If(ended):
                    m.next = "SUM"
            with m.State("SUM"):
                m.d.comb += [asks.base.eq(SUMS + (row << WORD)), asks.stores.eq(1), request.valid.eq(1)]
                with m.If(request.ready):
                    m.next = "SUMMED"
            with m.State("SUMMED"):
                with m.If(ended):
                    m.d.sync += row.eq(row + self.ports)
                    m.next = "TABLE"


@dataclass(frozen=True)
class Gathered:
    """A matrix: elements and nodes of its lists, the share of words that are pointers, cycles by ports."""

    name: str
    elements: int
    nodes: int
    pointers: float
    cycles: dict[int, int]

    def ratio(self, ports: int = 1) -> float:
        """Elements a cycle with the most ports, to those with so many."""
        return self.cycles[ports] / self.cycles[PORTS[-1]]


def memory(matrix: scipy.sparse.csr_array) -> tuple[bytes, np.ndarray, int, int]:
    """Memory after the multiply phase, the sums of rows; elements and nodes."""
    columns = scipy.sparse.csc_array(matrix)
    columns.sort_indices()
    place, last = NODES, np.full(ROWS, -1)
    parts: list[np.ndarray] = [np.zeros(NODES // 4, np.uint32)]
    sums, elements, nodes = np.zeros(ROWS, np.int64), 0, 0
    links: list[tuple[int, int]] = []       # where an address stands, and the address
    for k in range(ROWS):
        at = slice(matrix.indptr[k], matrix.indptr[k + 1])
        for nth in range(columns.indptr[k], columns.indptr[k + 1]):
            i = columns.indices[nth]
            values = (columns.data[nth] * matrix.data[at]).astype(np.int64) % (1 << 16)
            words = values | matrix.indices[at].astype(np.int64) << 16
            links.append((TABLE + 4 * i if last[i] < 0 else last[i], place))
            node = np.zeros(2 + len(words) + len(words) % 2, np.uint32)
            node[1], node[2:2 + len(words)] = len(words), words
            parts.append(node)
            last[i] = place
            place += 4 * len(node)
            sums[i] += words.sum()
            elements, nodes = elements + len(words), nodes + 1
    content = np.concatenate(parts)
    for at_word, address in links:
        content[at_word // 4] = address
    return content.tobytes(), sums % (1 << 32), elements, nodes


def gather(name: str, given: scipy.sparse.sparray) -> Gathered:
    """The lists of the square of a matrix, with each DMA."""
    matrix = scipy.sparse.csr_array(given).astype(np.int64)
    matrix.sort_indices()
    content, sums, elements, nodes = memory(matrix)
    cycles, words = {}, 0
    for ports in PORTS:
        with SimulatedAccelerator(Gather(ports), len(content) + NODE_BYTES, LATENCY) as simulated:
            simulated.write(0, content)
            ended = simulated.run([], 10_000 * nodes)
            found = np.frombuffer(simulated.read(SUMS, 4 * ROWS), np.uint32)
        assert np.array_equal(found, sums), f"{name}: the sums are not NumPy's"
        cycles[ports] = ended.cycles
        words = ended.words_read
    return Gathered(name, elements, nodes, (nodes + ROWS) / words, cycles)


def gathered() -> Iterator[Gathered]:
    """The matrices of the mergers' bench that are generated."""
    for name, matrix in suite():
        if name in NAMES:
            yield gather(name, matrix)
