"""The description of a private buffer: how a tensor is stored in front of an array, and the one request that reads it.

A buffer holds the tensors of two operations, or of two groups of operations that share one: while one is read the next one is
filled in. It has banks, each a chain of stages, one for each level of the fibertree, outermost first. Dense levels
at the outside are one stage together, an address generator; a compressed level looks its fibers up, one of linked lists follows
their nodes, and one of bitvectors reads their words and counts what is set, so that its fibers are read in the order in which
they are stored. Behind a level without zeros any level may follow (`chain`): its fibers are those that are stored, and ports
get an empty one for each that is not. The request is constant: a loop nest that gives, in the order in which the array takes
them, the addresses of elements or of fibers. What another operand finds has no such request: its elements are gathered, by
coordinates that come with the words of a port of the array, also in rows that another port finds; or whole fibers are, one for
each word of a port.

Source: Stellar III-E and IV-C (a pipeline stage for each axis; requests with hardcoded parameters, Listing 6).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Annotated

from .check import Identifier, Misfit, OneOf, PowerOfTwo, Tuple, Whole, check
from .dma import WORD_BITS
from .token import DATA_BITS

DENSE, COMPRESSED, BITVECTOR, LINKED = "dense", "compressed", "bitvector", "linked list"
KINDS = (DENSE, COMPRESSED, BITVECTOR, LINKED)
WORD, FIBER = "word", "fiber"
# What fills a level, by its kind; of one above another one with its number.
STREAMS = {COMPRESSED: "level", BITVECTOR: "bits", LINKED: "lists"}
# Values of a tensor in a bank: a power of two, so that addresses wrap, and as many as references reach.
LEAST_WORDS, MOST_WORDS = 16, 1 << DATA_BITS - 2
MOST_LOOPS, MOST_BANKS, MOST_DEPTH, MOST_SHARED = 8, 64, 1 << 10, 1 << 16
# Of a linked list: coordinates of a node, and what stands where there is no node.
MOST_NODE, NO_NODE = 256, (1 << DATA_BITS) - 1
# Runs of a request that is no loop nest.
MOST_TABLE = 1 << 10
# Elements of a tensor whose coordinates are compared.
MOST_MATCHED = 256
# Of the memories, 16-bit lanes in a line.
LANES = 4
Extent = Annotated[int, Whole(1, 1 << 20)]
NodeSize = Annotated[int, PowerOfTwo(1, MOST_NODE)]


def most_nodes(words: int, node: int) -> int:
    """Nodes of lists with so many elements each, in so many words."""
    return max(1, words // node)


@dataclass(frozen=True)
class Level:
    """A level of the fibertree: dense, compressed, a bitvector or linked lists; with so many coordinates."""

    kind: Annotated[str, OneOf(KINDS)]
    extent: Extent

    def __post_init__(self) -> None:
        check(self, "level")


@dataclass(frozen=True)
class Loop:
    """A loop of a request: in each iteration addresses are `stride`, and where what is read goes is `hop` sinks, further on."""

    extent: Extent
    stride: Annotated[int, Whole(-MOST_WORDS, MOST_WORDS)]
    hop: Annotated[int, Whole(-MOST_BANKS * MOST_BANKS, MOST_BANKS * MOST_BANKS)]

    def __post_init__(self) -> None:
        check(self, "loop")


@dataclass(frozen=True)
class Run:
    """Some steps of a request: address or number of the first one, and where it goes; how far apart those of the others are."""

    place: Annotated[int, Whole(0, MOST_WORDS)]
    sink: Annotated[int, Whole(0, MOST_BANKS * MOST_BANKS)]
    extent: Extent = 1
    stride: Annotated[int, Whole(-MOST_WORDS, MOST_WORDS)] = 0
    hop: Annotated[int, Whole(-MOST_BANKS * MOST_BANKS, MOST_BANKS * MOST_BANKS)] = 0

    def __post_init__(self) -> None:
        check(self, "run")

    @property
    def steps(self) -> tuple[tuple[int, int], ...]:
        """Address or number, and where it goes, of each step."""
        return tuple((self.place + n * self.stride, self.sink + n * self.hop) for n in range(self.extent))


@dataclass(frozen=True)
class Bank:
    """A bank of a private buffer.

    Parameters
    ----------
    bits : int          Of a value.
    levels : tuple      Outermost first; all dense, or all but the last one. Others are of a `ChainedBank`.
    words : int         Values of one tensor.
    first, first_sink   Address of the first element, or number of the first fiber, and where it goes.
    loops : tuple       Innermost first; the first one is along a fiber where it is dense, or along the words of a bitvector.
    sinks : int         Ports of the array that it feeds.
    form : str          What a port takes: words or fibers.
    paired : bool       Words have a coordinate beside them, which is 0; fibers always have.
    depth : int         Pairs that wait in front of each port: 2 in a FIFO of the array, and more in a skew buffer.
    operations : int    Operations in a row that a tensor serves.
    node : int          Elements of a node of a linked list.
    dealt : int         Each element of a fiber goes to a port of its own, as a word with its coordinate, and ``N`` to ports
                        that are left: so many ports for a fiber; 0: fibers stay whole.
    wide : bool         Rows, of a value for each port, are stored, filled in and read at once; the first loop is along a row.
    short : bool        Of a wide one: a tensor has a row for each launch of an operation, which may be fewer.
    bases : tuple       Of one that gathers, for each sink the address of the element whose coordinate is 0; () if it walks
                        its request. One that gathers has at most one loop: that along which ports ask, if it is not the last
                        level. Addresses are those of a dense tensor; where its zeros are not stored, those of elements are
                        compared with what is asked for, and one that is not stored is 0.
    table : tuple       Of one whose order is no nest, in place of loops: runs of steps.
    begin : int         Of one that counts the coordinates of fibers, as dense ones and bitvectors: the first one.
    whole : bool        Of one that gathers, a port asks once in an operation, and gets a whole fiber, along the first loop
                        where it is dense. The last loop is that along which ports ask; `bases` are those of fibers, numbers
                        of them where zeros are not stored.
    chosen : tuple      Of one that gathers elements, () or the loop along which another port finds the row of each fiber.
    """

    bits: Annotated[int, Whole(1, DATA_BITS)]
    levels: tuple[Level, ...]
    words: Annotated[int, PowerOfTwo(LEAST_WORDS, MOST_WORDS)]
    first: Annotated[int, Whole(0, MOST_WORDS)]
    first_sink: Annotated[int, Whole(0, MOST_BANKS * MOST_BANKS)]
    loops: tuple[Loop, ...]
    sinks: Annotated[int, Whole(1, MOST_BANKS * MOST_BANKS)]
    form: Annotated[str, OneOf((WORD, FIBER))]
    paired: bool
    depth: Annotated[int, Whole(2, MOST_DEPTH)] = 2
    operations: Annotated[int, Whole(1, MOST_SHARED)] = 1
    node: NodeSize = 4
    dealt: Annotated[int, Whole(0, MOST_BANKS)] = 0
    wide: bool = False
    short: bool = False
    bases: Annotated[tuple[int, ...], Tuple((Whole(0, (1 << DATA_BITS) - 1),), True)] = ()
    whole: bool = False
    table: tuple[Run, ...] = ()
    begin: Annotated[int, Whole(0, (1 << DATA_BITS) - 1)] = 0
    chosen: tuple[Loop, ...] = ()

    def __post_init__(self) -> None:
        check(self, "bank", self._misfits)

    def _misfits(self) -> Iterator[Misfit]:
        if any(level.kind != DENSE for level in self.levels[:-1]) != self.is_chain or not self.levels:
            yield Misfit("levels", "has a level that is not dense above another one, or none", "make the last one compressed")
        elif self.is_scanned and (self.form == WORD) != bool(self.dealt):
            yield Misfit("form", f"is word, but a level that is {self.kind} has fibers", f"give {FIBER}")
        if self.kind == LINKED and self.node > self.words:
            yield Misfit("node", f"is {self.node} elements of {self.words}", f"give {self.words} or fewer")
        if self.bases:
            yield from self._no_gather()
        elif self.whole or self.chosen:
            yield Misfit("whole" if self.whole else "chosen", "but no port asks for a fiber", "give bases")
        elif self.is_along and not self.loops:
            yield Misfit("loops", f"is empty, but fibers are {self.kind}", "give the loop along a fiber")
        if self.table and (self.loops or self.first or self.first_sink or self.bases or self.dealt or self.is_along
                           or len(self.table) > MOST_TABLE):
            yield Misfit("table", f"has {len(self.table):,} runs beside another request, or along a dense fiber",
                         f"give it alone, of {MOST_TABLE:,} runs or fewer")
        if any(not 0 <= place < self.words or not 0 <= sink < self.sinks for run in self.table
               for place, sink in (run.steps[0], run.steps[-1])):
            yield Misfit("table", f"leaves {self.words:,} words or {self.sinks:,} sinks", "give runs of these alone")
        if self.begin and (self.form != FIBER or self.kind not in (DENSE, BITVECTOR) or self.bases
                           or self.begin + self.levels[-1].extent > 1 << DATA_BITS):
            yield Misfit("begin", f"is {self.begin}, but no fibers there have coordinates that are counted", "leave it out")
        if self.wide:
            yield from self._no_rows()
        if self.short and (not self.wide or self.first or self.loops[1:] != (Loop(self.rows, self.sinks, 0),)):
            yield Misfit("short", "but its rows are not taken one after the other", "leave it out")

    def _no_gather(self) -> Iterator[Misfit]:
        most = 1 + (self.whole and self.is_along)
        if len(self.bases) != self.sinks or self.loops[most:] or any(loop.hop for loop in self.loops) or self.first \
                or self.first_sink:
            yield Misfit("bases", f"are {len(self.bases)} of {self.sinks} sinks, or there is a request, too",
                         "give one for each sink, and at most the loop along which they ask")
        elif self.whole and len(self.loops) != most:
            yield Misfit("whole", "but it is not said along what ports ask", "give the loop, behind that along a dense fiber")
        elif self.chosen and (self.whole or self.chosen[1:] or self.chosen[0].hop):
            yield Misfit("chosen", "but fibers are whole, or it is not one loop", "give the one along which rows are found")
        elif self.form != FIBER or self.wide:
            yield Misfit("bases", "are of a bank that gives no fibers", "give a bank of fibers")
        elif self.matched and (self.words > MOST_MATCHED or self.values > 1 << DATA_BITS):
            yield Misfit("words", f"is {self.words:,}, of places to {self.values:,}, which are compared",
                         f"give {MOST_MATCHED} or fewer, and {1 << DATA_BITS:,} places")

    def _no_rows(self) -> Iterator[Misfit]:
        row = Loop(self.sinks, 1, 1)
        if self.form != WORD or self.paired or self.has_zeros_left_out:
            yield Misfit("wide", "has rows, but ports take fibers or pairs", "make it dense words")
        elif self.loops[:1] != (row,) or any(loop.hop or loop.stride % self.sinks for loop in self.loops[1:]):
            yield Misfit("loops", "do not begin along a row, of which each port takes a value", "leave out wide")
        elif self.bits % 8 or self.sinks * self.bits % WORD_BITS or self.first % self.sinks or self.values % self.sinks:
            yield Misfit("sinks", f"take rows of {self.sinks} x {self.bits} bits", f"give rows of words of {WORD_BITS} bits")

    @property
    def kind(self) -> str:
        """That of the last level."""
        return self.levels[-1].kind

    @property
    def has_zeros_left_out(self) -> bool:
        """Whether the last level stores no zeros."""
        return self.kind != DENSE

    @property
    def is_chain(self) -> bool:
        """Whether a level without zeros is above another one."""
        return False

    @property
    def is_scanned(self) -> bool:
        """Whether what is stored of a level says which elements there are."""
        return self.is_chain or self.has_zeros_left_out

    @property
    def is_along(self) -> bool:
        """Whether the first loop is along a fiber."""
        if self.is_chain or self.kind == BITVECTOR:
            return not (self.is_chain or self.whole)
        return self.form == FIBER and self.kind == DENSE and (self.whole or not self.bases)

    @property
    def matched(self) -> bool:
        """Whether it gathers elements by comparing, as its zeros are not stored."""
        return bool(self.bases) and self.is_scanned and not self.whole

    @property
    def asked(self) -> Loop:
        """Of one that gathers, how many coordinates there are to ask for, and how far apart."""
        return self.loops[-1] if self.loops else Loop(self.levels[-1].extent, 1, 0)

    @property
    def walked(self) -> Bank:
        """The bank that gives all fibers of a tensor as they are stored, to where elements are matched."""
        along = {DENSE: self.levels[-1].extent, BITVECTOR: -(-self.levels[-1].extent // DATA_BITS)}.get(self.kind)
        loops = (Loop(self.fibers, along or 1, 0),)
        return replace(self, loops=(Loop(along, 1, 0), *loops) if along else loops, sinks=1, depth=2, operations=1, bases=(),
                       chosen=())

    @property
    def across(self) -> tuple[Loop, ...]:
        """The loops from word to word, or from fiber to fiber; whole fibers that are gathered go to each port in turn."""
        if self.whole:
            return (Loop(self.sinks, 0, 1),)
        return self.loops[1:] if self.is_along else self.loops

    @property
    def lines(self) -> int:
        """Lines of its memories: `words` for each of two tensors, and for segments and coordinates each as many."""
        return 2 * self.words // LANES

    @property
    def streams(self) -> tuple[str, ...]:
        """What it is filled through: its levels that store something, and its values."""
        return *([STREAMS[self.kind]] if self.has_zeros_left_out else []), "values"

    @property
    def nodes(self) -> int:
        """Nodes of lists of a tensor, at most."""
        return most_nodes(self.words, self.node)

    @property
    def values(self) -> int:
        """Of a tensor with its zeros."""
        return prod(level.extent for level in self.levels)

    @property
    def rows(self) -> int:
        """Of a dense tensor in a wide bank."""
        return self.values // self.sinks

    @property
    def row_bits(self) -> int:
        """Of a row of a wide bank."""
        return self.sinks * self.bits

    @property
    def fibers(self) -> int:
        """Fibers of the last level."""
        return prod(level.extent for level in self.levels[:-1])


@dataclass(frozen=True)
class PrivateBuffer:
    """A private buffer.

    Parameters
    ----------
    tensor : str
    order : tuple        The dimensions of the tensor, as levels have them.
    axis : int           The level of which coordinate c is in bank c modulo the number of banks.
    banks : tuple
    sinks : tuple        For each bank the ports that it feeds.
    begins : tuple       Where fibers are parted: as many groups of banks follow each other, each for the coordinates from one
                         of these on; at last whole ones, from 0, if there are such, too.
    asks : tuple         Of one that gathers, for each bank and each of its sinks: the port whose pairs have the coordinates.
    others : tuple       Of one whose coordinates two operands find together, in the same way the port of the other one.
    either : bool        Those that either has are left; else those that both have.
    chosen : tuple       Of one whose banks have `chosen`, in the same way the port of words that find rows.
    """

    tensor: Annotated[str, Identifier()]
    order: Annotated[tuple[int, ...], Tuple((Whole(0, 63),), True)]
    axis: Annotated[int, Whole(0, 63)]
    banks: tuple[Bank, ...]
    sinks: Annotated[tuple[tuple[str, ...], ...], Tuple((Tuple((Identifier(),), True),), True)]
    begins: Annotated[tuple[int, ...], Tuple((Whole(0, 1 << DATA_BITS),), True)] = (0,)
    asks: Annotated[tuple[tuple[str, ...], ...], Tuple((Tuple((Identifier(),), True),), True)] = ()
    others: Annotated[tuple[tuple[str, ...], ...], Tuple((Tuple((Identifier(),), True),), True)] = ()
    either: bool = False
    chosen: Annotated[tuple[tuple[str, ...], ...], Tuple((Tuple((Identifier(),), True),), True)] = ()

    def __post_init__(self) -> None:
        check(self, "private buffer", self._misfits)

    def _misfits(self) -> Iterator[Misfit]:
        if [bank.sinks for bank in self.banks] != [len(names) for names in self.sinks]:
            yield Misfit("sinks", "does not have as many ports for each bank as it feeds", "name each port")
        if [len(bank.bases) for bank in self.banks] != [len(names) for names in self.asks or ((),) * len(self.banks)]:
            yield Misfit("asks", "does not have a port for each sink of a bank that gathers", "name each, or none")
        if self.others and [len(names) for names in self.others] != [len(names) for names in self.asks]:
            yield Misfit("others", "does not have a port for each that asks", "name each, or none")
        if [len(names) for names in self.chosen or ((),) * len(self.banks)] != [
                len(bank.bases) * len(bank.chosen) for bank in self.banks]:
            yield Misfit("chosen", "does not have a port for each sink of a bank whose rows are found", "name each, or none")
        if self.either and not self.others:
            yield Misfit("either", "but no two ports find what is asked for", "leave it out")
        rising = self.begins[:-1] if self.begins[1:] and not self.begins[-1] else self.begins
        if rising[:1] != (0,) or list(rising) != sorted(set(rising)) or len(self.banks) % len(self.begins):
            yield Misfit("begins", "does not rise from 0, or banks are no groups of as many", "give where each group begins")

    def name(self, bank: int, stream: str = "") -> str:
        """Of a bank, or of a stream that fills it: ``B_values``, or ``B_bank0_values`` where there are several."""
        return "_".join([self.tensor, *([f"bank{bank}"] if len(self.banks) > 1 else []), *([stream] if stream else [])])
