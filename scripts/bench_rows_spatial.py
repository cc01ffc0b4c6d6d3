"""Rows of spatial arrays: what was measured of them, and whether it is enough."""

from __future__ import annotations

import bench_balance
import bench_chains
import bench_commands
import bench_gather
import bench_joined
import bench_mergers
import bench_outer
import bench_spatial
from bench_row import Row, to_paper


def spatial() -> list[Row]:
    """All of spatial arrays: one against one by hand, on the layers of ResNet-50, and the others of this file."""
    found = list(bench_spatial.layers())
    ratios, busy = [each.by_hand / each.ours for each in found], [each.useful / each.by_hand for each in found]
    full = [each.useful / each.by_hand for each in found if each.shape[0] >= bench_spatial.SIZE]
    return [Row(f"spatial array, 16 x 16 weight-stationary, on {len(found)} layers of ResNet-50 with an eighth of their rows: "
                "busy, by hand; generated",
                f"{min(busy):.3f} to {max(busy):.3f}, {min(full):.3f} and more for {bench_spatial.SIZE} rows or more; "
                f"{min(ratios):.3f} to {max(ratios):.3f} of that",
                "by hand >= 0.95 for 16 rows or more, generated >= 0.97 of it", min(full) >= 0.95 and min(ratios) >= 0.97,
                *to_paper(min(ratios), 0.90, "0.90 of Gemmini's")),
            gemmini(found), wider(found), structured(), sparse_layers(), sparse_from_memory(), mergers(), *balance(), gather(),
            outer(), without_zeros(), joined(), *bench_commands.formats(), bench_chains.row(), *bench_commands.soc()]


def gemmini(measured: list[bench_spatial.Layer]) -> Row:
    """The accelerator, from memory to memory."""
    found = list(bench_spatial.from_memory_to_memory(measured))
    full = [each for each in found if each.shape[0] >= bench_spatial.SIZE]
    ratios = [each.by_hand / each.cycles for each in full]
    less, = (each for each in found if each.shape[0] < bench_spatial.SIZE)
    return Row(f"accelerator `gemmini` on {len(found)} layers of ResNet-50 with all rows, from memory to memory, 8 bytes a "
               f"cycle each way, 50 cycles away: busy for {bench_spatial.SIZE} rows or more; of the array by hand, whose "
               "memory is always there; the layer of one row",
               f"{min(each.busy for each in full):.3f} to {max(each.busy for each in full):.3f}; {min(ratios):.3f} to "
               f"{max(ratios):.3f}; {less.busy:.3f}, {less.by_hand / less.cycles:.3f}",
               ">= 0.97 of it", min(ratios) >= 0.97, *to_paper(min(ratios), 0.90, "0.90 of Gemmini's"))


def wider(measured: list[bench_spatial.Layer]) -> Row:
    """The same on a bus that brings a row of weights in a cycle, as the array by hand is given one."""
    found = list(bench_spatial.from_memory_to_memory(measured, bench_spatial.SIZE))
    ratios = [each.by_hand / each.cycles for each in found]
    less, = (each for each in found if each.shape[0] < bench_spatial.SIZE)
    return Row(f"the same, {bench_spatial.SIZE} bytes a cycle each way, as many as a row of weights: busy for all {len(found)} "
               "layers; of the array by hand; the layer of one row",
               f"{min(each.busy for each in found):.3f} to {max(each.busy for each in found):.3f}; {min(ratios):.3f} to "
               f"{max(ratios):.3f}; {less.busy:.3f}, {less.by_hand / less.cycles:.3f}",
               ">= 0.97 of it, for all", min(ratios) >= 0.97, *to_paper(min(ratios), 0.90, "0.90 of Gemmini's"))


def sparse_layers() -> Row:
    """Convolutions of sparse images with sparse weights."""
    found = list(bench_spatial.sparse_layers())
    ratios = [each.ideal / each.cycles for each in found]
    return Row("`scnn`, four PEs of 4 x 4 multipliers, layers of AlexNet as sparse as they are: busy; cycles of an ideal "
               "crossbar to ours",
               ", ".join(f"{each.name}: {each.busy:.3f}; {ratio:.3f}" for each, ratio in zip(found, ratios, strict=True)),
               ">= 0.83", min(ratios) >= 0.83, *to_paper(min(ratios), 0.94, "0.83 to 0.94 of the design by hand"))


def sparse_from_memory() -> Row:
    """The same from memory to memory."""
    found = list(bench_spatial.sparse_layers_from_memory())
    return Row("`scnn`, one PE of 4 x 4 multipliers, a tile of each of these layers from memory to memory, sums stored as "
               "bytes: cycles of an ideal crossbar on streams to ours",
               ", ".join(f"{name}: {ideal / cycles:.3f}" for name, cycles, ideal in found),
               ">= 0.83", all(ideal >= 0.83 * cycles for _, cycles, ideal in found))


def structured() -> Row:
    """Arrays of which few elements of each group are not 0."""
    found = bench_spatial.few_of_each_group()
    return Row("20 operations with 2:4 (`a100`, `structured_2_4`) and 4:8 sparsity (`structured_4_8`): cycles with the skip; "
               "without, of the same results", ", ".join(f"{name}: {few:,}; {all_:,}" for name, few, all_ in found),
               "half, and the steps of one operation", all(few <= all_ / 2 + 46 for _, few, all_ in found))


def mergers() -> Row:
    """Row-partitioned against flat mergers."""
    found = bench_mergers.compared()
    ratios = {lanes: sorted(each.ratio(lanes) for each in found) for lanes in bench_mergers.LANES}
    enough = {lanes: sum(each >= 0.8 for each in ratios[lanes]) for lanes in ratios}
    alone = "" if bench_mergers.FOLDER.is_dir() else " (generated ones alone: there is no folder of SuiteSparse's)"
    return Row(f"mergers of 64 ways on {len(found)} squares of matrices{alone}: elements a cycle, row-partitioned (32 "
               "lanes; 16) to flat (16)",
               "; ".join(f">= 0.8 on {enough[lanes]} of {len(found)}, {each[0]:.2f} to {each[-1]:.2f}"
                         for lanes, each in ratios.items()),
               "> 1/3 of them", min(enough.values()) > len(found) / 3,
               *to_paper(min(enough.values()) / len(found), 1 / 3, "over a third"))


def balance() -> list[Row]:
    """Rows and PEs with unlike work, alone and balanced."""
    return [Row(what, f"{found.alone:,}; {found.balanced:,}; {found.load:,}: {found.alone / found.balanced:.2f}x",
                f"within load / 0.9; ideal {ideal:.2f}x", found.balanced <= found.load / 0.9)
            for what, found, ideal in bench_balance.measured()]


def gather() -> Row:
    """Lists of partial sums, by one request at a time and by up to sixteen."""
    found = list(bench_gather.gathered())
    ratios = sorted(each.ratio() for each in found)
    words = "; ".join(f"{each.name}: {each.elements / each.cycles[1]:.3f}, {each.elements / each.cycles[16]:.3f}"
                      for each in found)
    few = "; ".join(f"{ports}: {min(each.ratio(ports) for each in found):.2f} to {max(each.ratio(ports) for each in found):.2f}"
                    for ports in bench_gather.PORTS[1:-1])
    return Row(f"linked lists of the partial sums of {len(found)} squares of matrices, gathered from a memory 60 cycles away: "
               "elements a cycle with one request port, with 16, at the same 8 bytes a cycle",
               f"{words}; {ratios[0]:.1f} to {ratios[-1]:.1f} times; 16 to few ports, {few} times", ">= 1.48x",
               ratios[0] >= 1.48, *to_paper(ratios[0], 1.48, "1.48x"))


def outer() -> Row:
    """Products in two phases, by one request at a time and by up to sixteen."""
    found = list(bench_outer.multiplied())
    ratios = sorted(each.ratio() for each in found)
    four = sorted(each.ratio(4) for each in found)
    alone = "" if bench_outer.FOLDER.is_dir() else " (generated ones alone: there is no folder of SuiteSparse's)"
    words = "; ".join(f"{each.name}: {each.ratio():.2f}, {each.flops:.2f}" for each in found)
    return Row(f"`outerspace` on {len(found)} squares of matrices{alone}, from memory to memory, 60 cycles away: cycles with "
               "one request port to those with 16, at the same 8 bytes a cycle each way; multiplications and additions a "
               "cycle with 16",
               f"{words}; {ratios[0]:.2f} to {ratios[-1]:.2f} times; 16 to 4 ports, {four[0]:.2f} to {four[-1]:.2f} times",
               ">= 1.48x", ratios[0] >= 1.48, *to_paper(ratios[0], 1.48, "1.48x"))


def without_zeros() -> Row:
    """A product of matrices without zeros, by commands, tile by tile."""
    found = {ports: bench_outer.by_commands(ports) for ports in (1, 4)}
    report = found[4].report
    one, four = (found[ports].cycles or 0 for ports in (1, 4))
    return Row(f"`tiled_spgemm`, 64 x 64 x 64, 20 % nonzeros, {report['products']:,} products by {report['commands']:,} "
               "commands over AXI4-Lite: cycles from memory to memory with one request port; with four",
               f"{one:,}; {four:,}: {one / four:.2f} times", "equal to SciPy; >= 1.48x (that of requests)", one >= 1.48 * four)


def joined() -> Row:
    """Parts of the CGRA and a spatial array in one design."""
    found = bench_joined.measure()
    return Row(f"scanners and joiner of the CGRA, an array of {bench_joined.AT_ONCE} rows and a writer of the CGRA in one "
               f"design: sums of the products of {found.rows} rows of {bench_joined.COLUMNS}, {found.nonzeros:,} nonzeros: "
               "cycles; coordinates that either operand has", f"{found.cycles:,}; {found.coordinates:,}: "
               f"{found.cycles / found.coordinates:.2f} a coordinate", "equal to SciPy", True)
