"""The description of a product of sparse matrices in two phases, by outer products, with linked lists in memory between them.

Multiply: each element of a column k of A times row k of B is a node in the list of its row. Merge: the nodes of a row are read
along its list, and become one sorted row whose equal columns are added. Lanes do columns, then rows, whichever is next; they
share the request ports of a DMA.

In memory elements are pairs of words of 32 bits, a coordinate and a value. A node has the address of the next one, how many
words it has behind that, and its pairs. A result is a node for each row, and a table of their addresses. What the product is of
stands in the job, at address 0, or is said by commands (`arch.command`): requests for A and B, compressed, and for C, lists.

The phases may also be machines of their own: one leaves the lists in memory and a table of their first nodes, and one begins
with that table. Requests are for A and B, and P, lists, then; or for P and C.

Source: Stellar VI-C, Fig. 16b; Pal et al., OuterSPACE, HPCA 2018, IV (multiply and merge phases, lists of partial products).
Departures: rows are sorted by merges of two in a lane's memory, not by insertion; the first nodes of rows stand on the chip.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Annotated, Any, NamedTuple

from .accelerator import RAM, Stream
from .cartesian import LEFT, PRODUCT, RIGHT
from .check import Identifier, Misfit, OneOf, PowerOfTwo, Whole, check
from .command import LANE_STALLS
from .dma import ELEMENT_BITS, MOST_PORTS, NODE_BYTES, Dma
from .logic import Feed, Logic, Tap, leaves, width
from .private_buffer import COMPRESSED, LINKED
from .reduction import ADD, NAMES, NEUTRAL, REDUCTIONS
from .token import DATA_BITS

MOST_ROWS, MOST_MEMORY = 1 << DATA_BITS - 1, 1 << 13
# A pair in memory, and a word of it.
PAIR_BYTES, WORD_BYTES = 8, 4
VALUE_BITS = 32
# The words of a job, in order, from address 0 on: byte addresses, and two numbers.
JOB = ("columns", "left", "rows", "right", "free", "end", "terms", "height", "table")
# Of what merges only: `lists` is a table of first nodes.
MERGE_JOB = ("lists", "free", "end", "height", "table")
# Which phases there are.
BOTH, MULTIPLY, MERGE = "both", "multiply", "merge"
# What went wrong; a run ends with the first.
ERRORS = ("none", "an error response of the memory, or a list that is none", "no memory is left for nodes",
          "a row of the result has more elements than a lane has room for", "a row that there is not")
NONE, BUS, MEMORY, ROOM, ASTRAY = range(len(ERRORS))
# Where a lane's memory has room for so many runs of a row, and all of it besides for what they become.
RUNS = 64
# Loops of a request.
LOOPS = 2
# Of a tensor, which commands do not count.
MOST_ELEMENTS = 1 << 20
# Of the exact value of two elements.
MOST_EXACT = 62


class Tensor(NamedTuple):
    """What a request for a tensor says of a job, where machines have commands.

    name : str          Of its stream.
    kind : str          Its format.
    arrays : tuple      Words of the job that are where its arrays are, values or the table of its first nodes last.
    fibers : str        The word that is how many of them it has.
    is_result : bool
    """

    name: str
    kind: str
    arrays: tuple[str, ...]
    fibers: str
    is_result: bool = False


LEFT_TENSOR = Tensor("A", COMPRESSED, ("columns", "left"), "terms")
RIGHT_TENSOR = Tensor("B", COMPRESSED, ("rows", "right"), "terms")
# Of what is merged, and of results, nodes go to memory between two addresses.
LISTS_TENSOR = Tensor("P", LINKED, ("lists",), "height")
RESULT = ("free", "end", "table")
TENSORS = {
    BOTH: (LEFT_TENSOR, RIGHT_TENSOR, Tensor("C", LINKED, RESULT, "height", True)),
    MULTIPLY: (LEFT_TENSOR, RIGHT_TENSOR, Tensor("P", LINKED, RESULT, "height", True)),
    MERGE: (LISTS_TENSOR, Tensor("C", LINKED, RESULT, "height", True))}


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
    queue : int     Commands that wait at most; 0: there are none, a job at address 0 of memory is done once after reset.
    ram_bytes : int     With commands: memory of a RISC-V core that gives them; 0: they come over a bus.
    node : int          Pairs of a node of partial products, which all runs of a row fill, one behind the other; 0: a node has
                        one run.
    phases : str        `MULTIPLY`, `MERGE` or `BOTH`.
    value : Logic       What an element of A, the feed `LEFT`, and one of B, `RIGHT`, give; 32 bits of it are kept.
    takes_columns, takes_rows : bool    A lane that is free takes the next column, or row; else number n is done by lane n
                        modulo `lanes`.
    reduction : str     Where rows are merged: of `REDUCTIONS`, what becomes of elements with equal columns.
    first : int         With what that begins; of sums 0, of products 1, else each element counts as met by it.
    counters : bool     With commands: registers say in how many cycles lanes wait, and for what.
    """

    name: Annotated[str, Identifier()]
    lanes: Annotated[int, PowerOfTwo(1, MOST_PORTS)] = 16
    ports: Annotated[int, PowerOfTwo(1, MOST_PORTS)] = 16
    rows: Annotated[int, PowerOfTwo(16, MOST_ROWS)] = 4096
    pairs: Annotated[int, PowerOfTwo(16, MOST_MEMORY)] = 1024
    bits: Annotated[int, PowerOfTwo(8, 16)] = 16
    queue: Annotated[int, PowerOfTwo(2, 128, zero=True)] = 0
    ram_bytes: Annotated[int, PowerOfTwo(1 << 10, 1 << 17, zero=True)] = 0
    node: Annotated[int, PowerOfTwo(2, 256, zero=True)] = field(default=0, repr=False)
    phases: Annotated[str, OneOf((BOTH, MULTIPLY, MERGE))] = field(default=BOTH, repr=False)
    takes_columns: bool = field(default=True, repr=False)
    takes_rows: bool = field(default=True, repr=False)
    value: Logic = field(default=PRODUCT, repr=False)
    counters: bool = field(default=False, repr=False)
    reduction: Annotated[str, OneOf(REDUCTIONS)] = field(default=ADD, repr=False)
    first: Annotated[int, Whole(-1 << VALUE_BITS - 1, (1 << VALUE_BITS - 1) - 1)] = field(default=0, repr=False)

    def __post_init__(self) -> None:
        check(self, "outer product", self._misfits)

    def _misfits(self) -> Iterator[Misfit]:
        if self.ports > self.lanes:
            yield Misfit("ports", f"are {self.ports}, more than the {self.lanes} lanes", f"give {self.lanes} or fewer")
        if self.ram_bytes and not self.queue:
            yield Misfit("ram_bytes", f"are {self.ram_bytes:,} for a core whose commands nothing takes", "give it a queue")
        if (first := NEUTRAL.get(self.reduction, self.first)) != self.first:
            yield Misfit("first", f"is {self.first}, and {NAMES[self.reduction]} begin with {first}",
                         f"give {first}, or another reduction")
        if self.phases == MULTIPLY and self.reduction != ADD:
            yield Misfit("reduction", f"is {self.reduction}, and nothing is merged", "leave it out, or give other phases")
        if self.counters and not self.queue:
            yield Misfit("counters", "are registers beside commands, of which there are none", "give it a queue")
        if self.node and self.phases != BOTH:
            yield Misfit("node", f"is {self.node}, and what is in the first node of a list only the chip knows",
                         "give 0, or both phases")
        if {each.tensor for each in leaves(self.value) if isinstance(each, Feed)} - {LEFT, RIGHT} or any(
                isinstance(each, Tap) for each in leaves(self.value)):
            yield Misfit("value", "is over more than two elements", f"use feeds {LEFT} and {RIGHT}")
        elif (exact := width(self.value, lambda _: self.bits)) > MOST_EXACT:
            yield Misfit("value", f"has {exact} bits", f"at most {MOST_EXACT} bits are computed at once")

    @property
    def dma(self) -> Dma:
        """What moves its elements."""
        return Dma(self.ports, loops=LOOPS, lists=True)

    @property
    def job(self) -> tuple[str, ...]:
        """The words of a job."""
        return MERGE_JOB if self.phases == MERGE else JOB

    @property
    def job_bytes(self) -> int:
        """In front of everything in memory: a job in whole pairs, or the memory of a core."""
        words = 0 if self.queue else len(self.job)
        return self.ram_bytes or -(-words * WORD_BYTES // PAIR_BYTES) * PAIR_BYTES

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """What requests are for, the result last."""
        return TENSORS[self.phases]

    @property
    def streams(self) -> tuple[Stream, ...]:
        """What commands name, in the order of their indices: A and B behind their segments; P or C, a table of first nodes,
        behind where memory for nodes begins and ends; P as an operand by that table alone."""
        ram = [Stream(RAM, ELEMENT_BITS, self.ram_bytes // 4, False)] if self.ram_bytes else []
        return (*(Stream(each.name, ELEMENT_BITS, MOST_ELEMENTS, each.is_result, before=len(each.arrays) - 1, kind=each.kind)
                  for each in self.tensors), *ram)

    @property
    def watchdog(self) -> bool:
        """There is none: a wait for operands that are not there is refused at once."""
        return False

    @property
    def stalls(self) -> Mapping[str, str]:
        """What is counted, and what each says."""
        return LANE_STALLS if self.counters else {}

    @property
    def fingerprint(self) -> int:
        """32 bits that identify it; those of a machine do not change with fields that it does not use."""
        more = "".join(f" {each.name}={getattr(self, each.name)}" for each in fields(self)
                       if not each.repr and getattr(self, each.name) != each.default)
        return int.from_bytes(hashlib.sha256(f"{self}{more}".encode()).digest()[:4], "big")

    @property
    def most_row(self) -> int:
        """Elements of a row of the result, at most."""
        return self.pairs // 2 - 1

    def node_bytes(self, pairs: int) -> int:
        """Of a node."""
        return NODE_BYTES + PAIR_BYTES * pairs

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return asdict(self) | {"job": list(self.job), "errors": list(ERRORS)}
