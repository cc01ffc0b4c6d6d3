"""A sparse product in two phases, with linked lists of partial products in memory between them, as OuterSPACE has it.

Source: Pal et al., OuterSPACE, HPCA 2018; Stellar VI-C, Fig. 16b: 16 requests at once.
"""

from __future__ import annotations

from sardonyx import spatial as sp

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")
(P,) = sp.inputs("P", dtype="int32")
bounds = {"i": 4096, "j": 65536}

multiply = sp.Design(
    sp.functionality("P(i,k,j) = A(i,k) * B(k,j)"), sp.Lanes(k, (i, j), lanes=16, ports=16), bounds,
    sparsity=[sp.skip(i, where=A(i, k) == 0), sp.skip(j, where=B(k, j) == 0)],
    balance=[sp.work_queue(k, grain="operation")],
    buffers={"A": sp.Buffer("dense", "compressed", words=1024, order=(1, 0)),
             "B": sp.Buffer("dense", "compressed", words=1024), "P": sp.Lists()}, name="outerspace_multiply")
merge = sp.Design(
    sp.functionality("C(i,j) = P(i,k,j)", dtype="int32"), sp.Lanes(i, (k, j), lanes=16, ports=16), bounds,
    sparsity=[sp.skip(j, where=P(i, k, j) == 0)], balance=[sp.work_queue(i, grain="operation")],
    buffers={"P": sp.Runs(words=2048), "C": sp.Lists()}, name="outerspace_merge")

design = sp.phases(multiply, merge, name="outerspace")
