"""Rows of spatial arrays behind commands: formats of buffers, commands of a core and of a bus, counters; and cells.

The first three need nothing; in cells arrays are measured where a library is named, which takes an hour with nothing cached.

Source: Stellar III-E (formats), V (commands from a core), VI-B and Table III (area), VI-D (mergers).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from bench_row import Left, Row, to_paper

from sardonyx import designs
from sardonyx import spatial as sp
from sardonyx.flow.asic.library import find_library
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.private_buffer import BITVECTOR, COMPRESSED, DENSE, LINKED

OPERATIONS = 20
SHAPE = 20, 12, 16
# A level without zeros above another level.
CHAINS = (COMPRESSED, COMPRESSED), (BITVECTOR, BITVECTOR), (COMPRESSED, LINKED), (COMPRESSED, DENSE)
UNMEASURED = "needs LIBERTY=folder"
MOST_PS, PERIOD = 1_000, "shortest period, ps, by hand, of as many bits; generated"
_AREA = "16 x 16 weight-stationary array, um2"
_TREES = "16 x 16 weight-stationary array, each module mapped alone, sums in the trees of products"
# Of arrays whose energy is measured.
SIZES = 8, 16
ARRAYS = (
    f"{_AREA}, enables as multiplexers, by hand, of as many bits; generated",
    f"{_AREA}, with clock gates, by hand, of as many bits; generated",
    f"{_AREA}, the generated one waits by one clock gate, by hand, of as many bits; generated",
    f"4 x 4 weight-stationary array, flat: {PERIOD}",
    f"{_TREES}: {PERIOD}", f"{_TREES}, with clock gates: {PERIOD}",
    f"{_TREES}, the generated one waits by one clock gate: {PERIOD}",
    *(f"{size} x {size} weight-stationary array: fJ a product and sum, by hand, of as many bits; generated" for size in SIZES))


def formats() -> list[Row]:
    """One array behind buffers of each format, on the same operands; the last level behind dense ones, and behind others."""
    k, j = sp.indices("k j")
    base = designs.design("sparse_csr_dense")
    B, = sp.inputs("B")
    assert base.sparsity == (sp.skip(j, where=B(k, j) == 0),), "rows of B have no zeros"
    operands = base.random(OPERATIONS, 1)

    def cycles(levels: Sequence[tuple[str, str]]) -> str:
        """Of all operations, for each way to store B; `Design.run` compares the results."""
        found = []
        for outer, last in levels:
            ran = sp.Design(base.functionality, base.dataflow, base.bounds, sparsity=base.sparsity,
                            buffers={"B": sp.Buffer(outer, last, words=256)}, name="formats").run(**operands)
            assert ran.cycles is not None, "Verilog has cycles"
            found.append(f"{last if outer == DENSE else f'{outer}, {last}'}: {ran.cycles:,}")
        return ", ".join(found)

    pairs = int(max(np.count_nonzero(operands["B"], axis=(1, 2))) * OPERATIONS)
    what = f"`sparse_csr_dense`, {OPERATIONS} operations, B in a private buffer"
    return [Row(f"{what} of each format: cycles; if each operation took the elements of the largest B",
                f"{cycles([(DENSE, kind) for kind in (COMPRESSED, BITVECTOR, LINKED)])}; {pairs:,}", "equal to NumPy", True),
            Row(f"{what} that leaves out rows, too: cycles", cycles(CHAINS), "equal to NumPy", True)]


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
    # Imports the simulators, a second that only this needs.
    from bench_parts import NODE, PERIODS, alike, lane_periods, names, parts
    from bench_spatial import Three, energy_per_mac, silicon

    if place is None:
        return [Left(what, UNMEASURED) for what in (*ARRAYS, *map(_in_cells, names()), PERIODS)]
    library = find_library(place)
    found = silicon(library)
    # By hand and generated, the most that the second may be of the first, and the paper's: as it is said, and as a number.
    compared: list[tuple[Three, float, tuple[str, float] | None]] = [
        (found.enables, 1.05, ("1.26", 1.26)), (found.gates, 1.05, None), (found.one_gate, 1.05, None),
        (found.period_ps, 1, ("1.43, the accelerator", 1.43)),
        *((each, 1, None) for each in (found.large_ps, found.large_gates_ps, found.gated_ps)),
        *((energy_per_mac(library, size), 1.3, ("1.07 to 1.30, the accelerator", 1.07)) for size in SIZES)]
    rows: list[Row | Left] = []
    for what, ((_, by_hand, ours), most, paper) in zip(ARRAYS, compared, strict=True):
        is_period = what.endswith(PERIOD)
        rows.append(Row(what, f"{by_hand:,.0f}; {ours:,.0f}: {ours / by_hand:.3f}; {library.family.name}",
                        f"<= {most}" + (f", <= {MOST_PS:,}" if is_period else ""),
                        ours <= most * by_hand and (ours <= MOST_PS or not is_period),
                        *(to_paper(ours / by_hand, paper[1], paper[0]) if paper else ())))
    flat = alike(), NODE        # for as many elements a cycle
    for what, small, large in parts(library):
        words = _in_cells(what), f"{small:,.0f}; {large:,.0f}: {large / small:.1f}; {library.family.name}"
        rows.append(Row(*words, "8 to 16", 8 <= large / small <= 16, *to_paper(large / small, 13, "13")) if what in flat
                    else Row(*words, "", None))
    periods = [ps for _, _, ps in lane_periods(library)]
    return [*rows, Row(PERIODS, f"{', '.join(f'{ps:,.0f}' for ps in periods)}; {library.family.name}", f"<= {MOST_PS:,}",
                       max(periods) <= MOST_PS)]


def _in_cells(what: str) -> str:
    return f"{what}: um2"
