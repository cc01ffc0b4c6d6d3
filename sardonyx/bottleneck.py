"""What keeps a sparse program from taking fewer cycles, in words for its report.

    links: B_vals brings 0.93 words a cycle             a load or store stream of the global buffer
    MEM tiles: scan_B_k is busy for 97% of the time     a level that is loaded, scanned, looked up or stored
    reduction: reduce_k is busy for 95% of the time     a reducer or an accumulator
    PEs: intersect_k is busy for 98% of the time        any other primitive
    waiting: scan_B_k, the busiest, is busy for 40% of the time
                                                        none of these: of few sub-tiles, say, which are loaded, computed and
                                                        stored one after the other

Busy is what a part of the program would take if nothing made it wait, on the token model untimed, in percent of the cycles that
the Verilog took. Of many transactions those are looked at that take about `SAMPLE` cycles, spread evenly over all.

Cost:    0.1 us a token and edge; 0.05 s for `SAMPLE` cycles of a product, which take 0.2 to 1 s to simulate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from math import ceil
from typing import Protocol

import numpy as np

from .compiler.ir.mapped import LOAD, MappedGraph
from .hw.arch.primitive import ACCUMULATOR, LEVEL, REDUCER, SCATTER
from .sim.model.tokens.fabric import working_cycles

SAMPLE = 20_000
BUSY = 0.8          # What is busy for a smaller share of the time is not what everything waits for.
KINDS = {ACCUMULATOR.name: "reduction", REDUCER.name: "reduction", LEVEL.name: "MEM tiles", SCATTER.name: "MEM tiles"}


class Data(Protocol):
    """What a program ran on, transaction by transaction."""

    def __len__(self) -> int: ...

    def transactions(self, most: int) -> Iterator[Mapping[str, np.ndarray]]: ...


def bottleneck(graph: MappedGraph, data: Data, cycles: int) -> str:
    """The bottleneck of a program that took so many cycles, 1 or more, for all its transactions, of which there are some."""
    step = ceil(len(data) / max(1, len(data) * SAMPLE // cycles))
    sample = list(islice(data.transactions(1), 0, None, step))
    # Of what is busy alike the first is named: streams.
    working = working_cycles(graph, sample)
    name = max(working, key=lambda each: working[each])
    share = min(1.0, working[name] * len(data) / len(sample) / cycles)
    if share < BUSY:
        return f"waiting: {name}, the busiest, is busy for {share:.0%} of the time"
    if streams := [each for each in graph.streams if each.name == name]:
        return f"links: {name} {'brings' if streams[0].direction == LOAD else 'takes'} {share:.2f} words a cycle"
    return f"{KINDS.get(graph.blocks[name].primitive, 'PEs')}: {name} is busy for {share:.0%} of the time"
