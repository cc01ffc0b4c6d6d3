"""A flat merger of partial matrices, as SpArch's: up to 16 elements of one merged fiber leave in a cycle.

Source: Stellar VI-D, Fig. 19b.
"""

from __future__ import annotations

from sardonyx import spatial as sp

design = sp.merger(ways=4, shape=(64, 64), lanes=1, take=16, name="merger_sparch")
