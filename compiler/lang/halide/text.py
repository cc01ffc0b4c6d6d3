"""Expressions as people write them, such as ``uint16(sum(x, y) >> 4)``."""

from __future__ import annotations

from collections.abc import Mapping

from .pipeline import Access, Binary, Cast, Expr, Intrinsic, Not, Number, Select, Variable
from .walk import children, postorder

# Symbol and strength; stronger binds tighter.
_BINARY = {"mul": ("*", 6), "div": ("/", 6), "mod": ("%", 6), "add": ("+", 5), "sub": ("-", 5), "lt": ("<", 3),
           "le": ("<=", 3), "gt": (">", 3), "ge": (">=", 3), "eq": ("==", 3), "ne": ("!=", 3), "and": ("&&", 2),
           "or": ("||", 1)}
_INTRINSIC = {"shift_left": ("<<", 4), "shift_right": (">>", 4), "bitwise_and": ("&", 3), "bitwise_xor": ("^", 3),
              "bitwise_or": ("|", 3)}
_ATOM = 9
LONGEST = 400


def show(expr: Expr, longest: int = LONGEST, names: Mapping[str, str] | None = None) -> str:
    """The text of an expression; the middle of what is longer than `longest` characters is left out.

    names: what Funcs are called in the program, where Halide calls them otherwise; reduction variables are shown as there, too.
    """
    done: dict[int, tuple[str, int]] = {}
    for part in postorder(expr):
        text, strength = _one(part, [done[id(child)] for child in children(part)], names)
        done[id(part)] = (_cut(text, longest), strength)
    return done[id(expr)][0]


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest // 2]} ... {text[-longest // 2:]}"


def _one(expr: Expr, parts: list[tuple[str, int]], names: Mapping[str, str] | None) -> tuple[str, int]:
    texts = ", ".join(text for text, _ in parts)
    match expr:
        case Number():
            return str(expr.value) if expr.type.bits != 1 else str(bool(expr.value)), _ATOM
        case Variable():
            return expr.name if names is None else expr.name.replace("$", "."), _ATOM
        case Cast():
            return f"{expr.type}({texts})", _ATOM
        case Not():
            return f"!{_wrap(parts[0], _ATOM)}", _ATOM
        case Select():
            return f"select({texts})", _ATOM
        case Access():
            return f"{(names or {}).get(expr.name, expr.name)}({texts})" + (f"[{expr.value}]" if expr.value else ""), _ATOM
        case Binary() if expr.op in _BINARY:
            return _infix(*_BINARY[expr.op], parts)
        case Binary():
            return f"{expr.op}({texts})", _ATOM
        case Intrinsic() if expr.name in _INTRINSIC:
            return _infix(*_INTRINSIC[expr.name], parts)
        case Intrinsic(name="bitwise_not"):
            return f"~{_wrap(parts[0], _ATOM)}", _ATOM
        case Intrinsic():
            return f"{expr.name}({texts})", _ATOM


def _infix(symbol: str, strength: int, parts: list[tuple[str, int]]) -> tuple[str, int]:
    # Comparisons, shifts and bit operations are never chained without parentheses.
    left = strength if symbol in ("+", "-", "*", "&&", "||") else strength + 1
    return f"{_wrap(parts[0], left)} {symbol} {_wrap(parts[1], strength + 1)}", strength


def _wrap(part: tuple[str, int], strength: int) -> str:
    return part[0] if part[1] >= strength else f"({part[0]})"
