"""Trees of PE operations: how one node of a word graph is computed, from values of other nodes.

    in(x) * 3 + in(x + 1)       Pe muladd, a = @0+(0,), b = 3, c = @0+(1,)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import add

from ...ir.dataflow import Operand, Ref


@dataclass(frozen=True)
class Pe:
    """One PE: its configuration as in `PeNode`; operands are constants, nodes of the word graph, or PEs of the same tree.

    Its value is the result; with a condition, the predicate.
    """

    op: str
    operands: tuple[tuple[str, Value], ...]
    signed: bool = False
    cond: str = ""
    lut: int = 0
    table: tuple[int, ...] = ()

    def __getitem__(self, port: str) -> Value:
        return dict(self.operands)[port]


Value = int | Ref | Pe


def pe(op: str, *, signed: bool = False, cond: str = "", lut: int = 0, table: tuple[int, ...] = (), **operands: Value) -> Pe:
    """A PE with operands by name."""
    return Pe(op, tuple(operands.items()), signed, cond, lut, table)


def moved(value: Value, offset: tuple[int, ...]) -> Value:
    """The value at the point p + offset."""
    done: dict[int, Value] = {}
    for each in inside_out(value):
        done[id(each)] = moved_operand(each, offset) if not isinstance(each, Pe) else \
            replace(each, operands=tuple((port, done[id(operand)]) for port, operand in each.operands))
    return done[id(value)]


def inside_out(value: Value) -> Iterator[Value]:
    """A tree and all trees in it, each behind its operands, the first of these first."""
    todo = [(value, False)]
    while todo:
        each, ready = todo.pop()
        if ready or not isinstance(each, Pe):
            yield each
            continue
        todo.append((each, True))
        todo += [(operand, False) for _, operand in reversed(each.operands)]


def moved_operand(operand: Operand, offset: tuple[int, ...]) -> Operand:
    """The operand of a node at the point p + offset."""
    if isinstance(operand, int):
        return operand
    # By its class, not by `replace`: half a million times for a large filter.
    return Ref(operand.node, tuple(map(add, operand.offset, offset)), operand.port)


def parts(value: Value) -> Iterator[Value]:
    """A tree and all trees in it."""
    todo = [value]
    while todo:
        value = todo.pop()
        yield value
        if isinstance(value, Pe):
            todo += [each for _, each in value.operands]


def leaves(value: Value) -> Iterator[Ref]:
    """The nodes of the word graph that a tree reads."""
    return (each for each in parts(value) if isinstance(each, Ref))


def age(value: Value) -> tuple[int, ...]:
    """Orders values by when they exist, in a walk with the first dimension innermost: the newest of a tree counts."""
    return max((ref.offset[::-1] for ref in leaves(value)), default=())
