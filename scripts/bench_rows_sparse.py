"""Rows of `bench.py` about sparse programs: what is chosen, fused and cut, against what else there is."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import bench_copies
import bench_dense
import bench_edges
import bench_fused
import bench_orders
import bench_scanner
import bench_sparse
import numpy as np
from bench_row import Row

from sardonyx import api
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.hw.arch import presets
from sardonyx.tensors.coordinates import Coo

# What is said of fused statements against the same ones in turn.
WAYS: tuple[tuple[str, Callable[[bench_fused.Compared], float]], ...] = (
    ("all cycles, with what the host does over the buses", lambda each: each.with_host),
    ("in turn, too, with the host beside what computes", lambda each: each.overlapping),
    ("from start to done, all words there", lambda each: each.ratio),
    ("all cycles, if fused took no more than its lines on the bus", lambda each: each.bound))


def fused() -> list[Row]:
    """Fused statements against the same ones in turn, on onyx that packed words configure; products of a matrix with a vector
    with queues."""
    onyx = presets.get("onyx")
    arch = replace(onyx, glb=replace(onyx.glb, packed=True))
    rows = []
    for which, sizes in bench_fused.ITERATED.items():
        iterated = bench_fused.spmv_iter(sizes, replace(arch, glb=replace(arch.glb, queue=True)))
        gains = [each.with_host for each in iterated]
        host = ", ".join(f"{1000 * each.apart.host_s:.0f} : {1000 * each.fused.host_s:.0f} ms" for each in iterated)
        lanes = ", ".join(str(each.lanes) for each in iterated)
        rows.append(Row(f"four products of a matrix, {which}, with a vector, in turn / fused through MEM tiles, in as many "
                        f"lanes or parts as take the fewest of all cycles, with `glb.packed` and `glb.queue`: "
                        f"{'; '.join(what for what, _ in WAYS)}; lanes or parts; processor time of choosing edges and cutting",
                        "; ".join([*(bench_fused.told(iterated, of) for _, of in WAYS), lanes, host]),
                        ">= 5x of all cycles", min(gains) >= 5, "4.6x", max(gains) / 4.6))
    for extent, factors, shares in bench_fused.SWEEPS:
        found = bench_fused.mttkrp(extent, factors, shares, arch)
        most = max(each.ratio for each in found)
        rows.append(Row(f"MTTKRP, {extent}^3 and {extent}^2, {factors:.0%} nonzeros in the matrices, in two statements / "
                        "fused, with `glb.packed`, by nonzeros of the tensor: cycles from start to done; all cycles",
                        f"{bench_fused.told(found, lambda each: each.ratio)}; "
                        f"{bench_fused.told(found, lambda each: each.with_host)}",
                        ">= 12x", most >= 12, "up to 11.8x", most / 11.8))
    return rows


def edges() -> list[Row]:
    """Edges of sub-tiles against a sweep."""
    found = list(bench_edges.measure(progress=lambda name: print(name, file=sys.stderr, flush=True)))
    half = len(bench_edges.CALIBRATION)
    return [Row(f"cycles with chosen edges / with the best of a sweep, {what}", bench_edges.summary(each), "<= 1.1 each",
                max(one.ratio for one in each) <= 1.1)
            for what, each in ((f"{half} pairs of kernel and operands", found[:half]),
                               (f"{len(found) - half} pairs that were not looked at before", found[half:]))]


def cutting() -> list[Row]:
    """What the host takes to cut large operands."""
    rows = []
    places, count = 100_000, 1_000_000
    matrices = {name: _scattered((places, places), count, seed) for seed, name in enumerate("BC")}
    vector = {"c": _scattered((places,), places // 5, 2)}
    for text, operands in (("X(i,j) = B(i,j) + C(i,j)", matrices), ("x(i) = B(i,j) * c(j)", {"B": matrices["B"]} | vector),
                           (api.MATRIX_PRODUCT, matrices)):
        load, began, spent = os.getloadavg()[0], time.perf_counter(), time.process_time()
        work = tile(parse(text), operands, 1024, narrow=True)
        seconds, busy = time.perf_counter() - began, time.process_time() - spent
        rows.append(Row(f"cutting `{text}`, matrices of 100,000 x 100,000 with 10^6 nonzeros: processor time; on the clock; "
                        "load of the machine before", f"{busy:.1f} s; {seconds:.1f} s; {load:.1f}; {len(work):,} sub-tiles",
                        "<= 5 s of processor time, <= 10 s on the clock", busy <= 5 and seconds <= 10))
    return rows


def _scattered(shape: tuple[int, ...], count: int, seed: int) -> Coo:
    """Ones at random places."""
    coords = np.random.default_rng(seed).integers(0, shape, (count, len(shape)))
    return Coo.make(shape, coords, np.ones(count))


def orders() -> list[Row]:
    """The order of loops that is chosen against all orders."""
    found = list(bench_orders.measure(progress=lambda name: print(name, file=sys.stderr, flush=True)))
    half = len(bench_orders.LOOKED_AT)
    return [Row(f"cycles in the chosen order of loops / in the best of all orders, {what}", bench_orders.summary(each),
                "<= 1.1 each", max(one.ratio for one in each) <= 1.1)
            for what, each in ((f"{half} statements on operands", found[:half]),
                               (f"{len(found) - half} that were not looked at before", found[half:]))]


def scanner() -> list[Row]:
    """The level scanner on the stimuli of others."""
    found = [cycles for _, cycles in bench_scanner.measure()]
    theirs = [each.public - each.tokens for each in bench_scanner.STIMULI]
    return [Row(f"level scanner on {len(found)} stimuli: cycles beyond tokens, from the end of the level on",
                f"{min(found)} to {max(found)}", f"<= 12 (public hardware: {min(theirs)} to {max(theirs)})", max(found) <= 12)]


def crossover() -> list[Row]:
    """Sparse products of matrices against dense ones."""
    found = list(bench_dense.measure())
    gains, at = {point.zeros: point.gain for point in found}, bench_dense.crossing(found)
    size = f"product of two matrices of {bench_dense.EXTENT} x {bench_dense.EXTENT}"
    cycles = ", ".join(f"{point.zeros:.1%}: {point.cycles:,}" for point in found)
    dense = f"dense on a spatial array of 16 x 16 ({bench_dense.DENSE:,} cycles)"
    what = f"{size}, sparse on `onyx` against {dense}: takes fewer cycles from so many zeros on; cycles by zeros"
    return [Row(what, f"{at:.1%}; {cycles}", "<= 87 %", at <= 0.87, "89 %", at / 0.89),
            *(Row(f"the same, {zeros:.1%} zeros: times fewer", f"{gains[zeros]:,.0f}x", f">= {theirs}x", gains[zeros] >= theirs,
                  f"{theirs}x", gains[zeros] / theirs) for zeros, theirs in ((0.99, 23), (0.999, 165)))]


def features() -> list[Row]:
    """What all features of sparse programs gain together, against a launch for each sub-tile, and tile pipelining alone."""
    found = bench_sparse.measure()
    gains = {name: bench_sparse.gain(each) for name, each in found.items()}
    alone = {name: bench_sparse.pipelining(each) for name, each in found.items()}
    steps = bench_sparse.ablation([each for name, each in found.items() if name != bench_sparse.MTTKRP])
    shown = ", ".join(f"{name} {cycles:.2f} ({time:.2f})" for name, (cycles, time) in steps.items())
    product = gains.pop(bench_sparse.MTTKRP)
    mean, least = bench_sparse.geomean([*gains.values()]), min(alone.values())
    return [Row("products of matrices with their transposes, plain cycles / all features",
                f"geomean {mean:.1f} ({told(gains)})", ">= 10", mean >= 10, "up to 6.1x", mean / 6.1),
            Row("MTTKRP 100 x 200 x 200, 98 % sparse, the same", f"{product:.1f}", ">= 7", product >= 7, "6.2x", product / 6.2),
            Row("the same products and MTTKRP, a launch for each sub-tile / tile pipelining, with the same edges",
                f"geomean {bench_sparse.geomean([*alone.values()]):.1f} ({told(alone)})", ">= 1.4 each", least >= 1.4,
                "up to 1.41x", least / 1.41),
            Row("the same products, each step of the ablation against that before it, the first one against tracks without "
                "registers: times fewer cycles (times less of cycles x period)", shown, "> 1 each by cycles x period",
                min(time for _, time in steps.values()) > 1)]


def copies() -> list[Row]:
    """Copies of a program against one, and how much of the machine they take."""
    found = list(bench_copies.measure())
    seven, two = (bench_copies.gains(found, name, count) for name, count in ((bench_copies.QIULP, 7), (bench_copies.SQUARE, 2)))
    most, dynamic = max(seven.values()), two[bench_copies.DYNAMIC]
    rows = [Row("product of `qiulp` with its transpose in sub-tiles of 16, one copy / 7 copies on `onyx` with shared links, by "
                "dispatch: cycles", told(seven, 2), ">= 6", most >= 6, "4.6x", most / 4.6),
            Row("product of two matrices of 120 x 120, 10 % nonzeros, in sub-tiles of 24, one copy / two on `sparse`, by "
                "dispatch: cycles", told(two, 2), "dynamic >= 1.9", dynamic >= 1.9, "1.76x", dynamic / 1.76)]
    for (name, (count, times)), least in zip(bench_copies.tiles().items(), (10, 7), strict=True):
        rows.append(Row(f"{name} on `onyx` with shared links: copies that are placed and routed; times the tiles of one",
                        f"{count}; {times:.1f}", f">= {least}", times >= least, "7.5x", times / 7.5))
    return rows


def told(gains: Mapping[str, float], digits: int = 1) -> str:
    """Each number by what it is of."""
    return ", ".join(f"{name} {gain:.{digits}f}" for name, gain in gains.items())
