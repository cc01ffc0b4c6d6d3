"""An array of Cartesian products on the words of its streams, without time: vectors that meet, and sums that leave.

Source: SCNN IV.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...hw.arch.cartesian import LEFT, RIGHT, Cartesian
from ...hw.arch.logic import OPERATIONS, Apply, Constant, Feed, Logic, wrapped

# The elements of a vector that are there, value and place, and whether it is the last of its fiber and of all.
Vector = tuple[list[tuple[int, int]], bool, bool]


def simulate(kind: Cartesian, inputs: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    """The words of each bank's stream, with the low bits of sums. AssertionError where fibers do not come in pairs."""
    lefts = _vectors(kind, inputs, LEFT, kind.left, kind.left_bits)
    rights = _vectors(kind, inputs, RIGHT, kind.right, kind.right_bits)
    found: dict[str, list[int]] = {f"o{bank}": [] for bank in range(kind.banks)}
    sums = [0] * kind.places
    held: list[Vector] = []
    for left, last, ends in lefts:
        while not held or not held[-1][1]:
            held.append(next(rights))
        for right, *_ in held:
            for a, at in left:
                for b, to in right:
                    sums[(at + to) % kind.places] += wrapped(value(kind.value, {LEFT: a, RIGHT: b}), kind.value_bits)
        if last:
            held = []
        if last and ends:
            for place, each in enumerate(sums):
                found[f"o{place % kind.banks}"].append(each % (1 << kind.sum_bits))
            sums = [0] * kind.places
    assert not held and next(rights, None) is None, "fibers come in pairs"
    return found


def _vectors(kind: Cartesian, inputs: Mapping[str, Sequence[int]], side: str, size: int, bits: int) -> Iterator[Vector]:
    marks = bits + kind.place_bits
    for words in zip(*(inputs[f"{side}{n}"] for n in range(size)), strict=True):
        there = [(wrapped(word, bits), word >> bits & kind.places - 1) for word in words if word >> marks & 1]
        yield there, bool(words[0] >> marks + 2 & 1), bool(words[0] >> marks + 1 & 1)


def value(logic: Logic, feeds: Mapping[str, int]) -> int:
    """Of logic over elements, exactly."""
    if isinstance(logic, Constant):
        return logic.value
    if isinstance(logic, Apply):
        return OPERATIONS[logic.operation].meaning(*(value(each, feeds) for each in logic.operands))
    assert isinstance(logic, Feed), "it is over elements"
    return feeds[logic.tensor]
