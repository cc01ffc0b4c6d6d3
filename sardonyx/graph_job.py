"""Graphs that others drew as jobs: one transaction on whole operands, against the token model, and against a statement if there
is one.

A graph has no schedule by which operands could be cut, so they have to fit the level buffers as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from .bottleneck import bottleneck
from .compiler.graph import CompiledGraph
from .compiler.ir.mapped import LOAD, VALUES, MappedGraph, level_name
from .compiler.ir.sam_positions import scattered, with_extents
from .compiler.ir.sam_read import Reading
from .compiler.ir.sam_scatter import ScatterWriter
from .compiler.lang.einsum import Einsum
from .compiler.sparse.blocks import map_graph
from .compiler.sparse.capacity import level_words, positions
from .hw.arch.errors import UserError, shown
from .runtime.data.blocks import Blocks, with_segments
from .sim.engines import Run, differences
from .sim.golden import einsum as golden
from .sim.model.tokens import fabric
from .sim.model.tokens.network import DeadlockError
from .sim.model.tokens.process import ProtocolError
from .tensors import values as tensors
from .tensors.coordinates import Coo
from .tensors.fibertree import COMPRESSED, DENSE, WORD_LIMIT, Fibertree, Format, build, flatten, from_blocks

LARGER = "give smaller operands, or write the statement: `sardonyx run einsum` cuts them into sub-tiles"
PRINTED = 12


@dataclass(frozen=True)
class GraphData:
    """A graph with operands: the blocks that are loaded, and what the token model stores.

    Parameters
    ----------
    reading : Reading
    operands : mapping   By tensor.
    loaded : Blocks      Of every load stream.
    stored : Blocks      Of every store stream.
    tree : Fibertree     The result as it is stored.
    """

    reading: Reading
    operands: Mapping[str, Coo]
    loaded: Blocks
    stored: Blocks
    tree: Fibertree

    @property
    def words(self) -> Mapping[str, int]:
        """Of the block of every stream."""
        return {name: len(block) for name, block in {**self.loaded, **self.stored}.items()}


def graph_data(reading: Reading, operands: Mapping[str, Coo], half: int, name: str) -> GraphData:
    """Run a graph on the token model. half: words of half a level buffer. name: of the graph's file, for errors.

    Raises UserError for operands that contradict each other or do not fit, and for streams that run out of step.
    """
    shape = result_shape(reading, operands, name)
    tensor = reading.result
    form = reading.formats[tensor]
    dense = scattered(form) if any(isinstance(op, ScatterWriter) for op in reading.graph.nodes.values()) else 0
    if dense:
        words = prod(shape[mode] for mode in form.order[form.rank - dense:])
        if words > half:
            raise UserError(f"the dense levels of {tensor} have {words:,} values but half a level buffer holds {half:,}", name,
                            LARGER)
        indices = {mode: index for one, mode, index in reading.indices if one == tensor}
        reading = replace(reading, graph=with_extents(reading.graph, form, shape, indices))
    mapped = map_graph(reading.graph)
    # As they are without nonzeros: dense levels, which are counted, and those that are not written.
    names = [level_name(tensor, level) for level in (*range(form.rank), VALUES)]
    empty = dict(zip(names, build(Coo.empty(shape), form).blocks(tensor), strict=True))
    loaded = _blocks(reading, operands, mapped, half)
    loaded |= {each.name: np.asarray(empty[each.name], np.uint16) for each in mapped.streams
               if each.direction == LOAD and each.name in empty}
    try:
        stored = next(fabric.run_graph(mapped, [loaded]))
    except (ProtocolError, DeadlockError) as error:
        raise UserError(f"the streams of the graph do not go together on these operands: {error}", name,
                        "compare it with the graph of the statement: sardonyx explain program EXPR --graph FILE") from None
    for stream, block in stored.items():
        if (words := _longest(block)) > half:
            raise UserError(f"{stream} of the result needs {words:,} words but half a level buffer holds {half:,}", name,
                            LARGER)
    # Every level is written compressed, whatever is made of it later, or it is dense and is not.
    written = Format("".join(COMPRESSED if each in stored else DENSE for each in names[:-1]), form.order)
    blocks = [stored.get(each, empty[each]) for each in names]
    if names[0] in stored and form.rank:
        blocks[0] = with_segments(blocks[0])
    try:
        tree = from_blocks([[int(word) for word in each] for each in blocks], written, shape)
    except AssertionError as error:
        raise UserError(f"the graph writes levels of {tensor} that do not belong together: {error}", name,
                        "write coordinates and values of the same loops, or drop both") from None
    return GraphData(reading, operands, loaded, stored, tree)


def result_shape(reading: Reading, operands: Mapping[str, Coo], name: str) -> tuple[int, ...]:
    """The shape of the result; UserError if operands contradict their formats or each other."""
    for slot, tensor in reading.tensors.items():
        given, rank = operands[tensor].rank, len(reading.graph.formats[slot]) // 2
        if given != rank:
            raise UserError(f"it has {given} dimensions, but its format in {name} {rank}", f"operand {tensor}",
                            "give a tensor of that many")
    extents = dict[str, tuple[int, str]]()
    for tensor, mode, index in reading.indices:
        if tensor == reading.result:
            continue
        extent = operands[tensor].shape[mode]
        said, other = extents.setdefault(index, (extent, tensor))
        if said != extent:
            raise UserError(f"index {index} has {said} coordinates in {other} and {extent} in {tensor}", name,
                            "give operands whose shapes agree")
    names = {mode: index for tensor, mode, index in reading.indices if tensor == reading.result}
    return tuple(extents[names[mode]][0] for mode in range(len(names)))


def _blocks(reading: Reading, operands: Mapping[str, Coo], mapped: MappedGraph, half: int) -> Blocks:
    """The blocks of the load streams."""
    wanted = {stream.name for stream in mapped.streams if stream.direction == LOAD}
    found: Blocks = {}
    for slot, tensor in reading.tensors.items():
        coo, text = operands[tensor], reading.graph.formats[slot]
        form = Format(text[:len(text) // 2], tuple(map(int, text[len(text) // 2:])))
        _check_fits(coo, form, tensor, half)
        blocks = build(coo, form).blocks(tensor)
        found |= {level_name(slot, level): np.asarray(block, np.uint16)
                  for level, block in zip((*range(form.rank), VALUES), blocks, strict=True)}
    return {stream: block for stream, block in found.items() if stream in wanted}


def _check_fits(coo: Coo, form: Format, tensor: str, half: int) -> None:
    """UserError for an operand of which a level does not fit."""
    counts = positions(np.zeros(coo.nnz, np.int64), coo.coords, 1, form, coo.shape)
    words = level_words(counts, form)[0].tolist()
    for level, needed in zip((*range(form.rank), VALUES), words, strict=True):
        if needed > half:
            what = "the values" if level == VALUES else f"level {level} (mode {form.order[level]})"
            raise UserError(f"{what} of {tensor} need{'s' if level != VALUES else ''} {needed:,} words but half a level buffer "
                            f"holds {half:,}", f"operand {tensor}, {_size(coo)}, {coo.nnz:,} nonzeros", LARGER)
    if max(coo.shape, default=0) > WORD_LIMIT + 1:
        raise UserError(f"it has {max(coo.shape):,} coordinates in a mode but a word counts to {WORD_LIMIT + 1:,}",
                        f"operand {tensor}", LARGER)


def _longest(block: np.ndarray) -> int:
    """The most words of the sections of a block."""
    longest, at = 0, 0
    while at < len(block):
        longest, at = max(longest, int(block[at])), at + 1 + int(block[at])
    return longest


class GraphJob:
    """A compiled graph on its operands.

    Parameters
    ----------
    compiled : CompiledGraph
    data : GraphData
    statement : Einsum | None    What the graph should compute.
    """

    unit = "transactions"
    checks = "words"

    def __init__(self, compiled: CompiledGraph, data: GraphData, statement: Einsum | None) -> None:
        self.compiled, self.data, self.statement = compiled, data, statement
        self._words, self._wrong = 0, list[str]()
        self.value = flatten(data.tree)

    def parts(self) -> Iterator[GraphJob]:
        yield self

    def __len__(self) -> int:
        return 1

    def transactions(self, most: int) -> Iterator[Blocks]:
        yield self.data.loaded

    def bounds(self) -> Mapping[str, int]:
        return {name: len(block) for name, block in self.data.stored.items()}

    def cycles(self) -> int:
        """Every word loaded and stored, one after the other, and as many again in between."""
        return 2 * sum(len(block) for block in (*self.data.loaded.values(), *self.data.stored.values()))

    def take(self, stored: Blocks) -> None:
        """Compare what was stored with what the token model stored."""
        self._words, self._wrong = differences([stored], [self.data.stored])

    def check(self) -> tuple[Any, int]:
        assert not self._wrong, f"{len(self._wrong)} blocks differ from the token model: {self._wrong[0]}"
        return tensors.to_value(self.value), self._words

    def facts(self) -> Mapping[str, object]:
        notes = {"notes": list(self.data.reading.notes)} if self.data.reading.notes else {}
        return {"result": told(self.value), "checked_against": checked_against(self.statement), **notes,
                "slack_tiles": self.compiled.slack}

    def useful(self) -> tuple[str, int]:
        if self.statement is not None:
            return "operation", golden.operations(self.statement, self.data.operands)
        return "word of the result", self._words

    def rate(self, run: Run, cycles: int) -> Mapping[str, object]:
        return {"tokens_per_cycle": round((run.loaded + self._words) / cycles, 3),
                "bottleneck": bottleneck(self.compiled.graph, self, cycles)}


def checked_against(statement: Einsum | None) -> str:
    """What the words of a run were compared with, in words."""
    return f"NumPy: {statement.text}" if statement is not None else "the token model only; --statement compares with NumPy"


def check_statement(data: GraphData, statement: Einsum, name: str) -> None:
    """UserError for a graph that does not give what NumPy gives for a statement on the same operands."""
    if missing := [tensor for tensor in statement.tensors if tensor not in data.operands]:
        raise UserError(f"the statement has tensor {missing[0]}, which the graph does not read", statement.text,
                        f"name operands of the graph: {', '.join(data.operands)}")
    right, found = golden.evaluate(statement, data.operands), flatten(data.tree)
    if right.shape != found.shape:
        raise UserError(f"the statement gives a result of {_size(right)}, and the graph of {_size(found)}", name,
                        "give the statement of this graph")
    if right != found:
        values = {tuple(coords): value for coords, value in zip(found.coords.tolist(), found.values.tolist())}
        wanted = {tuple(coords): value for coords, value in zip(right.coords.tolist(), right.values.tolist())}
        places = sorted(place for place in values.keys() | wanted.keys() if values.get(place, 0) != wanted.get(place, 0))
        place = places[0]
        raise UserError(f"{len(places):,} elements are not those of {shown(statement.text)}: at {place} the graph gives "
                        f"{values.get(place, 0)}, and NumPy {wanted.get(place, 0)}", name,
                        "correct the graph, or give the statement that it computes")


def told(value: Coo) -> str:
    """A result in words: its shape, and the first of its nonzeros."""
    shape = _size(value)
    listed = [f"({', '.join(map(str, coords))}) {number}" if coords else str(number)
              for coords, number in zip(value.coords[:PRINTED].tolist(), value.values[:PRINTED].tolist())]
    more = f" and {value.nnz - PRINTED:,} more" if value.nnz > PRINTED else ""
    return f"{shape}, {value.nnz:,} nonzeros{': ' if listed else ''}{', '.join(listed)}{more}"


def _size(value: Coo) -> str:
    return " x ".join(map(str, value.shape)) or "scalar"
