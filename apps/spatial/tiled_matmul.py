"""A matrix product on 8 x 8 PEs that keep B, with private buffers: what commands make of it is a tiled product of any shape.

Source: Stellar VI-A and VI-B (the array of Gemmini).
"""

from __future__ import annotations

from sardonyx import spatial as sp

design = sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int8"), sp.Transform([[0, 0, 1], [0, 1, 0], [1, 1, 1]]),
                   {"i": 8, "j": 8, "k": 8}, name="tiled_matmul",
                   buffers={"A": sp.Buffer("dense", "dense", words=64), "B": sp.Buffer("dense", "dense", words=64)})
