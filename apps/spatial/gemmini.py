"""A matrix product on 16 x 16 PEs that keep B, with buffers and results of rows: scratchpads and accumulator of Gemmini.

A tile of A, up to 98 rows of 16, stays for up to 8 tiles of B, so that a bus of 64 bits brings what 256 PEs take.

Source: Stellar VI-B (its Gemmini); Genc et al., Gemmini, 2021.
"""

from __future__ import annotations

from sardonyx import spatial as sp

SIZE, ROWS, TILES = 16, 98, 8

design = sp.Design(
    sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int8"), sp.Transform([[0, 0, 1], [0, 1, 0], [1, 1, 1]]),
    {"i": ROWS, "j": SIZE, "k": SIZE}, short=True, name="gemmini",
    buffers={"A": sp.Buffer("dense", "dense", words=2048, operations=TILES, wide=True),
             "B": sp.Buffer("dense", "dense", words=256, wide=True),
             "C": sp.Buffer("dense", "dense", words=1024, operations=TILES, wide=True)})
