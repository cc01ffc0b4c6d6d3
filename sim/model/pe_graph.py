"""What word graphs and graphs of PEs mean: evaluation over a whole grid at once in NumPy.

Arrays are y-first, points are x first. Words are kept as integers 0..65535, flags as 0 and 1.
`hw/arch/op.py` says what the operations of the PE mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sardonyx.compiler.ir.dataflow import Ref, Stream, WordGraph, WordNode
from sardonyx.compiler.ir.pe_graph import Held, Once, PeGraph, PeNode, Running
from sardonyx.hw.arch.op import BY_NAME, CONDITION_CODES, results

WORD = 1 << 16
Array = Any


@dataclass(frozen=True)
class Region:
    """Values at the points from `origin` (x first) on; the array (y-first) covers the points that have a value."""

    values: Array
    origin: tuple[int, ...]

    @property
    def end(self) -> tuple[int, ...]:
        """The first point behind the region in every dimension."""
        return tuple(o + e for o, e in zip(self.origin, reversed(self.values.shape), strict=True))

    def part(self, origin: tuple[int, ...], end: tuple[int, ...]) -> Array:
        """The values from a point to another, which is not included."""
        cut = [slice(a - o, b - o) for a, b, o in zip(origin, end, self.origin, strict=True)]
        return self.values[tuple(reversed(cut))]


def _integer(words: Array, signed: bool) -> Array:
    """The integers that words stand for."""
    return np.where(words >= WORD // 2, words - WORD, words) if signed else words


def _shifted_right(a: Array, by: Array, signed: bool) -> Array:
    return _integer(a, signed) >> np.minimum(by, 16)


# Operation -> result from the operands and `signed`, before it is cut to a word.
MEANING: dict[str, Callable[..., Array]] = {
    "add": lambda a, b, s: a + b,
    "sub": lambda a, b, s: a - b,
    "mul": lambda a, b, s: a * b,
    "mul_middle": lambda a, b, s: _integer(a, s) * _integer(b, s) >> 8,
    "mul_high": lambda a, b, s: _integer(a, s) * _integer(b, s) >> 16,
    "shl": lambda a, b, s: a << np.minimum(b, 16),
    "shr": _shifted_right,
    "and": lambda a, b, s: a & b,
    "or": lambda a, b, s: a | b,
    "xor": lambda a, b, s: a ^ b,
    "abs": lambda a, s: np.abs(_integer(a, True)),
    "min": lambda a, b, s: np.minimum(_integer(a, s), _integer(b, s)),
    "max": lambda a, b, s: np.maximum(_integer(a, s), _integer(b, s)),
    "eq": lambda a, b, s: a == b,
    "ne": lambda a, b, s: a != b,
    "lt": lambda a, b, s: _integer(a, s) < _integer(b, s),
    "le": lambda a, b, s: _integer(a, s) <= _integer(b, s),
    "select": lambda d, a, b, s: np.where(d != 0, a, b),
    "bit_and": lambda a, b, s: a & b,
    "bit_or": lambda a, b, s: a | b,
    "bit_xor": lambda a, b, s: a ^ b,
    "bit_not": lambda a, s: 1 - a,
    "word": lambda a, s: a,
}


def evaluate_words(graph: WordGraph, inputs: Mapping[str, Array], origin: tuple[int, ...] | None = None) -> dict[str, Region]:
    """Every result where all that it needs lies inside the inputs.

    Parameters
    ----------
    inputs : mapping      Stream -> its words at the points of the grid from `origin` on; all of one shape.
    origin : tuple        The first point, x first; None for 0.
    """
    rank = len(graph.dims)
    first = origin or (0,) * rank
    regions: list[Region] = []
    for node in graph.nodes:
        if node.op == "input":
            words = np.asarray(inputs[node.name])
            assert words.ndim == rank and words.min() >= 0 and words.max() < WORD, f"{node.name} is no grid of words"
            regions.append(Region(words.astype(np.int64), first))
        else:
            regions.append(_operation(node, regions))
    return {name: _moved(regions[ref.node], ref) for name, ref in graph.results.items()}


def _moved(region: Region, ref: Ref) -> Region:
    """What a user of a node sees: the value at p + offset, at p."""
    return Region(region.values, tuple(o - by for o, by in zip(region.origin, ref.offset, strict=True)))


def _operation(node: WordNode, regions: list[Region]) -> Region:
    """A node where all its operands have values."""
    seen = [_moved(regions[each.node], each) if isinstance(each, Ref) else each for each in node.operands]
    known = [each for each in seen if isinstance(each, Region)]
    origin = tuple(max(each) for each in zip(*(region.origin for region in known), strict=True))
    end = tuple(min(each) for each in zip(*(region.end for region in known), strict=True))
    assert all(a < b for a, b in zip(origin, end, strict=True)), "the grid has no point where all operands have values"
    operands = [each.part(origin, end) if isinstance(each, Region) else np.int64(each) for each in seen]
    if node.op == "lookup":
        result = np.array(node.table, dtype=np.int64)[operands[0]]
    else:
        result = MEANING[node.op](*operands, node.signed)
    return Region(np.asarray(result).astype(np.int64) % WORD, origin)


def stored(stream: Stream, result: Region, extents: tuple[int, ...]) -> Array:
    """Elements 0.. of an output (`extents` x first, a y-first array of words): element e is the value at ``scale * e``."""
    end = tuple(scale * (extent - 1) + 1 for scale, extent in zip(stream.scale, extents, strict=True))
    assert all(o <= 0 and e <= have for o, e, have in zip(result.origin, end, result.end, strict=True)), \
        f"results from {result.origin} to {result.end} do not hold elements 0 to {extents}"
    steps = tuple(slice(None, None, scale) for scale in reversed(stream.scale))
    return result.part((0,) * len(extents), end)[steps]


def evaluate_pes(graph: PeGraph, inputs: Mapping[str, Array], first: tuple[int, ...] | None = None) -> dict[str, Region]:
    """Every result of a graph of PEs where all that it needs lies inside the inputs; inputs as for `evaluate_words`.

    Regions count from the first point of the inputs, which is `first` (x first; None for 0) where a graph names points. What is
    made of constants alone has a value everywhere; its region reaches beyond the inputs by their size.
    """
    rank = len(graph.dims)
    begin = first or (0,) * rank
    shape = next((np.asarray(each).shape for each in inputs.values()), (1,) * rank)
    ports: list[dict[str, Region]] = []
    for node in graph.nodes:
        if node.op == "input":
            words = np.asarray(inputs[node.name])
            assert words.ndim == rank and words.min() >= 0 and words.max() < WORD, f"{node.name} is no grid of words"
            ports.append({"res": Region(words.astype(np.int64), (0,) * rank)})
            continue
        seen = {port: _moved(ports[each.node][each.port], each) for port, each in node.refs()}
        seen |= {port: _at_once(seen[port], each.x - begin[0], shape[-1]) for port, each in node.kept()
                 if isinstance(each, Once)}
        origin = tuple(map(max, zip(*(region.origin for region in seen.values())))) or tuple(-each for each in reversed(shape))
        end = tuple(map(min, zip(*(region.end for region in seen.values())))) or tuple(2 * each for each in reversed(shape))
        assert all(a < b for a, b in zip(origin, end, strict=True)), "the grid has no point where all operands have values"
        size = tuple(b - a for a, b in zip(reversed(origin), reversed(end), strict=True))
        operands = {port: np.zeros(size, dtype=np.int64) for port in "abcdef"}
        operands |= {port: seen[port].part(origin, end) if port in seen else np.full(size, each, dtype=np.int64)
                     for port, each in node.operands.items() if not isinstance(each, Held | Running)}
        for port, each in node.kept():
            if isinstance(each, Held):
                row = tuple(at - low for at, low in zip(each.at, begin[1:], strict=True))
                points = each.points(end[0] - origin[0])
                below = max(points) // len(points) + 1
                held = seen[each.port].part((origin[0], *row), (end[0], row[0] + below, *(at + 1 for at in row[1:])))
                operands[port] = np.broadcast_to(held.reshape(-1)[list(points)], size)
        result, flag = _along(node, operands, -begin[0] - origin[0])
        ports.append({"res": Region(result, origin)} | ({"p": Region(flag, origin)} if node.cond else {}))
    return {name: _moved(ports[ref.node][ref.port], ref) for name, ref in graph.results.items()}


def _at_once(region: Region, x: int, row: int) -> Region:
    """A region at column `x` of rows of so many, 0 beside it."""
    words = np.zeros((*region.values.shape[:-1], row), np.int64)
    words[..., x] = region.values[..., x - region.origin[0]]
    return Region(words, (0, *region.origin[1:]))


def _along(node: PeNode, operands: Mapping[str, Array], zero: int) -> tuple[Array, Array]:
    """As `pe_outputs`, also of a PE that reads its own result of the point before; x = 0 is column `zero` of the arrays."""
    own = [port for port, each in node.kept() if isinstance(each, Running)]
    if not own:
        return pe_outputs(node, operands)
    result, flag = (np.zeros_like(operands["a"]) for _ in range(2))
    for x in range(result.shape[-1]):
        before = result[..., x - 1] if x > max(0, zero) else np.zeros_like(result[..., x])
        here = {port: before if port in own else words[..., x] for port, words in operands.items()}
        result[..., x], flag[..., x] = pe_outputs(node, here)
    return result, flag


def pe_outputs(node: PeNode, operands: Mapping[str, Array]) -> tuple[Array, Array]:
    """Result and predicate of a PE (or a table) for arrays of its operands a..f; without a condition the predicate is 0."""
    a, b, c, d, e, f = (operands[port] for port in "abcdef")
    if node.op == "lookup":
        return np.array(node.table, dtype=np.int64)[a], np.zeros_like(a)
    operation = BY_NAME[node.op]
    if node.cond:
        return results(operation, CONDITION_CODES[node.cond], node.lut, a, b, c, d, e, f, node.signed)
    result = operation.results(a, b, c, d, node.signed)[0]
    return result, np.zeros_like(result)
