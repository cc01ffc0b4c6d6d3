"""Values at places in dense levels of a result, in graphs as `sam_dot` writes them.

    locator tensor=X root=true          a coordinate of the first of these levels of X, as a position
    position index=j                    the position outside times the extent of j, and the coordinate
    position index=i, the crd enters as a    the coordinate times the extent of i, and the position: two dense levels alone, of
                                        which the loop of the inner one, i, is the outer one
    fiberwrite mode=vals format=dense   gets places, coordinates or positions, and values

Extents are those of the operands (`with_extents`): what nodes say about them means nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import prod

from ...hw.arch.errors import UserError, shown
from ...hw.arch.primitive import BELOW_BITS
from ...tensors.fibertree import DENSE, Format
from .dialect import PublicNode, Wire
from .sam import Pin, SamGraph
from .sam_build import At, Builder
from .sam_ops import CRD, REF, VAL
from .sam_scatter import Position, ScatterWriter
from .sam_streams import Dropper


def scattered(form: Format) -> int:
    """How many levels, the innermost ones, are dense."""
    return form.rank - len(form.letters.rstrip(DENSE))


def add_position(build: Builder, node: PublicNode, wires: Sequence[tuple[Wire, Pin]], last: bool,
                 results: Collection[str | None]) -> Pin:
    """Add a node of type position. wires: that enter it. last: what it gives are the coordinates of several levels as one.
    results: tensors that are written."""
    by_kind = {wire.kind: (wire, pin) for wire, pin in wires}
    if len(wires) != 2 or by_kind.keys() != {CRD, REF}:
        raise UserError(f"it has inputs {', '.join(wire.kind for wire, _ in wires) or 'of no kind'}", node.where,
                        "give it one of type ref, the position outside, and one of type crd")
    (_, position), (wire, crd) = by_kind[REF], by_kind[CRD]
    at, loops = build.at[position], [index for index, _ in build.spaces[crd]]
    if at.tensor not in results or not loops:
        raise UserError(f"its position is a reference of {shown(at.tensor)}, which is no result", node.where,
                        "take it from a locator of the result, or from another position")
    inner = wire.enters == "a"
    if inner and (at.level > 1 or len(loops) != 2):
        raise UserError("it multiplies coordinates, as only the second of two dense levels does that are all of a result",
                        node.where, "store the result in the order of the loops")
    # The one that is not multiplied.
    op = Position(loops[-2 if inner else -1], 0, inner, last)
    made = Pin(build.add(node.label, op, **dict(zip("ca" if inner else "ac", (position, crd), strict=True))), "res")
    build.at[made] = At(at.tensor, at.level + 1)
    return made


def places_and_values(node: PublicNode, wires: Sequence[tuple[Wire, Pin]]) -> tuple[Pin, Pin]:
    """The two inputs of a node that writes values at places."""
    places = [pin for wire, pin in wires if wire.kind in (CRD, REF)]
    values = [pin for wire, pin in wires if wire.kind == VAL]
    if len(places) != 1 or len(values) != 1 or len(wires) != 2:
        raise UserError(f"it has inputs {', '.join(wire.kind for wire, _ in wires) or 'of no kind'}", node.where,
                        "give it one of type crd or ref, the places, and one of type val")
    return places[0], values[0]


def add_scatter(build: Builder, tensor: str, form: Format, places: Pin, values: Pin) -> None:
    """Add what writes values of a result."""
    count = scattered(form)
    whole = count == form.rank
    op = ScatterWriter(tensor, 0, whole, build.kind(places) == CRD, 0 if whole else count - 1)
    build.add(f"write_{tensor}_vals", op, at=places, val=values)


def with_extents(graph: SamGraph, form: Format, shape: Sequence[int], indices: Mapping[int, str]) -> SamGraph:
    """A graph whose positions know their extents. form, shape: of the result; indices: by mode."""
    extents = {indices[mode]: shape[mode] for mode in indices}
    words = prod(shape[mode] for mode in form.order[form.rank - scattered(form):])
    nodes = {name: replace(op, extent=extents[op.index]) if isinstance(op, Position)
             else replace(op, extent=words) if isinstance(op, ScatterWriter) else op for name, op in graph.nodes.items()}
    return replace(graph, nodes=nodes)


def place_indices(build: Builder, node: PublicNode, tensor: str, form: Format, places: Pin) -> Mapping[int, str]:
    """The index of each mode whose level is dense, by mode; UserError for a format that has too few or too many such levels, or
    others than places are made of."""
    count, loops = scattered(form), [index for index, _ in build.spaces[places]]
    if not count or (count < form.rank and count > 1 << BELOW_BITS):
        raise UserError(f"it writes values at places, and {count or 'none'} of the innermost levels of {tensor} are dense, "
                        f"whose format is {form if form.rank else 'none'}", node.where,
                        f"write 1 to {1 << BELOW_BITS} dense levels below compressed ones")
    if len(loops) < count:
        raise UserError(f"its places are of loops over {shown(', '.join(loops)) or 'nothing'}, and {count} levels are dense",
                        node.where, "give it places in all of them")
    source = _before_droppers(build, places)
    made = build.at.get(source, At(tensor, 1)).level
    if made != count:
        raise UserError(f"its places are in {made} dense levels, and {tensor} has {count}", node.where,
                        "add a node of type position for each but the first")
    op, inmost = build.nodes[source.node], loops[len(loops) - count:]
    return dict(zip(form.order[form.rank - count:], inmost[::-1] if isinstance(op, Position) and op.inner else inmost,
                    strict=True))


def _before_droppers(build: Builder, pin: Pin) -> Pin:
    """What a stream is before droppers thin it out."""
    while isinstance(build.nodes[pin.node], Dropper):
        pin = build.feeds[Pin(pin.node, pin.port.removesuffix("_o"))]
    return pin
