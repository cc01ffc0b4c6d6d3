"""Processes: what the meanings of primitives are written in.

The meaning of a primitive is a generator function ``meaning(config, i, o)`` in the file of its name. It takes
tokens from the queues `i` and gives them to the functions `o`, both by port name, for ever, and yields

    None             the clock cycle ends here: at least once after each token given
    a queue          it is empty and the next step needs it: ``while not crd: yield crd``; or `Either` of several
    idle(a queue)    the same between two transactions, when nothing is held back

It takes the names of all its ports before it first yields. The same generator runs untimed, where the first
kind means nothing, and timed. A primitive made of several processes has `parts` instead of a meaning. `SPARE`, if there is
such a thing in the file, names inputs on which tokens may be left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ....hw.arch.token import show

Queue = deque[Any]
Give = Callable[[Any], None]


class Either:
    """Several queues to wait on: true when one of them has a token."""

    def __init__(self, queues: Iterable[Queue]) -> None:
        self.queues = tuple(queues)

    def __bool__(self) -> bool:
        return any(self.queues)


Event = None | Queue | Either | tuple[Queue | Either]
Config = Mapping[str, Any]
Inputs = Mapping[str, Queue]
Outputs = Mapping[str, Give]
Steps = Iterator[Event]
Meaning = Callable[[Config, Inputs, Outputs], Steps]


def idle(queue: Queue | Either) -> tuple[Queue | Either]:
    """The event of a process that has finished a transaction and waits for the next on a queue."""
    return (queue,)


@dataclass(frozen=True)
class Parts:
    """The processes of a primitive that has several.

    Parameters
    ----------
    nodes : dict      Per part its meaning's name and configuration.
    edges : tuple     Queues between parts, with their capacity: ((part, port), (part, port), items).
    inputs : dict     The part and its port behind each port of the primitive.
    outputs : dict
    """

    nodes: Mapping[str, tuple[str, Config]]
    edges: tuple[tuple[tuple[str, str], tuple[str, str], int], ...]
    inputs: Mapping[str, tuple[str, str]]
    outputs: Mapping[str, tuple[str, str]]


class ProtocolError(AssertionError):
    """Streams that no correct graph gives a primitive.

    Parameters
    ----------
    primitive : str
    what : str         What does not fit.
    tokens : int       Ports and the tokens they show.
    """

    def __init__(self, primitive: str, what: str, **tokens: int) -> None:
        self.primitive, self.what, self.tokens = primitive, what, tokens
        self.node = ""
        super().__init__(what)

    def __str__(self) -> str:
        place = f"{self.node} ({self.primitive})" if self.node else self.primitive
        seen = ", ".join(f"{port} shows {show(token)}" for port, token in self.tokens.items())
        return f"{place}: {self.what}: {seen}" if seen else f"{place}: {self.what}"
