"""An outer product of matrices stored without zeros, tile by tile from memory: A by columns, B and C by rows.

Source: Stellar III-E and V, Listing 7 (matrices in CSR, by one request each).
"""

from __future__ import annotations

from sardonyx import spatial as sp

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")

design = sp.Design(
    sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]]), {"i": 4, "j": 32, "k": 4},
    sparsity=[sp.skip(i, where=A(i, k) == 0), sp.skip(j, where=B(k, j) == 0)],
    buffers={"A": sp.Buffer("dense", "compressed", words=16, order=(1, 0)), "B": sp.Buffer("dense", "compressed", words=128),
             "C": sp.Buffer("dense", "compressed", words=128)}, name="tiled_spgemm")
