"""The length of the longest subsequence that two sequences have in common, a step along all diagonals at once.

    s(i,j) = s(i-1,j-1) + 1 where P(i) = Q(j), else max(s(i-1,j), s(i,j-1))

Source: Lipton and Lopresti, A systolic array for rapid string comparison, 1985.
"""

from __future__ import annotations

from sardonyx import spatial as sp

i, j = sp.indices("i j")
P, Q = sp.inputs("P Q", dtype="int8")
p, q = sp.variables("p q")
(s,) = sp.variables("s", dtype="int16")
(S,) = sp.outputs("S")

design = sp.Design(
    sp.functionality(
        p(i, j.lower).eq(P(i)),
        p(i, j).eq(p(i, j - 1)),
        q(i.lower, j).eq(Q(j)),
        q(i, j).eq(q(i - 1, j)),
        s(i.lower, j).eq(0),
        s(i, j.lower).eq(0),
        s(i.lower, j.lower).eq(0),
        s(i, j).eq(sp.select(sp.equal(p(i, j), q(i, j)), s(i - 1, j - 1) + 1, sp.maximum(s(i - 1, j), s(i, j - 1)))),
        S(0).eq(s(i.upper, j.upper)),
    ),
    sp.Transform([[0, 1], [1, 1]]), {"i": 8, "j": 8}, name="longest_common")
