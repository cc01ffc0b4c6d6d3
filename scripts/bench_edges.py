"""How well sub-tile edges are chosen: the cycles of the Verilog with those chosen and with the best of a sweep.

    python scripts/bench_edges.py            measure, and write the table in docs/performance.md between its markers
    python scripts/bench_edges.py 3 7        these pairs only, and write nothing

The sweep of a pair measures one edge for all indices, each of those that the search knows and of the equal parts of the
longest extent, unless it is expected to take more than twice the least cycles that were measured. Then it descends by
measurement: from the best of these and from what was chosen, the edge of one index after the other is halved and doubled for
as long as that gains.

Operands are made by seed. The first half of the pairs was looked at while the estimate was written, the second half was not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from performance import write_table

from sardonyx.compiler.einsum import CompiledEinsum, compile_einsum
from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.compiler.lang.kernel import load_kernel
from sardonyx.compiler.sparse.estimate import cycles
from sardonyx.compiler.sparse.normalize import normalize
from sardonyx.compiler.sparse.search import EDGES
from sardonyx.compiler.sparse.tiles import Tiling
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError
from sardonyx.outcome import silent
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.sim import engines
from sardonyx.sim.rtl import simulator
from sardonyx.tensors.coordinates import Coo

MOST_ITEMS = 30_000     # Sub-tiles that are simulated.
PARTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)
FAR = 2                 # Times the least cycles beyond which nothing is measured: the estimate is not that far off.


@dataclass(frozen=True)
class Pair:
    """A kernel and its operands.

    Parameters
    ----------
    kernel : str       Of `apps/sparse`.
    extents : str      Of its indices, such as ``i 200 j 300``.
    pattern : str      Of operands with two indices or more: random, banded, diagonal, crowded (few long rows), blocks.
    share : float      Nonzeros to places, of each operand that is compressed, but for banded and diagonal ones: these are as
                       wide as that makes them.
    """

    kernel: str
    extents: str
    pattern: str
    share: float

    @property
    def name(self) -> str:
        return f"{self.kernel} {self.extents}, {self.pattern} {self.share:g}"

    @cached_property
    def einsum(self) -> Einsum:
        return load_kernel(self.kernel).einsum()

    @cached_property
    def operands(self) -> dict[str, Coo]:
        """By tensor."""
        words = self.extents.split()
        extents = {index: int(extent) for index, extent in zip(words[::2], words[1::2], strict=True)}
        found = {}
        for seed, access in enumerate(self.einsum.operands):
            dense = access.format.letters.count("d") == len(access.indices)
            shape = tuple(extents[index] for index in access.indices)
            found[access.tensor] = _tensor(shape, "random" if dense else self.pattern, 1.0 if dense else self.share, seed)
        return found


def _tensor(shape: tuple[int, ...], pattern: str, share: float, seed: int) -> Coo:
    """A tensor with values from -4 to 4 but 0."""
    random = np.random.default_rng(seed)
    count = max(1, round(share * float(np.prod(shape))))
    if not shape or share == 1 or len(shape) == 1:
        pattern = "random"
    places = np.arange(int(np.prod(shape)))
    if pattern == "random":
        chosen = places if share == 1 else random.choice(len(places), count, replace=False)
        coords = np.stack(np.unravel_index(chosen, shape), axis=1) if shape else np.zeros((1, 0), np.int64)
    else:
        coords = np.stack([random.integers(0, extent, 4 * count) for extent in shape], axis=1)
        first, rest = coords[:, 0], coords[:, 1:]
        if pattern == "banded":
            width = max(1, round(share * shape[1]))
            for at, extent in enumerate(shape[1:]):
                rest[:, at] = (first * extent // shape[0] + random.integers(0, width, len(first))) % extent
        elif pattern == "crowded":
            for at, extent in enumerate(shape):
                coords[:, at] = (random.power(0.4, len(first)) * extent).astype(np.int64) % extent
        elif pattern == "blocks":
            side = 8
            corners = coords[:max(1, count // side ** 2)] // side * side
            coords = corners[random.integers(0, len(corners), 4 * count)] + random.integers(0, side, coords.shape)
            coords = np.minimum(coords, np.array(shape) - 1)
        coords = np.unique(coords, axis=0)
        coords = coords[np.sort(random.permutation(len(coords))[:count])]
    return Coo.make(shape, coords, random.integers(1, 5, len(coords)) * random.choice((-1, 1), len(coords)))


CALIBRATION = tuple(Pair(*each) for each in (
    ("spmspm", "i 1000 k 1000 j 1000", "random", 0.0005), ("spmspm", "i 200 k 200 j 200", "random", 0.01),
    ("spmspm", "i 100 k 100 j 100", "random", 0.1), ("spmspm", "i 600 k 600 j 600", "banded", 0.004),
    ("spmspm", "i 200 k 200 j 200", "crowded", 0.02), ("spmspm", "i 240 k 240 j 240", "blocks", 0.03),
    ("spmv", "i 60 j 60", "banded", 0.1), ("spmv", "i 500 j 500", "random", 0.01), ("spmv", "i 300 j 300", "crowded", 0.05),
    ("mat_identity", "i 200 j 200", "random", 0.01), ("mat_identity", "i 50 j 2000", "crowded", 0.05),
    ("mat_elemadd", "i 200 j 200", "random", 0.01), ("mat_elemadd", "i 500 j 300", "banded", 0.02),
    ("mat_elemadd3", "i 150 j 250", "random", 0.02), ("mat_elemmul", "i 300 j 300", "blocks", 0.1),
    ("mattransmul", "i 60 j 70", "random", 0.2), ("residual", "i 60 j 70", "banded", 0.2),
    ("sddmm", "i 36 j 34 k 40", "random", 0.1), ("mttkrp", "i 11 j 9 k 12 l 10", "random", 0.3),
    ("ttv", "i 12 j 14 k 18", "random", 0.3), ("innerprod", "i 18 j 14 k 12", "random", 0.3),
    ("tensor3_elemadd", "i 50 j 40 k 30", "crowded", 0.02), ("tensor3_elemmul", "i 18 j 14 k 12", "random", 0.3),
    ("vec_elemadd", "i 1100", "random", 0.3), ("vec_elemmul", "i 30000", "random", 0.1)))
CHECK = tuple(Pair(*each) for each in (
    ("spmspm", "i 350 k 420 j 280", "random", 0.006), ("spmspm", "i 77 k 77 j 77", "crowded", 0.085),
    ("spmspm", "i 150 k 150 j 150", "banded", 0.06), ("spmspm", "i 400 k 400 j 400", "blocks", 0.01),
    ("spmspm", "i 20 k 1500 j 25", "random", 0.02), ("spmspm", "i 64 k 64 j 64", "random", 0.3),
    ("spmv", "i 120 j 90", "random", 0.1), ("spmv", "i 700 j 1200", "banded", 0.01), ("spmv", "i 90 j 1000", "crowded", 0.03),
    ("mat_identity", "i 333 j 222", "banded", 0.03), ("mat_identity", "i 1000 j 1000", "crowded", 0.004),
    ("mat_elemadd", "i 128 j 128", "blocks", 0.15), ("mat_elemadd", "i 900 j 60", "random", 0.05),
    ("mat_elemadd3", "i 210 j 130", "banded", 0.05), ("mat_elemmul", "i 256 j 256", "crowded", 0.06),
    ("mattransmul", "i 250 j 180", "random", 0.04), ("residual", "i 200 j 260", "crowded", 0.05),
    ("sddmm", "i 60 j 50 k 24", "blocks", 0.08), ("mttkrp", "i 24 j 16 k 20 l 14", "random", 0.1),
    ("ttv", "i 40 j 30 k 25", "crowded", 0.05), ("innerprod", "i 25 j 30 k 20", "banded", 0.1),
    ("tensor3_elemadd", "i 22 j 26 k 30", "random", 0.08), ("tensor3_elemmul", "i 30 j 30 k 30", "crowded", 0.1),
    ("vec_elemadd", "i 5000", "random", 0.2), ("vec_elemmul", "i 2600", "random", 0.4)))
PAIRS = CALIBRATION + CHECK


@dataclass(frozen=True)
class Found:
    """What the sweep of a pair gave: edges and cycles, chosen and best, and how many were measured."""

    pair: Pair
    chosen: Mapping[str, int]
    chosen_cycles: int
    best: Mapping[str, int]
    best_cycles: int
    items: int
    expected: float
    measured: int

    @property
    def ratio(self) -> float:
        return self.chosen_cycles / self.best_cycles if self.best_cycles else float(self.chosen_cycles == 0)


class Sweep:
    """The edges of a pair that were measured; by edges the cycles, None for those that do not fit or are too many."""

    def __init__(self, pair: Pair, arch: Arch) -> None:
        self.pair, self.arch = pair, arch
        self.machine = simulator.whole_machine(arch)
        self.programs: dict[Einsum, CompiledEinsum] = {}
        self.extents = pair.einsum.extents({name: tensor.shape for name, tensor in pair.operands.items()})
        self.known: dict[tuple[int, ...], int | None] = {}

    def run(self) -> Found:
        chosen = tile(self.pair.einsum, self.pair.operands, self.arch.mem.level_words, narrow=True)
        expected = estimated(chosen)
        found = self.measured(chosen)
        longest = max(self.extents.values())
        uniform = {min(edge, longest) for edge in EDGES} | {-(-longest // parts) for parts in PARTS}
        likely = []
        for edge in uniform:
            tiling = self.tiling(dict.fromkeys(self.extents, edge))
            if tiling is not None:
                likely.append((estimated(tiling), tiling))
        for cost, tiling in sorted(likely, key=lambda each: each[0]):
            if cost > FAR * self.least:
                break
            self.measured(tiling)
        self.descend(self.best)
        self.descend(tuple(chosen.edges[index] for index in self.extents))
        return Found(self.pair, chosen.edges, found, dict(zip(self.extents, self.best, strict=True)), self.least, len(chosen),
                     expected, len([each for each in self.known.values() if each is not None]))

    @property
    def best(self) -> tuple[int, ...]:
        return min((edges for edges, each in self.known.items() if each is not None), key=lambda edges: self.known[edges] or 0)

    @property
    def least(self) -> int:
        return self.known[self.best] or 0

    def descend(self, edges: tuple[int, ...]) -> None:
        """Measure smaller and larger edges of one index after the other, for as long as that gains."""
        improved = True
        while improved:
            improved = False
            for at, extent in enumerate(self.extents.values()):
                for factor in (0.5, 2.0):
                    other = (*edges[:at], min(max(1, int(edges[at] * factor)), extent), *edges[at + 1:])
                    if other not in self.known:
                        tiling = self.tiling(dict(zip(self.extents, other, strict=True)))
                        self.known[other] = None
                        if tiling is not None and estimated(tiling) <= FAR * self.least:
                            self.measured(tiling)
                    before, now = self.known[edges], self.known[other]
                    if now is not None and (before is None or now < before):
                        edges, improved = other, True

    def tiling(self, edges: Mapping[str, int]) -> Tiling | None:
        try:
            found = tile(self.pair.einsum, self.pair.operands, self.arch.mem.level_words, edges, narrow=True)
        except UserError:
            return None
        return found if len(found) <= MOST_ITEMS else None

    def measured(self, tiling: Tiling) -> int:
        key = tuple(tiling.edges[index] for index in self.extents)
        if self.known.get(key) is None:
            if tiling.einsum not in self.programs:
                self.programs[tiling.einsum] = compile_einsum(tiling.einsum, self.arch)
            work = Work(tiling)
            run = engines.run_on(self.machine, self.programs[tiling.einsum].program, work.transactions(), lambda stored: None,
                                 bounds=work.bounds())
            assert run.cycles is not None, "the Verilog counts cycles"
            self.known[key] = run.cycles
        return self.known[key] or 0


def estimated(tiling: Tiling) -> float:
    """The cycles that are expected."""
    return cycles(normalize(tiling.einsum), tiling)


def measure(pairs: Sequence[Pair] = PAIRS, progress: Callable[[str], None] = silent) -> Iterator[Found]:
    """The sweeps of pairs, on `small`, or on `onyx` where that is too small."""
    machines: dict[str, Arch] = {}
    for pair in pairs:
        progress(pair.name)
        if pair.kernel not in machines:
            try:
                machines[pair.kernel] = compile_einsum(pair.einsum, presets.get("small")).arch
            except UserError:
                machines[pair.kernel] = presets.get("onyx")
        yield Sweep(pair, machines[pair.kernel]).run()


def summary(found: Sequence[Found]) -> str:
    """Geometric mean and worst of the ratios."""
    ratios = np.array([each.ratio for each in found])
    within = (ratios <= 1.1).sum()
    return f"geomean {np.exp(np.log(ratios).mean()):.3f}, worst {ratios.max():.3f}, {within} of {len(ratios)} within 1.1"


def table(found: Sequence[Found]) -> str:
    """The table in Markdown."""
    lines = ["| kernel, operands | chosen: edges | sub-tiles | cycles (expected) | best: edges | cycles | ratio |",
             "|---|---|---|---|---|---|---|"]
    for each in found:
        chosen, best = (", ".join(f"{index} {edge}" for index, edge in edges.items()) for edges in (each.chosen, each.best))
        lines.append(f"| {each.pair.name} | {chosen} | {each.items:,} | {each.chosen_cycles:,} ({each.expected:,.0f}) | "
                     f"{'the same' if chosen == best else best} | {each.best_cycles:,} | {each.ratio:.3f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write the table if all pairs were measured."""
    numbers = [int(each) for each in sys.argv[1:]]
    pairs = [PAIRS[number] for number in numbers] if numbers else PAIRS
    found = list(measure(pairs, lambda name: print(name, file=sys.stderr, flush=True)))
    print(table(found))
    if numbers:
        return
    half = len(CALIBRATION)
    text = (f"{table(found)}\n\nThe first {half} pairs: {summary(found[:half])}; the others, which were not looked at before: "
            f"{summary(found[half:])}. {sum(each.measured for each in found):,} edges were measured.")
    write_table("edges", text)


if __name__ == "__main__":
    main()
