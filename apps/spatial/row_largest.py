"""Eight sorted parts of a row become one, of equal columns the largest: what `row_sort` does, with another reduction.

Source: Stellar VI-C, whose merger moves coordinates only; the element-wise addition of GraphBLAS (1.3 C API, 4.3.4) with max.
"""

from __future__ import annotations

from sardonyx import spatial as sp

design = sp.merger(ways=8, shape=256, dtype="int32", reduction="max", name="row_largest")
