"""What each feature of sparse programs gains, in generated Verilog of `onyx` with filter and arbiter in its PEs, every word
compared.

    python scripts/bench_sparse.py               measure, and write the tables in docs/performance.md between their markers
    python scripts/bench_sparse.py qiulp MTTKRP  these only, and write nothing

Products of matrices are those of Onyx: a matrix times its transpose, rotated by a column (JSSC VI). Each side has the edges
that are best for it: `plain` those for launches of one sub-tile; it is balanced, as programs are unless asked to be otherwise.

Exhaustive pipelining (JSSC IV-E), a SplitFIFO for every two hops of a route, is a value of the machine: `none` is a program for
one whose tracks have no registers (`Interconnect.fifo` "inputs"), placed, routed and run like the others.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from performance import write_table

import sardonyx
from sardonyx import api
from sardonyx.compiler.lang.einsum import parse
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.primitive import ARBITER, FILTER
from sardonyx.tensors import values
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.files import read_tensor

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT.parent / "shared" / "data" / "matrices"
MATRICES = ("qiulp", "west2021", "bcsstm26", "bwm2000", "G33")
MTTKRP = "MTTKRP"
STATEMENT = "X(i,j) = B(i,k,l) * C(j,k) * D(j,l)"
SHAPES = {"B": (100, 200, 200), "C": (100, 200), "D": (100, 200)}
SHARE = 0.02
NONE, PIPELINED, PLAIN, TILES = "none", "+ exhaustive pipelining", "+ balancing: plain", "+ tile pipelining"
COPIES: dict[str, Any] = {"unroll": "most", "dispatch": "expected"}


@dataclass(frozen=True)
class Step:
    """A run: with which features more than that before it; cycles, period and what of the machine it takes."""

    name: str
    report: Mapping[str, Any]

    @property
    def cycles(self) -> int:
        return int(self.report["cycles"])

    @property
    def microseconds(self) -> float:
        """Of these cycles, at the period of the program."""
        return float(self.cycles * self.report["period_ns"] / 1000)

    @property
    def tiles(self) -> int:
        used = self.report["tiles_used"]
        return int(used["pe"] + used["mem"])


@cache
def machine(fifo: str = "split") -> Arch:
    """`onyx` whose PEs lead blocks to copies and from them; fifo: where its routes have registers."""
    arch = presets.get("onyx")
    return replace(arch, pe=replace(arch.pe, primitives=(*arch.pe.primitives, FILTER, ARBITER)),
                   interconnect=replace(arch.interconnect, fifo=fifo))


def work(name: str) -> tuple[str, dict[str, Any]]:
    """A statement and its operands."""
    if name == MTTKRP:
        tensors = {tensor: values.random_tensor(shape, SHARE, seed) for seed, (tensor, shape) in enumerate(SHAPES.items())}
        return STATEMENT, {tensor: values.to_value(each) for tensor, each in tensors.items()}
    matrix = read_tensor(FOLDER / f"{name}.mtx.gz", "small", 0)
    turned = (matrix.coords[:, ::-1] + np.array([0, 1])) % np.array(matrix.shape[::-1])
    return api.MATRIX_PRODUCT, {"B": values.to_value(matrix),
                                "C": values.to_value(Coo.make(matrix.shape[::-1], turned, matrix.values))}


def steps(name: str) -> Iterator[Step]:
    """The runs of some work, from plain to all features."""
    statement, operands = work(name)

    order = " ".join(parse(statement).order)    # What another order may gain is no step here.

    def run(what: str, arch: Arch | None = None, **how: Any) -> Step:
        return Step(what, sardonyx.einsum(statement, order=order, arch=arch or machine(), **operands, **how).report)

    yield run(NONE, machine("inputs"), without="pipelining,balancing,narrowing")
    yield run(PIPELINED, without="pipelining,balancing,narrowing")
    apart = run(PLAIN, without="pipelining,narrowing")
    yield apart
    yield run(TILES, tile=apart.report["tile_edge"], without="narrowing")
    yield run("+ edges chosen", without="narrowing")
    yield run("+ narrowing", without="sharing")
    yield run("+ unrolling", **COPIES)


def gain(found: Sequence[Step]) -> float:
    """Plain cycles to those with all features."""
    return plain(found).cycles / found[-1].cycles


def pipelining(found: Sequence[Step]) -> float:
    """Cycles of launches of one sub-tile to those of the same sub-tiles behind each other."""
    return plain(found).cycles / next(step for step in found if step.name == TILES).cycles


def ablation(found: Sequence[Sequence[Step]]) -> dict[str, tuple[float, float]]:
    """What each step gains on that before it: times fewer cycles, and times less of cycles x period, geometric means."""
    return {after[0].name: (geomean([one.cycles / other.cycles for one, other in zip(before, after, strict=True)]),
                            geomean([one.microseconds / other.microseconds for one, other in zip(before, after, strict=True)]))
            for before, after in pairwise(zip(*found, strict=True))}


def plain(found: Sequence[Step]) -> Step:
    """Launches of one sub-tile on one copy."""
    return next(step for step in found if step.name == PLAIN)


def geomean(numbers: Sequence[float]) -> float:
    return float(prod(numbers) ** (1 / len(numbers)))


def table(found: Mapping[str, Sequence[Step]]) -> str:
    """Cycles by work and step, and of the ends the edges and what of the machine is used, in Markdown."""
    names = [step.name for step in next(iter(found.values()))]
    lines = [f"| cycles | {' | '.join(names)} | plain / all | copies; links; tiles used, times | edges: plain; all |",
             f"|---|{'---|' * (len(names) + 3)}"]
    for name, each in found.items():
        last = each[-1].report
        edges = "; ".join(", ".join(f"{index} {edge}" for index, edge in step.report["tile_edge"].items())
                          for step in (plain(each), each[-1]))
        lines.append(f"| {name} | {' | '.join(f'{step.cycles:,}' for step in each)} | {gain(each):.1f} | {last['copies']}; "
                     f"{last['link_groups']}; {each[-1].tiles / each[0].tiles:.1f} | {edges} |")
    lines += ["", f"| microseconds at the period of the program | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    lines += [f"| {name} | " + " | ".join(f"{step.microseconds:,.1f}" for step in each) + " |"
              for name, each in found.items()]
    return "\n".join(lines)


def measure(names: Sequence[str] = (*MATRICES, MTTKRP)) -> dict[str, list[Step]]:
    """All runs."""
    found: dict[str, list[Step]] = {}
    for name in names:
        found[name] = []
        for step in steps(name):
            print(f"{name} {step.name}: {step.cycles:,} cycles, {step.report['tile_edge']}", file=sys.stderr, flush=True)
            found[name].append(step)
    return found


def main() -> None:
    """Measure, print, and write the tables if all was measured."""
    found = measure(sys.argv[1:] or (*MATRICES, MTTKRP))
    print(table(found))
    if len(sys.argv) == 1:
        write_table("features", table(found))


if __name__ == "__main__":
    main()
