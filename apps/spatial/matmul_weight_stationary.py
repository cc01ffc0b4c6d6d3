"""A matrix product on an array that keeps the elements of B, the weights, as Google's TPU and Gemmini do.

Source: Stellar VI-B.
"""

from __future__ import annotations

from sardonyx import spatial as sp

design = sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[0, 0, 1], [0, 1, 0], [1, 1, 1]]),
                   {"i": 4, "j": 4, "k": 4}, name="matmul_weight_stationary")
