"""A product with a matrix of which at most 2 of every 4 elements of a row are not 0 (N:M sparsity), in half the steps.

Source: Stellar III-C, Fig. 5; NVIDIA A100 has 2 of 4.
"""

from __future__ import annotations

from sardonyx import spatial as sp

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")

design = sp.Design(
    sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]]), {"i": 4, "j": 4, "k": 16},
    sparsity=[sp.optimistic_skip(k, where=A(i, k) == 0, keep=2, of=4)], name="structured_2_4")
