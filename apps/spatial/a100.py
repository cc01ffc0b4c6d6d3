"""A product of bytes on 8 x 8 PEs with a matrix of which 2 of every 4 elements are not 0, as tensor cores of NVIDIA's A100 do.

Without the skip it is an output-stationary array; with it an operation takes half as long, and leaves the same result.

Source: Stellar III-C, Fig. 5, and Table I (A100-like designs); Mishra et al., Accelerating sparse deep neural networks, 2021.
"""

from __future__ import annotations

from sardonyx import spatial as sp

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B", dtype="int8")

design = sp.Design(
    sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int8"), sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]]),
    {"i": 8, "j": 8, "k": 64}, sparsity=[sp.optimistic_skip(k, where=A(i, k) == 0, keep=2, of=4)], name="a100")
