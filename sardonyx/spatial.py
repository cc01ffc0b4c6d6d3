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
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import arguments, component_files, lane_accelerators, lane_operands, lane_runs, vector_accelerators, vector_runs
from .accelerators import accelerator as around
from .array_operands import MOST_OPERATIONS, drawn, taken
from .array_runs import Streamed, golden, packed
from .balance import shift, work_queue
from .compiler.spatial import report
from .compiler.spatial.buffer import Buffer
from .compiler.spatial.exchange import exchange
from .compiler.spatial.lanes import Lanes, Lists, Runs
from .compiler.spatial.picture import picture
from .compiler.spatial.private_buffer import Fed
from .compiler.spatial.project import project
from .compiler.spatial.sums import Held, Sums
from .compiler.spatial.transform import Transform
from .compiler.spatial.vector_picture import vector_picture
from .compiler.spatial.vectors import Vectors
from .concerns import Concerns
from .dump import beside
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
from .hw.arch.accelerator import VECTOR_PORTS
from .hw.arch.dma import LEAST_BUS, Dma
from .hw.arch.errors import UserError, many
from .hw.arch.written import Written
from .mergers import MergerDesign, merger
from .outcome import Computed, Outcome, silent
from .outer_products import OuterProductDesign, outer_product
from .phases import PhasedDesign, phases
from .runtime.data import ports
from .runtime.data.written import together
from .search import Searched, search
from .sim.spatial import back_to_back
from .sparsity import optimistic_skip, skip, stored

__all__ = ["Buffer", "Computed", "Design", "Held", "Lanes", "Lists", "MergerDesign", "OuterProductDesign", "PhasedDesign",
           "Runs", "Searched", "Sums", "Transform", "Vectors", "absolute", "different", "equal", "functionality", "indices",
           "inputs", "maximum", "merger", "minimum", "optimistic_skip", "outer_product", "outputs", "phases", "search",
           "select", "shift", "skip", "stored", "tree", "variables", "work_queue"]

ENGINES = {"golden": "NumPy, no hardware", "tokens": "the description of the array, step by step",
           "rtl": "generated Verilog on streams"}
# Of an accelerator, where none is said: requests at once, their loops, and words of a burst.
PORTS, LOOPS, BEATS = 4, 6, 8


@dataclass(frozen=True)
class Design(Concerns):
    """A spatial array: its concerns (`Concerns` says which), explained, as Verilog, and in runs that are checked."""

    def accelerator(self, ports: int | None = None, loops: int = LOOPS, beats: int = BEATS, room: int | None = None,
                    queue: int = 16, ram_bytes: int = 0, lists: bool = False, watchdog: bool = False, counters: bool = False,
                    bus_bytes: int = LEAST_BUS) -> Any:
        """An `AcceleratorDesign`: commands and a DMA around the array and its buffers (docs/spatial.md); each operand has one.
        Of lanes a `LaneAccelerator`: commands in place of their job; they have `queue`, `ram_bytes`, `counters`.

        Parameters
        ----------
        ports, loops, beats, room, lists, bus_bytes
                                           Of the DMA (`hw.arch.dma.Dma`); ports are by default 4, of vectors 5; room 32, of
                                           vectors 64, of buffers of rows 128.
        queue : int                        Commands that wait, a power of two from 2 to 128.
        ram_bytes : int                    Memory of a RISC-V core that gives the commands, a power of two from 1 K to 128 K; 0:
                                           no core, commands come over AXI4-Lite.
        watchdog : bool                    Commands may say how long nothing may move until all is given up: `Program.patience`.
        counters : bool                    Registers say in how many cycles streams, or lanes, wait, and for what.
        """
        if self.laned is not None:
            return lane_accelerators.around(self.laned, queue, ram_bytes, counters, {
                "ports": ports is not None, "loops": loops != LOOPS, "beats": beats != BEATS, "room": room is not None,
                "lists": lists, "watchdog": watchdog, "bus_bytes": bus_bytes != LEAST_BUS})
        wide = self.vectored is None and any(each.wide for each in self._ordered.values())
        dma = Dma((PORTS if self.vectored is None else VECTOR_PORTS) if ports is None else ports, loops, beats,
                  (32 if self.vectored is None else 64) << 2 * wide if room is None else room, lists,
                  bus_bytes=bus_bytes)
        if self.vectored is not None:
            return vector_accelerators.around(self.vectored, self, dma, queue, ram_bytes, watchdog, counters)
        return around(self.elastic or self.spatial, self.private, buffers=self._ordered, stored=self.written, dma=dma,
                      queue=queue, ram_bytes=ram_bytes, watchdog=watchdog, counters=counters)

    def random(self, operations: int = 1, seed: int = 0) -> dict[str, Any]:
        """Random operands for operations back to back, as the skips have them: with zeros, on a diagonal, few of a group; the
        same for as many operations as a buffer says."""
        count = arguments.whole("operations", operations, 1)
        if self.laned is not None:
            if count > 1:
                raise UserError(f"{count} operations", "operations", "give 1: there is one job from reset on")
            return lane_operands.random(self.laned, seed)
        if count > MOST_OPERATIONS:
            raise UserError(f"{count} operations", "operations", f"give 1 to {MOST_OPERATIONS}")
        found = drawn(self.tensors, self.promises, count, arguments.seed(seed))
        ordered = self._ordered if self.vectored is None else {}
        for name in ordered.keys() & found.keys():
            served = ordered[name].operations
            found[name] = np.repeat(found[name][::served], served, axis=0)[:count]
        return found

    def explain(self) -> Outcome:
        """How variables move, what skips cut, and what the array is made of."""
        if isinstance(self.dataflow, Lanes):
            assert self.laned is not None, "it has lanes"
            return lane_runs.explained(self.laned, self.functionality, self.dataflow, self._skips)
        if isinstance(self.dataflow, Vectors):
            assert self.vectored is not None, "its elements meet in vectors"
            return vector_runs.explained(self.vectored, self.functionality, self.dataflow, self._skips)
        try:
            made, refusal = report.made(self.spatial, self.elastic), ""
            private: tuple[Fed | Written, ...] = (*self.fed, *self.written)
            behind = [f"{each.tensor.name} as it is here; in accelerators to a buffer of {each.held:,} words for each of "
                      f"{len(each.ports)} ports{', which give a row at once' if each.wide else ''}"
                      for each in self.collected()]
        except UserError as refused:
            # What skips cut is worth knowing of arrays that cannot be made, too.
            made, refusal = report.facts(self.spatial), f"cannot be made: {refused.where}: {refused.what}; {refused.fix}"
            private, behind = (), []
        cut = [{"variable": cut.use.variable, "distance": cut.use.distance, "along": cut.index, "skipped": cut.skipped,
                "instead": "output" if cut.is_sum else "input"} for cut in self.pruned.cuts]
        shown = self.unrolled if self.pruned.packed is None and not self.functionality.added else self.pruned.unrolled
        made_of = None if refusal else self.elastic
        moves = exchange(made_of, self.spatial) if made_of and self.balance else None
        made |= {"gives": sorted(moves.gives), "takes": sorted(moves.takes)} if moves else {}
        text = "\n".join([report.explained(shown, self.transform, self.spatial, self.pruned, made_of, private), *behind,
                          *(f"balance: {each}" for each in self.balance), *([str(moves)] if moves else [])])
        return Outcome({"indices": dict(self.unrolled.bounds), "transform": self.dataflow.rows,
                        "determinant": self.dataflow.determinant, "skips": list(map(str, self.pruned.skips)), "cut": cut,
                        **made, "wave": self.spatial.wave if self.pruned.is_static else (),
                        "chains": {chain.name: len(chain.positions) for chain in self.spatial.chains if self.pruned.is_static}},
                       f"{text}\n{refusal}" if refusal else text)

    def picture(self, path: str | Path | None = None) -> str:
        """The array as SVG text, which is also written to a file if one is named."""
        if self.laned is not None:
            raise UserError("it has lanes, of which there is no picture", self.name, "leave --picture out")
        title = f"{self.name}: {self.dataflow}"
        if self.vectored is not None:
            drawn = vector_picture(self.vectored, title)
        else:
            drawn = picture(self.spatial, report.left(self.pruned, self.transform), title,
                            [f"{cut.use.variable} has {report.removed(cut, self.transform)}" for cut in self.pruned.cuts],
                            not self.pruned.is_static,
                            exchange(self.elastic, self.spatial) if self.elastic and self.balance else None)
        if path is not None:
            folder, name = beside(path, "path", ".svg")
            folder.write({name: drawn})
        return drawn

    def verilog(self, out: str | Path, progress: Callable[[str], None] = silent) -> Outcome:
        """Write the Verilog into a folder.

        Files: one .sv per module, ``<name>.f`` in dependency order, ``lint.vlt``, ``array.svg``, and ``array.json``: the
        description, whose ports say the order of the words of every stream; of vectors ``vectors.json``.
        """
        if self.laned is not None:
            described = json.dumps(self.laned.machine.to_json(), indent=1) + "\n"
            return component_files.write(self.name, self.hardware, out, {"outer_product.json": described},
                                         lane_runs.facts(self.laned), progress)
        if self.vectored is not None:
            described = json.dumps(self.vectored.to_json(), indent=1) + "\n"
            return component_files.write(self.name, self.hardware, out,
                                         {"vectors.json": described, "array.svg": self.picture()},
                                         vector_runs.facts(self.vectored), progress)
        self._check_runs()
        buffers = {name: [dataclasses.asdict(each) for each in found] for name, found in
                   (("buffers", self.private), ("written", self.written)) if found}
        described = json.dumps((self.elastic or self.spatial).to_json() | buffers, indent=1)
        documents = {"array.json": described + "\n", "array.svg": self.picture()}
        facts = report.made(self.spatial, self.elastic)
        return component_files.write(self.name, self.hardware, out, documents, facts, progress)

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
        if self.laned is not None:
            if lengths is not None:
                raise UserError("operations are as long as values make them", "lengths", "leave it out")
            return lane_runs.run(self.laned, self.name, engine, stalls, progress, seed, operands)
        began = time.perf_counter()
        arguments.choice("engine", engine, ENGINES)
        if stalls is not None and engine != "rtl":
            raise UserError(f"engine {engine} has no stalls", "stalls", "choose engine rtl")
        patterns = None if stalls is None else arguments.whole("stalls", stalls, 1)
        self._check_runs()
        given, several = taken(self.tensors, self.promises, operands, arguments.seed(seed))
        count = len(next(iter(given.values()))) if given else 1
        cut = self._lengths(lengths, count)
        progress("computing with NumPy")
        wanted = golden(self.functionality, self.extents, given, count)
        if self.vectored is not None:
            return self._run_vectors(engine, patterns, given, count, wanted, several, began, progress)
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

    def _run_vectors(self, engine: str, stalls: int | None, given: dict[str, np.ndarray], count: int,
                     wanted: dict[str, np.ndarray], several: bool, began: float, progress: Callable[[str], None]) -> Computed:
        """A run of an array of vectors, as `run`."""
        assert self.vectored is not None, "its elements meet in vectors"
        (name, array), = wanted.items()
        numbers: dict[str, object] = {"engine": engine, **vector_runs.facts(self.vectored), "operations": count}
        cycles = None
        if engine != "golden":
            progress(f"running {count} operation{'s' if count > 1 else ''} on '{self.name}', engine {engine}")
            found, cycles, more = vector_runs.results(self.vectored, given, count, engine, stalls)
            assert np.array_equal(found[name], array), f"{name} of engine {engine} is not NumPy's"
            numbers |= {**more, "elements_checked": array.size, "cycles": cycles}
        return Computed({**numbers, "elapsed_s": round(time.perf_counter() - began, 2)},
                        value=array if several else array[0], cycles=cycles)

    def _without_skips(self, count: int) -> dict[str, object]:
        """The cycles without skips, if there is such an array: of some transforms skips cut what could not be."""
        try:
            dense = project(self.unrolled, self.transform)
        except UserError:
            return {}
        return {"cycles_without_skips": back_to_back(dense, count)}

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
            raise UserError(f"{many(len(found), 'length')} of {many(count, 'operation')}", "lengths",
                            "give one for each operation")
        return found

    def _check_runs(self) -> None:
        """UserError for a space that no hardware computes, and for buffers that no accelerator could have."""
        if self.vectored is not None:
            return
        if self.pruned.is_static and self.pruned.unrolled.partial:
            tensor, at, _ = self.pruned.unrolled.partial[0]
            raise UserError(f"{tensor}({', '.join(map(str, at))}) leaves in parts, which nothing adds up", "sparsity",
                            "give conditions that leave one point of each sum, or leave its wire")
        self.collected()
