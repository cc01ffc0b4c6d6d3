"""A matrix product on an array that keeps the sums: A moves along the rows, B down the columns.

Written as recurrences, as the paper does; the other designs derive the same ones from the statement.

Source: Stellar II-A, Listing 1.
"""

from __future__ import annotations

from sardonyx import spatial as sp

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B", dtype="int16")
a, b = sp.variables("a b")
(c,) = sp.variables("c", dtype="int32")
(C,) = sp.outputs("C")

design = sp.Design(
    sp.functionality(
        a(i, j.lower, k).eq(A(i, k)),
        a(i, j, k).eq(a(i, j - 1, k)),
        b(i.lower, j, k).eq(B(k, j)),
        b(i, j, k).eq(b(i - 1, j, k)),
        c(i, j, k.lower).eq(0),
        c(i, j, k).eq(c(i, j, k - 1) + a(i, j, k) * b(i, j, k)),
        C(i, j).eq(c(i, j, k.upper)),
    ),
    sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]]), {"i": 4, "j": 4, "k": 4}, name="matmul_output_stationary")
