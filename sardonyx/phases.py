"""A product of sparse matrices as two arrays of lanes, one after the other: what multiplies, and what merges.

    phases(multiply, merge)         # P(i,k,j) = A(i,k) * B(k,j), and C(i,j) = P(i,k,j)

The lists that the first one leaves are those that the second one takes: their table stays on the chip, and lanes, ports and
memories are the same.

Errors:  UserError for two designs that are not one product, with the concern in which they differ.
Source:  OuterSPACE IV; Stellar II and III (five concerns), VI-C.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from . import arguments, lane_runs
from .compiler.spatial.buffer import Buffer
from .compiler.spatial.laned import Laned
from .compiler.spatial.lanes import Lanes, Runs
from .concerns import Concerns
from .hw.arch.cartesian import PRODUCT
from .hw.arch.errors import UserError
from .hw.arch.outer_product import BOTH, MERGE, MULTIPLY, VALUE_BITS
from .hw.arch.reduction import ADD
from .lane_operands import added, coordinates, elements, products
from .outcome import Computed, Outcome, silent
from .outer_products import OuterProductDesign
from .sim.rtl.accelerator import LATENCY
from .sparse_products import check_dense


def phases(multiply: object, merge: object, *, name: str = "outer_product") -> PhasedDesign:
    """Hardware for a product in two phases.

    Parameters
    ----------
    multiply, merge : Design    With the dataflow `Lanes`; bounds, lists, lanes, ports and memories are alike.
    name : str                  Of the Verilog module.
    """
    ours, theirs = _phase(multiply, MULTIPLY), _phase(merge, MERGE)
    assert isinstance(multiply, Concerns) and isinstance(merge, Concerns), "they have lanes"
    first, second = ours.kind, theirs.kind
    operand, = theirs.operands
    lists = ours.result.name
    if (lists, len(ours.result.indices)) != (operand.name, len(operand.indices)):
        raise UserError(f"{lists} is what is multiplied, and {operand.name} what is merged", "functionality", f"merge {lists}")
    _alike("dataflow", f"lists of {lists} go along dimension", ours.result.indices.index(ours.lists),
           operand.indices.index(theirs.lists))
    _alike("dataflow", f"runs of {lists} go along dimension", ours.result.indices.index(ours.runs),
           operand.indices.index(theirs.runs))
    _alike("bounds", f"lists of {lists} are up to", ours.bounds[ours.lists], theirs.bounds[theirs.lists])
    _alike("bounds", f"places in a run of {lists} are up to", ours.bounds[ours.inner], theirs.bounds[theirs.inner])
    _alike("dataflow", "lanes are", first.lanes, second.lanes)
    _alike("dataflow", "ports are", first.ports, second.ports)
    _alike("buffers", "the memory of a lane has, in words of both operands or of runs,", first.pairs, second.pairs)
    if zeros := [side.name for side in (*ours.operands, operand) if not side.sparse]:
        raise UserError(f"{zeros[0]} is stored with its zeros, and both phases together take what is not 0", "sparsity",
                        f"skip where {zeros[0]} is 0")
    return PhasedDesign(replace(first, name=name, phases=BOTH, takes_rows=second.takes_rows, node=ours.node,
                                reduction=second.reduction, first=second.first), multiply, merge)


def _phase(design: object, phase: str) -> Laned:
    made = design.laned if isinstance(design, Concerns) else None
    if made is None or made.kind.phases != phase:
        raise UserError(f"it is no design of lanes that {'multiply' if phase == MULTIPLY else 'merge'}", phase,
                        "give sp.Design(...) with the dataflow sp.Lanes(...)")
    return made


def _alike(where: str, what: str, ours: int, theirs: int) -> None:
    if ours != theirs:
        raise UserError(f"{what} {ours:,} where they multiply, and {theirs:,} where they merge", where, "give both the same")


@dataclass(frozen=True)
class PhasedDesign(OuterProductDesign):
    """Such hardware; made by `phases`.

    multiply, merge : Design    Its phases, which also run alone.
    """

    multiply: Concerns
    merge: Concerns

    @property
    def names(self) -> tuple[str, str]:
        """Those of the operands."""
        first, second = self._laned[0].operands
        return first.name, second.name

    @property
    def _laned(self) -> tuple[Laned, Laned]:
        return _phase(self.multiply, MULTIPLY), _phase(self.merge, MERGE)

    def resized(self, sizes: Mapping[str, int]) -> PhasedDesign:
        """The same with other lanes, ports, rows or pairs: those of both phases."""
        self.check_sizes(sizes)
        kind = replace(self.kind, **dict[str, Any](sizes))
        changed = []
        for design, made in zip((self.multiply, self.merge), self._laned):
            assert isinstance(design.dataflow, Lanes), "it has lanes"
            bounds = {**design.bounds, made.lists: kind.rows} if "rows" in sizes else design.bounds
            buffers = {name: _enlarged(buffer, kind.pairs) for name, buffer in design.buffers.items()}
            changed.append(replace(design, dataflow=design.dataflow.resized(kind.lanes, kind.ports), bounds=bounds,
                                   buffers=buffers))
        return replace(phases(*changed, name=self.name), kind=kind)

    def explain(self) -> Outcome:
        """Both phases by their concerns, and what they are made of."""
        made = super().explain()
        parts = []
        for design, each in zip((self.multiply, self.merge), self._laned):
            assert isinstance(design.dataflow, Lanes), "it has lanes"
            parts.append(lane_runs.explained(each, design.functionality, design.dataflow, tuple(design.sparsity)).text)
        _, merges = self._laned
        shape = " x ".join(f"{merges.bounds[index]:,}" for index in merges.result.indices)
        whole = (f"both, one after the other: {merges.result.name} of up to {shape}, any {merges.runs}, from memory to memory; "
                 f"values of {self.kind.bits} bits, sums of {VALUE_BITS}")
        return Outcome(made.report, "\n\n".join((*parts, f"{whole}\n{made.text.splitlines()[-1]}")))

    def random(self, operations: int = 1, seed: int = 0) -> dict[str, Any]:
        """As of an outer product, with names and dimensions of these operands."""
        return self._named(super().random(operations, seed))

    def matrices(self, rows: int, columns: int, terms: int, seed: int = 0) -> dict[str, Any]:
        """As of an outer product, with names and dimensions of these operands."""
        return self._named(super().matrices(rows, columns, terms, seed))

    def run(self, engine: str = "rtl", stalls: int | None = None, progress: Callable[[str], None] = silent, seed: int = 0,
            latency: int = LATENCY, **operands: object) -> Computed:
        """As of an outer product: operands and the result with their dimensions as functionality has them.

        Engine `tokens` does what both phases do there, one after the other; without commands it has the cycles of the machine
        of both.
        """
        began = time.perf_counter()
        arguments.choice("engine", engine, lane_runs.ENGINES)
        given = {**self.random(1, seed), **operands}
        multiplies, merges = self._laned
        if engine == "tokens":
            sparse = {name: each if (found := coordinates(each)) is None else found for name, each in given.items()}
            first = lane_runs.run(multiplies, self.name, engine, stalls, progress, seed, sparse, alone=False)
            if dense := not any(map(scipy.sparse.issparse, given.values())):
                extents = dict(zip(merges.operands[0].indices, first.value.shape))
                check_dense(tuple(extents[index] for index in merges.result.indices))
            second = lane_runs.run(merges, self.name, engine, stalls, progress, seed, {merges.operands[0].name: first.value},
                                   alone=False)
            took = self._timed(self._as_product(given), latency) | {"elapsed_s": round(time.perf_counter() - began, 2)}
            return replace(second, report={**first.report, **second.report, **took},
                           value=second.value.toarray() if dense else second.value, cycles=took.get("cycles"))
        self._check_bounds(given)
        found = super().run(engine, stalls, progress, seed, latency, **self._as_product(given))
        is_turned = merges.result.indices != (merges.lists, merges.inner)
        return replace(found, value=_turned(found.value)) if is_turned else found

    def _sums(self, left: scipy.sparse.coo_array, right: scipy.sparse.coo_array) -> scipy.sparse.csr_array:
        if self.kind.value == PRODUCT and self.kind.reduction == ADD:
            return super()._sums(left, right)
        found = scipy.sparse.csr_array(added(self.kind, products(self.kind.value, elements(left), elements(right))).sparse())
        found.sort_indices()
        return found

    def _check_bounds(self, given: Mapping[str, Any]) -> None:
        for side in self._laned[0].operands:
            found = coordinates(given[side.name])
            for index, extent in zip(side.indices, () if found is None else found.shape):
                if extent > (most := self.multiply.bounds.get(index, extent)):
                    raise UserError(f"{index} has {extent:,} places, and up to {most:,} in this design", side.name,
                                    f"give it in parts, or another bound of {index}")

    def _as_product(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Operands as a product has them: rows by terms, and terms by columns."""
        return {name: _turned(each) if name in self.names and self._is_turned(name) else each for name, each in given.items()}

    def _is_turned(self, name: str) -> bool:
        """Whether an operand has its dimensions in the other order than rows by terms, or terms by columns."""
        made, _ = self._laned
        first, second = made.operands
        return first.indices != (made.lists, made.runs) if name == first.name else second.indices != (made.runs, made.inner)

    def _named(self, found: dict[str, Any]) -> dict[str, Any]:
        return {name: _turned(each) if self._is_turned(name) else each for name, each in found.items()}


def _turned(matrix: Any) -> Any:
    """A matrix with its dimensions exchanged; anything else as it is, to be refused."""
    if scipy.sparse.issparse(matrix):
        return scipy.sparse.csr_array(matrix.T) if matrix.ndim == 2 else matrix
    return np.array(matrix).T if (found := coordinates(matrix)) is not None and found.ndim == 2 else matrix


def _enlarged(buffer: object, pairs: int) -> Any:
    """A buffer in a memory of so many words."""
    if isinstance(buffer, Runs):
        return Runs(pairs)
    if isinstance(buffer, Buffer):
        return Buffer(*buffer.levels, words=pairs // 2, order=buffer.order)
    return buffer
