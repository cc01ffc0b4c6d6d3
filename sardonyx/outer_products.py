"""Products of sparse matrices by outer products, in two phases with linked lists in memory between them.

    >>> from sardonyx import spatial as sp
    >>> design = sp.outer_product(lanes=2, ports=2, rows=16, pairs=32)
    >>> design.run(A=[[1, 0], [2, 3]], B=[[0, 4], [5, 0]], engine="golden").value.tolist()
    [[0, 4], [15, 8]]

Errors:  UserError for all that does not fit.
Source:  OuterSPACE IV; Stellar VI-C; `sardonyx.hw.arch.outer_product` says what the values mean.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from . import arguments, component_files, lane_hardware
from .hw.arch.dma import MOST_SPAN
from .hw.arch.errors import UserError
from .hw.arch.logic import BITS
from .hw.arch.outer_product import VALUE_BITS, OuterProduct
from .hw.arch.token import DATA_BITS
from .hw.spatial.accelerator import SpatialAccelerator
from .hw.spatial.outer.product import OuterProductArray
from .hw.spatial.system import SpatialSystem
from .outcome import Computed, Outcome, silent
from .runtime.data.outer_product import Laid, laid, rows
from .runtime.spatial_header import header
from .runtime.spatial_products import check_shape
from .sim.model.lanes import fibers, merged, multiplied
from .sim.rtl.accelerator import LATENCY
from .sparse_products import check_dense, operand

# The names of modules that it is made of.
PARTS = re.compile(r"axi_lite|boot|command_queue|coprocessor|picorv32|waiting|"
                   r"dma(_\w+)?|fifo\w+|lane_waits_\d+|merge_node_\w+|pieces_\d+|port_(share|turns)_\d+|run_merge_\d+|"
                   r"sram_[\dx]+|stall_counters(_\d+)?")
ENGINES = {"golden": "SciPy, no hardware", "tokens": "the lists of lanes, operation by operation, and cycles",
           "rtl": "generated Verilog with a memory behind its bus"}
# What changes a design on the command line.
SIZES = ("lanes", "ports", "rows", "pairs")
MOST_PRODUCTS, MOST_EXTENT = 1 << 24, 1 << DATA_BITS
# Of random matrices: rows and columns at most, and nonzeros of a row.
EXTENT, NONZEROS = 128, 6
# Of those of a shape elements at most, and how much is not 0.
MOST_RANDOM, DENSITY = 1 << 20, 0.1


def outer_product(*, lanes: int = 16, ports: int = 16, rows: int = 4096, pairs: int = 1024, dtype: str = "int16",
                  name: str = "outer_product") -> OuterProductDesign:
    """Hardware for products of sparse matrices.

    Parameters
    ----------
    lanes : int      Columns of A, or rows of the result, that are under way at once; a power of two, 1..16.
    ports : int      Requests to memory at once, each port shared by as many lanes; a power of two up to `lanes`.
    rows : int       Of A at most, a power of two, 16..32,768.
    pairs : int      Elements in the memory of a lane, a power of two, 16..8192; a row of the result has less than half of it.
    dtype : str      int8 or int16: of the operands. Sums have 32 bits, and wrap.
    name : str       Of the Verilog module.
    """
    arguments.choice("dtype", dtype, ("int8", "int16"))
    return OuterProductDesign(OuterProduct(name, lanes, ports, rows, pairs, BITS[dtype]))


@dataclass(frozen=True)
class OuterProductDesign:
    """Such hardware; made by `outer_product`."""

    kind: OuterProduct

    def __post_init__(self) -> None:
        arguments.module_name(self.name, PARTS)

    @property
    def name(self) -> str:
        """Of the Verilog module."""
        return self.kind.name

    @property
    def names(self) -> tuple[str, str]:
        """Those of the operands."""
        return "A", "B"

    def resized(self, sizes: Mapping[str, int]) -> OuterProductDesign:
        """The same with other lanes, ports, rows or pairs."""
        self.check_sizes(sizes)
        changes: dict[str, Any] = dict(sizes)
        return replace(self, kind=replace(self.kind, **changes))

    def check_sizes(self, sizes: Mapping[str, int]) -> None:
        """UserError for a size that there is not."""
        if unknown := [name for name in sizes if name not in SIZES]:
            raise UserError(f"an outer product has no {unknown[0]}", "bounds", f"give {', '.join(SIZES)}")

    def accelerator(self, queue: int = 16, ram_bytes: int = 0, counters: bool = False) -> OuterProductDesign:
        """The same with commands (docs/spatial.md) in place of a job in memory.

        Parameters
        ----------
        queue : int        Commands that wait, a power of two from 2 to 128.
        ram_bytes : int    Memory of a RISC-V core that gives the commands, a power of two from 1 K to 128 K; 0: no core,
                           commands come over AXI4-Lite.
        counters : bool    Registers say in how many cycles lanes wait, and for what.
        """
        return replace(self, kind=replace(self.kind, queue=queue, ram_bytes=ram_bytes, counters=counters))

    def hardware(self) -> OuterProductArray | SpatialAccelerator | SpatialSystem:
        """The component that is the top of the Verilog, a new one each time."""
        return lane_hardware.top(self.kind)

    def facts(self) -> dict[str, object]:
        """Numbers of it."""
        kind = self.kind
        return {"lanes": kind.lanes, "ports": kind.ports, "rows": kind.rows, "pairs": kind.pairs,
                "most_of_a_row": kind.most_row}

    def explain(self) -> Outcome:
        """Its phases, and what limits them."""
        kind = self.kind
        half = kind.pairs // 2
        lines = [
            f"products of sparse matrices, up to {kind.rows:,} x any terms x {MOST_EXTENT:,}, from memory to memory; values "
            f"of {kind.bits} bits, sums of {VALUE_BITS}", "",
            f"multiply: {kind.lanes} lane{'s' if kind.lanes > 1 else ''} take whichever column of A is next, with its row "
            f"of B, {half:,} elements of each at a time",
            "each element of the column times the row is a node in the list of its row; those of a column are written at once",
            f"merge: {'each lane reads' if kind.lanes > 1 else 'the lane reads'} the list of whichever row is next, node "
            "by node",
            f"runs that rise are merged two by two, equal columns added, in a memory of {kind.pairs:,} pairs; a row has up "
            f"to {kind.most_row:,} elements",
            f"{kind.ports} request{'s' if kind.ports > 1 else ''} to memory at once, "
            + (f"each shared by {kind.lanes // kind.ports} lanes" if kind.lanes > kind.ports else "a lane each")
            + ", over one bus of 64 bits"]
        return Outcome(self.facts(), "\n".join(lines))

    def picture(self, path: str | Path | None = None) -> str:
        """There is none: UserError."""
        raise UserError("it is an outer product of lanes, of which there is no picture", self.name, "leave --picture out")

    def verilog(self, out: str | Path, progress: Callable[[str], None] = silent) -> Outcome:
        """Write the Verilog into a folder.

        Files: one .sv per module, ``<name>.f`` in dependency order, ``lint.vlt``, and ``outer_product.json``: the description,
        with the words of a job and the errors; with commands ``spatial.h``, these in C.
        """
        documents = {"outer_product.json": json.dumps(self.kind.to_json(), indent=1) + "\n"}
        if self.kind.queue:
            documents["spatial.h"] = header(self.kind)
        return component_files.write(self.name, self.hardware, out, documents, self.facts(), progress)

    def random(self, operations: int = 1, seed: int = 0) -> dict[str, Any]:
        """Random matrices with a few nonzeros a row, and empty rows; one operation."""
        if arguments.whole("operations", operations, 1) > 1:
            raise UserError(f"{operations} operations", "operations", "give 1: there is one product from reset on")
        random, most = np.random.default_rng(arguments.seed(seed)), 1 << self.kind.bits - 1
        height = min(EXTENT, self.kind.rows)
        width = min(EXTENT, self.kind.most_row)
        found = {}
        for name, shape in zip(self.names, ((height, EXTENT), (EXTENT, width))):
            values = random.integers(-most, most, shape)
            values *= random.random(shape) < NONZEROS / shape[1]
            found[name] = scipy.sparse.csr_array(values)
        return found

    def matrices(self, rows: int, columns: int, terms: int, seed: int = 0) -> dict[str, Any]:
        """Random matrices of a shape, of which a tenth of the elements is not 0; UserError for shapes that have no room."""
        check_shape(rows, columns, terms)
        random, most = np.random.default_rng(arguments.seed(seed)), 1 << self.kind.bits - 1
        if (size := rows * terms + terms * columns) > MOST_RANDOM:
            raise UserError(f"random matrices with {size:,} elements", "product",
                            f"use {MOST_RANDOM:,} or fewer, or give matrices in Python")
        return {name: scipy.sparse.csr_array(random.integers(-most, most, shape) * (random.random(shape) < DENSITY))
                for name, shape in zip(self.names, ((rows, terms), (terms, columns)))}

    def run(self, engine: str = "rtl", stalls: int | None = None, progress: Callable[[str], None] = silent, seed: int = 0,
            latency: int = LATENCY, **operands: object) -> Computed:
        """Multiply, and check every element against SciPy.

        Parameters
        ----------
        engine : str      golden, tokens or rtl; tokens has no cycles behind commands.
        seed : int        Of operands that are not given, which are random.
        latency : int     Cycles from an address to its first word, and from the last word of a write to its answer.
        A, B              Matrices of whole numbers: arrays, or sparse arrays of SciPy.

        The value is an array, or a CSR array where an operand is sparse, with sums that are 0. `stalls` there are none of: it
        has no streams.
        """
        began = time.perf_counter()
        arguments.choice("engine", engine, ENGINES)
        if stalls is not None:
            raise UserError("it has no streams", "stalls", "leave it out, or give another latency")
        if unknown := sorted(operands.keys() - set(self.names)):
            raise UserError(f"there is no input {unknown[0]}", "operands", f"give {' and '.join(self.names)}")
        given: dict[str, Any] = {**self.random(1, seed), **operands}
        left, right = (operand(name, self.kind.bits, given[name]) for name in self.names)
        there = self._places(left, right)
        half = 1 << VALUE_BITS - 1
        if dense := not any(map(scipy.sparse.issparse, given.values())):
            check_dense(there.shape)
        wanted = _at(self._sums(left, right), there)
        wanted.data = (wanted.data + half) % (2 * half) - half
        facts: dict[str, Any] = {"engine": engine, **self.facts(), "nonzeros": there.nnz,
                                    "products": int(np.diff(left.tocsc().indptr) @ np.diff(right.tocsr().indptr))}
        if engine != "golden":
            progress(f"multiplying on '{self.name}', engine {engine}")
            compute = self._in_lists if engine == "tokens" else self._simulated
            facts |= compute(left.tocsc(), right.tocsr(), wanted, latency)
        return Computed({**facts, "elapsed_s": round(time.perf_counter() - began, 2)},
                        value=wanted.toarray() if dense else wanted, cycles=facts.get("cycles"))

    def _sums(self, left: scipy.sparse.coo_array, right: scipy.sparse.coo_array) -> scipy.sparse.csr_array:
        """What NumPy makes of operands."""
        return scipy.sparse.csr_array(left @ right)

    def _places(self, left: scipy.sparse.coo_array, right: scipy.sparse.coo_array) -> scipy.sparse.csr_array:
        """How many products each place of the result has; UserError for what has no room."""
        if left.shape[1] != right.shape[0]:
            raise UserError(f"a row has {left.shape[1]} elements and a column {right.shape[0]}", self.name,
                            "give matrices that can be multiplied")
        for what, size, most, fix in (("rows", left.shape[0], self.kind.rows, "give A in parts, or more rows"),
                                      ("columns", right.shape[1], MOST_EXTENT, "give B in parts")):
            if size > most:
                raise UserError(f"the product has {size:,} {what}, and the hardware up to {most:,}", self.name, fix)
        products = int(np.diff(left.tocsc().indptr).astype(np.int64) @ np.diff(right.tocsr().indptr))
        if products > MOST_PRODUCTS:
            raise UserError(f"there are {products:,} products", self.name, f"give {MOST_PRODUCTS:,} or fewer")
        if (nodes := self._longest(left, right)) > MOST_SPAN:
            raise UserError(f"the list of a row of the result has {nodes:,} nodes, and lanes follow up to {MOST_SPAN:,}",
                            self.name, "give A in parts, of fewer columns each, and add the products")
        there = scipy.sparse.csr_array(left.astype(bool).astype(np.int64) @ right.astype(bool).astype(np.int64))
        there.sort_indices()
        longest = int(np.diff(there.indptr).max())
        if longest > self.kind.most_row:
            raise UserError(f"a row of the product has {longest:,} elements, and a lane has room for {self.kind.most_row:,}",
                            self.name, f"give B in parts, or pairs={1 << (2 * longest + 1).bit_length()}")
        return there

    def _longest(self, left: scipy.sparse.coo_array, right: scipy.sparse.coo_array) -> int:
        """Nodes of the longest list between both phases."""
        lengths = np.diff(right.tocsr().indptr).astype(np.int64)
        of_rows = scipy.sparse.csr_array(left.astype(bool).astype(np.int64))
        if self.kind.node:
            return int((-(-(of_rows @ lengths) // self.kind.node)).max())
        return int((of_rows @ -(-lengths // (self.kind.pairs // 2))).max())

    def _timed(self, operands: Mapping[str, Any], latency: int) -> dict[str, Any]:
        """The cycles of a product without commands, whose operands fit."""
        left, right = (operand(name, self.kind.bits, operands[name]) for name in self.names)
        elements = self._places(left, right).nnz
        return lane_hardware.timed(self.kind, self._laid(left.tocsc(), right.tocsr(), elements), latency)

    def _laid(self, left: Any, right: Any, elements: int) -> Laid:
        for each in (left, right):
            each.sort_indices()
        return laid(self.kind, left, right, elements)

    def _in_lists(self, left: Any, right: Any, wanted: scipy.sparse.csr_array, latency: int) -> dict[str, object]:
        """What the model of lanes leaves, compared, and when."""
        place = self._laid(left, right, wanted.nnz)
        made = [merged(self.kind, runs)[0] for runs in multiplied(self.kind, fibers(left), fibers(right), left.shape[0])]
        assert all(map(np.array_equal, made, fibers(wanted))), "the product of lanes is not SciPy's"
        return {"elements_checked": wanted.nnz, **lane_hardware.timed(self.kind, place, latency)}

    def _simulated(self, left: Any, right: Any, wanted: scipy.sparse.csr_array, latency: int) -> dict[str, object]:
        memory = self._laid(left, right, wanted.nnz)
        lengths = np.repeat(np.diff(right.indptr), np.diff(left.indptr))       # of the run of each element of A
        fill = np.bincount(left.indices, lengths, minlength=1).astype(np.int64)
        nodes = int((-(-fill // self.kind.node)).sum() if self.kind.node else np.count_nonzero(lengths))
        content, told = lane_hardware.simulated(self.kind, memory, sum(left.shape) + len(memory.content) // 8, latency)
        found = rows(content, memory, wanted.shape)
        same = all(map(np.array_equal, (found.indptr, found.indices, found.data),
                       (wanted.indptr, wanted.indices, wanted.data)))
        assert same, "the product of the hardware is not SciPy's"
        products = int(np.diff(left.indptr) @ np.diff(right.indptr))
        return {"nodes": nodes, "elements_checked": wanted.nnz, **told,
                "products_a_cycle": round(products / int(str(told["cycles"])), 3)}


def _at(matrix: scipy.sparse.csr_array, places: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """The elements of a matrix at all places that another one has, 0 where it has none; columns of both sorted."""
    keys, wide = (np.repeat(np.arange(each.shape[0]), np.diff(each.indptr)) * places.shape[1] + each.indices
                  for each in (matrix, places))
    values = np.zeros(places.nnz, np.int64)
    values[np.searchsorted(wide, keys)] = matrix.data
    return scipy.sparse.csr_array((values, places.indices, places.indptr), places.shape)
