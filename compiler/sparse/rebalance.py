"""Balance paths again by the routes that they got: a net that takes more registers than `balance.py` expected may need slack.

    scan -+-> values --------------> times        3 registers more on the way below than above:
          +-> repeat -> values ----> times        of 9 cycles one is lost, and none with a pass-through above

Before placement every net is taken to be short, and to hold what a short one does. One of several copies may have longer ones,
and all wait for it at the end of a launch. By the routes a net takes a cycle for each register, and holds as many tokens as
that at the full rate, so what is left to hold the rest is the FIFO of the input. Only what takes a token of each input in each
cycle is looked at, which is the ALU and what drops values: joiners take one of either side, and outer loops have time.

Needs:   balanced MappedGraph, of one copy or several; the cycles that each of its nets takes.
Gives:   where there are more pass-throughs wanted, and how many.
Source:  measured: with 1 and 2 tokens too few a number times a vector takes 17 / 16 and 18 / 16 of the cycles, in each of eight
         placements, and none more with the pass-through.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...hw.arch.cgra import Arch
from ...hw.arch.primitive import ADDRESS, ALU, ARBITER, DISPATCHER, DIVIDER, DROPPER, FILTER, PASS_THROUGH
from ..ir.mapped import Block, MappedGraph, Net, Pin
from .balance import MOST, arrivals, with_slack
from .copies import Copies

# Tokens that the FIFO of an input holds.
HELD = 2
# What leads blocks to copies and from them is in step with nothing.
SHARED = tuple(each.name for each in (FILTER, ARBITER, DISPATCHER, ADDRESS))


def short(graph: MappedGraph, arch: Arch, cycles: Mapping[Pin, int]) -> dict[Pin, int]:
    """Sink -> tokens that its net holds too few of for a token in each cycle; cycles: of the net to each sink, the register of
    its input included."""
    inner = _inner(graph)
    sources = {sink: net.source for net in inner.nets for sink in net.sinks}
    # The register of an input is in the latency of its block.
    arrival = arrivals(inner, {sink: cycles[sink] - 1 for sink in sources})
    found = {}
    for net in inner.nets:
        for sink in net.sinks:
            if net.layer != "data" or not _takes_each(inner.blocks[sink.block]):
                continue
            source, taken, holds = net.source, cycles[sink] - 1, HELD
            while inner.blocks[source.block].slack:
                holds += arch.pe.pass_depth
                before = next(pin for pin in sources if pin.block == source.block)
                source, taken = sources[before], taken + cycles[before] - 1
            taken += inner.blocks[source.block].latency
            begun = arrival[source.block]
            slack = max((arrival[sink.block][root] - begun[root] - taken for root in begun), default=0)
            if slack > holds:
                found[sink] = slack - holds
    return found


def rebalance(graph: MappedGraph, arch: Arch, wanted: Mapping[Pin, int], spare: int) -> MappedGraph:
    """Pass-throughs on nets that hold too few tokens, of as many PEs as there are, those that lack the most first.
    A machine that has none stays without."""
    if PASS_THROUGH not in arch.pe.primitives:
        return graph
    inserted: dict[Pin, list[str]] = {}
    for sink, tokens in sorted(wanted.items(), key=lambda item: (-item[1], item[0])):
        there = sum(name.startswith(f"slack {sink.block}.{sink.port} ") for name in graph.blocks)
        count = min(-(-tokens // arch.pe.pass_depth), MOST - there, spare)
        if count > 0:
            spare -= count
            inserted[sink] = [f"slack {sink.block}.{sink.port} {there + more}" for more in range(count)]
    return with_slack(graph, inserted) if inserted else graph


def of_one_copy(wanted: Mapping[Pin, int], copies: Copies) -> dict[Pin, int]:
    """The most that any copy wants at an input, by that of the graph that was copied."""
    found: dict[Pin, int] = {}
    for pin, tokens in wanted.items():
        inner = Pin(pin.block.rpartition(".")[0], pin.port) if copies.count > 1 else pin
        found[inner] = max(found.get(inner, 0), tokens)
    return found


def _takes_each(block: Block) -> bool:
    """Whether a block takes a token of each input for each that it gives."""
    return block.primitive in (ALU.name, DIVIDER.name) or \
        (block.primitive == DROPPER.name and block.config.get("form") in ("value", 1))


def _inner(graph: MappedGraph) -> MappedGraph:
    """The copies of a program without what leads to them and from them."""
    blocks = {name: block for name, block in graph.blocks.items() if block.primitive and block.primitive not in SHARED}
    nets = (Net(net.source, tuple(sink for sink in net.sinks if sink.block in blocks), net.layer)
            for net in graph.nets if net.source.block in blocks)
    return MappedGraph(blocks, tuple(net for net in nets if net.sinks), ())
