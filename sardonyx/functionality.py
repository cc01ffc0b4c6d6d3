"""Functionality of spatial arrays as Python writes it: indices, tensors, variables, and expressions of them that are assigned.

What the assignments mean, and which are refused, `sardonyx.compiler.lang.recurrence` says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from . import arguments
from .compiler.lang import recurrence
from .compiler.lang.recurrence import INPUT, OUTPUT, VARIABLE, Declared, Expr, Number, Read, Recurrences
from .compiler.lang.recurrence_checks import recurrences
from .compiler.spatial.derive import derive
from .compiler.spatial.tree import Tree, with_trees
from .hw.arch.errors import UserError
from .hw.arch.logic import BITS
from .sparsity import Counted, is_zero, plain


class Value:
    """An expression over variables, inputs and whole numbers: ``+ - *``, comparisons, and of truth values ``& | ~``."""

    def __init__(self, expr: Expr, names: Mapping[str, Declared]) -> None:
        self.expr, self.names = expr, names

    def __add__(self, other: object) -> Value:
        return _call("add", self, other)

    def __radd__(self, other: object) -> Value:
        return _call("add", other, self)

    def __sub__(self, other: object) -> Value:
        return _call("sub", self, other)

    def __rsub__(self, other: object) -> Value:
        return _call("sub", other, self)

    def __mul__(self, other: object) -> Value:
        return _call("mul", self, other)

    def __rmul__(self, other: object) -> Value:
        return _call("mul", other, self)

    def __neg__(self) -> Value:
        return _call("neg", self)

    def __lt__(self, other: object) -> Value:
        return _call("lt", self, other)

    def __le__(self, other: object) -> Value:
        return _call("le", self, other)

    def __gt__(self, other: object) -> Value:
        return _call("lt", other, self)

    def __ge__(self, other: object) -> Value:
        return _call("le", other, self)

    def __and__(self, other: object) -> Value:
        return _call("both", self, other)

    def __rand__(self, other: object) -> Value:
        return _call("both", other, self)

    def __or__(self, other: object) -> Value:
        return _call("either", self, other)

    def __ror__(self, other: object) -> Value:
        return _call("either", other, self)

    def __invert__(self) -> Value:
        return _call("not", self)

    def __eq__(self, other: object) -> Any:
        raise UserError(f"{self.expr} has no value yet", "functionality", "use sp.equal, or sp.different for !=")

    __hash__ = None     # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise UserError(f"{self.expr} has no value yet", "functionality", "use sp.select, and & | ~ in place of and, or, not")

    def __str__(self) -> str:
        return str(self.expr)


class Place(Value):
    """A variable or tensor at a place, which can be assigned."""

    def eq(self, value: object) -> Assigned:
        """What it is at all points that fit."""
        given = _value(value)
        assert isinstance(self.expr, Read), "a place reads"
        return Assigned(recurrence.Assignment(self.expr, given.expr), _joined(self.names, given.names))

    def add(self, value: object) -> Assigned:
        """What all points that fit add to it, an element of an output."""
        assigned = self.eq(value)
        return replace(assigned, assignment=replace(assigned.assignment, adds=True))

    def __eq__(self, other: object) -> Any:
        """Of an input: a condition for `skip`."""
        if isinstance(self.expr, Read) and self.names[self.expr.name].role == INPUT and not isinstance(other, Value):
            return is_zero(self.expr, other)
        return super().__eq__(other)

    def __ne__(self, other: object) -> Any:
        if isinstance(self.expr, Read) and self.names[self.expr.name].role == INPUT and not isinstance(other, Value):
            raise UserError(f"{self} != {arguments.said(other)} is no condition", "sparsity",
                            f"write {self} == 0: what is 0 is skipped, never what is stored")
        return super().__eq__(other)

    __hash__ = None


@dataclass(frozen=True)
class Assigned:
    """An assignment, and what its names are."""

    assignment: recurrence.Assignment
    names: Mapping[str, Declared]


@dataclass(frozen=True)
class Name:
    """A variable or a tensor: call it with a place for every index or dimension."""

    declared: Declared

    def __call__(self, *places: object) -> Place:
        return Place(Read(self.declared.name, tuple(plain(each) for each in places)),
                     {self.declared.name: self.declared})


def indices(names: str) -> tuple[Counted, ...]:
    """The indices of an iteration space by their names, separated by spaces."""
    return tuple(cast(Counted, Counted.named(name)) for name in _names(names))


def inputs(names: str, dtype: str = "int16") -> tuple[Name, ...]:
    """Tensors that are read; `dtype` int8, int16 or int32."""
    return _declared(names, INPUT, dtype)


def variables(names: str, dtype: str = "") -> tuple[Name, ...]:
    """Variables inside the array; `dtype` int8, int16 or int32, by default that of what they copy, else int32."""
    return _declared(names, VARIABLE, dtype)


def outputs(names: str, dtype: str = "") -> tuple[Name, ...]:
    """Tensors that are computed; `dtype` int8, int16 or int32, by default that of the variable that is assigned."""
    return _declared(names, OUTPUT, dtype)


def minimum(a: object, b: object) -> Value:
    """The smaller of two numbers."""
    return _call("min", a, b)


def maximum(a: object, b: object) -> Value:
    """The larger of two numbers."""
    return _call("max", a, b)


def absolute(a: object) -> Value:
    """A number without its sign."""
    return _call("abs", a)


def equal(a: object, b: object) -> Value:
    """1 where two numbers are equal, else 0."""
    return _call("eq", a, b)


def different(a: object, b: object) -> Value:
    """1 where two numbers differ, else 0."""
    return _call("ne", a, b)


def select(condition: object, a: object, b: object) -> Value:
    """`a` where a condition is not 0, else `b`."""
    return _call("select", condition, a, b)


def tree(index: object, *radices: int) -> Tree:
    """Sums over an index as a tree, of which a node of each level adds so many; the root first. Its extent is their product.

    The index is replaced by digits: `bounds` has them, and columns of the transform stand for them, ``k_1`` before ``k_0``.
    """
    return Tree(index if isinstance(index, str) else str(index), tuple(radices))


def functionality(*what: object, dtype: str = "int16", sums: str = "int32", trees: Sequence[Tree] = ()) -> Recurrences:
    """What an array computes: assignments, or a statement such as ``C(i,j) = A(i,k) * B(k,j)``.

    dtype, sums: for a statement, the types of its operands and of its sums and result; int8, int16 or int32.
    trees: for a statement, the sums that are trees, as ``[sp.tree(k, 2, 2, 2)]``.
    """
    if not isinstance(trees, Sequence) or not all(isinstance(each, Tree) for each in trees):
        raise UserError(f"it is {arguments.said(trees)}, which is no list of trees", "trees", "use [sp.tree(k, 2, 2, 2)]")
    if trees:
        if len(what) != 1 or not isinstance(what[0], str):
            raise UserError("recurrences say themselves how they add up", "trees", "give a statement as text")
        return with_trees(what[0], trees, arguments.choice("dtype", dtype, BITS), arguments.choice("dtype", sums, BITS))
    if len(what) == 1 and isinstance(what[0], str):
        return derive(what[0], arguments.choice("dtype", dtype, BITS), arguments.choice("dtype", sums, BITS))
    names: Mapping[str, Declared] = {}
    for each in what:
        if not isinstance(each, Assigned):
            raise UserError(f"{arguments.said(each)} is no assignment", "functionality", "write them as c(i, k).eq(...)")
        names = _joined(names, each.names)
    return recurrences(tuple(each.assignment for each in what if isinstance(each, Assigned)), names)


def _call(operation: str, *operands: object) -> Value:
    values = [_value(each) for each in operands]
    names: Mapping[str, Declared] = {}
    for each in values:
        names = _joined(names, each.names)
    return Value(recurrence.call(operation, *(each.expr for each in values)), names)


def _value(value: object) -> Value:
    return value if isinstance(value, Value) else Value(Number(recurrence.whole(value)), {})


def _joined(first: Mapping[str, Declared], second: Mapping[str, Declared]) -> dict[str, Declared]:
    """Names of both; UserError for one that is declared in two ways."""
    for name in first.keys() & second.keys():
        if first[name] != second[name]:
            raise UserError(f"{name} is declared twice, as {first[name].role} and as {second[name].role}", "functionality",
                            "give each variable and tensor a name of its own")
    return {**first, **second}


def _declared(names: str, role: str, dtype: str) -> tuple[Name, ...]:
    if role == INPUT or not isinstance(dtype, str) or dtype:
        arguments.choice("dtype", dtype, BITS)
    return tuple(Name(Declared(name, role, dtype)) for name in _names(names))


def _names(names: str) -> list[str]:
    found = arguments.text("names", names).split()
    for name in found:
        if not (name.isascii() and name.isidentifier()):
            raise UserError(f"{arguments.said(name)} is no name", "functionality", "use letters, digits and underscores")
    if twice := [name for name in found if found.count(name) > 1]:
        raise UserError(f"{twice[0]} is named twice", "functionality", "give each a name of its own")
    return found
