"""A matrix product on a cube of PEs, one for each sum over a block of k, whose sums are added along the third axis.

Source: Stellar II-B (any number of axes of space).
"""

from __future__ import annotations

from sardonyx import spatial as sp

design = sp.Design(sp.functionality("C(i,j) = A(i,l,k) * B(l,k,j)"),
                   sp.Transform([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [1, 1, 1, 1]]),
                   {"i": 3, "j": 3, "l": 2, "k": 4}, name="matmul_cube")
