"""A product with a matrix stored by rows without zeros (CSR), on an input-stationary array.

Source: Stellar IV-B, Fig. 4.
"""

from __future__ import annotations

from sardonyx import spatial as sp

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")

design = sp.Design(
    sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]]), {"i": 4, "j": 32, "k": 4},
    sparsity=[sp.skip(j, where=B(k, j) == 0)], name="sparse_csr_dense")
