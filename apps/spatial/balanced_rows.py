"""Products of sparse rows (CSR) on an output-stationary array, whose free rows take work of the row behind them.

Source: Stellar III-D, Listing 3 and Fig. 6.
"""

from __future__ import annotations

from sardonyx import spatial as sp

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")

design = sp.Design(
    sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]]), {"i": 4, "j": 2, "k": 256},
    sparsity=[sp.skip(k, where=A(i, k) == 0)], balance=[sp.shift(i, by=-1, where=k >= 128)], name="balanced_rows")
