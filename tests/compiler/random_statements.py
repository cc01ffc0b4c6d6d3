"""Statements of the whole grammar, drawn by hypothesis, which shrinks them; and what they mean on dense arrays.

A part is drawn for the indices that it must have, so that sums and functions hardly meet terms of other indices: what is drawn
is nearly always a statement. A tensor may stand twice, also for its diagonal.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from numpy.typing import NDArray

from sardonyx.compiler.lang.expr import Access, Binary, Call, Constant, Expr, Negate, Total, indices
from sardonyx.tensors.coordinates import wrap

Ints = NDArray[np.int64]
SUMMED = "klm"
# Those of sums that name their index.
NAMED = "no"
RESULTS = ("", "i", "ij", "ji")
# Sums around the loops of these are more than an accumulator keeps.
WIDE = ("hij", "jhi")


class Names:
    """The tensors drawn so far, with their numbers of indices; no more accesses than `left`. `made`: what other statements
    compute."""

    def __init__(self, left: int) -> None:
        self.ranks: dict[str, int] = {}
        self.made: dict[str, int] = {}
        self.left = left

    def draw(self, draw: DrawFn, rank: int) -> str:
        made = [name for name, other in self.made.items() if other == rank]
        if made and draw(st.booleans()):
            return draw(st.sampled_from(made))
        known = [name for name, other in self.ranks.items() if other == rank]
        if known and draw(st.integers(0, 3)) == 3:
            return draw(st.sampled_from(known))
        name = "ABCDEFGH"[len(self.ranks)]
        self.ranks[name] = rank
        return name


def statements(most: int = 5, results: Sequence[str] = RESULTS) -> SearchStrategy[str]:
    """Texts of statements of at most so many accesses, with some of the indices of a result."""
    @st.composite
    def drawn(draw: DrawFn) -> str:
        result = draw(st.sampled_from(results))
        text = part(draw, result, Names(most), 3, False)
        return f"X{bracketed(result)} = {text}"

    return drawn()


def contractions() -> SearchStrategy[str]:
    """Texts of products that are summed over an index, with a result of three."""
    @st.composite
    def drawn(draw: DrawFn) -> str:
        result, names = draw(st.sampled_from(WIDE)), Names(4)
        cut = draw(st.integers(0, 3))
        sides = [part(draw, "k" + own, names, 1, False) for own in (result[:cut], result[cut:])]
        return f"X{bracketed(result)} = {draw(st.sampled_from(['', '-2 * ']))}({sides[0]}) * ({sides[1]})"

    return drawn()


def part(draw: DrawFn, wanted: str, names: Names, depth: int, inside: bool) -> str:
    """A part with the wanted indices, and perhaps others that it is summed over."""
    kinds = ["access", "access", "product", "quotient", "sum", "function", "scaled", "total"]
    kind = draw(st.sampled_from(kinds)) if depth and names.left > 1 else "access"
    if kind == "access":
        return _access(draw, wanted, names)
    if kind == "scaled":
        factor = draw(st.sampled_from(["-", *(f"{number} * " for number in (-3, -2, -1, 1, 2, 3))]))
        return f"({factor}({part(draw, wanted, names, depth - 1, inside)}))"
    free = sorted(set(NAMED) - set(wanted))
    if kind == "total" and free:
        index = draw(st.sampled_from(free))
        return f"{draw(st.sampled_from(['sum', 'max']))}({index}, {part(draw, wanted + index, names, depth - 1, False)})"
    if kind == "quotient" and draw(st.integers(0, 2)) == 0:
        varied, constant = part(draw, wanted, names, depth - 1, inside), draw(st.integers(-3, 3).filter(bool))
        return draw(st.sampled_from([f"(({varied}) / {constant})", f"({constant} / ({varied}))"]))
    if kind in ("product", "quotient", "total"):
        names.left -= 1
        sides = {index: draw(st.sampled_from(["left", "right", "both"])) for index in wanted}
        if kind != "quotient":
            sides |= dict.fromkeys(draw(st.sampled_from(["", *SUMMED])), "both")
        left, right = ("".join(index for index, side in sides.items() if side != other) for other in ("right", "left"))
        first = part(draw, left, names, depth - 1, False)
        names.left += 1
        second = part(draw, right, names, depth - 1, False)
        return f"(({first}) / ({second}))" if kind == "quotient" else f"({first}) * ({second})"
    names.left -= 1
    first = part(draw, wanted, names, depth - 1, inside or kind == "function")
    names.left += 1
    if kind == "sum":
        if inside and draw(st.booleans()):
            return f"({first}) {draw(st.sampled_from('+-'))} {draw(st.integers(0, 3))}"
        return f"({first}) {draw(st.sampled_from('+-'))} ({part(draw, wanted, names, depth - 1, inside)})"
    function = draw(st.sampled_from(["relu", "abs", "sign", "nonzero", "max", "min", ">", "<", "!="]))
    if function in ("relu", "abs", "sign", "nonzero"):
        return f"{function}({first})"
    second = str(draw(st.integers(-3, 3))) if draw(st.booleans()) else part(draw, wanted, names, depth - 1, True)
    return f"{function}({first}, {second})" if function in ("max", "min") else f"(({first}) {function} ({second}))"


def _access(draw: DrawFn, wanted: str, names: Names) -> str:
    names.left -= 1
    extra = draw(st.sampled_from(["", "", "", *SUMMED, *wanted])) if len(wanted) < 3 else ""
    own = "".join(draw(st.permutations(wanted + extra)))
    return names.draw(draw, len(own)) + bracketed(own)


def bracketed(names: str) -> str:
    return f"({','.join(names)})" if names else ""


FUNCTIONS = {"relu": lambda e: np.maximum(e, 0), "abs": np.abs, "sign": np.sign, "nonzero": lambda e: (e != 0) * 1,
             "max": np.maximum, "min": np.minimum, ">": lambda a, b: (a > b) * 1,
             "/": lambda a, b: np.where(b == 0, 0, np.floor_divide(a, b + (b == 0)))}


def dense(expr: Expr, order: tuple[str, ...], extents: Mapping[str, int], data: Mapping[str, Ints], outside: Collection[str]
          ) -> Ints:
    """A part at every point of all indices `order`, of which those that it does not have have one element; `outside` are those
    that are used around it, the others are summed."""
    if isinstance(expr, Constant):
        return np.full([1] * len(order), expr.value)
    if isinstance(expr, Negate):
        return wrap(-dense(expr.operand, order, extents, data, outside))
    if isinstance(expr, Total):
        found = dense(expr.operand, order, extents, data, {*outside, expr.index})
        if expr.function == "max":
            return found.max(order.index(expr.index), keepdims=True)
        return wrap(_summed(found, order, outside, [expr.index]))
    if isinstance(expr, Call):
        return wrap(FUNCTIONS[expr.function](*(dense(each, order, extents, data, outside) for each in expr.arguments)))
    if isinstance(expr, Binary):
        product = expr.op == "*"
        more = [indices(side).keys() if product else () for side in (expr.right, expr.left)]
        left, right = (dense(side, order, extents, data, {*outside, *others})
                       for side, others in zip((expr.left, expr.right), more))
        found = left * right if product else left + right if expr.op == "+" else left - right
        return wrap(_summed(found, order, outside, indices(expr)) if product else found)
    assert isinstance(expr, Access)
    points = np.ix_(*(np.arange(extents[index]) for index in order))
    at = tuple(points[order.index(index)] for index in expr.modes)
    whole = data[expr.tensor][at] if at else data[expr.tensor].reshape([1] * len(order))
    return wrap(_summed(whole, order, outside, expr.indices))


def _summed(found: Ints, order: tuple[str, ...], outside: Collection[str], own: Collection[str]) -> Ints:
    return found.sum(tuple(at for at, index in enumerate(order) if index in own and index not in outside), keepdims=True)

