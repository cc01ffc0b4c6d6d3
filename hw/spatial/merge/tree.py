"""A lane of a merger: a tree of nodes, each of which merges two fibers, with FIFOs or registers between them."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Value
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from ...arch.merger import Merger
from ...arch.reduction import TRUTHS
from ...emit import macro
from ...stream.fifo import Fifo2
from ...stream.stage import Stage
from .matrix import MergeMatrix
from .node import MergeNode, element


class MergeTree(Component):
    """Merges the fibers of all ways.

    Behaviour: pairs of ways are merged by nodes, what these give by others, and so on. Every node goes on in each cycle in
    which both of its fibers have an element and there is room. Of reductions of truths values become 0 or 1 on their way in, so
    that one that meets no other is what it would be of several.

    Parameters
    ----------
    kind : Merger

    Members
    -------
    i_0_0, ... : In(stream)    For each way and each of `take`, of an `element`.
    o_0, ... : Out(stream)     For each of `take`, the same.

    Timing: `take` elements a cycle, `Merger.latency` cycles later. `valid` of outputs comes from registers. Where `take` is 1,
    nothing is held in front of the first nodes: `ready` of an input follows `valid` and the keys of all of a tree within the
    cycle; else `ready` comes from registers, too.
    Source: SpArch III-B, the merge tree. Departure: SpArch's nodes of a level share one comparator array; each has its own.
    """

    def __init__(self, kind: Merger) -> None:
        self.kind = kind
        self.module_name = f"merge_tree_{kind.ways}_{kind.take}_k{kind.key_bits}_w{kind.bits}{kind.suffix}"
        elements = stream.Signature(element(kind))
        super().__init__({f"i_{way}_{nth}": In(elements) for way in range(kind.ways) for nth in range(kind.take)}
                         | {f"o_{nth}": Out(elements) for nth in range(kind.take)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        take = range(self.kind.take)
        fibers = [[self._after(m, f"way_{way}_{nth}", self._truth(m, getattr(self, f"i_{way}_{nth}"))) for nth in take]
                  for way in range(self.kind.ways)]
        level = 0
        while len(fibers) > 1:
            fibers = [self._merged(m, level, at, x, y) for at, (x, y) in enumerate(zip(fibers[::2], fibers[1::2]))]
            level += 1
        for nth, fiber in enumerate(fibers[0]):
            port = getattr(self, f"o_{nth}")
            m.d.comb += [Value.cast(port.payload).eq(fiber.payload), port.valid.eq(fiber.valid), fiber.ready.eq(port.ready)]
        return m

    def _truth(self, m: Module, words: Any) -> Any:
        """An input, whose values are 0 or 1 if they are truths."""
        if self.kind.reduction not in TRUTHS:
            return words
        told = stream.Signature(element(self.kind)).create()
        m.d.comb += [told.payload.key.eq(words.payload.key), told.payload.value.eq(words.payload.value.any()),
                     told.valid.eq(words.valid), words.ready.eq(told.ready)]
        return told

    def _merged(self, m: Module, level: int, at: int, x: list[Any], y: list[Any]) -> list[Any]:
        """What a node gives, behind its FIFOs."""
        name = f"{level}_{at}"
        several = self.kind.take > 1
        m.submodules[f"node_{name}"] = node = macro(MergeMatrix(self.kind) if several else MergeNode(self.kind))
        for side, fiber in (("x", x), ("y", y)):
            for nth, each in enumerate(fiber):
                port = getattr(node, f"{side}{nth}" if several else side)
                m.d.comb += [Value.cast(port.payload).eq(each.payload), port.valid.eq(each.valid), each.ready.eq(port.ready)]
        outputs = [getattr(node, f"o{nth}" if several else "o") for nth in range(self.kind.take)]
        return [self._after(m, f"node_{name}_{nth}", output, level + 1) for nth, output in enumerate(outputs)]

    def _after(self, m: Module, name: str, words: Any, level: int = 0) -> Any:
        """A stream behind a FIFO, or behind a register, which is as fast, or as it is."""
        places = self.kind.places(level)
        if not places:
            return words
        m.submodules[f"fifo_{name}"] = fifo = macro((Fifo2 if places > 1 else Stage)(self.kind.element_bits))
        m.d.comb += [fifo.i.payload.eq(words.payload), fifo.i.valid.eq(words.valid), words.ready.eq(fifo.i.ready)]
        return fifo.o
