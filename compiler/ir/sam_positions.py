"""Values at places in dense levels of a result, in graphs as `sam_dot` writes them.

    locator tensor=X root=true          a coordinate of the first of these levels of X, as a position
    position index=j                    the position outside times the extent of j, and the coordinate
    fiberwrite mode=vals format=dense   gets places, coordinates or positions, and values

Extents are those of the operands (`with_extents`): what nodes say about them means nothing. Positions are in the order of the
loops: results that are stored in another one are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from ...hw.arch.errors import UserError, shown
from ...hw.arch.primitive import BELOW_BITS
from ...tensors.fibertree import DENSE, Format
from .dialect import PublicNode, Wire
from .sam import Pin, SamGraph
from .sam_build import Builder
from .sam_ops import CRD, REF, VAL
from .sam_scatter import Position, ScatterWriter


def scattered(form: Format) -> int:
    """How many levels, the innermost ones, are dense."""
    return form.rank - len(form.letters.rstrip(DENSE))


def add_position(build: Builder, node: PublicNode, wires: Sequence[tuple[Wire, Pin]], last: bool) -> Pin:
    """Add a node of type position. wires: that enter it. last: what it gives are the coordinates of several levels as one."""
    by_kind = {wire.kind: (wire, pin) for wire, pin in wires}
    if len(wires) != 2 or by_kind.keys() != {CRD, REF}:
        raise UserError(f"it has inputs {', '.join(wire.kind for wire, _ in wires) or 'of no kind'}", node.where,
                        "give it one of type ref, the position outside, and one of type crd")
    (_, position), (wire, crd) = by_kind[REF], by_kind[CRD]
    if wire.enters == "a":
        raise UserError("it multiplies coordinates, for a result that is stored in another order than that of the loops",
                        node.where, "store the result in the order of the loops")
    op = Position(build.spaces[crd][-1][0] if build.spaces[crd] else "", 0, last=last)
    return Pin(build.add(node.label, op, a=position, c=crd), "res")


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


def place_indices(node: PublicNode, tensor: str, form: Format, loops: Sequence[str]) -> Mapping[int, str]:
    """The index of each mode whose level is dense, by mode; UserError for a format that has too few or too many such levels.

    loops: around the values, from the outermost in.
    """
    count = scattered(form)
    if not count or (count < form.rank and count > 1 << BELOW_BITS):
        raise UserError(f"it writes values at places, and {count or 'none'} of the innermost levels of {tensor} are dense, "
                        f"whose format is {form if form.rank else 'none'}", node.where,
                        f"write 1 to {1 << BELOW_BITS} dense levels below compressed ones")
    if len(loops) < count:
        raise UserError(f"its places are of loops over {shown(', '.join(loops)) or 'nothing'}, and {count} levels are dense",
                        node.where, "give it places in all of them")
    return dict(zip(form.order[form.rank - count:], loops[len(loops) - count:], strict=True))
