"""Arrays of lanes, one phase of a product each: what is told of them, and their runs from memory to memory.

Errors:  UserError for operands that do not fit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np
import scipy.sparse

from . import arguments
from .compiler.lang.recurrence import Recurrences
from .compiler.lang.sparsity import Skip
from .compiler.spatial.laned import Laned, Side
from .compiler.spatial.lanes import Lanes
from .hw.arch.cartesian import PRODUCT
from .hw.arch.dma import MOST_SPAN
from .hw.arch.errors import UserError
from .hw.arch.outer_product import MERGE, MOST_MEMORY, MULTIPLY
from .hw.arch.reduction import ADD, LARGEST, NAMES, SMALLEST, TIMES
from .lane_hardware import simulated, timed
from .lane_operands import MOST_PAIRS, Elements, added, check_extents, products, random, taken, value
from .outcome import Computed, Outcome
from .runtime.data.outer_lists import laid_lists, lists
from .runtime.data.outer_product import laid, rows
from .sim.model.lanes import fibers, merged, multiplied
from .sim.rtl.accelerator import LATENCY

ENGINES = {"golden": "NumPy, no hardware", "tokens": "the lists of lanes, operation by operation, and cycles",
           "rtl": "generated Verilog with a memory behind its bus"}


def facts(made: Laned) -> dict[str, object]:
    """Numbers of an array."""
    kind = made.kind
    return {"lanes": kind.lanes, "ports": kind.ports, "lists": kind.rows, "pairs": kind.pairs}


def explained(made: Laned, functionality: Recurrences, dataflow: Lanes, skips: tuple[Skip, ...]) -> Outcome:
    """What lanes do, and where lists are."""
    kind = made.kind
    multiplies = kind.phases == MULTIPLY
    takes = kind.takes_columns if multiplies else kind.takes_rows
    lines = [
        *map(str, functionality.assignments), "",
        f"indices {', '.join(f'{index} 0..{extent - 1:,}' for index, extent in made.bounds.items())}; {made.runs} ends with "
        "data",
        f"lanes: {dataflow}", *map(str, skips),
        f"a lane that is free takes the next place of {dataflow.index}" if takes else
        f"place n of {dataflow.index} is done by lane n modulo {kind.lanes}", ""]
    if multiplies:
        first, second = made.operands
        lines += [
            f"an operation: {_fiber(first)} and {_fiber(second)} at its {made.runs}, {kind.pairs // 2:,} of each at a time",
            f"each of {first.name} {'times' if kind.value == PRODUCT else 'with'} those of {second.name} is a run of "
            f"{made.result.name}: " + (
                f"in nodes of {made.node}" if made.node else "a node") + f" in front of the list of its {made.lists}"]
    else:
        lines += [
            f"an operation: the list of its {made.lists}, node by node, {_fiber(made.operands[0])} along {made.inner}",
            f"its runs along {made.runs}, as many as there are, become one, two by two, {_met(made)}",
            f"in a memory of {kind.pairs:,}: up to {kind.most_row:,} elements of {made.result.name}, a node"]
    lines += [f"{kind.rows:,} lists begin on the chip, and their table in memory",
              f"{kind.ports} request{'s' if kind.ports > 1 else ''} to memory at once"]
    return Outcome({**facts(made), "skips": [*map(str, skips)]}, "\n".join(lines))


def _met(made: Laned) -> str:
    if made.kind.reduction == ADD:
        return f"equal {made.inner} added"
    if made.kind.reduction == TIMES:
        return f"equal {made.inner} multiplied"
    bound = {LARGEST: " at least", SMALLEST: " at most"}.get(made.kind.reduction, " to begin with")
    return f"of equal {made.inner} {NAMES[made.kind.reduction]}, {made.kind.first:,}{bound}"


def _fiber(side: Side) -> str:
    return f"the elements of {side.name} that are not 0" if side.sparse else f"all elements of {side.name}"


def run(made: Laned, name: str, engine: str, stalls: int | None, progress: Callable[[str], None], seed: int,
        operands: Mapping[str, object], latency: int = LATENCY, alone: bool = True) -> Computed:
    """Do all operations, and check every element against NumPy; the value is an array, or sparse where an operand is.

    alone: else engine `tokens` has no cycles, as the phase is one of a machine of both.
    """
    began = time.perf_counter()
    arguments.choice("engine", engine, ENGINES)
    if stalls is not None:
        raise UserError("it has no streams", "stalls", "leave it out")
    known = [side.name for side in made.operands]
    if unknown := sorted(operands.keys() - set(known)):
        raise UserError(f"there is no input {unknown[0]}", "operands", f"give {' and '.join(known)}")
    given = {**random(made, seed), **operands}
    found = {side.name: taken(made, side, given[side.name]) for side in made.operands}
    check_extents(made, found)
    progress("computing with NumPy")
    multiplies = made.kind.phases == MULTIPLY
    partial = products(made.kind.value, *(found[each] for each in known)) if multiplies else found[known[0]]
    wanted = partial if multiplies else added(made.kind, partial)
    _check_room(made, name, partial, wanted)
    numbers: dict[str, object] = {"engine": engine, **facts(made), "partial_products": len(partial.values)}
    cycles = None
    if engine != "golden":
        progress(f"running all operations on '{name}', engine {engine}")
        # Lists whose first nodes only the chip knows are those of a machine of both phases.
        is_timed = alone and not made.node
        more = (_multiplied(made, found[known[0]], found[known[1]], partial, engine, latency, is_timed) if multiplies
                else _merged(made, partial, wanted, engine, latency, is_timed))
        numbers |= {**more, "elements_checked": len(wanted.values)}
        cycles = int(str(more["cycles"])) if "cycles" in more else None
    result = value(made, wanted, any(map(scipy.sparse.issparse, given.values())))
    return Computed({**numbers, "elapsed_s": round(time.perf_counter() - began, 2)}, value=result, cycles=cycles)


def _check_room(made: Laned, name: str, partial: Elements, wanted: Elements) -> None:
    if len(partial.values) > MOST_PAIRS:
        raise UserError(f"lists have {len(partial.values):,} elements", name, f"give {MOST_PAIRS:,} or fewer")
    if made.kind.phases == MERGE:
        runs = np.unique(partial.places[:, :2], axis=0)
        if (nodes := int(np.bincount(runs[:, 0], minlength=1).max())) > MOST_SPAN:
            operand = made.operands[0].name
            raise UserError(f"a list of {operand} has {nodes:,} runs, and lanes follow up to {MOST_SPAN:,} nodes", name,
                            f"give {operand} in parts, of fewer runs each, and merge the results")
    longest = int(np.bincount(wanted.places[:, 0], minlength=1).max())
    if made.kind.phases != MULTIPLY and longest > made.kind.most_row:
        words, operand = 1 << (2 * longest + 1).bit_length(), made.operands[0].name
        raise UserError(f"a list of the result has {longest:,} elements, and a lane has room for {made.kind.most_row:,}", name,
                        f"give {f'sp.Runs(words={words}) to {operand}' if words <= MOST_MEMORY else f'{operand} in parts'}")


def _multiplied(made: Laned, left: Elements, right: Elements, wanted: Elements, engine: str, latency: int,
                is_timed: bool) -> dict[str, object]:
    """Lists of runs, compared with all partial products: the order of the runs of a list is that in which lanes were done."""
    height = left.shape[0]
    more: dict[str, object] = {}
    columns, rows_ = left.sparse().tocsc(), right.sparse().tocsr()
    for each in (columns, rows_):
        each.sort_indices()
    if engine == "tokens":
        found = multiplied(made.kind, fibers(columns), fibers(rows_), height)
        if is_timed:
            more = timed(made.kind, laid(made.kind, columns, rows_, 0), latency)
    else:
        place = laid(made.kind, columns, rows_, 0)
        memory, more = simulated(made.machine, place, len(wanted.values) + sum(left.shape), latency)
        found = lists(memory, place, height)
    for row in found:
        assert all((np.diff(each[:, 0]) > 0).all() for each in row), "coordinates of a run do not rise"
    got = np.concatenate([np.zeros((0, 3), np.int64),
                          *(np.insert(each, 0, row, 1) for row, runs in enumerate(found) for each in runs)])
    want = np.column_stack([wanted.places[:, [0, 2]], wanted.values])
    assert np.array_equal(*(each[np.lexsort(each.T[::-1])] for each in (got, want))), \
        f"lists of {made.result.name} of engine {engine} are not NumPy's products"
    nodes = (-(-sum(map(len, runs)) // made.node) if made.node else len(runs) for runs in found)
    return {"nodes": sum(nodes), **more}


def _merged(made: Laned, partial: Elements, wanted: Elements, engine: str, latency: int,
            is_timed: bool) -> dict[str, object]:
    """Rows of lists of runs, compared with their sums."""
    height = partial.shape[0]
    given: list[list[np.ndarray]] = [[] for _ in range(height)]
    keys = partial.places[:, 0] * partial.shape[1] + partial.places[:, 1]
    begins = np.flatnonzero(np.diff(keys, prepend=-1))
    pairs = np.column_stack([partial.places[:, 2], partial.values])
    for at, each in zip(begins, np.split(pairs, begins[1:])):
        given[partial.places[at, 0]].append(each)
    if engine == "tokens":
        made_of = [merged(made.kind, runs) for runs in given]
        got = np.concatenate([np.insert(row, 0, at, 1) for at, (row, _) in enumerate(made_of)])
        more: dict[str, object] = {"merges": sum(count for _, count in made_of)}
        if is_timed:
            more |= timed(made.kind, laid_lists(made.kind, given, len(wanted.values)), latency)
    else:
        place = laid_lists(made.kind, given, len(wanted.values))
        memory, more = simulated(made.machine, place, len(pairs) + height, latency)
        result = rows(memory, place, (height, wanted.shape[1]))
        got = np.column_stack([np.repeat(np.arange(height), np.diff(result.indptr)), result.indices, result.data])
    assert np.array_equal(got, np.column_stack([wanted.places, wanted.values])), \
        f"{made.result.name} of engine {engine} is not NumPy's"
    return {"runs": sum(map(len, given)), **more}
