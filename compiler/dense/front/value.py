"""A typed value of a pipeline without its Funcs, where it comes from, and what it is computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from ...lang.halide.pipeline import Expr, Type
from ...lang.halide.text import show
from .constants import Constant
from .ranges import Interval

# Of floating point constants, which are not on the array.
NOTHING = Interval(0, 0)
# Characters of an expression in a message.
LONGEST = 120


@dataclass(frozen=True)
class Coordinate:
    """``floor((scale * x + shift) / divide)`` of the loop variable of dimension `dim`; scale and divide have no common
    divisor. `exact` says that it is used only where nothing is left over."""

    dim: int
    scale: int = 1
    shift: int = 0
    divide: int = 1
    exact: bool = False


@dataclass(frozen=True)
class Origin:
    """Where a program says something, for messages; names: see `show`."""

    func: str
    expr: Expr
    names: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        return f"Func {self.func}, {show(self.expr, LONGEST, self.names)}"


@dataclass(frozen=True, eq=False)
class Value:
    """One value at every point.

    Parameters
    ----------
    op : str                 constant; coordinate; tap (args are the indices); lookup (args[0] is the index); cast, select,
                             not, abs; or add, sub, mul, div, mod, min, max, absd, and, or, xor, shl, shr, eq, ne, lt, le.
    interval : Interval      Integers that it can have (of a floating point constant: nothing).
    wraps : bool             Whether the operation can leave the range of the type.
    data : bool              Whether it depends on an image.
    places : bool            Whether it depends on loop variables, not only on their remainders, and on no image.
    moves : bool             Whether it is an element of an image, or one of several or a constant, whatever the images hold.
    constant                 Of a constant.
    coordinate               Of a coordinate.
    image, table             Name of a tap's image; entries of a lookup.
    origin                   The expression that it was first read from.
    """

    op: str
    type: Type
    args: tuple[Value, ...] = ()
    interval: Interval = NOTHING
    wraps: bool = False
    data: bool = False
    places: bool = False
    moves: bool = False
    constant: Constant | None = None
    coordinate: Coordinate | None = None
    image: str = ""
    table: tuple[int, ...] = ()
    origin: Origin | None = None

    @property
    def varies(self) -> bool:
        """Whether it is neither a constant nor a coordinate."""
        return self.constant is None and self.coordinate is None

    @property
    def integer(self) -> int:
        """Of an integer constant."""
        assert isinstance(self.constant, int), f"{self.op} is no integer constant"
        return self.constant


def behind(values: Iterable[Value], inside: Callable[[Value], Iterable[Value]] = lambda value: value.args) -> list[Value]:
    """All values that these are computed from, and themselves, operands first; `inside` gives the operands of one."""
    found: dict[Value, None] = {}
    stack = [(value, False) for value in reversed(list(values))]
    while stack:
        value, ready = stack.pop()
        if ready:
            found[value] = None
        elif value not in found:
            stack.append((value, True))
            stack.extend((arg, False) for arg in reversed(list(inside(value))))
    return list(found)
