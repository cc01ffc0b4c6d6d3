"""The sorted row of eight sorted parts of it, equal columns added by a tree of mergers: `row_sort`, as an array.

Source: Stellar VI-C; IV-F for trees.
"""

from __future__ import annotations

from sardonyx import spatial as sp

j, k = sp.indices("j k")
(P,) = sp.inputs("P")
tree = sp.tree(k, 2, 2, 2)

design = sp.Design(
    sp.functionality("C(j) = P(k,j)", trees=[tree], dtype="int32"),
    sp.Transform([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 1, 1, 1]]), {"j": 256, **tree.bounds},
    sparsity=[sp.skip(j, where=P(k, j) == 0)], name="row_merge")
