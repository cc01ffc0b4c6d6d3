"""Lanes: the dataflow of operations that read and write memory by themselves, and buffers of lists that grow there.

    Lanes(k, (i, j), lanes=16, ports=16)

Each place of k is an operation, which one of 16 lanes does; in a lane time goes over i, and for each i over j. Lanes ask for
what they need through 16 ports to memory. Space is the number of the lane, of which no matrix says what it has: with a work
queue values decide.

Source:  OuterSPACE IV-A and IV-B (processing elements take columns, then rows); Stellar VI-C (requests at once).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from ...hw.arch.check import PowerOfTwo, check
from ...hw.arch.dma import MOST_PORTS
from ...hw.arch.errors import UserError, shown
from ...hw.arch.outer_product import MOST_MEMORY
from ..lang.recurrence import Index

WRITTEN = "write it as sp.Lanes(k, (i, j), lanes=16, ports=16)"


@dataclass(frozen=True, init=False)
class Lanes:
    """Which operations there are, and what lanes do in each.

    Parameters
    ----------
    index : Index      Each of its places is an operation.
    then : sequence    The indices over which time goes in an operation, the outer one first.
    lanes : int        Operations that are under way at once, a power of two up to 16.
    ports : int        Requests to memory at once, each port shared by as many lanes; a power of two up to `lanes`.
    """

    index: str
    then: tuple[str, str]
    lanes: Annotated[int, PowerOfTwo(1, MOST_PORTS)]
    ports: Annotated[int, PowerOfTwo(1, MOST_PORTS)]

    def __init__(self, index: object, then: Sequence[object], *, lanes: int = 16, ports: int = 16) -> None:
        if not isinstance(then, Sequence) or len(then) != 2 or not all(isinstance(each, Index) for each in (index, *then)):
            raise UserError(f"it is of {shown(repr(index))} and {shown(repr(then))}, which are no index and two more", "lanes",
                            WRITTEN)
        names = [each.name for each in (index, *then) if isinstance(each, Index)]
        if len(set(names)) < 3:
            raise UserError(f"indices {', '.join(names)} name one twice", "lanes", WRITTEN)
        for name, value in (("index", names[0]), ("then", tuple(names[1:])), ("lanes", lanes), ("ports", ports)):
            object.__setattr__(self, name, value)
        check(self, "lanes")
        if self.ports > self.lanes:
            raise UserError(f"ports are {self.ports}, more than the {self.lanes} lanes", "lanes", f"give {self.lanes} or fewer")

    def resized(self, lanes: int, ports: int) -> Lanes:
        """The same with other lanes and ports."""
        return Lanes(Index.named(self.index), [Index.named(each) for each in self.then], lanes=lanes, ports=ports)

    def __str__(self) -> str:
        return (f"{self.lanes} lane{'s' if self.lanes > 1 else ''} for places of {self.index}, in each over "
                f"{' and '.join(self.then)}")


@dataclass(frozen=True)
class Lists:
    """The buffer of a result that is linked lists in memory, which grow from operation to operation.

    A table on the chip has the first node of each list, one for each place of the index that the lists go by. A node is put in
    front of its list, by any lane at any time, and has a run of elements whose coordinates rise.

    node : int      Elements of a node that several runs fill up, one behind the other, a power of two from 2 to 256; how many
                    the first one has the chip knows. 0: a node for each run, of its length.
    """

    node: Annotated[int, PowerOfTwo(2, 256, zero=True)] = 0

    def __post_init__(self) -> None:
        check(self, "lists")


@dataclass(frozen=True)
class Runs:
    """The buffer of an operand that is such lists, of which each has as many runs as values left: a memory in each lane.

    words : int     Elements in it, a power of two; half is for what comes, and what its runs become has less than that.
    """

    words: Annotated[int, PowerOfTwo(16, MOST_MEMORY)] = 2048

    def __post_init__(self) -> None:
        check(self, "runs")
