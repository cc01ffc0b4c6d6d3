"""Locators of the public dialect: references of coordinates in a dense level.

    locator lvl=0 dim_size=30                    of the innermost level of the tensor whose values it looks up
    locator tensor=C mode=0 index=k root=false   as `sam_dot` writes it

The public one takes coordinates alone, since it counts fibers. Ours multiplies the reference of each fiber, which comes by an
edge, or is one that the graph has in the loops around; it is repeated for each coordinate where it is not yet. Extents are
those of the operands: what the node says about them means nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...hw.arch.errors import UserError, shown
from ...tensors.fibertree import Format
from .dialect import PublicGraph, PublicNode, Wire
from .sam import Pin
from .sam_build import At, Builder
from .sam_levels import Locator, RootLocator
from .sam_ops import CRD, REF, Space
from .sam_streams import Repeater


class Located(NamedTuple):
    """The references, and the mode of the tensor with the index that it runs over."""

    ref: Pin
    mode: int
    runs: str


def tensor_of(node: PublicNode, graph: PublicGraph) -> str:
    """The tensor of a locator: its own attribute, or that of a node that takes its references."""
    if "tensor" in node.attributes:
        return node.get("tensor")
    for user in graph.nodes.values():
        if "tensor" in user.attributes and any(wire.source == node.name for wire in user.wires):
            return user.get("tensor")
    raise UserError("it says no tensor, and neither does what takes its references", node.where, 'write tensor="..."')


def add_locator(build: Builder, node: PublicNode, tensor: str, form: Format, wires: Sequence[tuple[Wire, Pin]],
                slot: Callable[[int], str]) -> Located:
    """Add a node of a tensor. wires: that enter it. slot: a name for a use of a level."""
    level = _level(node, tensor, form)
    crds = [pin for wire, pin in wires if wire.kind == CRD]
    refs = [pin for wire, pin in wires if wire.kind == REF]
    if len(crds) != 1 or len(refs) > 1 or len(wires) > len(crds) + len(refs):
        raise UserError(f"it has inputs {', '.join(wire.kind for wire, _ in wires) or 'of no kind'}", node.where,
                        "give it one of type crd, and perhaps one of type ref")
    crd, space = crds[0], build.spaces[crds[0]]
    index = space[-1][0]
    if not level:
        if refs:
            raise UserError("it locates in the outermost level and has a reference", node.where, "take the edge away")
        ref = Pin(build.add(node.label, RootLocator(slot(level), index), i=crd), "o")
    else:
        fiber = refs[0] if refs else _around(build, node, At(tensor, level), space)
        if build.at[fiber] != At(tensor, level):
            other = build.at[fiber]
            raise UserError(f"it locates in level {level} of {tensor}, and its reference is for level {other.level} of "
                            f"{other.tensor}", node.where, "take the reference of the lookup above")
        if build.spaces[fiber] != space:
            fiber = Pin(build.add(f"repeat_{node.label}", Repeater(tensor, index), ref=fiber, crd=crd), "ref_o")
        ref = Pin(build.add(node.label, Locator(slot(level), level, index), ref=fiber, crd=crd), "ref_o")
    build.at[ref] = At(tensor, level + 1)
    return Located(ref, form.order[level], index)


def _level(node: PublicNode, tensor: str, form: Format) -> int:
    """The level of a locator: that of its mode, or the innermost."""
    mode = node.attributes.get("mode", str(form.order[-1]) if form.rank else "0")
    if mode not in map(str, form.order):
        raise UserError(f"tensor {tensor} has no mode '{shown(mode)}'", node.where,
                        f"its format is {form if form.rank else 'none'}")
    level = form.order.index(int(mode))
    if not form.is_dense(level):
        raise UserError(f"level {level} of {tensor} is compressed in its format {form}", node.where,
                        "locate in a dense level, or look up and intersect")
    return level


def _around(build: Builder, node: PublicNode, at: At, space: Space) -> Pin:
    """A reference of the fibers of a level in the loops around coordinates."""
    found = [pin for pin, there in build.at.items() if there == at and build.spaces[pin] == space[:-1]]
    if not found:
        raise UserError(f"there is no reference of {at.tensor} for level {at.level} in the loops around it", node.where,
                        "give it one by an edge of type ref")
    return found[0]
