"""A matrix product on an array that keeps A and hands B and the sums on within a step: a row of results in each step.

Source: Stellar II-B, Fig. 2b.
"""

from __future__ import annotations

from sardonyx import spatial as sp

design = sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[0, 0, 1], [1, 0, 0], [0, 1, 0]]),
                   {"i": 4, "j": 4, "k": 4}, name="matmul_broadcast")
