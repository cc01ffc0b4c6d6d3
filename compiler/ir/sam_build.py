"""A sparse graph under construction, of which every stream is known: what it runs over, and whose reference it is.

Errors:  UserError naming the node that is being built, where its inputs do not fit together.
"""

from __future__ import annotations

from typing import NamedTuple

from ...hw.arch.errors import UserError
from .sam import Edge, Pin
from .sam_ops import Operation, Space, SpaceError
from .sam_tags import Tags

LOOPS = "connect streams of the same loops; `sardonyx explain program --graph` writes a graph that does"


class At(NamedTuple):
    """Where a reference has got to: so many levels of a tensor are behind it."""

    tensor: str
    level: int


class Builder:
    """Operations by name, with the spaces of their outputs.

    where: the node that is being built, for errors.
    """

    def __init__(self) -> None:
        self.nodes = dict[str, Operation]()
        self.feeds = dict[Pin, Pin]()
        self.spaces = dict[Pin, Space]()
        self.at = dict[Pin, At]()
        self.where = ""
        self._tags = Tags()

    def add(self, name: str, op: Operation, **inputs: Pin) -> str:
        """Add an operation under a name like the one given; its inputs by port."""
        unique, count = name, 1
        while unique in self.nodes:
            count += 1
            unique = f"{name}_{count}"
        for port, kind in op.inputs.items():
            given = self.kind(inputs[port])
            if given != kind:
                raise UserError(f"input {port} takes {kind} and gets {given}", self.where, "connect a stream of this type")
        try:
            outputs = op.spaces(unique, {port: self.spaces[pin] for port, pin in inputs.items()})
        except SpaceError as error:
            raise UserError(str(error), self.where, LOOPS) from None
        self.nodes[unique] = op
        self.feeds |= {Pin(unique, port): pin for port, pin in inputs.items()}
        self.spaces |= {Pin(unique, port): self._tags.of(space) for port, space in outputs.items()}
        return unique

    def kind(self, pin: Pin) -> str:
        """What an output carries."""
        return self.nodes[pin.node].outputs[pin.port]

    def prune(self) -> None:
        """Remove operations whose outputs nobody takes."""
        while unused := [name for name, op in self.nodes.items() if op.outputs and name not in
                         {pin.node for pin in self.feeds.values()}]:
            for name in unused:
                del self.nodes[name]
            self.feeds = {sink: source for sink, source in self.feeds.items() if sink.node in self.nodes}

    @property
    def edges(self) -> tuple[Edge, ...]:
        return tuple(Edge(source, sink) for sink, source in self.feeds.items())
