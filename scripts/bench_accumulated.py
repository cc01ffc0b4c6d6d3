"""Sums that are accumulated: products of square matrices in three orders of loops, results with dense levels against their
estimate, and dense results that are scattered, in generated Verilog, every word compared.

    python scripts/bench_accumulated.py       measure, and write the tables in docs/performance.md between their markers

Of squares each order has tiles of 32, and those that are chosen. Results with dense levels keep sums in MEM tiles, read with
all coordinates of these levels; their operands are random, by the seeds 0, 1, 2 in their order, vectors without zeros. So are
those of dense results, of 100 x 100 in sub-tiles of 32.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
from performance import write_table

import sardonyx
from sardonyx import api
from sardonyx.api import located
from sardonyx.compiler.lang.program import parse_program
from sardonyx.cutting import Plan
from sardonyx.expected import estimated
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.primitive import SCATTER
from sardonyx.tensors.values import random_tensor, to_value

# Extents and shares of nonzeros; orders of loops; the edge.
SQUARES = ((30, 0.1), (120, 0.1), (200, 0.02), (200, 0.004))
ORDERS = ("ijk", "ikj", "kij")
EDGE = 32
SUM, THREE = "X(i,j) = B(k,i,j)", "X(i,j) = B(k,i) * c(k) * D(k,j)"

# In words, the statement, the share of nonzeros, loops and levels of the result.
DENSE = (*(("`mat_sp2dn`", "X(i,j) = B(i,j)", share, "ij", "dd") for share in (0.02, 0.1, 0.5)),
         *(("product of two matrices", api.MATRIX_PRODUCT, 0.03, order, levels)
           for order, levels in (("ijk", "dd"), ("ikj", "dd"), ("kij", "dd"), ("ikj", "sd"), ("ikj", "ss"))))


@dataclass(frozen=True)
class Kept:
    """A statement whose sums are kept: in words, its order and format, extents, density and edge."""

    what: str
    text: str
    order: str
    extents: Mapping[str, int]
    density: float
    edge: int
    levels: str = "ds01"
    arch: str = "small"


def _product(i: int, k: int, j: int, density: float, edge: int, order: str = "kij") -> Kept:
    levels = "ds01" if order == "kij" else "ds10"
    what = f"product, {' '.join(order)}{'' if order == 'kij' else f' (`{levels}`)'}, {i} x {k} x {j}"
    return Kept(what, api.MATRIX_PRODUCT, order, {"i": i, "k": k, "j": j}, density, edge, levels)


def _sum(count: int, extent: int, density: float, edge: int) -> Kept:
    return Kept(f"sum of matrices, k i j, {count} of {extent} x {extent}", SUM, "kij", {"k": count, "i": extent, "j": extent},
                density, edge)


def _three(count: int, extent: int, density: float, edge: int) -> Kept:
    return Kept(f"`{THREE.partition(' = ')[2]}`, {count} of {extent} x {extent}", THREE, "kij",
                {"k": count, "i": extent, "j": extent}, density, edge, arch="onyx")


KEPT = (_product(40, 40, 40, 0.1, 20), _product(90, 60, 80, 0.03, 30), _product(64, 30, 64, 0.05, 16, "kji"),
        _sum(20, 40, 0.05, 20), _product(200, 20, 200, 0.01, 32), _three(30, 50, 0.2, 25), _product(50, 70, 50, 0.07, 10),
        _product(120, 100, 120, 0.02, 32), _product(30, 30, 30, 0.3, 30, "kji"), _sum(6, 100, 0.02, 30),
        _three(60, 60, 0.06, 20), _product(25, 90, 27, 0.15, 5))


def squares() -> Iterator[str]:
    """The table of products of squares, line by line, in Markdown."""
    heads = ("-".join(order) for order in ORDERS)
    yield f"| matrices | {' | '.join(f'{head}: {EDGE}; chosen' for head in heads)} |"
    yield "|---|---|---|---|"
    for extent, share in SQUARES:
        draw = np.random.default_rng(extent)
        operands = {name: scipy.sparse.random(extent, extent, share, random_state=draw,
                                              data_rvs=lambda count, draw=draw: draw.integers(1, 5, count)).astype(int)
                    for name in "BC"}
        cells = []
        for order in ORDERS:
            tiled, chosen = (sardonyx.einsum(api.MATRIX_PRODUCT, arch="small", order=order, tile=edge, **operands)
                             for edge in (EDGE, None))
            edges: Any = chosen.report["tile_edge"]
            ones = ", ".join(index for index in "ijk" if edges[index] == 1)
            cells.append(f"{tiled.cycles:,}; {chosen.cycles:,} ({ones} 1)")
        yield f"| {extent} x {extent}, {100 * share:g} % | {' | '.join(cells)} |"


def kept() -> Iterator[str]:
    """The table of results with dense levels, line by line, in Markdown."""
    yield "| statement with `X=ds`, operands, density, edge | sub-tiles | Verilog | estimate | estimate / Verilog |"
    yield "|---|---|---|---|---|"
    for each in KEPT:
        arch = presets.get(each.arch)
        statement = located(parse_program(each.text, each.order, {"X": each.levels}), "auto", arch).result
        data = {access.tensor: random_tensor([each.extents[index] for index in access.indices],
                                             each.density if len(access.indices) > 1 else 1.0, seed)
                for seed, access in enumerate(statement.operands)}
        expected = estimated(statement, data, arch, Plan(each.edge)).cycles
        found = sardonyx.einsum(each.text, order=each.order, formats={"X": each.levels}, tile=each.edge, arch=arch,
                                **{name: to_value(tensor) for name, tensor in data.items()})
        cycles = int(found.cycles or 0)
        yield (f"| {each.what}, {each.density}, {each.edge} | {found.report['sub_tiles']:,} | {cycles:,} | {expected:,.0f} | "
               f"{expected / cycles:.3f} |")


def dense() -> Iterator[str]:
    """The table of dense results, line by line, in Markdown."""
    small = presets.get("small")
    scatters = replace(small, mem=replace(small.mem, primitives=(*small.mem.primitives, SCATTER)))
    yield "| | nonzeros | loops, result | `small` | with `scatter` | MEM tiles, links |"
    yield "|---|---|---|---|---|---|"
    for what, text, share, order, levels in DENSE:
        operands = {access.tensor: to_value(random_tensor((100, 100), share, seed))
                    for seed, access in enumerate(parse_program(text).result.operands)}
        plain, scattered = (_tried(text, order, levels, arch, operands) for arch in (small, scatters))
        assert scattered is not None, "a machine that scatters can do all of them"
        tiles = [[found.report["tiles_used"][kind] for found in (plain, scattered) if found] for kind in ("mem", "io")]
        told = ", ".join(" to ".join(map(str, dict.fromkeys(each))) for each in tiles)
        cycles = "refused" if plain is None else f"{plain.cycles:,}"
        again = "the same" if plain and plain.cycles == scattered.cycles else f"{scattered.cycles:,}"
        yield f"| {what} | {100 * share:g} % | {' '.join(order)}, `{levels}` | {cycles} | {again} | {told} |"


def _tried(text: str, order: str, levels: str, arch: Arch, operands: Mapping[str, Any]) -> Any:
    """A run with edges of 32, None on a machine that has not what it takes."""
    try:
        return sardonyx.einsum(text, order=order, formats={"X": levels}, tile=EDGE, arch=arch, **operands)
    except UserError as error:
        assert "scatter" in error.what, error
        return None


def main() -> None:
    """Measure, print, and write the tables."""
    for name, lines in (("squares", squares()), ("kept", kept()), ("dense", dense())):
        found = []
        for line in lines:
            print(line, file=sys.stderr, flush=True)
            found.append(line)
        write_table(name, "\n".join(found))


if __name__ == "__main__":
    main()
