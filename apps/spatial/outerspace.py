"""A sparse product in two phases, with linked lists of partial products in memory between them, as OuterSPACE has it.

Source: Pal et al., OuterSPACE, HPCA 2018; Stellar VI-C, Fig. 16b: 16 requests at once.
"""

from __future__ import annotations

from sardonyx import spatial as sp

design = sp.outer_product(lanes=16, ports=16, rows=4096, pairs=2048, name="outerspace")
