"""A buffer gives rows that the nonzeros of another operand choose, behind levels that do not store all of them either."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
import tiled_products
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.hw.arch.chain import ChainedBank
from sardonyx.hw.arch.check import Misfits
from sardonyx.hw.arch.private_buffer import Level, Loop
from sardonyx.hw.arch.token import DONE, MAYBE, stop
from sardonyx.hw.spatial.buffer.chosen_bank import ChosenBank
from sardonyx.hw.spatial.buffer.closing import Closing
from sardonyx.hw.spatial.buffer.counted_level import CountedLevel
from sardonyx.hw.spatial.buffer.picker import Picker
from sardonyx.runtime.data import fibers
from sardonyx.runtime.data.chain_arrays import stacked
from sardonyx.runtime.data.private_buffers import filled
from sardonyx.sim.model import private_buffer as model
from sardonyx.sim.rtl.bench import Bench

i, j, k, n = sp.indices("i j k n")
A, B = sp.inputs("A B", dtype="int8")
PRODUCT = sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int8")
BATCH = sp.functionality("C(n,i,j) = A(n,i,k) * B(n,k,j)", dtype="int8")
BY_ROWS = sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]])
BATCHES = sp.Transform([[1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0], [1, 1, 1, 1]])
CHOSEN, WITHOUT_ZEROS = sp.skip(k, where=A(i, k) == 0), sp.skip(j, where=B(k, j) == 0)
CSR, S0 = sp.Buffer("dense", "compressed", words=64), stop(0)
LETTERS = dict(zip("dcbl", ("dense", "compressed", "bitvector", "linked list")))
# The levels of B, whether its zeros are left out, how many operations share it; and of a batch the order of its levels.
DESIGNS: "dict[str, tuple[str, bool, int, Sequence[int]]]" = {
    "cc": ("cc", True, 1, ()), "cc, shared": ("cc", True, 2, ()), "bb": ("bb", True, 2, ()), "ll": ("ll", True, 1, ()),
    "lb": ("lb", True, 1, ()), "bl": ("bl", True, 2, ()), "rows": ("cd", False, 2, ()), "rows of lists": ("ld", False, 1, ()),
    "rows without zeros": ("bd", True, 1, ()), "batch": ("ccc", True, 1, ()), "products inside": ("cdc", True, 1, (1, 0, 2)),
    "products outside": ("dlc", True, 2, ()), "lists inside": ("bll", True, 1, (1, 0, 2)), "blocks": ("cdd", False, 1, ())}
QUICK = ("cc, shared", "products inside")
stalls = st.none() | st.integers(1, 1 << 30)


def given_bank(letters: str, shape: Sequence[int], **options: object) -> ChainedBank:
    """Two ports that ask for a row of the level above the last one."""
    levels = tuple(Level(LETTERS[letter], extent) for letter, extent in zip(letters, shape, strict=True))
    made = {"words": 16, "loops": (Loop(shape[-2], 1, 0),), "bases": (0, 0)} | options
    return ChainedBank(8, levels, first=0, first_sink=0, sinks=2, form="fiber", paired=True,      # type: ignore[arg-type]
                       depth=shape[-1] + 1, whole=True, **made)


@cache
def design(name: str, banks: int = 1) -> sp.Design:
    letters, sparse, operations, order = DESIGNS[name]
    levels = [LETTERS[letter] for letter in letters]
    of_b = sp.Buffer(*levels, words=64, node=2, operations=operations, order=order, banks=banks)
    if len(letters) == 2:
        skips = [CHOSEN, *([WITHOUT_ZEROS] if sparse else [])]
        return sp.Design(PRODUCT, BY_ROWS, {"i": 2, "j": 5, "k": 3}, sparsity=skips, buffers={"A": CSR, "B": of_b})
    skips = [sp.skip(k, where=A(n, i, k) == 0), *([sp.skip(j, where=B(n, k, j) == 0)] if sparse else [])]
    return sp.Design(BATCH, BATCHES, {"n": 2, "i": 1, "j": 4, "k": 3}, sparsity=skips, buffers={"B": of_b})


def operands(array: sp.Design, operations: int, seed: int) -> "dict[str, np.ndarray]":
    """From empty to dense, with empty rows of both, and rows that are asked for in vain."""
    random, found = np.random.default_rng(seed), array.random(operations, seed)
    for each in found.values():
        each *= random.random((*each.shape[:-1], 1)) < random.random((operations, *[1] * (each.ndim - 1))) * 1.5
    shared = array.private[-1].banks[0].operations
    found["B"] = np.repeat(found["B"], shared, axis=0)[:operations]
    return found


def test_a_picker_gives_the_position_of_a_coordinate() -> None:
    tokens = {"crd_i": [0, 1, S0, 0, 3, S0, stop(1), 2, S0, DONE], "ref_i": [5, 6, S0, 7, 8, S0, stop(1), 9, S0, DONE]}
    for each in (None, 3):
        found = Bench(Picker(4)).run(tokens | {"want": [1, 2, 0, 2]}, stalls=each)
        assert found.outputs["o"] == [6, MAYBE, MAYBE, 9, DONE] and not found.status["fault"] and not found.left


@pytest.mark.parametrize("crds,said", [([1, 0, S0], "they fall"), ([1, 1, S0], "one twice"), ([4, S0], "beyond the extent")])
def test_coordinates_that_do_not_rise_are_a_fault(crds: "list[int]", said: str) -> None:
    found = Bench(Picker(4)).run({"crd_i": crds, "ref_i": crds, "want": [3]})
    assert found.status["fault"] and not found.outputs["o"], said


def test_a_stop_follows_each_reference() -> None:
    for each in (None, 5):
        found = Bench(Closing()).run({"i": [1, MAYBE, 0, DONE, 2, DONE]}, stalls=each)
        assert found.outputs["o"] == [1, S0, MAYBE, S0, 0, S0, DONE, 2, S0, DONE]


@pytest.mark.parametrize("zeros,crds,refs", [(False, [], []), (True, [0, 1, 2], [MAYBE] * 3)])
def test_a_dense_fiber_that_there_is_not_is_empty_or_of_zeros(zeros: bool, crds: "list[int]", refs: "list[int]") -> None:
    found = Bench(CountedLevel(3, zeros)).run({"ref": [MAYBE, 2, MAYBE, DONE]}, stalls=2)
    assert found.outputs["crd"] == [*crds, S0, 0, 1, 2, S0, *crds, S0, DONE]
    assert found.outputs["ref_o"] == [*refs, S0, 6, 7, 8, S0, *refs, S0, DONE] and not found.status["fault"]


@cache
def bench() -> Bench:
    return Bench(ChosenBank(given_bank("cc", (3, 4)), "chosen_rows"))


FILLS = {"level0": [2, 0, 2, 2, 0, 2], "level": [3, 0, 1, 2, 2, 3, 1], "values": [2, 7, 8]}


def test_a_port_gets_the_row_that_is_stored_at_its_coordinate_or_none() -> None:
    found = bench().run({name: words * 2 for name, words in FILLS.items()} | {"ask0": [2, MAYBE], "ask1": [1, 0]})
    assert found.outputs == {"o0": [1 << 8 | 8, stop(1) << 8, stop(1) << 8], "o1": [stop(1) << 8, 3 << 8 | 7, stop(1) << 8]}
    assert not found.status["fault"] and not found.left


@pytest.mark.parametrize("changed,said", [
    ({"ask0": [3]}, "a coordinate that is asked for is beyond the last"),
    ({"level0": [2, 0, 2, 2, 2, 0]}, "coordinates of rows fall"),
    ({"level0": [2, 0, 2, 2, 0, 3]}, "one of them is beyond the extent"),
])
def test_what_is_no_row_is_a_fault(changed: "dict[str, list[int]]", said: str) -> None:
    assert bench().run(FILLS | {"ask0": [2], "ask1": [1]} | changed).status["fault"], said


@pytest.mark.parametrize("name", DESIGNS)
@settings(max_examples=10)
@given(operations=st.integers(1, 5), seed=st.integers(0, 1 << 30))
def test_rows_that_are_chosen_are_the_very_ones_that_ports_take(name: str, operations: int, seed: int) -> None:
    array = design(name)
    assert array.elastic is not None
    words = operands(array, operations, seed)
    golden, buffer = fibers.fed(array.elastic, words), array.private[-1]
    given = model.given(buffer, filled(buffer, words["B"]), operations, golden)
    assert given == {port: golden[port] for port in given} and given
    assert array.run("tokens", **words).report["operations"] == operations


@pytest.mark.parametrize("name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in DESIGNS])
@settings(max_examples=12)
@given(operations=st.integers(1, 5), seed=st.integers(0, 1 << 30), stalls=stalls)
def test_a_product_row_by_row_is_exact_whatever_stalls(name: str, operations: int, seed: int, stalls: "int | None") -> None:
    array = design(name)
    words = operands(array, operations, seed)
    cycles = array.run("rtl", stalls, **words).cycles
    assert stalls is not None or cycles == array.run("tokens", **words).cycles


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cc", "bl", "ll", "rows"])
def test_200_products_row_by_row_are_exact(name: str) -> None:
    array = design(name)
    for seed in range(1, 201):
        array.run("rtl", seed, **operands(array, 3, seed))


@pytest.mark.slow
def test_each_product_of_a_batch_has_a_bank() -> None:
    """A bank has the products at coordinates of its own, whose rows it looks up."""
    array = design("products outside", 2)
    assert len(array.private[0].banks) == 2
    for seed in range(20):
        array.run("rtl", seed or None, **operands(array, 4, seed))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cc, shared", "rows"])
def test_a_product_with_rows_that_are_not_all_stored_goes_from_memory_to_memory(name: str) -> None:
    """Two rows of A at a time, with the same B of 3 x 5, which has two rows with elements."""
    array, random = design(name), np.random.default_rng(1)
    a, b = (random.integers(-128, 128, shape) * (random.random(shape) < 0.6) for shape in ((4, 3), (3, 5)))
    b[1] = 0
    bank = next(each.banks[0] for each in array.private if each.tensor == "B")
    assert isinstance(bank, ChainedBank)
    arrays, (begin, *_) = stacked(bank, b[None])
    assert begin == 0
    assert np.array_equal(tiled_products.product(array, a, [*arrays.values()], 5), a @ b)


def test_explain_says_that_levels_are_searched() -> None:
    text = design("cc").explain().text
    assert "B from a private buffer (compressed, compressed), a bank of 64 words, twice: 6 ports gather fibers by" in text
    assert "A_0_0, A_1_0, A_2_0, A_0_1, A_1_1, A_2_1 find, each in turn, level by level" in text


@pytest.mark.parametrize("options,said", [
    ({"loops": (Loop(4, 1, 0),)}, "ask 4 coordinates 1 fibers apart, which no level has"),
    ({"loops": (Loop(3, 2, 0),)}, "ask 3 coordinates 2 fibers apart, which no level has"),
    ({"loops": (Loop(3, 1, 0),) * 2}, "bases are 2 of 2 sinks, or there is a request, too"),
    ({"wide": True}, "whose fibers are read as they are stored"),
])
def test_a_bank_whose_levels_have_no_such_rows_is_refused(options: "dict[str, object]", said: str) -> None:
    with pytest.raises(Misfits, match=said):
        given_bank("cc", (3, 4), **options)
