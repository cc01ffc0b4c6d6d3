"""A matrix product on a hexagonal array, through which A, B and the sums all move.

The determinant is 3: a PE works in every third step, and the steps between are taken by two other products.

Source: Kung and Leiserson, Systolic arrays (for VLSI), 1978; Stellar II-B, Fig. 2c.
"""

from __future__ import annotations

from sardonyx import spatial as sp

design = sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[1, 0, -1], [0, 1, -1], [1, 1, 1]]),
                   {"i": 4, "j": 4, "k": 4}, name="matmul_hexagonal")
