"""A product row by row (Gustavson): the nonzeros of a row of A choose the rows of B, both matrices without zeros (CSR).

Source: Stellar III-C.
"""

from __future__ import annotations

from sardonyx import spatial as sp

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")

design = sp.Design(
    sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]]), {"i": 4, "j": 32, "k": 4},
    sparsity=[sp.skip(k, where=A(i, k) == 0), sp.skip(j, where=B(k, j) == 0)], name="sparse_gustavson")
