"""Spatial arrays from separate concerns: what is computed, and where and when, as values.

    >>> from sardonyx import spatial as sp
    >>> product = sp.functionality("C(i,j) = A(i,k) * B(k,j)")
    >>> design = sp.Design(product, sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]]), {"i": 2, "j": 2, "k": 2})
    >>> design.run(A=[[1, 2], [3, 4]], B=[[5, 6], [7, 8]], engine="tokens").value.tolist()
    [[19, 22], [43, 50]]

A design gives its Verilog, a picture, words on what moves where, and checked results. Functionality is a statement, from
which the usual recurrences are derived, or the recurrences themselves (`sardonyx.compiler.lang.recurrence` says what they
mean).

Errors:  UserError for all that does not fit.
Source:  Stellar II and III (five concerns).
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from . import arguments, component_files
from .accelerators import AcceleratorDesign
from .accelerators import accelerator as around
from .array_operands import MOST_OPERATIONS, Promises, drawn, taken
from .array_runs import Streamed, golden, packed
from .balance import shift, work_queue
from .compiler.lang import sparsity as skips
from .compiler.lang.balance import Balance
from .compiler.lang.recurrence import INPUT, Recurrences
from .compiler.lang.sparsity import Skip
from .compiler.spatial import report
from .compiler.spatial.collected import collected
from .compiler.spatial.elastic import elastic
from .compiler.spatial.picture import picture
from .compiler.spatial.points import Unrolled
from .compiler.spatial.private_buffer import Buffer, private_buffer
from .compiler.spatial.project import project
from .compiler.spatial.prune import Pruned, prune
from .compiler.spatial.transform import Transform
from .compiler.spatial.tree import whole
from .compiler.spatial.unroll import unroll
from .compiler.spatial.written import written
from .convolvers import ConvolverDesign, convolver
from .dump import Dump
from .functionality import (
    absolute,
    different,
    equal,
    functionality,
    indices,
    inputs,
    maximum,
    minimum,
    outputs,
    select,
    tree,
    variables,
)
from .hw.arch.accelerator import Collected
from .hw.arch.dma import Dma
from .hw.arch.elastic import Elastic
from .hw.arch.errors import UserError
from .hw.arch.private_buffer import DENSE, PrivateBuffer
from .hw.arch.spatial import Shaped, Spatial
from .hw.arch.written import Written
from .hw.spatial.array.elastic_array import ElasticArray
from .hw.spatial.array.spatial_array import SpatialArray
from .hw.spatial.buffer.buffered_array import BufferedArray
from .mergers import MergerDesign, merger
from .outcome import Computed, Outcome, silent
from .outer_products import OuterProductDesign, outer_product
from .runtime.data import ports
from .runtime.data.written import together
from .search import Searched, search
from .sparsity import optimistic_skip, skip, stored

__all__ = ["Buffer", "Computed", "ConvolverDesign", "Design", "MergerDesign", "OuterProductDesign", "Searched", "Transform",
           "absolute", "convolver", "different", "equal", "functionality", "indices", "inputs", "maximum", "merger", "minimum",
           "optimistic_skip", "outer_product", "outputs", "search", "select", "shift", "skip", "stored", "tree", "variables",
           "work_queue"]

# The names of modules that arrays are made of.
PARTS = re.compile(r"clock_gate|fifo2_w\d+|fifo_w\d+_d\d+|spread_\d+_\d+_w\d+|sram_[\dx]+|(stored_)?(level|values)_[\dx]+|"
                   r"balance_[0-9a-f]{8}|bit_scanner_\d+|list_level_[\dx_]+|two_halves_[\dx]+|"
                   r"array_store_[\dx]+|(collect|write|written)_\w+|"
                   r"spatial_((short_)?beat_\d+_\d+|keep_w\d+|exit_w\d+|loading_\d+)(_enabled)?")
ENGINES = {"golden": "NumPy, no hardware", "tokens": "the description of the array, step by step",
           "rtl": "generated Verilog on streams"}


@dataclass(frozen=True)
class Design:
    """A spatial array.

    Parameters
    ----------
    functionality : Recurrences    What is computed.
    dataflow : Transform           Where and when; its columns are the indices in the order of `functionality.indices`.
    bounds : mapping               The extent of every index.
    sparsity : sequence            Skips: which points are not computed, as zeros make them idle.
    balance : sequence             Which work may move to rows of PEs that are free.
    buffers : mapping              Private buffers, by operand: how each is stored in front of the array; by result that is
                                   fibers: behind it; by other result: in accelerators.
    short : bool                   Operations may end early: a further stream says for each how many launches it has.
    clock_gate : bool              The array waits by a clock gate, as ASICs have it, not by enables.
    name : str                     Of the Verilog module.
    """

    functionality: Recurrences
    dataflow: Transform
    bounds: Mapping[str, int]
    sparsity: Sequence[Skip] = field(default=(), kw_only=True)
    balance: Sequence[Balance] = field(default=(), kw_only=True)
    buffers: Mapping[str, Buffer] = field(default_factory=dict, kw_only=True)
    short: bool = field(default=False, kw_only=True)
    clock_gate: bool = field(default=False, kw_only=True)
    name: str = field(default="array", kw_only=True)

    def __post_init__(self) -> None:
        for what, value, kind in (("functionality", self.functionality, Recurrences), ("dataflow", self.dataflow, Transform),
                                  ("bounds", self.bounds, Mapping)):
            if not isinstance(value, kind):
                raise UserError(f"it is {arguments.said(value)}, which is no {kind.__name__}", what,
                                {"functionality": "use sp.functionality(...)", "dataflow": "use sp.Transform([[...], ...])",
                                 "bounds": "give the extent of every index, as {'i': 4}"}[what])
        if not isinstance(self.sparsity, Sequence) or not all(isinstance(each, Skip) for each in self.sparsity):
            raise UserError(f"it is {arguments.said(self.sparsity)}, which is no list of skips", "sparsity",
                            "use [sp.skip(j, where=B(k, j) == 0)]")
        if not isinstance(self.balance, Sequence) or not all(isinstance(each, Balance) for each in self.balance):
            raise UserError(f"it is {arguments.said(self.balance)}, which is no list of shifts", "balance",
                            "use [sp.shift(i, by=-1, where=k >= 32)]")
        object.__setattr__(self, "sparsity", tuple(self.sparsity))
        object.__setattr__(self, "balance", tuple(self.balance))
        if not isinstance(self.buffers, Mapping) or not all(isinstance(each, Buffer) for each in self.buffers.values()):
            raise UserError(f"it is {arguments.said(self.buffers)}, which is no mapping to buffers", "buffers",
                            "use {'B': sp.Buffer('dense', 'compressed')}")
        arguments.module_name(self.name, PARTS)

    @functools.cached_property
    def unrolled(self) -> Unrolled:
        """Every value at every point."""
        return unroll(self.functionality, self.bounds)

    @functools.cached_property
    def pruned(self) -> Pruned:
        """What skips leave of it."""
        found = prune(self.unrolled, skips.checked(self.sparsity, whole(self.functionality)), self.balance)
        # An elastic array has no step that could be the last one, and nothing that stops all of it.
        refused = {"short": (self.short, "its operations end with their fibers, which are as long as values make them"),
                   "clock_gate": (self.clock_gate, "each PE waits by itself, so that no clock stops for all of them")}
        for where, (is_set, reason) in refused.items():
            if is_set and not found.is_static:
                raise UserError(f"under skips by values an array is elastic: {reason}", where, "leave it out")
        if self.balance and found.is_static:
            raise UserError("all rows have the same work: no skip finds an index by values", str(self.balance[0]),
                            "leave it out")
        return found

    @functools.cached_property
    def spatial(self) -> Spatial:
        """The description of the array; where skips depend on values, as it is without a zero."""
        made = project(self.pruned.unrolled, self.dataflow, self.name)
        if self.short and not made.cut:
            raise UserError("its operations cannot end early: their last step differs, or they overlap", "short",
                            "leave it out, or choose a transform by which sums leave in each step")
        if self.short and self.functionality.added:
            raise UserError(f"points add to {min(self.functionality.added)}, which then lacks what later launches add", "short",
                            "leave it out, or assign sums")
        return replace(made, short=self.short, clock_gate=self.clock_gate)

    @functools.cached_property
    def elastic(self) -> Elastic | None:
        """The description of the array where skips depend on values; None where none does."""
        return None if self.pruned.is_static else elastic(self.pruned, self.dataflow, self.name, self.balance)

    @functools.cached_property
    def private(self) -> tuple[PrivateBuffer, ...]:
        """The descriptions of the private buffers of operands."""
        array = self.elastic or self.spatial
        results = {each.name for each in array.results}
        return tuple(private_buffer(name, buffer, array) for name, buffer in self.buffers.items() if name not in results)

    @functools.cached_property
    def written(self) -> tuple[Written, ...]:
        """The descriptions of the buffers of results that are fibers; dense ones of other results stand in accelerators."""
        array = self.elastic or self.spatial
        results = {each.name for each in array.results}
        return tuple(written(name, buffer, array) for name, buffer in self.buffers.items()
                     if name in results and (self.elastic or set(buffer.levels) != {DENSE}))

    def collected(self) -> tuple[Collected, ...]:
        """How accelerators take results in step for which there are buffers; UserError for buffers that do not fit."""
        if self.elastic is not None:
            return ()
        return tuple(collected(self.spatial, each, self.buffers[each.name]) for each in self.spatial.results
                     if each.name in self.buffers and set(self.buffers[each.name].levels) == {DENSE})

    def hardware(self) -> SpatialArray | ElasticArray | BufferedArray:
        """The component that is the top of the Verilog, a new one each time."""
        if self.private or self.written:
            return BufferedArray(self.elastic or self.spatial, self.private, self.written)
        return SpatialArray(self.spatial) if self.elastic is None else ElasticArray(self.elastic)

    def accelerator(self, ports: int = 4, loops: int = 6, beats: int = 8, room: int | None = None, queue: int = 16,
                    ram_bytes: int = 0, lists: bool = False) -> AcceleratorDesign:
        """The array with commands and a DMA around its buffers (docs/spatial.md); every operand has one.

        Parameters
        ----------
        ports, loops, beats, room, lists   Of the DMA (`hw.arch.dma.Dma`); room is by default 32, of buffers of rows 128.
        queue : int                        Commands that wait, a power of two from 2 to 128.
        ram_bytes : int                    Memory of a RISC-V core that gives the commands, a power of two from 1 K to 128 K; 0:
                                           no core, commands come over AXI4-Lite.
        """
        if room is None:
            room = 128 if any(each.wide for each in self.buffers.values()) else 32
        return around(self.elastic or self.spatial, self.private, buffers=self.buffers, stored=self.written,
                      dma=Dma(ports, loops, beats, room, lists), queue=queue, ram_bytes=ram_bytes)

    @functools.cached_property
    def tensors(self) -> tuple[Shaped, ...]:
        """The inputs as they are given: whole, whatever skips leave of them."""
        declared = self.functionality.of(INPUT)
        return tuple(Shaped(each.name, self.functionality.bits(each.name), self.unrolled.shapes[each.name])
                     for each in declared if each.name in self.unrolled.shapes)

    @functools.cached_property
    def _promises(self) -> Promises:
        return Promises(self.functionality, self.unrolled.bounds, self.pruned.on_digits)

    def random(self, operations: int = 1, seed: int = 0) -> dict[str, np.ndarray]:
        """Random operands for operations back to back, as the skips have them: with zeros, on a diagonal, few of a group; the
        same for as many operations as a buffer says."""
        count = arguments.whole("operations", operations, 1)
        if count > MOST_OPERATIONS:
            raise UserError(f"{count} operations", "operations", f"give 1 to {MOST_OPERATIONS}")
        found = drawn(self.tensors, self._promises, count, arguments.seed(seed))
        for name in self.buffers.keys() & found.keys():
            served = self.buffers[name].operations
            found[name] = np.repeat(found[name][::served], served, axis=0)[:count]
        return found

    def explain(self) -> Outcome:
        """How variables move, what skips cut, and what the array is made of."""
        try:
            made, refusal = report.made(self.spatial, self.elastic), ""
            private: tuple[PrivateBuffer | Written, ...] = (*self.private, *self.written)
            behind = [f"{each.tensor.name} as it is here; in accelerators to a buffer of {each.held:,} words for each of "
                      f"{len(each.ports)} ports{', which give a row at once' if each.wide else ''}"
                      for each in self.collected()]
        except UserError as refused:
            # What skips cut is worth knowing of arrays that cannot be made, too.
            made, refusal = report.facts(self.spatial), f"cannot be made: {refused.where}: {refused.what}; {refused.fix}"
            private, behind = (), []
        cut = [{"variable": cut.use.variable, "distance": cut.use.distance, "along": cut.index, "skipped": cut.skipped,
                "instead": "output" if cut.is_sum else "input"} for cut in self.pruned.cuts]
        shown = self.unrolled if self.pruned.packed is None else self.pruned.unrolled
        made_of = None if refusal else self.elastic
        text = "\n".join([report.explained(shown, self.dataflow, self.spatial, self.pruned, made_of, private), *behind,
                          *(f"balance: {each}" for each in self.balance)])
        return Outcome({"indices": dict(self.unrolled.bounds), "transform": self.dataflow.rows,
                        "determinant": self.dataflow.determinant, "skips": list(map(str, self.pruned.skips)), "cut": cut,
                        **made, "wave": self.spatial.wave if self.pruned.is_static else (),
                        "chains": {chain.name: len(chain.positions) for chain in self.spatial.chains if self.pruned.is_static}},
                       f"{text}\n{refusal}" if refusal else text)

    def picture(self, path: str | Path | None = None) -> str:
        """The array as SVG text, which is also written to a file if one is named."""
        drawn = picture(self.spatial, report.left(self.pruned, self.dataflow), f"{self.name}: {self.dataflow}",
                        [f"{cut.use.variable} has {report.removed(cut, self.dataflow)}" for cut in self.pruned.cuts])
        if path is not None:
            Dump(Path(path).parent).write({Path(path).name: drawn})
        return drawn

    def verilog(self, out: str | Path, progress: Callable[[str], None] = silent) -> Outcome:
        """Write the Verilog into a folder.

        Files: one .sv per module, ``<name>.f`` in dependency order, ``lint.vlt``, ``array.svg``, and ``array.json``: the
        description, whose ports say the order of the words of every stream.
        """
        self._check_runs()
        buffers = {name: [dataclasses.asdict(each) for each in found] for name, found in
                   (("buffers", self.private), ("written", self.written)) if found}
        described = json.dumps((self.elastic or self.spatial).to_json() | buffers, indent=1)
        documents = {"array.json": described + "\n", "array.svg": self.picture()}
        facts = report.made(self.spatial, self.elastic)
        return component_files.write(self.name, self.hardware(), out, documents, facts, progress)

    def run(self, engine: str = "rtl", stalls: int | None = None, progress: Callable[[str], None] = silent, seed: int = 0,
            lengths: Sequence[int] | None = None, **operands: object) -> Computed:
        """Run the array and check every element against NumPy.

        Parameters
        ----------
        engine : str      golden, tokens or rtl.
        stalls : int      With rtl: a seed of random stalls at all ports.
        seed : int        Of operands that are not given, which are random.
        lengths : list    Of an array that is `short`: the launches of each operation; later elements of results are 0.
        operands          An array of whole numbers for each input, of its shape; or with an axis in front, for several
                          operations back to back. Those without it are the same for all.
        """
        began = time.perf_counter()
        arguments.choice("engine", engine, ENGINES)
        if stalls is not None and engine != "rtl":
            raise UserError(f"engine {engine} has no stalls", "stalls", "choose engine rtl")
        patterns = None if stalls is None else arguments.whole("stalls", stalls, 1)
        self._check_runs()
        given, several = taken(self.tensors, self._promises, operands, arguments.seed(seed))
        count = len(next(iter(given.values()))) if given else 1
        cut = self._lengths(lengths, count)
        progress("computing with NumPy")
        wanted = golden(self.functionality, self.unrolled.bounds, given, count)
        if cut is not None:
            wanted = {name: wanted[name] * is_done for name, is_done in ports.reached(self.spatial, count, cut).items()}
        for each in self.written:
            wanted[each.tensor.name] = together(each, wanted[each.tensor.name])
        facts: dict[str, object] = {"engine": engine, **report.made(self.spatial, self.elastic), "operations": count}
        cycles = None
        if engine != "golden":
            progress(f"running {count} operation{'s' if count > 1 else ''} on '{self.name}', engine {engine}")
            streams = Streamed(self.elastic or self.spatial, self.private, self.written, engine, patterns)
            found, cycles = streams.results(given, packed(self.pruned, self.spatial.operands, given), count, cut)
            for name, array in wanted.items():
                assert np.array_equal(found[name], array), f"{name} of engine {engine} is not NumPy's"
            facts["elements_checked"] = sum(array.size for array in wanted.values())
            if cycles is not None:
                facts["cycles"] = cycles
            if self.elastic is None and cycles is not None:
                useful = sum(self.spatial.launch(cell.position, step) < length for cell in self.spatial.cells
                             for step in cell.steps for length in cut or [self.spatial.launches] * count)
                facts["utilisation"] = round(useful / (cycles * len(self.spatial.cells)), 3)
            elif self.elastic is not None:
                facts |= self._without_skips(count)
        values = {name: array if several else array[0] for name, array in wanted.items()}
        return Computed({**facts, "elapsed_s": round(time.perf_counter() - began, 2)},
                      value=values if len(values) > 1 else next(iter(values.values())), cycles=cycles)

    def _without_skips(self, count: int) -> dict[str, object]:
        """The cycles without skips, if there is such an array: of some transforms skips cut what could not be."""
        try:
            dense = project(self.unrolled, self.dataflow)
        except UserError:
            return {}
        return {"cycles_without_skips": dense.interval * (count - 1) + dense.steps}

    def _lengths(self, lengths: Sequence[int] | None, count: int) -> list[int] | None:
        """The launches of operations as whole numbers that the array takes."""
        if lengths is None:
            return None
        if not self.short:
            raise UserError("operations of this array all have the same length", "lengths", "make the design with short=True")
        if self.private:
            raise UserError("its buffers say how long operations are", "lengths", "use its accelerator, or leave out buffers")
        found = [arguments.whole("lengths", length, self.spatial.cut, self.spatial.launches) for length in lengths]
        if len(found) != count:
            raise UserError(f"there are {len(found)} lengths of {count} operations", "lengths", "give one for each operation")
        return found

    def _check_runs(self) -> None:
        """UserError for a space that no hardware computes, and for buffers that no accelerator could have."""
        if self.pruned.is_static and self.pruned.unrolled.partial:
            tensor, at, _ = self.pruned.unrolled.partial[0]
            if tensor in self.functionality.added:
                raise UserError(f"several points add to {tensor}({', '.join(map(str, at))}), and nothing does that here",
                                "functionality", "assign a sum that is handed on")
            raise UserError(f"{tensor}({', '.join(map(str, at))}) leaves in parts, which nothing adds up", "sparsity",
                            "give conditions that leave one point of each sum, or leave its wire")
        self.collected()
