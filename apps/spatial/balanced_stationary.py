"""Products with sparse rows of B (CSR) on an input-stationary array, whose free rows take work of the row behind them.

Elements of A stay in their PE for an operation, and go along with the work that moves. Results leave as fibers, in two parts.

Source: Stellar III-D, Listing 3 and Fig. 6.
"""

from __future__ import annotations

from sardonyx import spatial as sp

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")

design = sp.Design(
    sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]]), {"i": 4, "j": 64, "k": 4},
    sparsity=[sp.skip(j, where=B(k, j) == 0)], balance=[sp.shift(k, by=-1, where=j >= 32)],
    buffers={"B": sp.Buffer("dense", "compressed", words=64, banks=4)}, name="balanced_stationary")
