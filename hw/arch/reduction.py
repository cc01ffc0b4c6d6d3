"""Associative operations by which values become one, in any order and in parts: of equal coordinates, or along an index."""

from __future__ import annotations

REDUCTIONS = ADD, LARGEST, SMALLEST, TIMES, ALL, ANY = "add", "max", "min", "mul", "both", "either"
# With what sums and products begin. To the others it is the same how often a value comes: they may begin with any number, and
# each part of what they are of may begin with it.
NEUTRAL = {ADD: 0, TIMES: 1}
# What these give is 0 or 1, so that they are the same in parts of such values alone.
TRUTHS = ALL, ANY
NAMES = {ADD: "sums", TIMES: "products", LARGEST: "the largest", SMALLEST: "the smallest", ALL: "whether all are true",
         ANY: "whether any is true"}


def begins(reduction: str) -> int:
    """With what an elastic array begins: where that may be any number, with 0, as an element that no PE computes is."""
    return NEUTRAL.get(reduction, 0)
