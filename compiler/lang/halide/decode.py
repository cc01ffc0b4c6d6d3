"""Expressions of a serialized pipeline as values of `pipeline`.

Lets are put in where they are used, as one shared object; hints (likely, promise_clamped) are left out; scalar
parameters become their values; functions of integers are written with the few of `Intrinsic`.

Errors:  UserError naming the Func and the part of it, for what hardware cannot mean or this reader does not know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sardonyx.hw.arch.errors import UserError, shown

from .flat import Damaged, Record
from .intrinsics import expand, fits, is_integer, limits
from .pipeline import BOOL, INT32, Access, Binary, Cast, Expr, Intrinsic, Not, Number, Select, Type, Variable
from .text import show
from .walk import share

_BINARY = {"Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "Mod": "mod", "Min": "min", "Max": "max", "EQ": "eq",
           "NE": "ne", "LT": "lt", "LE": "le", "GT": "gt", "GE": "ge", "And": "and", "Or": "or"}
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_OPERANDS = {**dict.fromkeys(_BINARY, ("a", "b")), "Cast": ("value",), "Reinterpret": ("value",), "Not": ("a",),
             "Select": ("condition", "true_value", "false_value")}
_FLOAT_FUNCTION = re.compile(r"[a-z0-9_]+_(f16|f32|f64)|strict_[a-z]+|lerp|saturating_cast|abs|absd|round|trunc")
_UNKNOWN = {
    "Load": "a load of lowered code", "Ramp": "a vector", "Broadcast": "a vector", "Shuffle": "a vector",
    "VectorReduce": "a vector", "StringImm": "a text", "UndefinedExpr": "nothing",
}


def read_type(record: Record | None) -> Type:
    """A scalar type."""
    if record is None:
        raise Damaged("a type is left out")
    kind, bits, lanes = record.choice("code"), record.integer("bits"), record.integer("lanes")
    if kind == "handle" or lanes != 1:
        raise UserError(f"values of type {kind}{bits}{f' x {lanes}' if lanes != 1 else ''} are not read",
                        fix="use integers or floats, one at a time")
    if (kind, bits) not in _TYPES:
        raise Damaged(f"{kind}{bits} is no type")
    return Type(kind, bits)


_TYPES = {("uint", 1), ("bfloat", 16), *((kind, bits) for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
          *(("float", bits) for bits in (16, 32, 64))}


@dataclass
class Decoder:
    """Reads the expressions of one file.

    funcs : mapping               Types of the values of every Func by name.
    dimensions : mapping          Number of arguments of every Func by name.
    images : mapping              Inputs: name -> (type, number of dimensions).
    parameters : mapping          Values of the scalar parameters.
    """

    funcs: Mapping[str, tuple[Type, ...]]
    dimensions: Mapping[str, int]
    images: Mapping[str, tuple[Type, int]]
    parameters: Mapping[str, Number]
    _shared: dict[object, Expr] = field(default_factory=dict)

    def exprs(self, records: tuple[Record | None, ...]) -> tuple[Expr, ...]:
        """Several expressions."""
        return tuple(map(self.expr, records))

    def expr(self, root: Record | None) -> Expr:
        """One expression; equal parts of all expressions of the file are one object."""
        # A stack of what is to do: reading a record with the lets around it, or joining what was read.
        todo: list[Callable[[], None]] = []
        done: list[Expr] = []

        def read(record: Record | None, lets: Mapping[str, Expr]) -> None:
            if record is None:
                raise Damaged("an expression is left out")
            if record.table == "Let":
                name, value, body = record.text("name"), record.member("value"), record.member("body")
                # Each let has the names of all around it.
                record.file.count(len(lets) // 16)
                todo.append(lambda: read(body, {**lets, name: done.pop()}))
                todo.append(lambda: read(value, lets))
                return
            operands = record.members("args") if record.table == "Call" else tuple(
                record.member(each) for each in _OPERANDS.get(record.table, ()))
            if any(operand is not None and operand.table == "StringImm" for operand in operands):
                called = f"function {record.text('name')}" if record.table == "Call" else record.table
                raise UserError(f"{shown(called)} is called with a text", fix="leave it out")
            todo.append(lambda: join(record, lets, len(operands)))
            for operand in reversed(operands):
                todo.append(lambda operand=operand: read(operand, lets))  # type: ignore[misc]

        def join(record: Record, lets: Mapping[str, Expr], count: int) -> None:
            operands = tuple(done[len(done) - count:])
            del done[len(done) - count:]
            done.append(self._node(record, operands, lets))

        todo.append(lambda: read(root, {}))
        while todo:
            todo.pop()()
        return share(done.pop(), self._shared)

    def _node(self, record: Record, args: tuple[Expr, ...], lets: Mapping[str, Expr]) -> Expr:
        kind = record.table
        if kind in _BINARY:
            op, (left, right) = _BINARY[kind], args
            if left.type != right.type or (op in ("and", "or") and left.type != BOOL):
                raise Damaged(f"the operands of {op} are {left.type} and {right.type}")
            return Binary(op, BOOL if op in _COMPARISONS else left.type, left, right)
        match kind:
            case "IntImm" | "UIntImm" | "FloatImm":
                value, type_ = record.number("value"), read_type(record.record("type"))
                if is_integer(type_) != (kind != "FloatImm") or (is_integer(type_) and not _holds(type_, value)):
                    raise Damaged(f"{value} is no {type_}")
                return Number(type_, int(value) if is_integer(type_) else float(value))
            case "Cast":
                return Cast(read_type(record.record("type")), args[0])
            case "Reinterpret":
                type_ = read_type(record.record("type"))
                if not (is_integer(type_) and is_integer(args[0].type) and type_.bits == args[0].type.bits):
                    raise UserError(f"the bits of {args[0].type} are taken as {type_} in {show(args[0])}",
                                    fix="reinterpret integers of one width only")
                return Cast(type_, args[0])
            case "Not":
                if args[0].type != BOOL:
                    raise Damaged(f"the operand of not is {args[0].type}")
                return Not(args[0])
            case "Select":
                if args[1].type != args[2].type or args[0].type != BOOL:
                    raise Damaged(f"a select is of {', '.join(str(arg.type) for arg in args)}")
                return Select(args[1].type, *args)
            case "Variable":
                return self._variable(record, lets)
            case "Call":
                return self._call(record, args)
        raise UserError(f"{_UNKNOWN.get(kind, kind)} stands for a value",
                        fix="write the algorithm with scalar expressions")

    def _variable(self, record: Record, lets: Mapping[str, Expr]) -> Expr:
        name, param = record.text("name"), record.text("param_name")
        if name in lets:
            return lets[name]
        if param and param not in self.images:
            if param not in self.parameters:
                raise Damaged(f"parameter {param} is not in the list of parameters")
            return self.parameters[param]
        if param and not re.fullmatch(r"\.(min|extent)\.\d+", name.removeprefix(param)):
            raise UserError(f"{name} of input {param} is used as a value", fix="use its min and extent only")
        return Variable(name, read_type(record.record("type")))

    def _call(self, record: Record, args: tuple[Expr, ...]) -> Expr:
        name, kind, type_ = record.text("name"), record.choice("call_type"), read_type(record.record("type"))
        if kind == "Halide":
            value = record.integer("value_index")
            if value < 0 or any(arg.type != INT32 for arg in args):
                raise Damaged(f"value {value} of Func {name} is read at {', '.join(str(arg.type) for arg in args)}")
            if self.funcs.get(name, ())[value:value + 1] != (type_,) or self.dimensions[name] != len(args):
                raise Damaged(f"value {value} of Func {name} is read as {type_} with {len(args)} indices")
            return Access(type_, name, args, value)
        if kind == "Image":
            name = record.text("param_name") or record.text("image_name")
            if self.images.get(name) != (type_, len(args)) or any(arg.type != INT32 for arg in args):
                raise Damaged(f"input {name} is read as {type_} with {len(args)} indices")
            return Access(type_, name, args)
        call = Intrinsic(name, type_, args)
        if kind in ("Intrinsic", "PureIntrinsic", "PureExtern"):
            if all(is_integer(each) for each in (type_, *(arg.type for arg in args))):
                if not fits(call):
                    raise Damaged(f"function {name} is called with {', '.join(str(arg.type) for arg in args) or 'nothing'}")
                found = expand(call) if kind != "PureExtern" else None
                if found is not None:
                    return found
            elif _FLOAT_FUNCTION.fullmatch(name):
                return call
            elif name in ("likely", "likely_if_innermost", "memoize_expr") and args:
                return args[0]
        what = f"{show(call)} is a value that is never set" if name == "undef" else f"function {name} is called: {show(call)}"
        raise UserError(what, fix="write it with operators, select, min, max, clamp, abs, shifts and casts")


def _holds(type_: Type, value: float) -> bool:
    low, high = limits(type_)
    return low <= value <= high
