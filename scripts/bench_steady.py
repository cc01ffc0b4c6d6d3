"""Cycles of an operation in the steady state, against those of the ideal machine that only computes.

    python scripts/bench_steady.py             all of apps/sparse, and write the table in docs/performance.md
    python scripts/bench_steady.py spmv ttv    these only, and write nothing

An operation is a kernel on whole operands, as one sub-tile: random, a fifth of the places nonzeros, of the largest shape that
the kernel names, or of the largest part of it, in sixteenths of its extents, whose levels fit the buffers twice. Then a
program that takes operations one behind the other in a launch loads the next one and stores the one before meanwhile. The same
operation is taken again and again; the cycles of one are the difference between MANY and FEW of them, for each of these.

The ideal machine is the token model with FIFOs and buffers without bound and wires without length, in which operands are there
from the beginning and results stay where they are written; its cycles of an operation are found in the same way, so that it
too begins the next one while it ends the one before. Loads and stores are in the cycles of the Verilog, not in the ideal ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from bench_kernels import LEAST, SHARE
from bench_row import Row
from performance import table_of_kernels

from sardonyx.api import located
from sardonyx.compiler.einsum import CompiledEinsum, compile_einsum
from sardonyx.compiler.lang.kernel import kernel_names, load_kernel
from sardonyx.compiler.lang.program import parse_program
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError
from sardonyx.runtime.data.blocks import Blocks
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.sim import engines, expected
from sardonyx.sim.model.tokens import fabric
from sardonyx.sim.model.tokens.computing import compute_cycles
from sardonyx.tensors.values import random_tensor

FEW, MANY = 4, 12   # Operations of a launch.
PARTS = 16          # Of the extents of a shape.
MEAN, WORST = 1.1, 1.3


@dataclass(frozen=True)
class Found:
    """Cycles of an operation: of the Verilog, of the ideal machine that only computes, and of that which also moves."""

    kernel: str
    arch: str
    extents: str
    cycles: float
    computing: float
    moving: float

    @property
    def ratio(self) -> float:
        """To the ideal machine that only computes."""
        return self.cycles / self.computing

    @property
    def moved(self) -> float:
        """To that which also loads and stores."""
        return self.cycles / self.moving


@dataclass(frozen=True)
class Operation:
    """A kernel on operands that are one sub-tile, and its program."""

    kernel: str
    extents: dict[str, int]
    work: Work
    compiled: CompiledEinsum

    @cached_property
    def transaction(self) -> Blocks:
        (found,) = self.work.transactions()
        return found

    def verilog(self, count: int) -> int:
        """Cycles of a launch of so many, every word compared with NumPy."""
        stored: list[Blocks] = []
        run = engines.simulate(self.compiled.program, self.compiled.arch, [self.transaction] * count, stored.append, full=True,
                               bounds=self.work.bounds())
        _, wrong = engines.differences(stored, [*expected.expected(self.work)] * count)
        assert not wrong, f"{self.kernel}: {wrong[0]}"
        assert run.launches == 1 and run.cycles, f"{self.kernel}: {count} operations are {run.launches} launches"
        return run.cycles

    def computing(self, count: int) -> int:
        """Cycles of the ideal machine that only computes."""
        return compute_cycles(self.compiled.unbalanced, [self.transaction] * count)

    def moving(self, count: int) -> int:
        """Cycles of that which also loads and stores."""
        return fabric.ideal_cycles(self.compiled.unbalanced, [self.transaction] * count)


def measure(names: Sequence[str]) -> Iterator[Found]:
    """Kernels, one by one."""
    for one in map(operation, names):
        extents = ", ".join(f"{index} {extent}" for index, extent in one.extents.items())
        yield Found(one.kernel, one.compiled.arch.name, extents, steady(one.verilog), steady(one.computing), steady(one.moving))


def steady(cycles: Callable[[int], int]) -> float:
    """Cycles from one operation to the next, from those of a number of them."""
    return (cycles(MANY) - cycles(FEW)) / (MANY - FEW)


def operation(name: str) -> Operation:
    """The largest part of a kernel's largest shape that a machine takes, on the smaller one of those that do."""
    kernel = load_kernel(name)
    for part in range(PARTS, 0, -1):
        extents = {index: -(-extent * part // PARTS) for index, extent in kernel.shapes[-1].items()}
        data = {access.tensor: random_tensor([extents[index] for index in access.modes], SHARE if access.modes else 1.0, seed)
                for seed, access in enumerate(kernel.einsum().operands)}
        for arch in (presets.get("small"), presets.get("sparse")):
            try:
                statement = located(parse_program(kernel.expression, kernel.order, kernel.formats), "auto", arch).result
                work = Work(tile(statement, data, arch.mem.level_words // 2, extents, narrow=True))
                return Operation(name, extents, work, compile_einsum(work.tiling.einsum, arch))
            except UserError:
                continue
    raise AssertionError(f"{name} fits no machine")


def summary(found: Sequence[Found]) -> str:
    """Those with enough ideal cycles to say something, and the others, in words."""
    long, short = ([one for one in found if (one.computing >= LEAST) == wanted] for wanted in (True, False))
    words = []
    if long:
        mean = np.exp(np.log([one.ratio for one in long]).mean())
        most = max(long, key=lambda one: one.ratio)
        words.append(f"{len(long)} kernels of {LEAST} or more: geomean {mean:.3f}, worst {most.ratio:.2f} ({most.kernel})")
    if short:
        moved = max(one.moved for one in short)
        words.append(f"{len(short)} below that, to the ideal machine that also moves: at most {moved:.2f}")
    return "; ".join(words)


def rows() -> list[Row]:
    """The line of the table of measurements."""
    found = list(measure(kernel_names()))
    ratios = np.array([one.ratio for one in found if one.computing >= LEAST])
    return [Row("kernels on operands whose levels fit the buffers twice, one behind the other in a launch: cycles of the "
                "Verilog from one to the next / those of the token model with FIFOs without bound that only computes",
                summary(found), f"geomean <= {MEAN:.2f}, worst <= {WORST}",
                bool(np.exp(np.log(ratios).mean()) <= MEAN and ratios.max() <= WORST))]


def table(found: Sequence[Found]) -> str:
    """The table in Markdown."""
    lines = ["| kernel | machine | extents | cycles | ideal: computes; also moves | ratios |", "|---|---|---|---|---|---|"]
    lines += [f"| {one.kernel} | {one.arch} | {one.extents} | {one.cycles:,.0f} | {one.computing:,.0f}; {one.moving:,.0f} | "
              f"{one.ratio:.2f}; {one.moved:.2f} |" for one in found]
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write the table if all kernels were measured."""
    table_of_kernels("steady", measure, table, summary, kernel_names())


if __name__ == "__main__":
    main()
