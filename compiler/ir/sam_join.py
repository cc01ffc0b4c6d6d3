"""Joiners of many sides as trees of binary ones.

A binary joiner carries one reference a side. A side with n references takes n of them, which compute the same coordinates, so
that the references stay aligned with each other:

    intersect(B, C, D)   =>   BC: B and C;   with D: (BC.crd, B) and D;  (BC.crd, C) and nothing of D
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...hw.arch.errors import UserError, shown
from .dialect import PublicNode, Wire
from .sam import Pin
from .sam_build import Builder
from .sam_ops import CRD, REF
from .sam_streams import Joiner

# More need more joiners than any array has: a half of their square.
MOST_SIDES = 16

Add = Callable[[Joiner, Mapping[str, Pin]], str]


class _Side(NamedTuple):
    """Coordinates, and the references that come with them by the name of their side."""

    crd: Pin
    refs: Mapping[str, Pin]


def add_joiner(build: Builder, node: PublicNode, wires: Sequence[tuple[Wire, Pin]], uses: Sequence[Wire], add: Add
               ) -> tuple[Pin, dict[str, Pin]]:
    """Add a node that joins; its coordinates, and the references that are used by the name of their side.

    uses: wires that leave the node.
    """
    sides = _sides(node, wires)
    if not 2 <= len(sides) <= MOST_SIDES:
        raise UserError(f"it joins {len(sides)} streams of coordinates", node.where, f"give it two to {MOST_SIDES}")
    used = {next((name for name in wire.stream if name in sides), "") for wire in uses if wire.kind == REF}
    if "" in used:
        raise UserError(f"it joins {shown(', '.join(sides))}, and an edge takes a reference from it without saying whose",
                        node.where, f"write it as comment of the edge, such as out-{shown(next(iter(sides)))}")
    if missing := [name for name in used if not sides[name][1]]:
        raise UserError(f"side {shown(min(missing))} brings no reference", node.where, "give it an edge of type ref")
    index = node.get("index")
    parts = [_Side(crd, {name: ref} if ref and name in used else {}) for name, (crd, ref) in sides.items()]
    while len(parts) > 1:
        # A join costs as many joiners as its larger side has references.
        parts.sort(key=lambda part: len(part.refs))
        parts = [_pair(node.type, index, parts[0], parts[1], add), *parts[2:]]
    for name, pin in parts[0].refs.items():
        reference = sides[name][1]
        assert reference is not None, "a reference that is used is there"
        build.at[pin] = build.at[reference]
    return parts[0].crd, dict(parts[0].refs)


def _sides(node: PublicNode, wires: Sequence[tuple[Wire, Pin]]) -> dict[str, tuple[Pin, Pin | None]]:
    """Coordinates and reference of each side by its name; what comes from one node belongs together where names do not tell."""
    found = dict[str, tuple[Pin, Pin | None]]()
    given = [(wire.side, wire, pin) for wire, pin in wires]
    for name, wire, pin in given:
        if wire.kind == CRD:
            if name in found:
                raise UserError(f"two streams of coordinates are those of {shown(name)}", node.where,
                                "write as comment of each edge whose stream it is, such as in-B")
            found[name] = pin, None
    for name, wire, pin in given:
        if wire.kind == REF:
            if name not in found or found[name][1]:
                raise UserError(f"a reference of {shown(name)} has no coordinates with it", node.where,
                                "write the same comment on both edges of a side, such as in-B")
            found[name] = found[name][0], pin
        elif wire.kind != CRD:
            raise UserError(f"it takes crd and ref, and gets {wire.kind}", node.where, "connect streams of these types")
    return found


def _pair(op: str, index: str, left: _Side, right: _Side, add: Add) -> _Side:
    """Join two sides."""
    crd: Pin | None = None
    refs = dict[str, Pin]()
    lefts, rights = list(left.refs.items()), list(right.refs.items())
    for nth in range(max(len(lefts), len(rights), 1)):
        inputs = {"crd0": left.crd, "crd1": right.crd}
        taken = [(f"ref{side}", refs_of[nth]) for side, refs_of in enumerate((lefts, rights)) if nth < len(refs_of)]
        inputs |= {port: pin for port, (_, pin) in taken}
        made = add(Joiner(op, index, (nth < len(lefts), nth < len(rights))), inputs)
        crd = crd or Pin(made, "crd")
        refs |= {name: Pin(made, f"{port}_o") for port, (name, _) in taken}
    assert crd is not None, "there is one joiner at least"
    return _Side(crd, refs)
