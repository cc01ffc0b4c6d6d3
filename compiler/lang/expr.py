"""Index expressions such as the right side of `X(i,j) = B(i,k) * C(k,j)`: their tree, how it is written, and walks over it.

Source:  the notation of tensor index expressions in Onyx JSSC II-A and IV-B.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from sardonyx.tensors.fibertree import Format

from .functions import DIVIDE, GREATER, SUM


@dataclass(frozen=True)
class Access:
    """A tensor read or written at index variables.

    Parameters
    ----------
    tensor : str       Name as written.
    indices : tuple    Index variables, one per mode of what is stored; none for a scalar.
    slot : str         Which copy of the tensor: `B`, and `B.2`, `B.3` where it is used again.
    format : Format    How this copy is stored.
    column : int       Where it stands in the text, from 0.
    repeated : tuple   The index variables as written, if one stands twice: the access is of a diagonal, which has one
                       mode for each variable.
    """

    tensor: str
    indices: tuple[str, ...]
    slot: str
    format: Format
    column: int = field(default=0, compare=False)
    repeated: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.tensor}({','.join(self.modes)})" if self.modes else self.tensor

    @property
    def modes(self) -> tuple[str, ...]:
        """The index variable of every mode of the tensor."""
        return self.repeated or self.indices

    @property
    def stored(self) -> tuple[str, ...]:
        """Index variables in the order of the stored levels."""
        return tuple(self.indices[mode] for mode in self.format.order)


@dataclass(frozen=True)
class Constant:
    """An integer."""

    value: int
    column: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Negate:
    """Unary minus."""

    operand: Expr
    column: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return f"-({self.operand})" if _divides(self.operand) else f"-{_bracketed(self.operand)}"


@dataclass(frozen=True)
class Binary:
    """A sum, difference or product."""

    op: str
    left: Expr
    right: Expr
    column: int = field(default=0, compare=False)

    def __str__(self) -> str:
        if self.op == "*":
            return f"{_bracketed(self.left)} * {_factor(self.right)}"
        return f"{_compared(self.left)} {self.op} {_bracketed(self.right)}"


@dataclass(frozen=True)
class Call:
    """A function of `functions.py`, and its arguments."""

    function: str
    arguments: tuple[Expr, ...]
    column: int = field(default=0, compare=False)

    def __str__(self) -> str:
        if self.function == GREATER:
            return f" {GREATER} ".join(_compared(argument) for argument in self.arguments)
        if self.function == DIVIDE:
            return f"{_bracketed(self.arguments[0])} / {_factor(self.arguments[1], True)}"
        return f"{self.function}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True)
class Total:
    """The sum of an expression over an index, which stands nowhere else, or its largest value.

    extent: how many coordinates the index has, for a maximum; 0 while operands are not known.
    """

    index: str
    operand: Expr
    column: int = field(default=0, compare=False)
    function: str = SUM
    extent: int = 0

    def __str__(self) -> str:
        return f"{self.function}({self.index}, {self.operand})"


Expr = Access | Constant | Negate | Binary | Call | Total


def _bracketed(expr: Expr) -> str:
    return f"({expr})" if is_sum(expr) else _compared(expr)


def _factor(expr: Expr, divides: bool = False) -> str:
    """What stands behind a * or a /, in brackets if it is a sum, or would be taken apart by what stands before it."""
    apart = _divides(expr) or (divides and isinstance(expr, Binary))
    return f"({expr})" if apart else _bracketed(expr)


def _divides(expr: Expr) -> bool:
    """Whether an expression is a quotient, or a product with one in it."""
    if isinstance(expr, Binary):
        return expr.op == "*" and (_divides(expr.left) or _divides(expr.right))
    return isinstance(expr, Call) and expr.function == DIVIDE


def _compared(expr: Expr) -> str:
    """A part of a sum or of a comparison, in brackets if it is a comparison."""
    return f"({expr})" if isinstance(expr, Call) and expr.function == GREATER else str(expr)


def is_sum(expr: Expr) -> bool:
    """Whether an expression is a sum or a difference."""
    return isinstance(expr, Binary) and expr.op != "*"


def children(expr: Expr) -> tuple[Expr, ...]:
    """What an expression is made of directly, from left to right."""
    if isinstance(expr, Negate | Total):
        return (expr.operand,)
    if isinstance(expr, Binary):
        return expr.left, expr.right
    return expr.arguments if isinstance(expr, Call) else ()


def rebuilt(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """An expression of changed parts, which are changed from left to right."""
    if isinstance(expr, Negate | Total):
        return replace(expr, operand=change(expr.operand))
    if isinstance(expr, Binary):
        return replace(expr, left=change(expr.left), right=change(expr.right))
    return replace(expr, arguments=tuple(map(change, expr.arguments))) if isinstance(expr, Call) else expr


def accesses(expr: Expr) -> Iterator[Access]:
    """The tensors an expression reads, from left to right."""
    if isinstance(expr, Access):
        yield expr
    for part in children(expr):
        yield from accesses(part)


def changed(expr: Expr, change: Callable[[Access], Access]) -> Expr:
    """An expression with other accesses, which are changed from left to right."""
    if isinstance(expr, Access):
        return change(expr)
    # A frame for each term of a long sum, not more.
    if isinstance(expr, Binary):
        return replace(expr, left=changed(expr.left, change), right=changed(expr.right, change))
    return rebuilt(expr, lambda part: changed(part, change))


def indices(expr: Expr) -> dict[str, None]:
    """The index variables of an expression, in order of appearance."""
    return {index: None for access in accesses(expr) for index in access.indices}


def start(expr: Expr) -> int:
    """The column where an expression begins (brackets around it aside)."""
    if isinstance(expr, Binary):
        return start(expr.left)
    return start(expr.arguments[0]) if isinstance(expr, Call) and expr.function in (GREATER, DIVIDE) else expr.column
