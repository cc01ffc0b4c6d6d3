"""What an error of a spatial array says to try helps: each remedy is taken, and the array then gives what NumPy gives."""

from collections.abc import Callable
from typing import Any

import pytest

from sardonyx import spatial as sp
from sardonyx.hw.arch.errors import UserError

i, j, k, m = sp.indices("i j k m")
A, B, D = sp.inputs("A B D")
TEXT = "C(i,j) = A(i,k) * B(k,j)"
INPUT, OUTPUT, WEIGHTS = ([[0, 0, 1], [1, 0, 0], [1, 1, 1]], [[1, 0, 0], [0, 1, 0], [1, 1, 1]],
                          [[0, 0, 1], [0, 1, 0], [1, 1, 1]])
HEXAGONAL = [[1, 0, -1], [0, 1, -1], [1, 1, 1]]
ROWS_OF_A, COLUMNS_OF_A = sp.skip(k, where=A(i, k) == 0), sp.skip(i, where=A(i, k) == 0)
ROWS_OF_B, COLUMNS_OF_B = sp.skip(j, where=B(k, j) == 0), sp.skip(k, where=B(k, j) == 0)
WHOLE_ROWS = sp.skip(k, where=A(i, ...) == 0)
FEW = sp.optimistic_skip(k, where=A(i, k) == 0, keep=2, of=4)
Value = Callable[[Any, Any], Any]
PRODUCT: Value = lambda a, b: a * b             # noqa: E731
MORE: Value = lambda a, b: 1 + a * b            # noqa: E731
SUM: Value = lambda before, value: before + value       # noqa: E731
EITHER: Value = lambda before, value: before | sp.different(value, 0)       # noqa: E731


def reduced(by: Value, begins: int, value: Value = PRODUCT, dtype: str = "int16") -> Any:
    """C(i, j) as the reduction of values along k."""
    a, b = sp.variables("a b", dtype=dtype)
    A, B = sp.inputs("A B", dtype=dtype)
    (c,) = sp.variables("c")
    (C,) = sp.outputs("C")
    return sp.functionality(
        a(i, j.lower, k).eq(A(i, k)), a(i, j, k).eq(a(i, j - 1, k)),
        b(i.lower, j, k).eq(B(k, j)), b(i, j, k).eq(b(i - 1, j, k)),
        c(i, j, k.lower).eq(begins), c(i, j, k).eq(by(c(i, j, k - 1), value(a(i, j, k), b(i, j, k)))),
        C(i, j).eq(c(i, j, k.upper)))


def run(what: object = TEXT, rows: "list[list[int]]" = OUTPUT, *skips: Any, bounds: "dict[str, int] | None" = None,
        time_axes: int = 1, **more: Any) -> None:
    """Make an array, and compare it with NumPy."""
    functionality = sp.functionality(what) if isinstance(what, str) else what
    extents = bounds or {index: 3 + at for at, index in enumerate(functionality.indices)}      # type: ignore[attr-defined]
    array = sp.Design(functionality, sp.Transform(rows, time_axes), extents, sparsity=skips, **more)     # type: ignore[arg-type]
    array.hardware()
    array.run("tokens", **array.random(2, 1))


# What an error says to try, the design that it is an error of, and for each thing that it says a design that does that.
Case = tuple[str, Callable[[], None], tuple[Callable[[], None], ...]]
THREE, FOUND = "C(i,j) = A(i,k) * B(k,j) * D(j,k)", "C(i,j) = A(i,j) * B(j,k) * D(i,k)"
FOUR = "C(i,j,k) = D(i,m) * B(m,j) * A(k,m)"
TREE = sp.functionality(TEXT, trees=[sp.tree(k, 2, 2)])
DIGITS = {"i": 2, "j": 3, "k_1": 2, "k_0": 2}
c, C = sp.variables("c")[0], sp.outputs("C")[0]
FIRST_ASSIGNED = sp.functionality(c(i, j, 0).eq(A(i, 0) * B(0, j)), c(i, j, k).eq(c(i, j, k - 1) + A(i, k) * B(k, j)),
                                  C(i, j).eq(c(i, j, k.upper)))
TWICE = sp.functionality(c(i, j, k.lower).eq(0), c(i, j, k).eq(c(i, j, k - 1) + A(i, k) * B(k, j) + A(i, k) * B(k, j)),
                         C(i, j).eq(c(i, j, k.upper)))
EIGHT = {"i": 2, "j": 2, "k": 8}
BAND = (i != k) & (i != k + 1)
FOUND_BY_M = sp.skip(i, where=D(i, m) == 0), sp.skip(j, where=B(m, j) == 0)
ARRAYS: list[Case] = [
    ("leave out skips by values, or let c begin with 0, and take -3 into the result outside of the array",
     lambda: run(reduced(sp.minimum, -3), OUTPUT, ROWS_OF_A),
     (lambda: run(reduced(sp.minimum, -3)), lambda: run(reduced(sp.minimum, 0), OUTPUT, ROWS_OF_A))),
    ("leave out skips by values, or let c begin with 0, and take 7 into the result outside of the array",
     lambda: run(reduced(SUM, 7), INPUT, ROWS_OF_B),
     (lambda: run(reduced(SUM, 7), INPUT), lambda: run(reduced(SUM, 0), INPUT, ROWS_OF_B))),
    ("leave out skips by values, or let c begin with 1, and take 3 into the result outside of the array",
     lambda: run(reduced(PRODUCT, 3, MORE), OUTPUT, ROWS_OF_A),
     (lambda: run(reduced(PRODUCT, 3, MORE)), lambda: run(reduced(PRODUCT, 1, MORE), OUTPUT, ROWS_OF_A))),
    ("let c begin with 0, or leave this skip out", lambda: run(reduced(sp.maximum, -3), OUTPUT, ROWS_OF_A),
     (lambda: run(reduced(sp.maximum, 0), OUTPUT, ROWS_OF_A), lambda: run(reduced(sp.maximum, -3)))),
    ("let c begin with 1, or leave this skip out",
     lambda: run(reduced(sp.maximum, 0, MORE), OUTPUT, sp.skip(i, k, where=i != k), bounds={"i": 3, "j": 2, "k": 3}),
     (lambda: run(reduced(sp.maximum, 1, MORE), OUTPUT, sp.skip(i, k, where=i != k), bounds={"i": 3, "j": 2, "k": 3}),
      lambda: run(reduced(sp.maximum, 0, MORE)))),
    ("let c begin with a number at a lower plane, as k.lower, or leave this skip out",
     lambda: run(FIRST_ASSIGNED, INPUT, ROWS_OF_B),
     (lambda: run(reduced(SUM, 0), INPUT, ROWS_OF_B), lambda: run(FIRST_ASSIGNED, INPUT))),
    ("assign it as c(i, j, k - 1) + ..., and 0 at k.lower", lambda: run(TWICE, OUTPUT, ROWS_OF_A),
     (lambda: run(reduced(SUM, 0, lambda a, b: a * b + a * b), OUTPUT, ROWS_OF_A),)),
    ("leave this skip or balance out, or assign it as c(i, j, k - 1) + ...", lambda: run(TWICE, INPUT, ROWS_OF_B),
     (lambda: run(TWICE, INPUT), lambda: run(reduced(SUM, 0, lambda a, b: a * b + a * b), INPUT, ROWS_OF_B))),
    ("leave this skip out", lambda: run(reduced(sp.maximum, 0, MORE), OUTPUT, ROWS_OF_A),
     (lambda: run(reduced(sp.maximum, 0, MORE)),)),
    ("skip only where all that is added is 0", lambda: run(reduced(SUM, 0, MORE), OUTPUT, ROWS_OF_A),
     (lambda: run(reduced(SUM, 0), OUTPUT, ROWS_OF_A),)),
    ("skip only where each new value is 0", lambda: run(reduced(EITHER, 0, lambda a, b: a + b), OUTPUT, ROWS_OF_A),
     (lambda: run(reduced(EITHER, 0), OUTPUT, ROWS_OF_A),)),
    ("declare inputs with fewer bits, so that these have 32 or fewer",
     lambda: run(reduced(sp.minimum, 0, MORE), OUTPUT, ROWS_OF_A),
     (lambda: run(reduced(sp.minimum, 0, MORE, "int8"), OUTPUT, ROWS_OF_A),)),
    ("skip only where all factors are 1", lambda: run(reduced(PRODUCT, 1), OUTPUT, ROWS_OF_A),
     (lambda: run(reduced(PRODUCT, 1, MORE), OUTPUT, ROWS_OF_A),)),
    ("choose a transform with k in time", lambda: run(reduced(PRODUCT, 1, MORE), INPUT, ROWS_OF_A),
     (lambda: run(reduced(PRODUCT, 1, MORE), OUTPUT, ROWS_OF_A),)),
    ("give a condition on values alone, or on indices alone, with | outside of &",
     lambda: run(TEXT, INPUT, sp.skip(j, where=(B(k, j) == 0) & (j != k))),
     (lambda: run(TEXT, INPUT, ROWS_OF_B), lambda: run(TEXT, INPUT, sp.skip(k, where=k > i)))),
    ("give a condition with j, or skip another index", lambda: run(TEXT, INPUT, sp.skip(j, where=A(i, k) == 0)),
     (lambda: run(TEXT, INPUT, ROWS_OF_B), lambda: run(TEXT, OUTPUT, sp.skip(k, where=A(i, k) == 0)))),
    ("name it as it is read: B(k, j)", lambda: run(TEXT, INPUT, sp.skip(j, where=B(j, k) == 0)),
     (lambda: run(TEXT, INPUT, ROWS_OF_B),)),
    ("leave one of the two out, or give a condition on indices alone", lambda: run(TEXT, INPUT, COLUMNS_OF_A, ROWS_OF_A),
     (lambda: run(TEXT, INPUT, COLUMNS_OF_A), lambda: run(TEXT, INPUT, sp.skip(k, where=k > i)))),
    ("give conditions that leave a point of each element, or another functionality",
     lambda: run(TEXT, INPUT, sp.skip(k, where=k >= i)), (lambda: run(TEXT, INPUT, sp.skip(k, where=k > i)),)),
    ("give conditions that leave one point of each sum, or leave its wire", lambda: run(TEXT, INPUT, sp.skip(i, k, where=BAND)),
     (lambda: run(TEXT, INPUT, sp.skip(i, k, where=i != k)), lambda: run(TEXT, INPUT, sp.skip(k, where=BAND)))),
    ("make one index of both, as A(i, k) of A(i, j, l) with k = 8 * j + l",
     lambda: run("x(i) = A(i,j,k) * B(j,k)", [[1, 0, 0], [0, 1, 0], [0, 0, 1]], sp.skip(k, where=A(i, j, k) == 0)),
     (lambda: run("x(i) = A(i,k) * B(k)", [[1, 0], [1, 1]], ROWS_OF_A),)),
    ("give rows with one 1 each, and one row of time", lambda: run(TEXT, HEXAGONAL, ROWS_OF_B),
     (lambda: run(TEXT, INPUT, ROWS_OF_B),)),
    ("give rows with one 1 each, and one row of time",
     lambda: run(TEXT, [[1, 0, 0], [0, 1, 0], [0, 0, 1]], ROWS_OF_A, time_axes=2), (lambda: run(TEXT, OUTPUT, ROWS_OF_A),)),
    ("make the entry of k in the last row positive", lambda: run(TEXT, [*OUTPUT[:2], [1, 1, -1]], ROWS_OF_A),
     (lambda: run(TEXT, [*OUTPUT[:2], [1, 1, 1]], ROWS_OF_A),)),
    ("choose a transform with k in space", lambda: run(TEXT, OUTPUT, ROWS_OF_B), (lambda: run(TEXT, INPUT, ROWS_OF_B),)),
    ("choose a transform with one of them in time",
     lambda: run(FOUR, [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], *FOUND_BY_M),
     (lambda: run(FOUR, [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 1, 0, 0]], *FOUND_BY_M),)),
    ("choose a transform with the sum in space", lambda: run(FOUND, OUTPUT, sp.skip(i, where=A(i, j) == 0)),
     (lambda: run(FOUND, [[0, 1, 0], [0, 0, 1], [1, 1, 1]], sp.skip(i, where=A(i, j) == 0)),)),
    ("choose a transform with all digits in space",
     lambda: run(TREE, [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [1, 1, 1, 1]], ROWS_OF_B, bounds=DIGITS),
     (lambda: run(TREE, [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 1, 1, 1]], ROWS_OF_B, bounds=DIGITS),)),
    ("use one kind of skip", lambda: run(TEXT, OUTPUT, ROWS_OF_A, sp.skip(i, k, where=i != k)),
     (lambda: run(TEXT, OUTPUT, ROWS_OF_A), lambda: run(TEXT, OUTPUT, sp.skip(k, where=k > i)))),
    ("give conditions on one or two operands that the result is computed from",
     lambda: run(THREE, OUTPUT, ROWS_OF_A, COLUMNS_OF_B, sp.skip(k, where=D(j, k) == 0)),
     (lambda: run(THREE, OUTPUT, ROWS_OF_A), lambda: run(THREE, OUTPUT, ROWS_OF_A, COLUMNS_OF_B))),
    ("choose a bound of k that 4 divides", lambda: run(TEXT, OUTPUT, FEW), (lambda: run(TEXT, OUTPUT, FEW, bounds=EIGHT),)),
    ("make the last row grow along the way that variables take", lambda: run(TEXT, [*OUTPUT[:2], [1, 1, -1]]),
     (lambda: run(TEXT, OUTPUT),)),
    ("leave it out", lambda: run(TEXT, OUTPUT, ROWS_OF_A, short=True), (lambda: run(TEXT, OUTPUT, ROWS_OF_A),)),
    ("leave it out, or choose a transform by which sums leave in each step", lambda: run(TEXT, OUTPUT, short=True),
     (lambda: run(TEXT, OUTPUT), lambda: run(TEXT, WEIGHTS, short=True))),
    ("give a row and a column for each index", lambda: run(TEXT, [[1, 0], [1, 1]]), (lambda: run(TEXT, OUTPUT),)),
]


def queue(of: Any = i, where: Any = k >= 4, **more: Any) -> "dict[str, object]":
    return {"balance": [sp.work_queue(of, where=where, **more)], "bounds": EIGHT}


def shifts(*found: Any) -> "dict[str, object]":
    return {"balance": [sp.shift(i, where=k >= begin, **by) for begin, by in found], "bounds": EIGHT}


BALANCES: list[Case] = [
    ("balance i or j", lambda: run(TEXT, OUTPUT, ROWS_OF_A, **queue(k)), (lambda: run(TEXT, OUTPUT, ROWS_OF_A, **queue(i)),)),
    ("give a number 1..7", lambda: run(TEXT, OUTPUT, ROWS_OF_A, **queue(where=k >= 8)),
     (lambda: run(TEXT, OUTPUT, ROWS_OF_A, **queue(where=k >= 1)),
      lambda: run(TEXT, OUTPUT, ROWS_OF_A, **queue(where=k >= 7)))),
    ("give a smaller `by`", lambda: run(TEXT, OUTPUT, ROWS_OF_A, **shifts((4, {"by": -2}))),
     (lambda: run(TEXT, OUTPUT, ROWS_OF_A, **shifts((4, {"by": -1}))),)),
    ("give one of these", lambda: run(TEXT, OUTPUT, ROWS_OF_A, **shifts((4, {"to": 2}))),
     (lambda: run(TEXT, OUTPUT, ROWS_OF_A, **shifts((4, {"to": 1}))),)),
    ("leave it out", lambda: run(TEXT, OUTPUT, **queue()), (lambda: run(TEXT, OUTPUT, bounds=EIGHT),)),
    ("use sp.work_queue(i, where=k >= 32), or the dataflow sp.Lanes(...)",
     lambda: run(TEXT, OUTPUT, ROWS_OF_A, balance=[sp.work_queue(i, grain="operation")]),
     (lambda: run(TEXT, OUTPUT, ROWS_OF_A, **queue()),)),
    ("skip an index by which its wire is cut, or balance another index", lambda: run(TEXT, OUTPUT, ROWS_OF_A, **queue(j)),
     (lambda: run(TEXT, OUTPUT, COLUMNS_OF_B, **queue(j)), lambda: run(TEXT, OUTPUT, ROWS_OF_A, **queue(i)))),
]


def stored(tensor: str, *levels: str, rows: "list[list[int]]" = INPUT, skips: Any = (), short: bool = False,
           bounds: "dict[str, int] | None" = None, what: object = TEXT, balance: Any = (), **options: Any) -> None:
    run(what, rows, *skips, bounds=bounds, short=short, balance=balance, buffers={tensor: sp.Buffer(*levels, **options)})


CUBE: "dict[str, Any]" = {"what": "C(i,k,j) = A(i,k) * B(i,k,j)", "rows": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "words": 64,
                          "skips": [sp.skip(j, where=B(i, k, j) == 0)], "order": (1, 0, 2)}
LONG = {"i": 2, "j": 40, "k": 3}
SCALED, ROWS_OF_BOTH = "C(i,j) = A(i,k) * D(i,k) * B(k,j)", sp.skip(k, where=(A(i, k) == 0) | (D(i, k) == 0))
BUFFERS: list[Case] = [
    ("choose from A, B", lambda: stored("D", "dense"), (lambda: stored("A", "dense", "dense"),)),
    ("give a level for each", lambda: stored("B", "dense"), (lambda: stored("B", "dense", "dense"),)),
    ("give each of 0 to 1 once", lambda: stored("B", "dense", "dense", order=(0, 0)),
     (lambda: stored("B", "dense", "dense", order=(1, 0)),)),
    ("use 16 or fewer", lambda: stored("B", "dense", "dense", what=sp.functionality(TEXT, dtype="int32")),
     (lambda: stored("B", "dense", "dense", what=sp.functionality(TEXT, dtype="int16")),)),
    ("make it dense, or skip them", lambda: stored("B", "dense", "compressed"),
     (lambda: stored("B", "dense", "dense"), lambda: stored("B", "dense", "compressed", skips=[ROWS_OF_B]))),
    ("make it compressed", lambda: stored("B", "dense", "dense", skips=[ROWS_OF_B]),
     (lambda: stored("B", "dense", "compressed", skips=[ROWS_OF_B]),)),
    ("make it dense, or skip j where B is 0", lambda: stored("B", "dense", "bitvector", skips=[COLUMNS_OF_A]),
     (lambda: stored("B", "dense", "dense", skips=[COLUMNS_OF_A]),
      lambda: stored("B", "dense", "bitvector", skips=[COLUMNS_OF_A, ROWS_OF_B]))),
    ("put dimension 1 last in its order", lambda: stored("B", "dense", "compressed", skips=[ROWS_OF_B], order=(1, 0)),
     (lambda: stored("B", "dense", "compressed", skips=[ROWS_OF_B], order=(0, 1)),)),
    ("put dimension 0 last in its order, or leave the buffer out",
     lambda: stored("A", "dense", "compressed", skips=[COLUMNS_OF_A]),
     (lambda: stored("A", "dense", "compressed", skips=[COLUMNS_OF_A], order=(1, 0)), lambda: run(TEXT, INPUT, COLUMNS_OF_A))),
    ("put dimension 1 last in its order, or leave the buffer out",
     lambda: stored("A", "dense", "compressed", skips=[ROWS_OF_A], order=(1, 0)),
     (lambda: stored("A", "dense", "compressed", skips=[ROWS_OF_A]), lambda: run(TEXT, INPUT, ROWS_OF_A))),
    ("choose a dataflow with k in time, or leave the buffer out",
     lambda: stored("A", "dense", "compressed", what=SCALED, skips=[ROWS_OF_BOTH]),
     (lambda: stored("A", "dense", "compressed", what=SCALED, rows=OUTPUT, skips=[ROWS_OF_BOTH]),
      lambda: run(SCALED, INPUT, ROWS_OF_BOTH))),
    ("give 32 words or more, up to 16,384, or more banks",
     lambda: stored("B", "dense", "dense", words=16, bounds={"i": 3, "j": 4, "k": 5}),
     (lambda: stored("B", "dense", "dense", words=32, bounds={"i": 3, "j": 4, "k": 5}),
      lambda: stored("B", "dense", "dense", words=16, banks=5, bounds={"i": 3, "j": 4, "k": 5}))),
    ("give 32 or more, up to 16,384, or more banks",
     lambda: stored("B", "dense", "bitvector", skips=[ROWS_OF_B], words=16, bounds={"i": 3, "j": 1, "k": 17}),
     (lambda: stored("B", "dense", "bitvector", skips=[ROWS_OF_B], words=32, bounds={"i": 3, "j": 1, "k": 17}),
      lambda: stored("B", "dense", "bitvector", skips=[ROWS_OF_B], words=16, banks=2, bounds={"i": 3, "j": 1, "k": 17}))),
    ("give 4 banks, one for each port",
     lambda: stored("B", "dense", "compressed", skips=[ROWS_OF_B], words=8192, bounds={"i": 1, "j": 2048, "k": 4}),
     (lambda: stored("B", "dense", "compressed", skips=[ROWS_OF_B], words=8192, bounds={"i": 1, "j": 2048, "k": 4}, banks=4),)),
    ("leave out short, or make the buffer wide",
     lambda: stored("B", "dense", "dense", rows=WEIGHTS, short=True, bounds={"i": 4, "j": 4, "k": 4}),
     (lambda: stored("B", "dense", "dense", rows=WEIGHTS, bounds={"i": 4, "j": 4, "k": 4}),
      lambda: stored("B", "dense", "dense", rows=WEIGHTS, short=True, wide=True, bounds={"i": 4, "j": 4, "k": 4}))),
    ("make the last level compressed", lambda: stored("B", "dense", "dense", "bitvector", **CUBE),
     (lambda: stored("B", "dense", "dense", "compressed", **CUBE),)),
    ("store A so, as in sp.Buffer(\"compressed\", \"dense\"), or skip where an element of it is 0",
     lambda: stored("A", "dense", "compressed", rows=OUTPUT, skips=[WHOLE_ROWS]),
     (lambda: stored("A", "compressed", "dense", rows=OUTPUT, skips=[WHOLE_ROWS]),
      lambda: stored("A", "dense", "compressed", rows=OUTPUT, skips=[ROWS_OF_A]))),
    ("give it as two inputs",
     lambda: stored("A", "dense", "compressed", what="C(i,j) = A(i,k) * A(k,j)", rows=OUTPUT, skips=[ROWS_OF_A],
                    bounds={"i": 3, "j": 3, "k": 3}),
     (lambda: stored("A", "dense", "compressed", rows=OUTPUT, skips=[ROWS_OF_A], bounds={"i": 3, "j": 3, "k": 3}),)),
    ("give 256 words or fewer, or make it dense",
     lambda: stored("B", "dense", "compressed", rows=OUTPUT, skips=[ROWS_OF_A], words=512, order=(1, 0)),
     (lambda: stored("B", "dense", "compressed", rows=OUTPUT, skips=[ROWS_OF_A], words=256, order=(1, 0)),
      lambda: stored("B", "dense", "dense", rows=OUTPUT, skips=[ROWS_OF_A], words=512, order=(1, 0)))),
    ("leave out wide", lambda: stored("B", "dense", "dense", rows=OUTPUT, skips=[ROWS_OF_A], order=(1, 0), wide=True),
     (lambda: stored("B", "dense", "dense", rows=OUTPUT, skips=[ROWS_OF_A], order=(1, 0)),)),
    ("leave its buffer out: an accelerator stores words in the order of a dimension",
     lambda: stored("C", "dense", "compressed"), (lambda: run(TEXT, INPUT),)),
    ("put 1 last in its order", lambda: stored("C", "dense", "dense", skips=[ROWS_OF_B], order=(1, 0)),
     (lambda: stored("C", "dense", "dense", skips=[ROWS_OF_B], order=(0, 1)),)),
    ("give 128 or more, up to 16,384", lambda: stored("C", "dense", "dense", skips=[ROWS_OF_B], words=16, bounds=LONG),
     (lambda: stored("C", "dense", "dense", skips=[ROWS_OF_B], words=128, bounds=LONG),)),
    ("give 1", lambda: stored("C", "dense", "dense", skips=[ROWS_OF_B], banks=2),
     (lambda: stored("C", "dense", "dense", skips=[ROWS_OF_B], banks=1),)),
]


@pytest.mark.parametrize("fix,wrong,mended", [pytest.param(*each, id=f"{at} {each[0][:40]}")
                                              for at, each in enumerate([*ARRAYS, *BALANCES, *BUFFERS])])
def test_what_an_error_says_to_try_helps(
        fix: str, wrong: "Callable[[], None]", mended: "tuple[Callable[[], None], ...]") -> None:
    with pytest.raises(UserError) as refused:
        wrong()
    assert refused.value.fix == fix
    for each in mended:
        each()
