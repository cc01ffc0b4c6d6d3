"""Cycles of the kernels, loads and stores included, against those of the token model with FIFOs without bound.

    python scripts/bench_kernels.py            all of apps/sparse, and the geometric mean
    python scripts/bench_kernels.py spmv ttv   these only

Operands are random, a fifth of their places nonzeros, of the largest shape that a kernel names. The Verilog has the edges of
sub-tiles that are chosen, on the smallest preset that has the tiles, and every word is compared with NumPy. The ideal machine
has a word or token a cycle in each stream, also in those that load and store, wires without length, and level buffers without
bound: it takes the same sub-tiles one behind the other, and the whole operands at once by the program of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from bench_row import Row
from performance import table_of_kernels

import sardonyx
from sardonyx.api import located
from sardonyx.compiler.lang.kernel import kernel_names, load_kernel
from sardonyx.compiler.lang.program import parse_program
from sardonyx.compiler.sparse.blocks import map_graph
from sardonyx.compiler.sparse.fuse import alone
from sardonyx.compiler.sparse.lower import lower
from sardonyx.compiler.sparse.tiles import Tiling
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.cutting import Plan, cut
from sardonyx.hw.arch import presets
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.sim.model.tokens import fabric
from sardonyx.tensors.values import random_tensor, to_value

LEAST = 300     # Ideal cycles below which a kernel says little: filling and emptying the machine is most of it then.
SHARE = 0.2
UNBOUND = 1 << 24   # Words of a level buffer.


@dataclass(frozen=True)
class Found:
    """Cycles of a kernel: of the Verilog, of the ideal machine on the same sub-tiles, and of it on whole operands."""

    kernel: str
    arch: str
    sub_tiles: int
    cycles: int
    ideal: int
    whole: int

    @property
    def ratios(self) -> tuple[float, float]:
        """Cycles to ideal ones: on the same sub-tiles, and on whole operands."""
        return self.cycles / self.ideal, self.cycles / self.whole


def ideal(tiling: Tiling) -> int:
    """Cycles of the ideal machine on sub-tiles."""
    return fabric.ideal_cycles(map_graph(lower(tiling.einsum)), list(Work(tiling).transactions()))


def measure(names: Sequence[str]) -> Iterator[Found]:
    """Kernels, each compared with NumPy."""
    for name in names:
        kernel = load_kernel(name)
        extents = kernel.shapes[-1]
        data = {access.tensor: random_tensor([extents[index] for index in access.modes], SHARE if access.modes else 1.0, seed)
                for seed, access in enumerate(kernel.einsum().operands)}
        ran = sardonyx.kernel(name, **{tensor: to_value(each) for tensor, each in data.items()})
        arch = presets.get(str(ran.report["arch"]))
        statement = located(parse_program(kernel.expression, kernel.order, kernel.formats), "auto", arch).result
        tiling = cut(alone(statement), data, arch, Plan())
        assert len(tiling) == ran.report["sub_tiles"], "both machines do the same"
        whole = tile(statement, data, UNBOUND, dict(statement.extents({key: each.shape for key, each in data.items()})))
        yield Found(name, arch.name, len(tiling), int(ran.cycles or 0), ideal(tiling), ideal(whole))


def means(found: Sequence[Found]) -> list[tuple[float, float]]:
    """Geometric mean and worst of both ratios, of kernels that are long enough."""
    ratios = np.array([each.ratios for each in found if each.whole >= LEAST])
    return [*zip(np.exp(np.log(ratios).mean(0)).tolist(), ratios.max(0).tolist(), strict=True)]


def summary(found: Sequence[Found]) -> str:
    """Both in words."""
    same, whole = (f"geomean {mean:.2f}, worst {worst:.2f}" for mean, worst in means(found))
    return (f"{sum(each.whole >= LEAST for each in found)} kernels of {LEAST} ideal cycles or more: to the ideal machine on "
            f"the same sub-tiles {same}; on whole operands {whole}")


def rows() -> list[Row]:
    """The line of the table of measurements."""
    found = list(measure(kernel_names()))
    same, whole = (f"geomean {mean:.2f}, worst {worst:.2f}" for mean, worst in means(found))
    return [Row(f"cycles of {len(found)} kernels / those of the token model with FIFOs without bound, load and store included: "
                "on the same sub-tiles; on whole operands", f"{same}; {whole}", "geomean <= 1.3",
                max(mean for mean, _ in means(found)) <= 1.3)]


def table(found: Sequence[Found]) -> str:
    """The table in Markdown."""
    lines = ["| kernel | machine | sub-tiles | cycles | ideal: the same sub-tiles; whole operands | ratios |",
             "|---|---|---|---|---|---|"]
    lines += [f"| {each.kernel} | {each.arch} | {each.sub_tiles:,} | {each.cycles:,} | {each.ideal:,}; {each.whole:,} | "
              f"{each.ratios[0]:.2f}; {each.ratios[1]:.2f} |" for each in found]
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write the table if all kernels were measured."""
    table_of_kernels("kernels", measure, table, summary, kernel_names())


if __name__ == "__main__":
    main()
