"""The sorted row of eight sorted parts of it, equal columns added: what OuterSPACE's second phase does with each row.

Source: Stellar VI-C.
"""

from __future__ import annotations

from sardonyx import spatial as sp

design = sp.merger(ways=8, shape=256, dtype="int32", name="row_sort")
