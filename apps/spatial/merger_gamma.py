"""A row-partitioned merger of partial matrices, as GAMMA's: 32 lanes, each merges an element a cycle.

Source: Stellar VI-D, Fig. 19a.
"""

from __future__ import annotations

from sardonyx import spatial as sp

design = sp.merger(ways=4, shape=(64, 64), lanes=32, take=1, name="merger_gamma")
