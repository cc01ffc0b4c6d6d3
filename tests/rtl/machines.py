"""The least machine that has everything around an array, quick to build, and a program for it; and those for kernels."""

from dataclasses import replace

from sardonyx.compiler.ir.mapped import LOAD, STORE, Stream
from sardonyx.compiler.ir.program import ELASTIC, Program
from sardonyx.compiler.ir.transfer import transfers
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.arch.primitive import (
    ACCUMULATOR,
    ADDRESS,
    ALU,
    DIVIDER,
    DROPPER,
    JOINER,
    LEVEL,
    PASS_THROUGH,
    REDUCER,
    SCATTER,
    SHARING_PRIMITIVES,
)
from sardonyx.hw.arch.system import System
from sardonyx.hw.arch.tile import MEM, PE, TileSpec

LEAST = Arch("least", 2, 1, mem_every=0, pe=TileSpec("pe", PE.ports, (PASS_THROUGH,)), interconnect=Interconnect(1),
             glb=Glb(columns_per_tile=1, bank_bytes=512, load_loops=2, store_loops=2, queue=True))

# Three of it beside each other, with more memory each, behind a processor that has room for few commands at a time.
PART = replace(LEAST, name="part", glb=replace(LEAST.glb, bank_bytes=2048))
BESIDE = replace(PART, name="beside", columns=6, regions=3, system=System(processor=True, ram_bytes=8192, serial_cycles=4))

# For nearly every sparse kernel: without what only dense programs use. Its PEs have trees of multipliers, as the MEM of BENCH.
KERNELS = Arch("kernels", 10, 5, mem_every=3,
               pe=replace(PE, primitives=(*PE.primitives, DIVIDER), register_words=0, reduce_max=True),
               mem=replace(MEM, primitives=(LEVEL, ACCUMULATOR, SCATTER), locate=True, multiplier_tree=False),
               glb=Glb(columns_per_tile=1, bank_bytes=32 * 1024, listed=True))

# For those with more operands than it has loads.
WIDE = replace(KERNELS, name="wide", columns=15)

# For copies of small programs that share links: its MEM and IO tiles are those of KERNELS, its PEs are quick to build.
COPIES = replace(KERNELS, name="copies", pe=TileSpec("pe", PE.ports, (REDUCER, DROPPER, PASS_THROUGH, *SHARING_PRIMITIVES)))
# The same, whose results a store places.
PLACED = replace(COPIES, name="placed", pe=replace(COPIES.pe, primitives=(*COPIES.pe.primitives, ADDRESS)),
                 glb=replace(COPIES.glb, numbered=True))

# For whole programs in a bench, sparse and dense, quick to build: that of docs/cocotb.md.
BENCH = Arch("bench", 6, 2, mem_every=2, interconnect=Interconnect(3),
             pe=replace(PE, primitives=(ALU, JOINER, DROPPER, PASS_THROUGH), register_words=0, multiplier_tree=False),
             mem=replace(MEM, sram_lines=256, read_loops=3, write_loops=3, locate=True, early=True),
             glb=Glb(columns_per_tile=1, bank_bytes=4096, load_loops=3, store_loops=2))

SOURCE = {"expression": "b(i) = a(i)", "order": [], "formats": {}, "names": {"0,1": "copy"}}


def copier(arch: Arch, sections: int = 1) -> Program:
    """A program that copies blocks of that many sections from column 0, through the tile below, to column 1."""
    def select(kind: str, sink: str, source: str) -> int:
        return arch.interconnect.select({"pe": arch.pe, "io": arch.io}[kind], sink, source, "data")

    config = {
        (0, 0): {"sb_data": {"s0_sel": select("io", "s0", "g2f")}},
        (0, 1): {"core": {"mode": "pass_through"}, "cb_data": {"data0_sel": select("pe", "data0", "n_in0")},
                 "sb_data": {"e0_sel": select("pe", "e0", "res0")}},
        (1, 1): {"sb_data": {"n0_sel": select("pe", "n0", "w_in0")}},
        (1, 0): {"cb_data": {"f2g_sel": select("io", "f2g", "s_in0")}}}
    if arch.power_domains:
        config = {site: {"power": {"on": 1}, **values} for site, values in config.items()}
    streams = Stream("a", LOAD, "a_vals", sections), Stream("b", STORE, "b_vals", sections)
    placed = transfers([(stream, column) for column, stream in enumerate(streams)], arch)
    return Program(arch.fingerprint, ELASTIC, SOURCE, config, placed)


def mirrored(arch: Arch) -> Program:
    """A program that copies blocks as `copier` does, but from column 1 to column 0."""
    def select(kind: str, sink: str, source: str) -> int:
        return arch.interconnect.select({"pe": arch.pe, "io": arch.io}[kind], sink, source, "data")

    config = {
        (1, 0): {"sb_data": {"s0_sel": select("io", "s0", "g2f")}},
        (1, 1): {"core": {"mode": "pass_through"}, "cb_data": {"data0_sel": select("pe", "data0", "n_in0")},
                 "sb_data": {"w0_sel": select("pe", "w0", "res0")}},
        (0, 1): {"sb_data": {"n0_sel": select("pe", "n0", "e_in0")}},
        (0, 0): {"cb_data": {"f2g_sel": select("io", "f2g", "s_in0")}}}
    streams = Stream("a", LOAD, "a_vals", 1), Stream("b", STORE, "b_vals", 1)
    placed = transfers(list(zip(streams, (1, 0), strict=True)), arch)
    return Program(arch.fingerprint, ELASTIC, SOURCE | {"names": {"1,1": "copy"}}, config, placed)
