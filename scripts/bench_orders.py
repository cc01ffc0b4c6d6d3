"""How well the order of loops is chosen: cycles in the chosen order and in the best of all.

    python scripts/bench_orders.py            measure, and write the table in docs/performance.md between its markers
    python scripts/bench_orders.py 3 7        these statements only, and write nothing

Every order in which a statement can be computed is measured with the edges that are chosen for it, or that are given: by the
clock of the token model, with FIFOs without bound, and for those marked `rtl` in generated Verilog. The machine is `onyx`.
Matrices are of SuiteSparse, with small integers for values, times themselves or their transposes; others are random by seed.
The first half of the statements was looked at while the choice was written, the second half was not.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from performance import write_table

import sardonyx
from sardonyx import api
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.lang.program import Program, parse_program
from sardonyx.compiler.sparse.fuse import alone
from sardonyx.compiler.sparse.settled import too_many
from sardonyx.cutting import Plan, cut
from sardonyx.expected import estimated, orders
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError
from sardonyx.loops import choose
from sardonyx.outcome import silent
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.sim.model.tokens import fabric
from sardonyx.tensors import values
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.files import read_tensor

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT.parent / "shared" / "data" / "matrices"
ARCH = "onyx"
FAR = 4     # Times the least expected cycles beyond which an order is not measured: estimates are not that far off.
RELU = "X(i,j) = relu(B(i,k) * C(k,j))"
MTTKRP = "X(i,j) = B(i,k,l) * C(j,k) * D(j,l)"
TTM = "X(i,j,k) = B(i,j,l) * C(k,l)"
SPMV = "x(i) = B(i,j) * c(j)"


@dataclass(frozen=True)
class Case:
    """A statement on operands.

    Parameters
    ----------
    text : str       The statement.
    operands : str   A matrix by its name, for B, and for C that or its transpose; or what is random: extents of the indices
                     and shares of nonzeros, as ``i 20 j 30, B 0.1 C 1``. Both: random operands beside a matrix.
    tile : int       Edge of sub-tiles; 0: chosen.
    rtl : bool       Whether the Verilog is measured, too.
    """

    text: str
    operands: str
    tile: int = 0
    rtl: bool = False

    @property
    def name(self) -> str:
        return f"`{self.text}`, {self.operands}{f', tile {self.tile}' if self.tile else ''}"

    @cached_property
    def data(self) -> dict[str, Coo]:
        """By tensor."""
        *matrix, extents, shares = self.operands.split(", ") if ", " in self.operands else [self.operands, "", ""]
        sizes = {index: int(size) for index, size in _pairs(extents)}
        found = {}
        if matrix:
            found["B"] = one = read_tensor(FOLDER / f"{matrix[0]}.mtx.gz", "small", 0)
            square = one.shape[0] == one.shape[1]
            if not shares:
                found["C"] = one if square else Coo.make(one.shape[::-1], one.coords[:, ::-1], one.values)
        accesses = {access.tensor: access.indices for access in parse_program(self.text).result.operands}
        for seed, (tensor, share) in enumerate(_pairs(shares)):
            found[tensor] = values.random_tensor(tuple(sizes[index] for index in accesses[tensor]), float(share), seed)
        return found

    @property
    def plan(self) -> Plan:
        return Plan(self.tile or None)

    def program(self, order: Sequence[str] = ()) -> Program:
        return api.located(parse_program(self.text, order), "auto", presets.get(ARCH))


def _pairs(words: str) -> Iterator[tuple[str, str]]:
    found = words.split()
    yield from zip(found[::2], found[1::2], strict=True)


LOOKED_AT = (
    Case(RELU, "west0156", rtl=True), Case(RELU, "i 60 j 60 k 60, B 0.1 C 0.1", rtl=True),
    Case(api.MATRIX_PRODUCT, "tols340"), Case(api.MATRIX_PRODUCT, "i 120 j 120 k 120, B 0.1 C 0.1", 16),
    Case(api.MATRIX_PRODUCT, "west0067", 16, rtl=True), Case(SPMV, "west0497, j 497, c 0.5", 16),
    Case(MTTKRP, "i 20 j 20 k 20 l 20, B 0.05 C 0.2 D 0.2", 16),
    Case(RELU, "bfwa62"), Case(RELU, "impcol_a"), Case(api.MATRIX_PRODUCT, "fs_183_1"),
    Case("X(i,j) = B(i,j) * C(i,k) * D(k,j)", "i 40 j 40 k 10, B 0.1 C 1 D 1"))
CHECK = (
    Case(RELU, "can_24"), Case(RELU, "west0167"), Case(api.MATRIX_PRODUCT, "mahindas"), Case(api.MATRIX_PRODUCT, "fs_541_2"),
    Case(api.MATRIX_PRODUCT, "ash85", 32, rtl=True), Case(SPMV, "bcsstk01, j 48, c 0.3", 24, rtl=True),
    Case(TTM, "i 18 j 22 k 14 l 16, B 0.08 C 0.3", 8), Case(TTM, "i 18 j 22 k 14 l 16, B 0.08 C 0.3"),
    Case("X(i,j) = B(i,k) * C(k,l) * D(l,j)", "i 50 j 40 k 30 l 45, B 0.06 C 0.05 D 0.07", 20),
    Case("x(i) = b(i) - C(i,j) * d(j)", "i 90 j 70, b 0.5 C 0.08 d 0.6", 30))
CASES = LOOKED_AT + CHECK


@dataclass(frozen=True)
class Found:
    """By order the cycles on the token model, and for some in Verilog; what was chosen, and the host's seconds of cutting in
    the default order and of choosing."""

    case: Case
    chosen: str
    default: str
    cycles: Mapping[str, int]
    verilog: Mapping[str, int]
    cutting_s: float
    choosing_s: float

    @property
    def best(self) -> str:
        return min(self.cycles, key=lambda order: self.cycles[order])

    @property
    def ratio(self) -> float:
        return self.cycles[self.chosen] / self.cycles[self.best]

    @property
    def verilog_ratio(self) -> float:
        return self.verilog[self.chosen] / min(self.verilog.values())


def measure(cases: Sequence[Case] = CASES, progress: Callable[[str], None] = silent) -> Iterator[Found]:
    """All orders of each case."""
    arch = presets.get(ARCH)
    for case in cases:
        progress(case.name)
        statement = case.program().result
        cut(alone(statement), case.data, arch, case.plan)   # What is made once is made.
        began = time.process_time()
        cut(alone(statement), case.data, arch, case.plan)
        between = time.process_time()
        chosen = choose(statement, {}, case.data, arch, case.plan)
        choosing = time.process_time() - between
        found = {}
        for order in orders(case.text, {}):
            if too_many(parse(case.text, order)):
                continue
            try:
                found[order] = estimated(case.program(order).result, case.data, arch, case.plan)
            except UserError:
                continue
        least = min(each.cycles for each in found.values())
        cycles, verilog = {}, {}
        for order, each in found.items():
            if each.cycles <= FAR * least:
                graph = compile_einsum(each.tiling.einsum, arch).graph
                cycles[" ".join(order)] = fabric.ideal_cycles(graph, list(Work(each.tiling).transactions()))
                if case.rtl:
                    operands = {name: values.to_value(tensor) for name, tensor in case.data.items()}
                    ran = sardonyx.einsum(case.text, order=" ".join(order), arch=arch, tile=case.tile or None, **operands)
                    verilog[" ".join(order)] = int(ran.cycles or 0)
        yield Found(case, " ".join(chosen.statement.order), " ".join(statement.order), cycles, verilog, between - began,
                    choosing)


def summary(found: Sequence[Found]) -> str:
    """Geometric mean and worst of the ratios."""
    ratios = np.array([each.ratio for each in found])
    within = (ratios <= 1.1).sum()
    return f"geomean {np.exp(np.log(ratios).mean()):.3f}, worst {ratios.max():.3f}, {within} of {len(ratios)} within 1.1"


def table(found: Sequence[Found]) -> str:
    """The table in Markdown."""
    lines = ["| statement, operands | default: cycles | chosen | best | ratio | Verilog: chosen; ratio | host: edges; all |",
             "|---|---|---|---|---|---|---|"]
    for each in found:
        default = f"{each.default}: {f'{each.cycles[each.default]:,}' if each.default in each.cycles else 'far more'}"
        best = "the same" if each.best == each.chosen else f"{each.best}: {each.cycles[each.best]:,}"
        verilog = f"{each.verilog[each.chosen]:,}; {each.verilog_ratio:.3f}" if each.verilog else ""
        chosen = f"{each.chosen}: {each.cycles[each.chosen]:,}"
        lines.append(f"| {each.case.name} | {default} | {chosen} | {best} | {each.ratio:.3f} | {verilog} | "
                     f"{each.cutting_s:.2f} s, {each.choosing_s:.2f} s |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write the table if all cases were measured."""
    numbers = [int(each) for each in sys.argv[1:]]
    cases = [CASES[number] for number in numbers] if numbers else CASES
    found = list(measure(cases, lambda name: print(name, file=sys.stderr, flush=True)))
    print(table(found))
    if numbers:
        return
    half = len(LOOKED_AT)
    text = (f"{table(found)}\n\nThe first {half}: {summary(found[:half])}; the others, which were not looked at before: "
            f"{summary(found[half:])}.")
    write_table("orders", text)


if __name__ == "__main__":
    main()
