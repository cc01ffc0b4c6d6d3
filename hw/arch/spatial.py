"""The description of a spatial array: its processing elements, what each computes and when, its wires and its ports.

Time is counted in steps, which are clock cycles in which nothing is waited for. An *operation* is one run through the whole
iteration space; step 0 is its first. The array may begin the next operation before the last one has ended.

A processing element (PE) has variables. In a step a variable follows one of its rules: some logic over what its own PE and
others computed some steps before, over words of ports, and over constants. Which rule it follows in steps where it has none
does not matter, since nothing reads it then. A variable or result takes the low bits of its logic (`logic`).

Source: Stellar IV-A and Fig. 4 (points, connections, PEs). Departure: steps at which a PE does something are listed here and
need no time counter and no inverse transform in it (Fig. 11), so any non-singular transform works.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from .check import Identifier, Instance, Tuple, Whole, check
from .logic import MOST_BITS, Coordinates, Logic, Slot, taps

MOST_CELLS, MOST_STEPS = 1 << 12, 1 << 16
# The stream of the lengths of operations.
LENGTH = "length"

Position = tuple[int, ...]
Step = Annotated[int, Whole(0, MOST_STEPS - 1)]
Steps = Annotated[tuple[int, ...], Tuple((Whole(0, MOST_STEPS - 1),), True)]


@dataclass(frozen=True)
class Rule:
    """Logic that a variable or result follows in some steps, rising."""

    logic: Logic
    steps: Steps

    def __post_init__(self) -> None:
        check(self, "rule")


RULES = Tuple((Instance(Rule),), True)


@dataclass(frozen=True)
class Cell:
    """A PE.

    Parameters
    ----------
    position : tuple        In the space of the array.
    variables : tuple       Name and rules of each; those read in the same step come first.
    results : tuple         Tensor, slot and rules of what leaves by a port.
    """

    position: Coordinates
    variables: Annotated[tuple[tuple[str, tuple[Rule, ...]], ...], Tuple((Tuple((Identifier(), RULES), False),), True)]
    results: Annotated[tuple[tuple[str, int, tuple[Rule, ...]], ...],
                       Tuple((Tuple((Identifier(), Whole(0, 1 << 20), RULES), False),), True)]

    def __post_init__(self) -> None:
        check(self, "PE")

    @property
    def steps(self) -> frozenset[int]:
        """The steps in which it does something."""
        rules = [rule for _, found in self.variables for rule in found] + [rule for *_, found in self.results for rule in found]
        return frozenset(step for rule in rules for step in rule.steps)


@dataclass(frozen=True)
class Word:
    """A word that a port takes or gives in each operation: its step, and which element of the tensor it is."""

    step: Step
    element: Coordinates

    def __post_init__(self) -> None:
        check(self, "word")


@dataclass(frozen=True)
class Port:
    """A stream of one word of a tensor after the other.

    Parameters
    ----------
    tensor, slot, position    Of which tensor, at which PE; `slot` tells ports of one tensor at one PE apart.
    words : tuple             In the order of steps. Those of the next operation follow the last.
    """

    tensor: Annotated[str, Identifier()]
    slot: Slot
    position: Coordinates
    words: tuple[Word, ...]

    def __post_init__(self) -> None:
        check(self, "port")

    @property
    def name(self) -> str:
        """Such as ``A_0_1``, for the PE at (0, 1); ``B_m1_2`` at (-1, 2)."""
        place = "_".join(str(at) if at >= 0 else f"m{-at}" for at in self.position)
        return f"{self.tensor}_{place}" + (f"_slot{self.slot}" if self.slot else "")


@dataclass(frozen=True)
class Chain:
    """Ports of one tensor with a word in each operation, which enter together: PEs hand them on, from the first to the last.

    Parameters
    ----------
    tensor : str
    positions : tuple    Of the PEs. The words of an operation enter in the opposite order: that of the last PE first.
    """

    tensor: Annotated[str, Identifier()]
    positions: tuple[Coordinates, ...]

    def __post_init__(self) -> None:
        check(self, "chain")

    @property
    def name(self) -> str:
        """That of the port of the first PE."""
        return Port(self.tensor, 0, self.positions[0], ()).name


@dataclass(frozen=True)
class Shaped:
    """A tensor at the border of the array."""

    name: Annotated[str, Identifier()]
    bits: Annotated[int, Whole(1, MOST_BITS)]
    shape: Annotated[tuple[int, ...], Tuple((Whole(1, 1 << 20),), True)]

    def __post_init__(self) -> None:
        check(self, "tensor")


@dataclass(frozen=True)
class Spatial:
    """A spatial array.

    Parameters
    ----------
    name : str             Of the module.
    variables : tuple      Name and bits of each.
    operands, results      The tensors that are read, and those that are computed.
    cells : tuple          In the order of their positions.
    inputs, outputs        Ports, in the order of tensors and positions.
    steps : int            From the first step of an operation to its last, both included.
    interval : int         Steps from one operation to the next, if no word is missing; they may be more by multiples of it.
    wave : tuple           For each axis of space, how many cycles later a PE does a step than the one before it; empty: none.
    chains : tuple         The input ports whose words enter together.
    short : bool           The stream `LENGTH` says for each operation after how many launches it ends, 1 or more; see `cut`.
    clock_gate : bool      The inside waits by a clock gate, not by enables: for ASICs (`hw/clock_gate.py`).
    """

    name: Annotated[str, Identifier()]
    variables: Annotated[tuple[tuple[str, int], ...], Tuple((Tuple((Identifier(), Whole(1, MOST_BITS)), False),), True)]
    operands: tuple[Shaped, ...]
    results: tuple[Shaped, ...]
    cells: tuple[Cell, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    steps: Annotated[int, Whole(1, MOST_STEPS)]
    interval: Annotated[int, Whole(1, MOST_STEPS)]
    wave: Coordinates = ()
    chains: tuple[Chain, ...] = ()
    short: bool = False
    clock_gate: bool = False

    def __post_init__(self) -> None:
        check(self, "spatial array")

    @functools.cached_property
    def ranks(self) -> dict[Position, int]:
        """For each PE, how many cycles later it does a step than the first PE does."""
        found = {cell.position: sum(a * b for a, b in zip(self.wave, cell.position)) for cell in self.cells}
        least = min(found.values(), default=0)
        return {position: rank - least for position, rank in found.items()}

    def launch(self, position: Position, step: int) -> int:
        """In which launch a step of a PE is done, the first being 0: those of a wave are launched together."""
        return step - self.ranks[position] - self._first_launch

    @functools.cached_property
    def _first_launch(self) -> int:
        return min((step - self.ranks[cell.position] for cell in self.cells for step in cell.steps), default=0)

    @functools.cached_property
    def launches(self) -> int:
        """From the first launch of an operation to its last, both included."""
        return 1 + max((self.launch(cell.position, step) for cell in self.cells for step in cell.steps), default=0)

    @functools.cached_property
    def cut(self) -> int:
        """The launch from which on all are alike, so that an operation may end behind it or any later one; 1 or more.

        0 if there is none: because the last launch differs from those before, or operations are launched while others are.
        """
        found = [{self.launch(cell.position, step) for step in rule.steps} for cell in self.cells for rule in rules(cell)]
        found += [{self.launch(port.position, word.step) for word in port.words} for port in (*self.inputs, *self.outputs)]
        last = self.launches - 1
        changes = [at for at in range(1, last + 1) for steps in found if (at in steps) != (at - 1 in steps)]
        cut = max(changes, default=1)
        return cut if cut < last and self.interval == self.launches else 0

    @functools.cached_property
    def chained(self) -> dict[tuple[str, Position], Chain]:
        """The chain of each port that is in one, by tensor and PE."""
        return {(chain.tensor, position): chain for chain in self.chains for position in chain.positions}

    @property
    def alone(self) -> tuple[Port, ...]:
        """The input ports that have a stream of their own."""
        return tuple(port for port in self.inputs if (port.tensor, port.position) not in self.chained)

    @property
    def sources(self) -> tuple[Port | Chain, ...]:
        """What input streams lead to."""
        return *self.alone, *self.chains

    @functools.cached_property
    def bits(self) -> dict[str, int]:
        """Bits of every variable and tensor by name."""
        return dict(self.variables) | {tensor.name: tensor.bits for tensor in (*self.operands, *self.results)}

    @functools.cached_property
    def wires(self) -> dict[tuple[Position, Position, str, int], None]:
        """Every connection: from which PE, to which, the variable and its delay; a PE that keeps one has it to itself."""
        return {(_minus(cell.position, tap.offset), cell.position, tap.variable, tap.delay): None
                for cell in self.cells for rule in rules(cell) for tap in taps(rule.logic) if tap.delay or any(tap.offset)}

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return asdict(self)


def rules(cell: Cell) -> Iterator[Rule]:
    """Every rule of a PE."""
    for _, found in cell.variables:
        yield from found
    for *_, found in cell.results:
        yield from found


def _minus(a: Position, b: Position) -> Position:
    return tuple(x - y for x, y in zip(a, b, strict=True))
