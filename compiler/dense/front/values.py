"""Typed values of a pipeline without its Funcs: constants, taps of images and operations on them.

Equal values are one object. Every value knows the interval of integers that it can have and whether its operation can wrap,
so that what is constant or has no effect vanishes as soon as it is written.

    uint16(in(x)) * 2 + 0  ->  mul(cast(tap in(x)), 2), 0..510        min(in(x), 300)  ->  tap in(x)
"""

from __future__ import annotations

import math

from sardonyx.hw.arch.errors import UserError

from ...lang.halide.pipeline import BOOL, INT32, Type
from . import constants, ranges
from .constants import Constant, is_float
from .ranges import Interval
from .value import NOTHING, Coordinate, Origin, Value

COMPARISONS = ("eq", "ne", "lt", "le")
# What arithmetic on Booleans is; it wraps modulo 2, and division by 0 gives 0.
LOGIC = {"add": "xor", "sub": "xor", "mul": "and", "div": "and", "min": "and", "max": "or", "absd": "xor"}
# Remainders that are tried for what a condition on them decides.
REMAINDERS = 64
# Selects within each other in which a condition is looked for.
LEVELS = 8


def _is_place(value: Value) -> bool:
    return value.coordinate is not None or value.places


def _is_pattern(op: str, args: tuple[Value, ...]) -> bool:
    """Whether an operation is the remainder of a loop variable by a constant, which repeats."""
    return op == "mod" and args[0].coordinate is not None and args[1].constant is not None


def _decided(condition: Value, other: Value, holds: bool) -> bool | None:
    """What a condition is where another one holds or does not, if that decides it: both compare one remainder to constants."""
    if condition is other:
        return holds
    rest = other.args[0]
    if any(each.op not in COMPARISONS or each.args[0] is not rest or each.args[1].constant is None
           for each in (condition, other)) or rest.interval.high - rest.interval.low >= REMAINDERS:
        return None

    def at(value: int, each: Value) -> bool:
        return bool(constants.compute(each.op, BOOL, value, each.args[1].integer))

    found = {at(value, condition) for value in range(rest.interval.low, rest.interval.high + 1) if at(value, other) == holds}
    return found.pop() if len(found) == 1 else None


class Values:
    """Makes values over loop variables `dims`; `origin` is where the next ones come from.

    Every method raises UserError for what cannot be computed on the array whatever is done with it.
    """

    def __init__(self, dims: tuple[str, ...]) -> None:
        self.dims = dims
        self.origin: Origin | None = None
        self._known: dict[tuple[object, ...], Value] = {}

    def refuse(self, what: str, fix: str) -> UserError:
        return UserError(what, str(self.origin) if self.origin else "", fix)

    def _value(self, op: str, type: Type, args: tuple[Value, ...], interval: Interval, wraps: bool = False, image: str = "",
               table: tuple[int, ...] = ()) -> Value:
        """The one value of this form; a constant if the interval leaves no choice.

        Indices do not become constants: ``max(min(x, 0), 0)`` says that an image is read along x.
        """
        data = op in ("tap", "lookup") or any(arg.data for arg in args)
        places = not data and not _is_pattern(op, args) and any(map(_is_place, args))
        if interval.low == interval.high and not places:
            return self.constant(type, interval.low)
        key = (op, type, args, image, table)
        if key not in self._known:
            chosen = op == "select" and not args[0].data and all(arg.moves or arg.constant is not None for arg in args[1:])
            self._known[key] = Value(op, type, args, interval, wraps, data, places, op == "tap" or chosen, image=image,
                                     table=table, origin=self.origin)
        return self._known[key]

    def again(self, value: Value, args: tuple[Value, ...]) -> Value:
        """An operation on other operands that have the same values."""
        if args == value.args:
            return value
        self.origin = value.origin
        if value.op == "select":
            return self.select(*args)
        return self._value(value.op, value.type, args, value.interval, value.wraps, value.image, value.table)

    def place(self, value: Value) -> str:
        """An index in the loop variables of the output, for messages."""
        if value.constant is not None:
            return str(value.constant)
        if value.coordinate is None:
            return f"{value.image or value.op}({', '.join(map(self.place, value.args))})"
        at = value.coordinate
        text = self.dims[at.dim] if at.scale == 1 else f"{at.scale} * {self.dims[at.dim]}"
        if at.shift:
            text += f" {'+' if at.shift > 0 else '-'} {abs(at.shift)}"
        return text if at.divide == 1 else f"({text}) / {at.divide}" if " " in text else f"{text} / {at.divide}"

    # Leaves.

    def constant(self, type: Type, value: Constant) -> Value:
        if not constants.can_compute(type):
            raise self.refuse(f"constants of type {type} are not computed", "use integers or float32")
        value = constants.convert(value, type)
        key = ("constant", type, value, math.copysign(1, value))
        if key not in self._known:
            interval = Interval(value, value) if isinstance(value, int) else NOTHING
            self._known[key] = Value("constant", type, interval=interval, constant=value, origin=self.origin)
        return self._known[key]

    def index(self, value: int) -> Value:
        """A constant as an index."""
        return self.constant(INT32, value)

    def flag(self, value: bool) -> Value:
        return self.constant(BOOL, int(value))

    def coordinate(self, dim: int, scale: int = 1, shift: int = 0, divide: int = 1, exact: bool = False) -> Value:
        common = math.gcd(scale, divide)
        scale, shift, divide = scale // common, shift // common, divide // common
        if scale == 0:
            return self.constant(INT32, shift // divide)
        place = Coordinate(dim, scale, shift, divide, exact and divide > 1)
        if (place,) not in self._known:
            every = ranges.of_type(INT32)
            self._known[place,] = Value("coordinate", INT32, interval=every, coordinate=place, origin=self.origin)
        return self._known[place,]

    def tap(self, image: str, type: Type, indices: tuple[Value, ...]) -> Value:
        if is_float(type) or type.bits > 16:
            raise self.refuse(f"image {image} has elements of type {type}, but words hold integers of up to 16 bits",
                              "give it integers of 8 or 16 bits")
        return self._value("tap", type, indices, ranges.of_type(type), image=image)

    def lookup(self, type: Type, table: tuple[int, ...], index: Value) -> Value:
        """Entry `index` of a table; the index lies inside."""
        reach = index.interval
        return self._value("lookup", type, (index,), ranges.around(table[reach.low:reach.high + 1]), table=table)

    # Operations.

    def binary(self, op: str, type: Type, a: Value, b: Value) -> Value:
        """A binary operation; and, or, xor, eq, ne also on Booleans. `type` is that of the result."""
        if op in ("gt", "ge"):
            return self.binary({"gt": "lt", "ge": "le"}[op], BOOL, b, a)
        if a.constant is not None and b.constant is not None:
            return self.constant(type, constants.compute(op, type, a.constant, b.constant))
        self._integers(type, a, b)
        if a.type == BOOL and b.type == BOOL:
            return self._flags(op, a, b)
        if op in ("div", "mod") and b.constant is not None and ranges.of_type(type).low < b.integer < 0:
            # Remainders are never negative, so that quotients only change their sign.
            positive = self.binary(op, type, a, self.constant(type, -b.integer))
            return positive if op == "mod" else self.binary("sub", type, self.constant(type, 0), positive)
        if op in COMPARISONS:
            return self._comparison(op, a, b)
        place = self._place(op, a, b)
        return place if place is not None else self._identity(op, a, b) or self._operation(op, type, a, b)

    def _integers(self, *values: Value | Type) -> None:
        for value in values:
            type = value.type if isinstance(value, Value) else value
            if is_float(type):
                raise self.refuse(f"it computes with numbers of type {type}, but the array computes with integers",
                                  "use fixed-point numbers")

    def _operation(self, op: str, type: Type, a: Value, b: Value) -> Value:
        exact = ranges.exact(op, a.interval, b.interval, a is b)
        if exact is None:
            return self._value(op, type, (a, b), ranges.of_type(type), op in ("shl", "div"))
        return self._value(op, type, (a, b), ranges.wrap(exact, type), not exact.within(ranges.of_type(type)))

    def _identity(self, op: str, a: Value, b: Value) -> Value | None:
        """One of the operands, where the operation changes nothing."""
        if op in ("min", "max"):
            low, high = (a, b) if op == "min" else (b, a)
            kept = a if a is b or low.interval.high <= high.interval.low else \
                b if high.interval.high <= low.interval.low else None
            # An index that is always the same still says along which loop an image is read.
            return kept if kept is None or kept.constant is None or not (_is_place(a) or _is_place(b)) else None
        if op in ("add", "or", "xor") and a.constant == 0:
            return b
        if op == "mul" and a.constant == 1:
            return b
        if op in ("add", "sub", "or", "xor", "shl", "shr") and b.constant == 0:
            return a
        if op in ("mul", "div") and b.constant == 1:
            return a
        if op == "mod" and b.constant is not None and a.interval.within(Interval(0, b.integer - 1)):
            return a
        if op == "and":
            for value, mask in ((a, b), (b, a)):
                ones = (1 << value.interval.high.bit_length()) - 1
                if mask.constant is not None and value.interval.low >= 0 and mask.integer & ones == ones:
                    return value
        return a if op in ("and", "or") and a is b else None

    def _comparison(self, op: str, a: Value, b: Value) -> Value:
        if a is b:
            return self.flag(op in ("eq", "le"))
        known = ranges.compare(op, a.interval, b.interval)
        return self.flag(known) if known is not None else self._value(op, BOOL, (a, b), Interval(0, 1))

    def _flags(self, op: str, a: Value, b: Value) -> Value:
        """Operations on Booleans as and, or, xor and not."""
        if op in ("eq", "ne"):
            other = self._logic("xor", a, b)
            return other if op == "ne" else self.invert(other)
        if op in ("lt", "le"):
            return self._logic("and" if op == "lt" else "or", self.invert(a), b)
        if op == "mod":
            return self.flag(False)
        return self._logic(LOGIC.get(op, op), a, b)

    def _logic(self, op: str, a: Value, b: Value) -> Value:
        if op not in ("and", "or", "xor"):
            raise self.refuse(f"{op} is no operation on Booleans", "cast them to uint8 first")
        if a is b:
            return self.flag(False) if op == "xor" else a
        for one, other in ((a, b), (b, a)):
            if one.constant is not None:
                if op == "xor":
                    return self.invert(other) if one.constant else other
                return other if bool(one.constant) == (op == "and") else one
        return self._value(op, BOOL, (a, b), Interval(0, 1))

    def invert(self, a: Value) -> Value:
        """Not, of a Boolean."""
        if a.constant is not None:
            return self.flag(not a.constant)
        return a.args[0] if a.op == "not" else self._value("not", BOOL, (a,), Interval(0, 1))

    def select(self, condition: Value, true: Value, false: Value) -> Value:
        if condition.constant is not None:
            return true if condition.constant else false
        if true is false:
            return true
        self._integers(true)
        if true.type == BOOL and not condition.places:
            chosen = self._logic("and", condition, true)
            return self._logic("or", chosen, self._logic("and", self.invert(condition), false))
        if not condition.data:
            true, false = self._where(true, condition, True), self._where(false, condition, False)
        return self._choice(condition, true, false)

    def _choice(self, condition: Value, true: Value, false: Value) -> Value:
        if true is false:
            return true
        return self._value("select", true.type, (condition, true, false), ranges.hull(true.interval, false.interval))

    def _where(self, value: Value, condition: Value, holds: bool, levels: int = LEVELS) -> Value:
        """The value where a condition holds or does not: what selects by it, or by others that it decides, has chosen."""
        if value.op != "select" or not levels:
            return value
        known = _decided(value.args[0], condition, holds)
        if known is not None:
            return self._where(value.args[1 if known else 2], condition, holds, levels - 1)
        true, false = (self._where(each, condition, holds, levels - 1) for each in value.args[1:])
        return value if (true, false) == value.args[1:] else self._choice(value.args[0], true, false)

    def cast(self, type: Type, a: Value) -> Value:
        """The value as another type; of an integer the lowest bit makes a Boolean."""
        if a.type == type:
            return a
        if a.constant is not None:
            return self.constant(type, a.constant)
        self._integers(type, a)
        if type == BOOL:
            one = self.constant(a.type, 1)
            return self._comparison("eq", self.binary("and", a.type, a, one), one)
        return self._value("cast", type, (a,), ranges.wrap(a.interval, type), not a.interval.within(ranges.of_type(type)))

    def magnitude(self, type: Type, a: Value) -> Value:
        """abs; `type` is that of the result."""
        if a.constant is not None:
            return self.constant(type, abs(a.constant))
        self._integers(type, a)
        if a.interval.low >= 0:
            return self.cast(type, a)
        exact = ranges.magnitude(a.interval)
        return self._value("abs", type, (a,), ranges.wrap(exact, type), not exact.within(ranges.of_type(type)))

    # Places: loop variables times constants, plus constants, divided by constants.

    def _place(self, op: str, a: Value, b: Value) -> Value | None:
        """The operation as a coordinate, if it is one."""
        one, other = a.coordinate, b.coordinate
        if one and other:
            return self._places(op, one, other)
        if one and isinstance(b.constant, int):
            return self._scaled(op, one, b.constant)
        if other and isinstance(a.constant, int):
            if op in ("add", "mul"):
                return self._scaled(op, other, a.constant)
            if op == "sub" and other.divide == 1:
                return self.coordinate(other.dim, -other.scale, a.constant - other.shift)
        return None

    def _places(self, op: str, a: Coordinate, b: Coordinate) -> Value | None:
        """The sum or difference of two coordinates of one dimension."""
        if op not in ("add", "sub") or a.dim != b.dim or a.divide != 1 or b.divide != 1:
            return None
        sign = 1 if op == "add" else -1
        return self.coordinate(a.dim, a.scale + sign * b.scale, a.shift + sign * b.shift)

    def _scaled(self, op: str, a: Coordinate, by: int) -> Value | None:
        if op == "shl" and by >= 0:
            op, by = "mul", 1 << by
        if op == "shr" and by >= 0:
            op, by = "div", 1 << by
        if op in ("add", "sub"):
            return self.coordinate(a.dim, a.scale, a.shift + (by if op == "add" else -by) * a.divide, a.divide, a.exact)
        if op == "mul" and (a.divide == 1 or a.exact or by == 0):
            return self.coordinate(a.dim, a.scale * by, a.shift * by, a.divide, a.exact)
        if op == "div" and by > 0:
            return self.coordinate(a.dim, a.scale, a.shift, a.divide * by)
        if op == "mod" and by > 0 and a.divide == 1 and a.scale % by == 0:
            return self.constant(INT32, a.shift % by)
        if op == "and" and by > 0 and by & (by + 1) == 0:
            place = self.coordinate(a.dim, a.scale, a.shift, a.divide, a.exact)
            return self.binary("mod", INT32, place, self.constant(INT32, by + 1))
        return None
