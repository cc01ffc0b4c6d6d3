"""A product with a diagonal matrix: of the PEs of the input-stationary array those on the diagonal are left.

Source: Stellar III-C, Listing 2.
"""

from __future__ import annotations

from sardonyx import spatial as sp

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")

design = sp.Design(
    sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]]), {"i": 4, "j": 32, "k": 4},
    sparsity=[sp.skip(i, k, where=i != k)], name="sparse_diagonal")
