"""Small machines without registers on tracks, and what they copy in every simulator."""

from dataclasses import replace

import numpy as np
from machines import LEAST, SOURCE
from numpy.typing import NDArray

from sardonyx.compiler.ir.mapped import LOAD, STORE, Stream
from sardonyx.compiler.ir.program import ELASTIC, Program
from sardonyx.compiler.ir.transfer import transfers
from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.arch.op import BY_NAME
from sardonyx.hw.arch.primitive import ALU, PASS_THROUGH
from sardonyx.hw.arch.tile import PE, TileSpec

COPIER = replace(LEAST, name="open copier", columns=3, interconnect=replace(LEAST.interconnect, fifo="inputs"))
OR = BY_NAME["or"]
MEETING = replace(LEAST, name="open meeting", rows=2, interconnect=Interconnect(2, fifo="inputs"),
                  pe=TileSpec("pe", PE.ports, (ALU, PASS_THROUGH), ops=(OR,), multiplier_tree=False))


def meeting() -> Program:
    """A program in which blocks part behind the tile below column 0 and meet in the one beside it, by the short way and around
    by the second row: what both hold is what was there."""
    def select(sink: str, source: str, kind: str = "pe") -> int:
        return MEETING.interconnect.select({"pe": MEETING.pe, "io": MEETING.io}[kind], sink, source, "data")

    config = {
        (0, 0): {"sb_data": {"s0_sel": select("s0", "g2f", "io")}},
        (0, 1): {"core": {"mode": "pass_through"}, "cb_data": {"data0_sel": select("data0", "n_in0")},
                 "sb_data": {"e0_sel": select("e0", "res0"), "s0_sel": select("s0", "res0")}},
        (0, 2): {"sb_data": {"e0_sel": select("e0", "n_in0")}},
        (1, 2): {"sb_data": {"n1_sel": select("n1", "w_in0")}},
        (1, 1): {"core": {"mode": "alu"}, "alu": {"op": OR.code, "stream_a": 1, "stream_b": 1},
                 "cb_data": {"data0_sel": select("data0", "w_in0"), "data1_sel": select("data1", "s_in1")},
                 "sb_data": {"n0_sel": select("n0", "res0")}},
        (1, 0): {"cb_data": {"f2g_sel": select("f2g", "s_in0", "io")}}}
    streams = Stream("a", LOAD, "a_vals", 1), Stream("b", STORE, "b_vals", 1)
    return Program(MEETING.fingerprint, ELASTIC, SOURCE, config, transfers([*zip(streams, (0, 1), strict=True)], MEETING))


def blocks() -> list[NDArray[np.uint16]]:
    return [np.array([size, *np.random.default_rng(size).integers(0, 1 << 16, size)], np.uint16) for size in (17, 0, 1, 30)]
