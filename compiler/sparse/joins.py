"""Joiners of the coordinates that parts of a statement have at a loop.

A joiner carries one reference per side, so a side with n references takes n joiners that compute the same coordinates.

Source:  SAM's joiners (Onyx JSSC III-C).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sardonyx.compiler.ir.sam import Pin
from sardonyx.compiler.ir.sam_streams import Joiner

Add = Callable[..., str]


@dataclass
class Coordinates:
    """Coordinates of a part of the tree at a loop, and the references that come with them, by slot."""

    crd: Pin
    refs: dict[str, Pin]


def combined(add: Add, op: str, index: str, parts: Sequence[Coordinates | None]) -> Coordinates | None:
    """Join all sets, those with the fewest references first, since a join costs as many joiners as its
    larger side has references."""
    sets = [part for part in parts if part is not None]
    while len(sets) > 1:
        sets.sort(key=lambda part: len(part.refs))
        sets = [_pair(add, op, index, sets[0], sets[1]), *sets[2:]]
    return sets[0] if sets else None


def _pair(add: Add, op: str, index: str, left: Coordinates, right: Coordinates) -> Coordinates:
    crd: Pin | None = None
    refs: dict[str, Pin] = {}
    lefts, rights = list(left.refs), list(right.refs)
    for nth in range(max(len(lefts), len(rights))):
        sides = (nth < len(lefts), nth < len(rights))
        inputs = {"crd0": left.crd, "crd1": right.crd}
        if sides[0]:
            inputs["ref0"] = left.refs[lefts[nth]]
        if sides[1]:
            inputs["ref1"] = right.refs[rights[nth]]
        node = add(f"{op}_{index}", Joiner(op, index, sides), **inputs)
        crd = crd or Pin(node, "crd")
        if sides[0]:
            refs[lefts[nth]] = Pin(node, "ref0_o")
        if sides[1]:
            refs[rights[nth]] = Pin(node, "ref1_o")
    assert crd is not None, "every set of coordinates brings a reference"
    return Coordinates(crd, refs)
