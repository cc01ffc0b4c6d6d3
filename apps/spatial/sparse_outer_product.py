"""An outer product: columns of A and rows of B without zeros (CSC and CSR), as OuterSPACE has it.

Source: Stellar III-C, Listing 2.
"""

from __future__ import annotations

from sardonyx import spatial as sp

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")

design = sp.Design(
    sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]]), {"i": 4, "j": 32, "k": 4},
    sparsity=[sp.skip(i, where=A(i, k) == 0), sp.skip(j, where=B(k, j) == 0)], name="sparse_outer_product")
