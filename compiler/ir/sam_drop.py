"""Droppers of the public dialect: of coordinates whose fibers, or values, are not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...hw.arch.errors import UserError, shown
from .dialect import PublicNode
from .sam import Pin
from .sam_build import Builder
from .sam_merged import FiberDropper
from .sam_ops import CRD, VAL
from .sam_streams import Dropper


def dropper_of(build: Builder, node: PublicNode, pins: Sequence[Pin]) -> tuple[Dropper, Mapping[str, Pin]]:
    """The dropper of a node of type crddrop, and which of the streams that enter goes where: their loops say it."""
    outer, inner = node.get("outer"), node.get("inner")
    value = inner == VAL
    ends = [(pin, build.spaces[pin][-1][0] if build.spaces[pin] else "", build.kind(pin)) for pin in pins]
    outers = [pin for pin, index, kind in ends if index == outer and kind == CRD]
    inners = [pin for pin, index, kind in ends if (kind == VAL if value else index == inner and index != outer)]
    if len(pins) != 2 or len(outers) != 1 or len(inners) != 1:
        got = ", ".join(f"{kind} of {index}" for _, index, kind in ends)
        raise UserError(f"it drops coordinates of {shown(outer)} by {shown(inner)}, and gets {got or 'nothing'}",
                        node.where, "give it one stream of each")
    kind = FiberDropper if not value and build.kind(inners[0]) == VAL else Dropper
    return kind("value" if value else "coordinate", outer, "" if value else inner), {"outer": outers[0], "inner": inners[0]}
