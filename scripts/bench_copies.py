"""Copies of a program that share its sub-tiles, by the way in which these are dealt, in generated Verilog.

    python scripts/bench_copies.py               measure, and write the table in docs/performance.md between its markers
    python scripts/bench_copies.py MTTKRP        this work only, and write nothing

Every word is compared. Edges of sub-tiles are given, in the default order of loops, so that the work is the same for any number
of copies; how many copies gain where edges are chosen is in `bench_sparse.py`. Cycles are from start to done, summed over
launches, of which each waits for its last copy.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import bench_sparse
from performance import write_table

import sardonyx
from sardonyx import api
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.lang.einsum import parse
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.primitive import ARBITER, DISPATCHER, FILTER
from sardonyx.options import DISPATCH
from sardonyx.tensors.values import random_tensor, to_value

DYNAMIC = "dynamic"
QIULP, SQUARE, MTTKRP = "qiulp", "120 x 120", "MTTKRP"
# Of MTTKRP, all of 2 % nonzeros.
SHAPES = {"B": (50, 100, 100), "C": (50, 100), "D": (50, 100)}


@dataclass(frozen=True)
class Work:
    """A statement, its operands, the edge of its sub-tiles, and on which machine; copies: how many there are, and how dealt."""

    statement: str
    operands: Mapping[str, Any]
    edge: int
    arch: Arch
    copies: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Found:
    """What so many copies took."""

    work: str
    copies: int
    dispatch: str
    cycles: int
    mem: int


def machine() -> Arch:
    """`onyx` whose PEs lead blocks to copies and from them, also to those that are free."""
    arch = presets.get("onyx")
    return replace(arch, pe=replace(arch.pe, primitives=(*arch.pe.primitives, FILTER, ARBITER, DISPATCHER)))


def work(name: str) -> Work:
    """What copies share."""
    every = tuple(DISPATCH)
    if name == QIULP:
        statement, operands = bench_sparse.work(name)
        return Work(statement, operands, 16, machine(), (*((7, how) for how in every), (14, DYNAMIC)))
    shapes = SHAPES if name == MTTKRP else dict.fromkeys("BC", (120, 120))
    operands = {tensor: to_value(random_tensor(shape, 0.02 if name == MTTKRP else 0.1, seed))
                for seed, (tensor, shape) in enumerate(shapes.items())}
    if name == MTTKRP:
        return Work(bench_sparse.STATEMENT, operands, 30, machine(), ((7, DYNAMIC), (9, DYNAMIC)))
    return Work(api.MATRIX_PRODUCT, operands, 24, presets.get("sparse"), tuple((2, how) for how in every))


def measure(names: Sequence[str] = (QIULP, SQUARE, MTTKRP)) -> Iterator[Found]:
    """One copy of the program of each work, and several."""
    for name in names:
        what = work(name)
        for copies, dispatch in ((1, ""), *what.copies):
            order = " ".join(parse(what.statement).order)
            ran = sardonyx.einsum(what.statement, order=order, arch=what.arch, tile=what.edge, unroll=copies,
                                  dispatch=dispatch or "order", **what.operands)
            report: dict[str, Any] = dict(ran.report)
            yield Found(name, copies, dispatch, report["cycles"], report["tiles_used"]["mem"])


def gains(found: Sequence[Found], name: str, copies: int) -> dict[str, float]:
    """How many times fewer cycles so many copies take, by the way in which sub-tiles are dealt."""
    one = next(each for each in found if (each.work, each.copies) == (name, 1))
    return {each.dispatch: one.cycles / each.cycles for each in found if (each.work, each.copies) == (name, copies)}


def tiles() -> dict[str, tuple[int, float]]:
    """The most copies that are placed and routed of a product of matrices and of MTTKRP, and how many times as many tiles these
    take, those that only hold tokens left out."""
    found = {}
    for name, statement, copies in (("SpMSpM", api.MATRIX_PRODUCT, 14), (MTTKRP, bench_sparse.STATEMENT, 9)):
        one, all_ = (compile_einsum(parse(statement), machine(), copies=count).tiles for count in (1, copies))
        found[name] = copies, (all_["pe"] + all_["mem"]) / (one["pe"] + one["mem"])
    return found


def table(found: Sequence[Found]) -> str:
    """In Markdown."""
    lines = ["| work | copies | dispatch | cycles | times fewer | MEM tiles |", "|---|---|---|---|---|---|"]
    for each in found:
        gain = f"{gains(found, each.work, each.copies)[each.dispatch]:.2f}" if each.copies > 1 else ""
        how = f"{each.work} | {each.copies} | {each.dispatch}"
        lines.append(f"| {how} | {each.cycles:,} | {gain} | {each.mem} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write the table if all was measured."""
    found = []
    for each in measure(sys.argv[1:] or (QIULP, SQUARE, MTTKRP)):
        print(each, file=sys.stderr, flush=True)
        found.append(each)
    print(table(found))
    if len(sys.argv) == 1:
        write_table("copies", table(found))


if __name__ == "__main__":
    main()
