"""The concerns of a spatial array, and what the compiler makes of them.

Errors:  UserError for all that does not fit.
Source:  Stellar II and III (five concerns).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from . import arguments, outer_products
from .array_operands import Promises
from .compiler.lang.balance import OPERATION, Balance
from .compiler.lang.recurrence import INPUT, Recurrences
from .compiler.lang.sparsity import Skip
from .compiler.lang.sparsity_checks import checked
from .compiler.spatial.buffer import Buffer
from .compiler.spatial.collected import collected
from .compiler.spatial.elastic import elastic
from .compiler.spatial.laned import Laned, laned
from .compiler.spatial.lanes import Lanes, Lists, Runs
from .compiler.spatial.points import Unrolled
from .compiler.spatial.private_buffer import Fed, private_buffer
from .compiler.spatial.project import project
from .compiler.spatial.prune import Pruned, prune
from .compiler.spatial.summed import handed_on
from .compiler.spatial.sums import Held, Sums
from .compiler.spatial.transform import Transform
from .compiler.spatial.tree import whole
from .compiler.spatial.unroll import unroll
from .compiler.spatial.vectored import vectored
from .compiler.spatial.vectors import Vectors
from .compiler.spatial.written import written
from .hw.arch.accelerator import Collected
from .hw.arch.elastic import Elastic
from .hw.arch.errors import UserError
from .hw.arch.private_buffer import DENSE, PrivateBuffer
from .hw.arch.spatial import Shaped, Spatial
from .hw.arch.vectored import Vectored
from .hw.arch.written import Written
from .hw.spatial.array.elastic_array import ElasticArray
from .hw.spatial.array.spatial_array import SpatialArray
from .hw.spatial.buffer.buffered_array import BufferedArray
from .hw.spatial.convolve.cartesian import CartesianArray
from .hw.spatial.outer.product import OuterProductArray

# The names of modules that arrays are made of.
PARTS = re.compile(r"clock_gate|stage_w\d+|fifo2_w\d+|(sram_)?fifo_w\d+_d\d+|spread_\d+_\d+_w\d+|sram_[\dx]+|"
                   r"(stored_)?(level|values)_[\dx]+|balance_[0-9a-f]{8}|bit_scanner_\d+|gather_turns_\d+|two_halves_[\dx]+|"
                   r"array_store_[\dx]+|absent|((some_)?(bit_rows|list_level)|expander|counted_level|fiber_dropper)_\w+|matcher_[\dx_]+|"
                   r"answered_\w+|(collect|write|written)_\w+|replay_\w+|sum_bank_\w+|"
                   r"spatial_((short_)?beat_\d+_\d+|going|exit_w\d+|loading_\d+)(_enabled)?")
# Of an index where a design has no bounds, and of one that a search is not told a bound of.
EXTENT = 4
NOT_GIVEN: Mapping[str, int] = MappingProxyType({})
# How operands and results are stored.
AnyBuffer = Buffer | Sums | Held | Lists | Runs


@dataclass(frozen=True)
class Concerns:
    """What a spatial array is stated by.

    Parameters
    ----------
    functionality : Recurrences    What is computed.
    dataflow                       Where and when: a `Transform`, whose columns are the indices in the order of
                                   `functionality.indices`; `Vectors` of elements that are not 0; or `Lanes`.
    bounds : mapping               The extent of every index; of lanes at most, of those that do not end with data. Under a
                                   transform 4 of each, where none are given at all.
    sparsity : sequence            Skips: which points are not computed, as zeros make them idle.
    balance : sequence             Which work may move to rows of PEs that are free.
    buffers : mapping              Private buffers, by operand: how each is stored in front of the array; by result that is
                                   fibers: behind it; by other result: in accelerators. Of vectors `Held` and `Sums`, of lanes
                                   `Lists` and `Runs`.
    short : bool                   Operations may end early: a further stream says for each how many launches it has.
    clock_gate : bool              The array waits by a clock gate, as ASICs have it, not by enables.
    name : str                     Of the Verilog module.
    """

    functionality: Recurrences
    dataflow: Transform | Vectors | Lanes
    bounds: Mapping[str, int] = field(default_factory=lambda: NOT_GIVEN)
    sparsity: Sequence[Skip] = field(default=(), kw_only=True)
    balance: Sequence[Balance] = field(default=(), kw_only=True)
    buffers: Mapping[str, AnyBuffer] = field(default_factory=dict, kw_only=True)
    short: bool = field(default=False, kw_only=True)
    clock_gate: bool = field(default=False, kw_only=True)
    name: str = field(default="array", kw_only=True)

    def __post_init__(self) -> None:
        for what, value, kind, title in (
                ("functionality", self.functionality, Recurrences, "Recurrences"),
                ("dataflow", self.dataflow, Transform | Vectors | Lanes, "Transform"),
                ("bounds", self.bounds, Mapping, "Mapping")):
            if not isinstance(value, kind):
                raise UserError(f"it is {arguments.said(value)}, which is no {title}", what,
                                {"functionality": "use sp.functionality(...)", "dataflow": "use sp.Transform([[...], ...])",
                                 "bounds": "give the extent of every index, as {'i': 4}"}[what])
        if self.bounds is NOT_GIVEN:
            if not isinstance(self.dataflow, Transform):
                raise UserError("there are none", "bounds", "give the extent of every index, as {'i': 4}")
            object.__setattr__(self, "bounds", dict.fromkeys(self.functionality.indices, EXTENT))
        if not isinstance(self.sparsity, Sequence) or not all(isinstance(each, Skip) for each in self.sparsity):
            raise UserError(f"it is {arguments.said(self.sparsity)}, which is no list of skips", "sparsity",
                            "use [sp.skip(j, where=B(k, j) == 0)]")
        if not isinstance(self.balance, Sequence) or not all(isinstance(each, Balance) for each in self.balance):
            raise UserError(f"it is {arguments.said(self.balance)}, which is no list of shifts", "balance",
                            "use [sp.shift(i, by=-1, where=k >= 32)]")
        object.__setattr__(self, "sparsity", tuple(self.sparsity))
        object.__setattr__(self, "balance", tuple(self.balance))
        if not isinstance(self.buffers, Mapping) or not all(isinstance(each, AnyBuffer)
                                                            for each in self.buffers.values()):
            raise UserError(f"it is {arguments.said(self.buffers)}, which is no mapping to buffers", "buffers",
                            "use {'B': sp.Buffer('dense', 'compressed')}")
        for option, asked in (("short", self.short), ("clock_gate", self.clock_gate)):
            arguments.flag(option, asked)
        arguments.module_name(self.name, PARTS)

    @functools.cached_property
    def _skips(self) -> tuple[Skip, ...]:
        return checked(self.sparsity, whole(self.functionality), not isinstance(self.dataflow, Vectors))

    @functools.cached_property
    def vectored(self) -> Vectored | None:
        """The description of the array where elements meet in vectors; None where a transform says where points are."""
        if not isinstance(self.dataflow, Vectors):
            return None
        refused = {"short": (self.short, "its operations end with their fibers, which are as long as values make them"),
                   "clock_gate": (self.clock_gate, "its parts wait by themselves, so that no clock stops for all of them"),
                   "balance": (self.balance, "in each cycle all PEs have work, so that there is none to move")}
        for where, (is_set, reason) in refused.items():
            if is_set:
                raise UserError(f"the dataflow is one of vectors: {reason}", where, "leave it out")
        return vectored(self.functionality, self.bounds, self.dataflow, self._skips, self.buffers, self.name)

    @functools.cached_property
    def laned(self) -> Laned | None:
        """The description of lanes that do operations from memory to memory; None where the dataflow is no such one."""
        if not isinstance(self.dataflow, Lanes):
            return None
        arguments.module_name(self.name, outer_products.PARTS)
        for where, is_set in (("short", self.short), ("clock_gate", self.clock_gate)):
            if is_set:
                raise UserError("lanes wait for memory, each by itself", where, "leave it out")
        return laned(self.functionality, self.bounds, self.dataflow, self._skips, self.balance, self.buffers, self.name)

    @functools.cached_property
    def transform(self) -> Transform:
        """The dataflow; UserError for vectors, of which positions in space depend on values."""
        if not isinstance(self.dataflow, Transform):
            raise UserError(f"{self.dataflow}: which points meet depends on values", "dataflow",
                            "use sp.Transform([[...], ...])")
        return self.dataflow

    @functools.cached_property
    def unrolled(self) -> Unrolled:
        """Every value at every point."""
        # Of other skips it is not known yet which points they leave.
        has_all = isinstance(self.dataflow, Transform) and not any(skip.is_static or skip.of for skip in self._skips)
        return unroll(self.functionality, self.bounds, self.transform if has_all else None)

    @functools.cached_property
    def pruned(self) -> Pruned:
        """What skips leave of it."""
        if operations := [each for each in self.balance if each.grain == OPERATION]:
            raise UserError("no lanes do operations: a transform says where each of them is", str(operations[0]),
                            "use sp.work_queue(i, where=k >= 32), or the dataflow sp.Lanes(...)")
        space = self.transform.placed(tuple(self.unrolled.bounds)) if self.balance else ()
        found = handed_on(prune(self.unrolled, self._skips, self.balance, space), self.transform)
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
        made = project(self.pruned.unrolled, self.transform, self.name)
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
        return None if self.pruned.is_static else elastic(self.pruned, self.transform, self.name, self.balance)

    @functools.cached_property
    def _ordered(self) -> dict[str, Buffer]:
        """The buffers, of which words go in an order that is known."""
        for name, buffer in self.buffers.items():
            if not isinstance(buffer, Buffer):
                flow = "Lanes" if isinstance(buffer, Lists | Runs) else "Vectors"
                raise UserError(f"{type(buffer).__name__} is for {flow.lower()}, and words of {name} have an order that is "
                                "known", f"buffers: {name}", f"use sp.Buffer(...), or the dataflow sp.{flow}(...)")
        return {name: buffer for name, buffer in self.buffers.items() if isinstance(buffer, Buffer)}

    @functools.cached_property
    def fed(self) -> tuple[Fed, ...]:
        """The private buffers of operands, with what each pass says of them."""
        array = self.elastic or self.spatial
        results = {each.name for each in array.results}
        found = tuple(private_buffer(name, buffer, array) for name, buffer in self._ordered.items() if name not in results)
        kept = {each.buffer.tensor: bank.operations for each in found for bank in each.buffer.banks
                if bank.wide and bank.operations > 1}
        if len(set(kept.values())) > 1:
            raise UserError(f"rows of {' and '.join(kept)} serve {' and '.join(map(str, kept.values()))} operations, and one "
                            "number says for all how many share a tensor", "buffers", "give them the same operations")
        return found

    @property
    def private(self) -> tuple[PrivateBuffer, ...]:
        """The descriptions of the private buffers of operands."""
        return tuple(each.buffer for each in self.fed)

    @functools.cached_property
    def written(self) -> tuple[Written, ...]:
        """The descriptions of the buffers of results that are fibers; dense ones of other results stand in accelerators."""
        array = self.elastic or self.spatial
        results = {each.name for each in array.results}
        return tuple(written(name, buffer, array) for name, buffer in self._ordered.items()
                     if name in results and (self.elastic or set(buffer.levels) != {DENSE}))

    def collected(self) -> tuple[Collected, ...]:
        """How accelerators take results in step for which there are buffers; UserError for buffers that do not fit."""
        if self.elastic is not None:
            return ()
        return tuple(collected(self.spatial, each, self._ordered[each.name]) for each in self.spatial.results
                     if each.name in self._ordered and set(self._ordered[each.name].levels) == {DENSE})

    def hardware(self) -> SpatialArray | ElasticArray | BufferedArray | CartesianArray | OuterProductArray:
        """The component that is the top of the Verilog, a new one each time."""
        if self.laned is not None:
            return OuterProductArray(self.laned.machine)
        if self.vectored is not None:
            return CartesianArray(self.vectored.kind)
        if self.private or self.written:
            return BufferedArray(self.elastic or self.spatial, self.private, self.written)
        return SpatialArray(self.spatial) if self.elastic is None else ElasticArray(self.elastic)

    @functools.cached_property
    def extents(self) -> Mapping[str, int]:
        """The bounds, in the order of the indices."""
        return self.unrolled.bounds if self.vectored is None else dict(self.vectored.bounds)

    @functools.cached_property
    def tensors(self) -> tuple[Shaped, ...]:
        """The inputs as they are given: whole, whatever skips leave of them."""
        if self.vectored is not None:
            return self.vectored.left.tensor, self.vectored.right.tensor
        declared = self.functionality.of(INPUT)
        return tuple(Shaped(each.name, self.functionality.bits(each.name), self.unrolled.shapes[each.name])
                     for each in declared if each.name in self.unrolled.shapes)

    @functools.cached_property
    def promises(self) -> Promises:
        """What skips say of operands."""
        return Promises(self.functionality, self.extents, self.pruned.on_digits if self.vectored is None else self._skips)
