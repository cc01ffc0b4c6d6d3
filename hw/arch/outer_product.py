"""The description of a product of sparse matrices in two phases, by outer products, with linked lists in memory between them.

Multiply: each element of a column k of A times row k of B is a node in the list of its row. Merge: the nodes of a row are read
along its list, and become one sorted row whose equal columns are added. Lanes do columns, then rows, whichever is next; they
share the request ports of a DMA.

In memory elements are pairs of words of 32 bits, a coordinate and a value. A node has the address of the next one, how many
words it has behind that, and its pairs. A result is a node for each row, and a table of their addresses. What the product is of
stands in the job, at address 0.

Source: Stellar VI-C, Fig. 16b; Pal et al., OuterSPACE, HPCA 2018, IV (multiply and merge phases, lists of partial products).
Departures: rows are sorted by merges of two in a lane's memory, not by insertion; the first nodes of rows stand on the chip.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from .check import Identifier, Misfit, PowerOfTwo, check
from .dma import MOST_PORTS, NODE_BYTES
from .token import DATA_BITS

MOST_ROWS, MOST_MEMORY = 1 << DATA_BITS - 1, 1 << 13
# A pair in memory, and a word of it.
PAIR_BYTES, WORD_BYTES = 8, 4
VALUE_BITS = 32
# The words of a job, in order, from address 0 on: byte addresses, and two numbers.
JOB = ("columns", "left", "rows", "right", "free", "end", "terms", "height", "table")
# What went wrong; a run ends with the first.
ERRORS = ("none", "an error response of the memory, or a list that is none", "no memory is left for nodes",
          "a row of the result has more elements than a lane has room for", "a row that there is not")
NONE, BUS, MEMORY, ROOM, ASTRAY = range(len(ERRORS))
# Where a lane's memory has room for so many runs of a row, and all of it besides for what they become.
RUNS = 64


@dataclass(frozen=True)
class OuterProduct:
    """Such a product.

    Parameters
    ----------
    name : str      Of the module.
    lanes : int     Columns, or rows, that are under way at once.
    ports : int     Request ports of the DMA, each shared by as many lanes.
    rows : int      Of A at most: so many first nodes have room.
    pairs : int     Of the memory of a lane: half of a row or column while it is multiplied, and twice a row of the result.
    bits : int      Of a value of an operand; products and sums have 32 and wrap.
    """

    name: Annotated[str, Identifier()]
    lanes: Annotated[int, PowerOfTwo(1, MOST_PORTS)] = 16
    ports: Annotated[int, PowerOfTwo(1, MOST_PORTS)] = 16
    rows: Annotated[int, PowerOfTwo(16, MOST_ROWS)] = 4096
    pairs: Annotated[int, PowerOfTwo(16, MOST_MEMORY)] = 1024
    bits: Annotated[int, PowerOfTwo(8, 16)] = 16

    def __post_init__(self) -> None:
        check(self, "outer product", self._misfits)

    def _misfits(self) -> Iterator[Misfit]:
        if self.ports > self.lanes:
            yield Misfit("ports", f"are {self.ports}, more than the {self.lanes} lanes", f"give {self.lanes} or fewer")

    @property
    def most_row(self) -> int:
        """Elements of a row of the result, at most."""
        return self.pairs // 2 - 1

    def node_bytes(self, pairs: int) -> int:
        """Of a node."""
        return NODE_BYTES + PAIR_BYTES * pairs

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return asdict(self) | {"job": list(JOB), "errors": list(ERRORS)}
