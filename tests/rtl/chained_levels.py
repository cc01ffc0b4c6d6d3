"""An accelerator for products of matrices, of which one has a level behind one without zeros."""

from functools import cache

from sardonyx import spatial as sp
from sardonyx.accelerators import AcceleratorDesign

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")
KINDS = {"cc": ("compressed", "compressed"), "bb": ("bitvector", "bitvector"), "ll": ("linked list", "linked list"),
         "bc": ("bitvector", "compressed"), "lb": ("linked list", "bitvector"), "cl": ("compressed", "linked list"),
         "cd": ("compressed", "dense"), "bd": ("bitvector", "dense")}


@cache
def design(letters: str, ports: int = 4, ram_bytes: int = 0) -> AcceleratorDesign:
    """A product of 3 x 6 x 4, rows of B behind a level without zeros; results are sums of products."""
    return sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]]),
                     {"i": 3, "j": 6, "k": 4}, sparsity=[sp.skip(j, where=B(k, j) == 0)],
                     buffers={"A": sp.Buffer("dense", "dense", words=16), "B": sp.Buffer(*KINDS[letters], words=32, node=2),
                              "C": sp.Buffer("dense", "dense", words=32)}, name="chained"
                     ).accelerator(ports, ram_bytes=ram_bytes)
