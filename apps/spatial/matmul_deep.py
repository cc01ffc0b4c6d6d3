"""A matrix product on an array that keeps A, with two registers on the way of the sums.

Source: Stellar II-B (time axes set the registers between PEs).
"""

from __future__ import annotations

from sardonyx import spatial as sp

design = sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 2]]),
                   {"i": 4, "j": 4, "k": 4}, name="matmul_deep")
