"""A sum of two matrices stored by rows without zeros (CSR): a row of PEs, each of which merges two rows.

Source: Stellar VI, its adder of CSR matrices.
"""

from __future__ import annotations

from sardonyx import spatial as sp

i, j = sp.indices("i j")
A, B = sp.inputs("A B")

design = sp.Design(
    sp.functionality("C(i,j) = A(i,j) + B(i,j)"), sp.Transform([[1, 0], [1, 1]]), {"i": 4, "j": 16},
    sparsity=[sp.skip(j, where=(A(i, j) == 0) & (B(i, j) == 0))], name="sparse_sum")
