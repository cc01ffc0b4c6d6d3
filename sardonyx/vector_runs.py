"""Arrays whose nonzeros meet in vectors: what is told of them, and their runs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .compiler.lang.recurrence import Recurrences, Sum
from .compiler.lang.sparsity import Skip, dependencies
from .compiler.spatial.sums import times
from .compiler.spatial.vectors import Vectors
from .hw.arch.errors import UserError
from .hw.arch.vectored import Side, Vectored
from .hw.spatial.convolve.cartesian import CartesianArray
from .outcome import Outcome
from .runtime.data.vectors import Part, collected, parts, streams
from .sim.model.cartesian import simulate
from .sim.model.cartesian_cycles import cycles as timed
from .sim.model.crossbar import ideal_cycles
from .sim.rtl.bench import Bench

MOST_PRODUCTS = 1 << 28
# Cycles for each word and product after which a run is taken to stand, and without a word.
PATIENCE = 200


def facts(made: Vectored) -> dict[str, object]:
    """Numbers of an array."""
    kind = made.kind
    pes = kind.left * kind.right
    return {"pes": pes, "banks": kind.banks, "sums": kind.places, "fifos": pes * kind.lanes}


def explained(made: Vectored, functionality: Recurrences, dataflow: Vectors, skips: tuple[Skip, ...]) -> Outcome:
    """What meets what, and where products go."""
    kind, numbers, found = made.kind, facts(made), dependencies(skips)
    size = " x ".join(f"{each:,}" for each in made.result.shape)
    shared = ", ".join(made.shared)
    lines = [
        *map(str, functionality.assignments), "",
        f"indices {', '.join(f'{index} 0..{extent - 1}' for index, extent in made.bounds)}", f"vectors: {dataflow}",
        *(f"{skip}; {' and '.join(f'{index} by ' + (' and '.join(found[index]) or 'nothing else') for index in skip.indices)}"
          for skip in skips), "",
        *(_fiber(side) for side in (made.left, made.right)),
        f"fibers of one {shared} belong together" if shared else "there is one fiber of each",
        f"{kind.left} and {kind.right} elements meet in a step, each with each: {numbers['pes']} PEs; all vectors of "
        f"{made.right.tensor.name} for each of {made.left.tensor.name}",
        f"{made.right.tensor.name} in a buffer of {kind.stored:,} vectors, {times(kind.fibers)}",
        f"{made.result.name}, {size}, in {kind.banks} banks of {kind.words:,} sums, twice, which add one a cycle; to them by "
        f"{kind.lanes} FIFOs of {kind.depth} for each PE",
        f"by {made.part} up to {made.most} of {made.result.shape[0]} at once, or fewer where fibers are long" if made.part
        else "all sums at once"]
    return Outcome({**numbers, "indices": dict(made.bounds), "skips": [*map(str, skips)]}, "\n".join(lines))


def _fiber(side: Side) -> str:
    place = Sum(side.factors, side.constant)
    of = "the elements that are not 0" if side.sparse else "all elements"
    return (f"{side.tensor.name}: fibers of {of} along {', '.join(side.along)}, at {place}")


def results(made: Vectored, given: Mapping[str, np.ndarray], count: int, engine: str, stalls: int | None
            ) -> tuple[dict[str, np.ndarray], int, dict[str, object]]:
    """What the streams give, the cycles, and more numbers of the run."""
    found: list[Part] = []
    bounds: list[int] = []
    for at in range(count):
        found += parts(made, {name: array[at] for name, array in given.items()})
        bounds.append(len(found))
    products = sum(each.products for each in found)
    if products > MOST_PRODUCTS:
        raise UserError(f"{products:,} products", made.kind.name, f"give operands of {MOST_PRODUCTS:,} or fewer")
    words = streams(made.kind, found)
    if engine == "tokens":
        outputs: Mapping[str, list[int]] = simulate(made.kind, words)
        cycles = timed(made.kind, words)
    else:
        patience = products + len(found) * made.kind.places + sum(map(len, words.values()))
        ran = Bench(CartesianArray(made.kind)).run(words, stalls=stalls, idle=PATIENCE + 2 * made.kind.places,
                                                   max_cycles=PATIENCE * patience)
        assert not ran.left, f"words are left at {', '.join(ran.left)}"
        outputs, cycles = ran.outputs, ran.cycles
    ideal = ideal_cycles(made.kind, found)
    numbers: dict[str, object] = {
        "parts": len(found), "products": products, "cycles_of_ideal_crossbar": ideal, "of_ideal": round(ideal / cycles, 3),
        "utilisation": round(products / (made.kind.left * made.kind.right * cycles), 3)}
    values = []
    for first, end in zip([0, *bounds], bounds):
        mine = {name: each[first * made.kind.words:end * made.kind.words] for name, each in outputs.items()}
        values.append(collected(made, mine, [each.rows for each in found[first:end]]))
    return {made.result.name: np.stack(values)}, cycles, numbers
