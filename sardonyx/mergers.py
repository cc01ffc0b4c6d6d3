"""Mergers of partial matrices: how many ways, how rows are parted, and how many elements leave in a cycle, as values.

    >>> from sardonyx import spatial as sp
    >>> design = sp.merger(ways=2, shape=(2, 3), lanes=2)
    >>> design.run(P=[[[1, 0, 2], [0, 0, 0]], [[0, 0, 3], [4, 0, 0]]], engine="tokens").value.tolist()
    [[1, 0, 5], [4, 0, 0]]

Errors:  UserError for all that does not fit.
Source:  Stellar VI-D; `sardonyx.hw.arch.merger` says what the values mean.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from . import arguments, component_files
from .array_operands import DENSITY, MOST_OPERATIONS
from .hw.arch.errors import UserError
from .hw.arch.logic import BITS
from .hw.arch.merger import Merger
from .hw.arch.reduction import ADD, NAMES, REDUCTIONS
from .hw.spatial.merge.merger import MergerArray
from .outcome import Computed, Outcome, silent
from .runtime.data.merged import Fiber, collected, dealt
from .sim import spatial as engines
from .sim.golden.merger import merged

# The names of modules that mergers are made of.
PARTS = re.compile(r"fifo2_w\d+|stage_w\d+|merge_(node|matrix|tree)_\w+")
# Of random matrices, which are arrays with all their zeros.
MOST_RANDOM = 1 << 24
# Of results in CSR, which has a number for each row, be it empty.
MOST_CSR_ROWS = 1 << 24
ENGINES = {"golden": "NumPy, no hardware", "tokens": "the description, step by step", "rtl": "generated Verilog on streams"}
# What changes a design on the command line.
SIZES = ("ways", "rows", "columns", "lanes", "take")
_GIVE = "give matrices of {shape}, at most {ways} for an operation: a list of them, or an array with an axis for them"


def merger(ways: int, shape: int | Sequence[int], *, lanes: int = 1, take: int = 1, dtype: str = "int16",
           reduction: str = ADD, name: str = "merger") -> MergerDesign:
    """A merger.

    Parameters
    ----------
    ways : int         Sorted fibers, or partial matrices, that are merged in an operation; a power of two, 2..64.
    shape : tuple      Rows and columns, 1..4,294,967,296 each; one number for fibers of coordinates below it. With a
                       value and the bit of an end an element has 64 bits at most.
    lanes : int        Lane n merges the rows whose number leaves n when divided by this; a power of two, 1..64.
    take : int         Elements that leave a lane in a cycle; a power of two, 1..16.
    dtype : str        int8, int16 or int32: of the values, whose sums and products wrap.
    reduction : str    What values with equal coordinates become: ``add``, ``mul``, ``max``, ``min``, or whether all of them
                       (``both``) or any (``either``) are true, 0 or 1. Of values that are there: a coordinate that one way has
                       alone keeps its value.
    name : str         Of the Verilog module.
    """
    arguments.choice("dtype", dtype, BITS)
    arguments.choice("reduction", reduction, REDUCTIONS)
    extents = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    if not 1 <= len(extents) <= 2:
        raise UserError(f"it has {len(extents)} extents", "shape", "give rows and columns, or one extent")
    rows, columns = extents if len(extents) == 2 else (1, extents[0])
    return MergerDesign(Merger(name, ways, rows, columns, lanes, take, BITS[dtype], reduction), isinstance(shape, Sequence))


@dataclass(frozen=True)
class MergerDesign:
    """A merger, of matrices or of fibers; made by `merger`."""

    kind: Merger
    of_matrices: bool

    def __post_init__(self) -> None:
        arguments.module_name(self.name, PARTS)

    @property
    def name(self) -> str:
        """Of the Verilog module."""
        return self.kind.name

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a matrix, or of a fiber."""
        return (self.kind.rows, self.kind.columns) if self.of_matrices else (self.kind.columns,)

    def resized(self, sizes: Mapping[str, int]) -> MergerDesign:
        """The same with other ways, rows, columns, lanes or take."""
        if unknown := [name for name in sizes if name not in SIZES]:
            raise UserError(f"a merger has no {unknown[0]}", "bounds", f"give {', '.join(SIZES)}")
        changes: dict[str, Any] = dict(sizes)
        return replace(self, kind=replace(self.kind, **changes))

    def facts(self) -> dict[str, object]:
        """Numbers of it."""
        kind = self.kind
        nodes = kind.lanes * (kind.ways - 1)
        return {"ways": kind.ways, "lanes": kind.lanes, "take": kind.take, "reduction": kind.reduction, "nodes": nodes,
                "comparators": nodes * kind.take * (kind.take + 1) // 2, "comparator_bits": kind.key_bits,
                "element_bits": kind.element_bits,
                "streams": {"P": kind.ways * kind.lanes * kind.take, "M": kind.lanes * kind.take}}

    def explain(self) -> Outcome:
        """How elements get through it, and what it is made of."""
        kind, facts = self.kind, self.facts()
        rows = f"rows of a number that leaves its own rest by {kind.lanes}" if kind.lanes > 1 else "all rows"
        count = {1: "an element"}.get(kind.take, f"up to {kind.take} elements")
        size = " x ".join(f"{each:,}" for each in self.shape)
        lines = [
            f"{kind.ways} sorted fibers of {size} become one, "
            + ("equal coordinates added" if kind.reduction == ADD else f"of equal coordinates {NAMES[kind.reduction]}"),
            f"{kind.lanes} lane{'s' if kind.lanes > 1 else ''}, each for {rows}, {count} a cycle", "",
            f"a lane is a tree of {kind.levels} level{'s' if kind.levels > 1 else ''}, {kind.ways - 1} node"
            f"{'s' if kind.ways > 2 else ''} of {kind.take * (kind.take + 1) // 2} comparators of {kind.key_bits} bits",
            f"{facts['nodes']:,} nodes and {facts['comparators']:,} comparators in all",
            f"{kind.ways * kind.lanes * kind.take:,} streams in, {kind.lanes * kind.take} out, of {kind.element_bits} bits: "
            f"value {kind.bits}, column {kind.column_bits}, row {kind.row_bits}, end 1",
            "an operation takes a lane a cycle for each of its elements and for the end" if kind.take == 1 else
            f"an operation takes a lane a cycle for {kind.take} of its elements and the end, if all ways keep up"]
        return Outcome(facts, "\n".join(lines))

    def picture(self, path: str | Path | None = None) -> str:
        """There is none: UserError."""
        raise UserError("it is a merger, of which there is no picture", self.name, "leave --picture out")

    def verilog(self, out: str | Path, progress: Callable[[str], None] = silent) -> Outcome:
        """Write the Verilog into a folder.

        Files: one .sv per module, ``<name>.f`` in dependency order, ``lint.vlt``, and ``merger.json``: the description, with
        how the words of its streams are made up.
        """
        described = json.dumps(self.kind.to_json(), indent=1) + "\n"
        return component_files.write(self.name, lambda: MergerArray(self.kind), out, {"merger.json": described}, self.facts(),
                                     progress)

    def random(self, operations: int = 1, seed: int = 0) -> dict[str, np.ndarray]:
        """Random partial matrices for operations back to back, with zeros, and with rows that are empty."""
        count = arguments.whole("operations", operations, 1)
        if count > MOST_OPERATIONS:
            raise UserError(f"{count} operations", "operations", f"give 1 to {MOST_OPERATIONS}")
        random, most = np.random.default_rng(arguments.seed(seed)), 1 << self.kind.bits - 1
        shape = (count, self.kind.ways, self.kind.rows, self.kind.columns)
        if (size := prod(shape)) > MOST_RANDOM:
            raise UserError(f"random matrices with {size:,} elements", "P", f"use {MOST_RANDOM:,} or fewer, or give P")
        found = random.integers(-most, most, shape)
        found *= (random.random(shape) < DENSITY) & (random.random((*shape[:3], 1)) < 1 - DENSITY / 2)
        return {"P": found.reshape(count, self.kind.ways, *self.shape)}

    def run(self, engine: str = "rtl", stalls: int | None = None, progress: Callable[[str], None] = silent, seed: int = 0,
            **operands: object) -> Computed:
        """Merge partial matrices and check every element against NumPy.

        Parameters
        ----------
        engine : str      golden, tokens or rtl.
        stalls : int      With rtl: a seed of random stalls at all streams.
        seed : int        Of matrices that are not given, which are random.
        P                 Up to `ways` partial matrices of `shape`, whole numbers: a list of arrays, or of sparse arrays of
                          SciPy; an array with an axis for them in front, and another one before it for several operations.

        The value is their sum, or what the reduction makes of elements that are there, an array, or a CSR array where matrices
        are sparse, of more than 16,777,216 rows a COO array; with several operations a list. There are elements that are not
        0, and of a reduction that is no sum those that a sparse array stores, too, be they 0.
        """
        began = time.perf_counter()
        arguments.choice("engine", engine, ENGINES)
        if stalls is not None and engine != "rtl":
            raise UserError(f"engine {engine} has no stalls", "stalls", "choose engine rtl")
        patterns = None if stalls is None else arguments.whole("stalls", stalls, 1)
        if unknown := [name for name in operands if name != "P"]:
            raise UserError(f"there is no input {unknown[0]}", "operands", "give P")
        given = operands.get("P")
        operations, several, is_sparse = self._operations(self.random(1, seed)["P"] if given is None else given)
        progress("merging with NumPy")
        wanted = [merged(fibers, self.kind.bits, self.kind.reduction) for fibers in operations]
        facts: dict[str, object] = {"engine": engine, **self.facts(), "operations": len(operations),
                                    "elements_in": sum(len(fiber[0]) for fibers in operations for fiber in fibers),
                                    "elements_out": sum(len(fiber[0]) for fiber in wanted)}
        cycles = None
        if engine != "golden":
            progress(f"merging {len(operations)} times on '{self.name}', engine {engine}")
            lanes = dealt(self.kind, operations)
            ran = (engines.run_merger_tokens(self.kind, lanes) if engine == "tokens"
                   else engines.run_merger_rtl(self.kind, lanes, patterns))
            for found, fiber in zip(collected(self.kind, ran.lanes, len(operations)), wanted):
                assert all(map(np.array_equal, found, fiber)), f"what engine {engine} merged is not NumPy's"
            cycles = ran.cycles
            facts |= {"elements_checked": facts["elements_out"], "cycles": cycles}
        values = [self._matrix(fiber, is_sparse) for fiber in wanted]
        value: Any = values[0] if not several else values if is_sparse else np.stack(values)
        return Computed({**facts, "elapsed_s": round(time.perf_counter() - began, 2)}, value=value, cycles=cycles)

    def _matrix(self, fiber: Fiber, is_sparse: bool) -> Any:
        coordinates, values = fiber
        if is_sparse:
            rows, columns = np.divmod(coordinates, self.kind.columns)
            made = scipy.sparse.coo_array((values, (rows, columns)), shape=(self.kind.rows, self.kind.columns))
            return made if self.kind.rows > MOST_CSR_ROWS else made.tocsr()
        found = np.zeros(self.kind.rows * self.kind.columns, np.int64)
        found[coordinates] = values
        return found.reshape(self.shape)

    def _operations(self, given: object) -> tuple[list[list[Fiber]], bool, bool]:
        """The fibers of each operation and way; whether there is an axis for operations, and whether matrices are sparse."""
        parts: Any = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else given
        if isinstance(parts, list) and any(map(scipy.sparse.issparse, parts)):
            return [self._fibers(parts)], False, True
        if isinstance(parts, list) and any(scipy.sparse.issparse(each) for inside in parts if isinstance(inside, Sequence)
                                           for each in inside):
            return [self._fibers(each if isinstance(each, Sequence) else [each]) for each in self._counted(parts)], True, True
        if scipy.sparse.issparse(parts):
            raise UserError("it is one sparse matrix", "P", self._remedy)
        try:
            array = np.asarray(parts)
        except ValueError:
            raise UserError(f"it is {arguments.said(given)}, which is no array", "P", self._remedy) from None
        several = array.ndim == len(self.shape) + 2
        if array.ndim not in (len(self.shape) + 1, len(self.shape) + 2) or array.shape[-len(self.shape):] != self.shape:
            raise UserError(f"it has the shape {array.shape}", "P", self._remedy)
        return [self._fibers([*each]) for each in self._counted(array if several else array[None])], several, False

    @property
    def _remedy(self) -> str:
        return _GIVE.format(shape=" x ".join(map(str, self.shape)), ways=self.kind.ways)

    def _counted(self, operations: Any) -> Any:
        if not 1 <= len(operations) <= MOST_OPERATIONS:
            raise UserError(f"there are {len(operations)} operations", "P", f"give 1 to {MOST_OPERATIONS}")
        return operations

    def _fibers(self, parts: Sequence[Any]) -> list[Fiber]:
        if not 1 <= len(parts) <= self.kind.ways:
            raise UserError(f"there are {len(parts)} partial matrices, and {self.kind.ways} ways", "P", self._remedy)
        return [self._fiber(nth, part) for nth, part in enumerate(parts)]

    def _fiber(self, nth: int, part: Any) -> Fiber:
        """The elements of a partial matrix that are there."""
        array = part if scipy.sparse.issparse(part) else np.asarray(part)
        if array.dtype.kind not in "iub":
            raise UserError(f"matrix {nth} holds {array.dtype}", "P", "give whole numbers")
        if array.shape != self.shape:
            raise UserError(f"matrix {nth} has the shape {array.shape}", "P", self._remedy)
        if scipy.sparse.issparse(array):
            # A copy: summing entries that are stored twice would change what was given.
            entries = scipy.sparse.coo_array(array, copy=True)
            entries.sum_duplicates()
            if self.kind.reduction == ADD:
                entries.eliminate_zeros()
            found = entries.row.astype(np.int64) * self.kind.columns + entries.col
            order = np.argsort(found)
            coordinates, values = found[order], entries.data.astype(np.int64)[order]
        else:
            flat = array.ravel().astype(np.int64)
            coordinates = np.flatnonzero(flat)
            values = flat[coordinates]
        most = 1 << self.kind.bits - 1
        if len(values) and not (-most <= int(values.min()) and int(values.max()) < most):
            raise UserError(f"matrix {nth} has values from {values.min()} to {values.max()}", "P",
                            f"give {-most} to {most - 1}")
        return coordinates, values
