"""A merger: a tree of nodes for each lane, and a stream for each element that lanes take or give in a cycle."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out, connect, flipped

from ...arch.merger import Merger
from ...emit import macro
from .node import element
from .tree import MergeTree


class MergerArray(Component):
    """A merger.

    Behaviour: in an operation every way gives each lane a fiber, and each lane gives one: all keys of the ways, equal ones
    once, with what their values become. Lanes do not wait for each other.

    Parameters
    ----------
    kind : Merger

    Members
    -------
    i_0_0_0, ... : In(stream)    For each way, lane and each of `take`, an `element`.
    o_0_0, ... : Out(stream)     For each lane and each of `take`, the same.

    Timing: `take` elements a cycle from each lane, after a cycle for each level of the tree and one more.
    Source: Stellar VI-D, Fig. 19: `lanes` is that of row-partitioned mergers, `take` for flat ones.
    """

    def __init__(self, kind: Merger) -> None:
        self.kind, self.module_name = kind, kind.name.lower()
        elements = stream.Signature(element(kind))
        ways, lanes, take = range(kind.ways), range(kind.lanes), range(kind.take)
        super().__init__({kind.input(way, lane, nth): In(elements) for way in ways for lane in lanes for nth in take}
                         | {kind.output(lane, nth): Out(elements) for lane in lanes for nth in take})

    @property
    def emit_key(self) -> str:
        return repr(self.kind)

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        kind = self.kind
        for lane in range(kind.lanes):
            m.submodules[f"lane_{lane}"] = tree = macro(MergeTree(kind))
            for nth in range(kind.take):
                connect(m, getattr(tree, f"o_{nth}"), flipped(getattr(self, kind.output(lane, nth))))
                for way in range(kind.ways):
                    connect(m, flipped(getattr(self, kind.input(way, lane, nth))), getattr(tree, f"i_{way}_{nth}"))
        return m
