"""Rows of spatial arrays behind commands: formats of buffers, commands of a core and of a bus, counters; and cells.

The first three need nothing; in cells arrays are measured where a library is named, which takes an hour with nothing cached.

Source: Stellar III-E (formats), V (commands from a core), VI-B and Table III (area), VI-D (mergers).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from bench_row import Left, Row

from sardonyx import designs
from sardonyx import spatial as sp
from sardonyx.flow.asic.library import find_library
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.private_buffer import BITVECTOR, COMPRESSED, LINKED

OPERATIONS = 20
SHAPE = 20, 12, 16
UNMEASURED = "`make bench LIBERTY=folder` names a cell library"


def formats() -> Row:
    """One array behind buffers of each format, on the same operands."""
    k, j = sp.indices("k j")
    base = designs.design("sparse_csr_dense")
    B, = sp.inputs("B")
    assert base.sparsity == (sp.skip(j, where=B(k, j) == 0),), "rows of B have no zeros"
    operands, found = base.random(OPERATIONS, 1), {}
    for kind in (COMPRESSED, BITVECTOR, LINKED):
        buffers = {"B": sp.Buffer("dense", kind, words=256)}
        ran = sp.Design(base.functionality, base.dataflow, base.bounds, sparsity=base.sparsity, buffers=buffers,
                        name="formats").run(**operands)
        assert ran.cycles is not None, "Verilog has cycles"
        found[kind] = ran.cycles
    pairs = int(max(np.count_nonzero(operands["B"], axis=(1, 2))) * OPERATIONS)
    return Row(f"`sparse_csr_dense`, {OPERATIONS} operations, B in a private buffer of each format: cycles; if each "
               "operation took the elements of the largest B", f"{', '.join(f'{kind}: {n:,}' for kind, n in found.items())}; "
               f"{pairs:,}", "equal to NumPy", True)


def soc() -> list[Row]:
    """A product by commands over a bus, by C on the core, and why streams waited."""
    random, design = np.random.default_rng(0), designs.design("tiled_matmul")
    rows, columns, terms = SHAPE
    a, b = random.integers(-128, 128, (rows, terms)), random.integers(-128, 128, (terms, columns))
    by_bus = design.accelerator(counters=True).product(a, b)
    what = f"`tiled_matmul`, product of {rows} x {columns} x {terms}, from memory to memory"
    waits = by_bus.report["waits"]
    assert isinstance(waits, dict), "there are counters"
    try:
        core = design.accelerator(ram_bytes=16384).product(a, b)
        words, met = f"{by_bus.cycles:,}; {core.cycles:,}", bool(np.array_equal(by_bus.value, core.value))
    except UserError as error:
        words, met = f"{by_bus.cycles:,}; not measured: {error.what}", None
    return [Row(f"{what}: cycles, commands over AXI4-Lite; by C on the core, whose memory is filled first", words,
                "equal to NumPy, and to each other", met),
            Row(f"{what}: cycles in which streams waited", ", ".join(f"{name}: {n:,}" for name, n in waits.items()), "", None)]


def cells(place: Path | None) -> list[Row | Left]:
    """Arrays in cells; place: of the library."""
    if place is None:
        return [Left("spatial arrays and mergers in cells: area, period, energy", UNMEASURED)]
    # Imports the simulators, a second that only this needs.
    from bench_parts import parts
    from bench_spatial import energy_per_mac, silicon

    library = find_library(place)
    found = silicon(library)

    def compared(what: str, pair: tuple[float, float], budget: str, most: float, paper: str) -> Row:
        by_hand, ours = pair
        return Row(f"{what}, {library.family.name}, by hand; generated", f"{by_hand:,.0f}; {ours:,.0f}: {ours / by_hand:.3f}",
                   f"{budget}{paper}", ours <= most)

    area, period = "16 x 16 weight-stationary array: um2", "shortest period, ps"
    rows: list[Row | Left] = [
        compared(f"{area}, enables as multiplexers", found.enables, "<= 1.05", 1.05 * found.enables[0], "; paper: 1.26"),
        compared(f"{area}, with clock gates", found.gates, "<= 1.05", 1.05 * found.gates[0], ""),
        compared(f"{area}, one clock gate", found.one_gate, "<= 1.05", 1.05 * found.one_gate[0], ""),
        compared(f"4 x 4: {period}, flat", found.period_ps, "<= 1, <= 1,000", min(1000, found.period_ps[0]),
                 "; paper: 1.43"),
        compared(f"16 x 16: {period}, each module mapped alone, sums in the trees of products", found.large_ps,
                 "<= 1, <= 1,000", min(1000, found.large_ps[0]), "")]
    energy = energy_per_mac(library)
    rows.append(compared("8 x 8: fJ a product and sum", energy, "<= 1.30", 1.3 * energy[0], "; paper: 1.07 to 1.30"))
    return rows + [Row(f"{what}: um2 in {library.family.name}", f"{small:,.0f}; {large:,.0f}: {large / small:.1f}",
                       "8 to 16; paper: 13" if what.startswith("a node") else "",
                       8 <= large / small <= 16 if what.startswith("a node") else None)
                   for what, small, large in parts(library)]
