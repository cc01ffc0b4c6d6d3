"""No array whose PEs share the fibers that they join stands still, whatever its functionality, transform, skips and values."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pytest
from elastic_arrays import check_verilog
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.compiler.lang.sparsity import Skip
from sardonyx.hw.arch.elastic import Elastic, Taken, Worker
from sardonyx.hw.arch.errors import UserError

i, j, k = sp.indices("i j k")
B, D = sp.inputs("B D")
BOTH, EITHER = [sp.skip(k, where=B(k, j) == 0), sp.skip(k, where=D(k, j) == 0)], [sp.skip(
    k, where=(B(k, j) == 0) & (D(k, j) == 0))]


class Shared(NamedTuple):
    """What is computed, as NumPy has it, and the elements that are joined: by two skips, or where `+` is, by one."""

    text: str
    value: Callable[..., np.ndarray]
    joined: "tuple[str, ...]"


STATEMENTS = [
    Shared("C(i,j) = A(i,k) * B(k,j) * D(k,j)", lambda A, B, D: A @ (B * D), ("B(k,j)", "D(k,j)")),
    Shared("C(i,j) = A(i,k) * B(k,j) * D(k)", lambda A, B, D: A @ (B * D[:, :, None]), ("B(k,j)", "D(k)")),
    Shared("C(i,j) = A(i,k) * B(k) * D(k) * E(j)", lambda A, B, D, E: (A @ (B * D)[:, :, None]) * E[:, None],
           ("B(k)", "D(k)")),
    Shared("C(i,j) = A(j) * B(j) * D(i)", lambda A, B, D: D[:, :, None] * (A * B)[:, None], ("A(j)", "B(j)")),
    Shared("C(i,j,l) = A(i,k) * B(k,j) * D(k,l)", lambda A, B, D: np.einsum("xik,xkj,xkl->xijl", A, B, D),
           ("B(k,j)", "D(k,l)")),
    Shared("C(i,j,l) = B(k,j) * D(k,j) * A(i,k,l)", lambda A, B, D: np.einsum("xkj,xkj,xikl->xijl", B, D, A),
           ("B(k,j)", "D(k,j)")),
    Shared("C(i,j) = A(i,k) * (B(k,j) + D(k,j))", lambda A, B, D: A @ (B + D), ("B(k,j)", "D(k,j)")),
    Shared("x(i) = A(i,j) * (B(j) + D(j))", lambda A, B, D: np.einsum("xij,xj->xi", A, B + D), ("B(j)", "D(j)")),
    Shared("C(i,j) = (A(i,k) + B(i,k)) * (D(k,j) + E(k,j))", lambda A, B, D, E: (A + B) @ (D + E), ("D(k,j)", "E(k,j)")),
]


class Drawn(NamedTuple):
    """A design, and what NumPy gives in its place."""

    design: sp.Design
    value: "Callable[..., np.ndarray]"

    def operands(self, operations: int, seed: int) -> "dict[str, np.ndarray]":
        """Operands whose fibers are each empty, full or between, in any direction."""
        random, found = np.random.default_rng(seed), self.design.random(operations, seed)
        for each in found.values():
            each[each == 0] = 1
            shape = [operations, *(extent if random.random() < 0.5 else 1 for extent in each.shape[1:])]
            each *= random.random(each.shape) < random.choice((0, 0.1, 0.3, 0.6, 1), shape)
        return found

    def equals(self, engine: str, stalls: "int | None", operations: int, seed: int) -> None:
        """What an engine gives is what NumPy does."""
        words = self.operands(operations, seed)
        assert np.array_equal(self.design.run(engine, stalls, **words).value, self.value(**words).astype(np.int32))


@st.composite
def designs(draw: st.DrawFn) -> Drawn:
    """An array in which PEs have a fiber that they join from each other, of more elements than there are in FIFOs."""
    shared = draw(st.sampled_from(STATEMENTS))
    functionality = sp.functionality(shared.text)
    names = functionality.indices
    elements = [_read(each) for each in shared.joined]
    index = draw(st.sampled_from([index for index in names if all(index in at for _, at in elements)]))
    time = names.index(index)
    space = draw(st.permutations([at for at in range(len(names)) if at != time]))
    rows = [[int(at == axis) * draw(st.sampled_from((1, -1))) for at in range(len(names))] for axis in space]
    rows.append([draw(st.integers(int(at == time), 2)) for at in range(len(names))])
    bounds = {name: draw(st.integers(5, 12) if at == time else st.integers(2, 3)) for at, name in enumerate(names)}
    first, second = (sp.inputs(name)[0](*sp.indices(" ".join(at))) == 0 for name, at in elements)
    (skipped,) = sp.indices(index)
    skips = ([sp.skip(skipped, where=first & second)] if "+" in shared.text
             else [sp.skip(skipped, where=first), sp.skip(skipped, where=second)])
    try:
        design = sp.Design(functionality, sp.Transform(rows), bounds, sparsity=skips)
        assume(design.elastic is not None and any(_shared(design.elastic)))
    except UserError as refused:
        assert refused.fix
        assume(False)
    return Drawn(design, shared.value)


def _read(text: str) -> "tuple[str, list[str]]":
    return text[0], text[2:-1].split(",")


def _shared(array: Elastic) -> "Iterator[Taken]":
    """The operands that are joined by PEs, and that others have from them."""
    for unit in array.units:
        if isinstance(unit.kind, Worker) and unit.kind.is_joined:
            yield from (each for each in unit.kind.operands if each.name in unit.kind.carriers and each.forwards)


def rows_of(text: str, skips: "list[Skip]", rows: int, extent: int) -> sp.Design:
    """Rows of PEs that share the fibers of B and D."""
    return sp.Design(sp.functionality(text), sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]]), {"i": rows, "j": 1, "k": extent},
                     sparsity=skips)


@pytest.mark.parametrize("engine", ["tokens", "rtl"])
@pytest.mark.parametrize("text,skips", [("C(i,j) = A(i,k) * B(k,j) * D(k,j)", BOTH),
                                        ("C(i,j) = A(i,k) * (B(k,j) + D(k,j))", EITHER)])
def test_the_end_of_a_fiber_is_known_to_other_rows_before_the_other_fiber_has_passed(
        text: str, skips: "list[Skip]", engine: str) -> None:
    """As long a fiber as finds no room between two rows, beside an empty one."""
    array = rows_of(text, skips, 2, 8)
    assert array.elastic is not None and sum(each.forwards for each in _shared(array.elastic)) == 2
    array.run(engine, A=np.ones((2, 8), int), B=np.ones((8, 1), int), D=np.zeros((8, 1), int))


@pytest.mark.parametrize("skips", [BOTH, EITHER])
def test_rows_that_share_what_they_join_take_no_longer_than_a_row_alone(skips: "list[Skip]") -> None:
    text = "C(i,j) = A(i,k) * (B(k,j) + D(k,j))" if skips is EITHER else "C(i,j) = A(i,k) * B(k,j) * D(k,j)"
    random = np.random.default_rng(1)
    b, d = (random.integers(1, 9, (8, 24, 1)) * (random.random((8, 24, 1)) < 0.5) for _ in range(2))
    alone, rows = (rows_of(text, skips, count, 24).run("tokens", A=np.ones((count, 24), int), B=b, D=d).cycles or 0
                   for count in (1, 4))
    # Each row begins a cycle after the one before.
    assert rows - alone == 3


@settings(max_examples=40)
@given(found=designs(), operations=st.integers(1, 5), seed=st.integers(0, 1 << 30))
def test_no_random_array_stands_still(found: Drawn, operations: int, seed: int) -> None:
    found.equals("tokens", None, operations, seed)


@pytest.mark.parametrize("examples", [1, pytest.param(15, marks=pytest.mark.slow)])
def test_the_verilog_of_random_arrays_gives_the_words_in_the_cycles_of_the_model(examples: int) -> None:
    @settings(max_examples=examples)
    @given(found=designs(), operations=st.integers(1, 5), stalls=st.integers(1, 1 << 30), seed=st.integers(0, 1 << 30))
    def holds(found: Drawn, operations: int, stalls: int, seed: int) -> None:
        found.equals("rtl", stalls, operations, seed)
        check_verilog(found.design, found.operands(operations, seed), None)
    holds()
