"""Private buffers give the words that an array takes, whatever they hold and whatever stalls."""

import dataclasses
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.array_runs import packed
from sardonyx.compiler.lang.sparsity import Skip
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.private_buffer import Bank, Level, Loop
from sardonyx.hw.memory.bit_scanner import BitScanner
from sardonyx.hw.memory.nest import Nest
from sardonyx.hw.spatial.buffer.private_buffer import PrivateBank
from sardonyx.runtime.data import fibers, ports
from sardonyx.runtime.data.private_buffers import filled
from sardonyx.sim.model import private_buffer as model
from sardonyx.sim.rtl.bench import Bench

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")
PRODUCT = sp.functionality("C(i,j) = A(i,k) * B(k,j)")
INPUT, OUTPUT, HEXAGONAL = ([[0, 0, 1], [1, 0, 0], [1, 1, 1]], [[1, 0, 0], [0, 1, 0], [1, 1, 1]],
                            [[1, 0, -1], [0, 1, -1], [1, 1, 1]])
ROWS_OF_B, COLUMNS_OF_A, ROWS_OF_A = (sp.skip(j, where=B(k, j) == 0), sp.skip(i, where=A(i, k) == 0),
                                      sp.skip(k, where=A(i, k) == 0))
DENSE, CSR, BITS, LISTS = (("dense", last) for last in ("dense", "compressed", "bitvector", "linked list"))
# On which array what is skipped, and how operands are stored; in all operands of 5 x 3 and 3 x 4 elements.
DESIGNS = {
    "stationary, in chains": (INPUT, [], {"A": DENSE, "B": DENSE}),
    "in step": (OUTPUT, [], {"A": DENSE, "B": DENSE}),
    "optimistic": (OUTPUT, [sp.optimistic_skip(k, where=A(i, k) == 0, keep=1, of=3)], {"A": DENSE, "B": DENSE}),
    "rows": (INPUT, [ROWS_OF_B], {"A": DENSE, "B": CSR}),
    "rows of bits": (INPUT, [ROWS_OF_B], {"A": DENSE, "B": BITS}),
    "rows of lists": (INPUT, [ROWS_OF_B], {"A": DENSE, "B": LISTS}),
    "dense fibers": (INPUT, [COLUMNS_OF_A], {"B": DENSE}),
}
stalls = st.none() | st.integers(1, 1 << 30)


@cache
def design(name: str, banks: int = 1, operations: int = 1) -> sp.Design:
    rows, skips, buffers = DESIGNS[name]
    made = {tensor: sp.Buffer(*levels, words=32, banks=banks if tensor == "B" else 1, operations=operations, node=2)
            for tensor, levels in buffers.items()}
    return sp.Design(PRODUCT, sp.Transform(rows), {"i": 5, "j": 4, "k": 3}, sparsity=skips, buffers=made)


def operands(array: sp.Design, operations: int, seed: int) -> "dict[str, np.ndarray]":
    """Operands from empty to dense, with empty rows."""
    random, found = np.random.default_rng(seed), array.random(operations, seed)
    for each in found.values():
        each *= random.random((operations, each.shape[1], 1)) < random.random((operations, 1, 1)) * 1.5
    return found


@pytest.mark.parametrize("name", DESIGNS)
@settings(max_examples=10)
@given(operations=st.integers(1, 5), banks=st.sampled_from((1, 3)), seed=st.integers(0, 1 << 30))
def test_a_buffer_gives_the_very_words_that_ports_take(name: str, operations: int, banks: int, seed: int) -> None:
    array = design(name, banks if name not in ("in step", "optimistic") else 1)
    operand = operands(array, operations, seed)
    words = packed(array.pruned, array.spatial.operands, operand)
    golden = ports.fed(array.spatial, words) if array.elastic is None else fibers.fed(array.elastic, words)
    for buffer in array.private:
        for name, pairs in model.given(buffer, filled(buffer, words[buffer.tensor]), operations).items():
            assert (pairs if array.elastic else [value for _, value in pairs]) == golden[name]
    array.run("tokens", **operand)


@pytest.mark.parametrize("name,banks", [("rows of bits", 3), ("rows of lists", 1), *(
    pytest.param(*each, marks=pytest.mark.slow) for each in (
    ("stationary, in chains", 3), ("in step", 1), ("optimistic", 1), ("rows", 1), ("rows", 3), ("dense fibers", 1)))])
@settings(max_examples=5)
@given(operations=st.integers(1, 7), stalls=stalls, seed=st.integers(0, 1 << 30))
def test_the_verilog_of_an_array_with_buffers_is_exact_whatever_stalls(
        name: str, banks: int, operations: int, stalls: "int | None", seed: int) -> None:
    array = design(name, banks)
    array.run("rtl", stalls, **operands(array, operations, seed))


# Fibers to several ports, backwards; fibers that are dense; words, by a nest that jumps; each for two operations.
ROWS, DENSE_ROWS = (Level("dense", 3), Level("compressed", 4)), (Level("dense", 3), Level("dense", 4))
ROWS_OF_LISTS = (Level("dense", 3), Level("linked list", 4))
ROWS_OF_BITS = (Level("dense", 3), Level("bitvector", 37))
BANKS = {
    "compressed": Bank(16, ROWS, 16, 2, 2, (Loop(3, -1, -1),), 3, "fiber", True, 5, 2),
    "bits": Bank(16, ROWS_OF_BITS, 128, 0, 0, (Loop(3, 1, 0), Loop(3, 3, 1)), 3, "fiber", True, 38, 2),
    "lists": Bank(16, ROWS_OF_LISTS, 16, 2, 2, (Loop(3, -1, -1),), 3, "fiber", True, 5, 2, 2),
    "dense fibers": Bank(8, DENSE_ROWS, 16, 0, 0, (Loop(4, 1, 0), Loop(3, 4, 1)), 3, "fiber", True, 5, 2),
    "words": Bank(8, DENSE_ROWS, 16, 8, 0, (Loop(2, -8, 1), Loop(4, 1, 0)), 2, "word", False, 2, 2),
}


@cache
def bench(name: str) -> Bench:
    return Bench(PrivateBank(BANKS[name], "bank"))


@pytest.mark.parametrize("name", [name if at < 1 else pytest.param(name, marks=pytest.mark.slow)
                                  for at, name in enumerate(BANKS)])
@settings(max_examples=15)
@given(tensors=st.integers(1, 6), stalls=stalls, seed=st.integers(0, 1 << 30))
def test_a_bank_gives_what_it_holds_in_the_order_of_its_request(
        name: str, tensors: int, stalls: "int | None", seed: int) -> None:
    bank, random = BANKS[name], np.random.default_rng(seed)
    array = random.integers(-128, 128, (tensors, 3, bank.levels[1].extent)) * (random.random((tensors, 3, 1)) < 0.7)
    array *= random.random(array.shape) < 0.6
    buffer = model.PrivateBuffer("B", (0, 1), 0, (bank,), (tuple("abc"[:bank.sinks]),))
    fills = filled(buffer, np.repeat(array, 2, axis=0))
    found = bench(name).run({stream: fills[f"B_{stream}"] for stream in bank.streams}, stalls=stalls)
    assert not found.status["fault"]
    wanted = model.given(buffer, fills, 2 * tensors)
    for at, sink in enumerate(buffer.sinks[0]):
        words = [crd << bank.bits | value % (1 << bank.bits) if bank.paired else value % (1 << bank.bits)
                 for crd, value in wanted[sink]]
        assert found.outputs[f"o{at}"] == words


def test_a_full_tensor_is_filled_in_while_another_one_is_read() -> None:
    bank, tensors = BANKS["compressed"], 8
    buffer = model.PrivateBuffer("B", (0, 1), 0, (bank,), (("a", "b", "c"),))
    fills = filled(buffer, np.ones((bank.operations * tensors, 3, 4), int))
    found = bench("compressed").run({stream: fills[f"B_{stream}"] for stream in bank.streams})
    # A cycle for each pair, each end of a fiber and each operation; before, once, a tensor is filled in.
    reading = bank.operations * (3 * (4 + 1) + 1)
    filling = len(fills["B_level"]) // tensors
    assert found.cycles <= tensors * reading + 2 * filling


def test_a_bitvector_takes_as_many_words_as_its_coordinates_in_order() -> None:
    bank = BANKS["bits"]
    buffer = model.PrivateBuffer("B", (0, 1), 0, (bank,), (("a", "b", "c"),))
    tensor = np.zeros((1, 3, 37), int)
    tensor[0, 0, [0, 16, 36]], tensor[0, 2, 17] = (7, -1, 9), 5
    fills = filled(buffer, tensor)
    assert fills == {"B_bits": [9, 1, 1, 16, 0, 0, 0, 0, 2, 0], "B_values": [4, 7, 65535, 9, 5]}
    assert model.given(buffer, fills, 1) == {"a": [(0, 7), (16, -1), (36, 9), (1 << 16, 0)], "b": [(1 << 16, 0)],
                                             "c": [(17, 5), (1 << 16, 0)]}


def test_what_does_not_fit_a_bank_is_a_fault() -> None:
    for level, values in (([4, 0, 9, 9, 20, 20, *range(20)], [20, *range(20)]), ([4, 0, 1, 1, 1, 1, 0], [0]),
                          ([4, 0, 3, 2, 3, 3, 0, 1, 2], [3, 1, 2, 3])):
        assert bench("compressed").run({"level": level, "values": values}).status["fault"]


def test_only_the_buffers_tell_designs_apart_that_have_them_or_not() -> None:
    with_buffers = design("rows", 3)
    without = dataclasses.replace(with_buffers, buffers={})
    operand = operands(with_buffers, 4, 1)
    assert np.array_equal(with_buffers.run("tokens", **operand).value, without.run("tokens", **operand).value)
    assert with_buffers.elastic == without.elastic and with_buffers.spatial == without.spatial
    # Of B a stream for each bank is left, of levels and of values, and nothing of its ports.
    names = [set(each.hardware().signature.members) for each in (with_buffers, without)]
    fills = {f"B_bank{bank}_{stream}" for bank in range(3) for stream in ("level", "values")} | {"A_values", "fault"}
    assert names[0] - names[1] == fills and {name[0] for name in names[1] - names[0]} == {"A", "B"}


def test_a_tensor_that_serves_several_operations_is_filled_in_once_for_them() -> None:
    array = design("rows", 1, 3)
    operand = {name: np.repeat(each, 3, axis=0)[:7] for name, each in operands(array, 3, 1).items()}
    array.run("tokens", **operand)
    once, always = (filled(each.private[1], operand["B"])["B_values"] for each in (array, design("rows")))
    # Of seven operations those of three tensors.
    blocks = [[operand["B"][at][operand["B"][at] != 0] % (1 << 16) for at in each] for each in ((0, 3, 6), range(7))]
    assert [once, always] == [[word for values in each for word in (len(values), *values)] for each in blocks]
    operand["B"][1, 0, 0] += 1
    with pytest.raises(UserError, match="B is not the same for 3 operations in a row"):
        array.run("tokens", **operand)


def test_fibers_that_are_long_in_coming_do_not_end_a_run() -> None:
    """Three of 128 pairs each go to their ports before the first sum has all that it is of."""
    array = sp.Design(PRODUCT, sp.Transform(INPUT), {"i": 1, "j": 128, "k": 4}, sparsity=[ROWS_OF_B],
                      buffers={"B": sp.Buffer("dense", "compressed", words=512)})
    array.run("rtl", A=np.ones((2, 1, 4), int), B=np.ones((2, 4, 128), int))


def test_explain_says_how_a_buffer_feeds_the_ports() -> None:
    text = design("rows", 3).explain().text
    assert """
A from a private buffer (dense, dense), a bank of 32 words, twice: 15 ports take words in its order, loops 15, by FIFOs
  constant""" in text
    assert """
B from a private buffer (dense, compressed), 3 banks of 32 words, twice: 3 ports take fibers in its order by FIFOs
  constant""" in text
    assert "3 ports take fibers one after the other, by skew buffers of 5 pairs\n" in design("rows").explain().text


def _design(rows: "list[list[int]]" = INPUT, skips: "Sequence[Skip]" = (), short: bool = False, k: int = 3,
            **buffers: sp.Buffer) -> sp.Design:
    return sp.Design(PRODUCT, sp.Transform(rows), {"i": 5, "j": 4, "k": k}, sparsity=skips, short=short, buffers=buffers)


def _cube(kind: str) -> sp.Design:
    """Fibers by two indices, stored by the second one first."""
    return sp.Design(sp.functionality("C(i,k,j) = A(i,k) * B(i,k,j)"), sp.Transform([[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
                     {"i": 3, "k": 2, "j": 5}, sparsity=[sp.skip(j, where=B(i, k, j) == 0)],
                     buffers={"B": sp.Buffer("dense", "dense", kind, words=32, order=(1, 0, 2))})


def test_levels_in_another_order_are_read_by_a_nest() -> None:
    array = _cube("compressed")
    assert array.private[0].banks[0].loops == (Loop(2, 3, 1), Loop(3, 1, 2))
    array.run("tokens", **array.random(4, 1))


@pytest.mark.parametrize("made,said", [
    (lambda: _design(D=sp.Buffer("dense")), "there is no operand D"),
    (lambda: _design(B=sp.Buffer("dense", "csr")), "there is no level 'csr'"),
    (lambda: _design(B=sp.Buffer(None, "dense")), "there is no level None"),
    (lambda: _design(B=sp.Buffer("dense")), "it has 1 level, but B has 2 dimensions"),
    (lambda: _design(B=sp.Buffer(*DENSE, order=(0, 0))), "its order is 0, 0"),
    (lambda: _design(B=sp.Buffer(*CSR)), "its last level is compressed, but the array takes zeros of B, too"),
    (lambda: _design(B=sp.Buffer("compressed", "dense")), "a level is compressed, but the array takes zeros of B, too"),
    (lambda: _design(B=sp.Buffer(*DENSE, words=16), k=5), "a tensor has 20 values in a bank, which has 16 words"),
    (lambda: _design(skips=[ROWS_OF_B], B=sp.Buffer(*CSR, words=16), k=16),
     "a tensor has 16 fibers in a bank, whose level has room for 15"),
    (lambda: _design(B=sp.Buffer(*DENSE, banks=4)),
     "there is no dimension by which each port of B would have one of 4 banks"),
    (lambda: _design([[0, 0, 1], [0, 1, 0], [1, 1, 1]], short=True, B=sp.Buffer(*DENSE)),
     "an operation that ends early takes fewer words than the buffer gives"),
    (lambda: sp.Design(PRODUCT, sp.Transform(HEXAGONAL), {"i": 2, "j": 2, "k": 1025}, buffers={"B": sp.Buffer(*DENSE)}),
     "the array takes B in an order that is no loop nest of 7 loops, but 1,025 runs"),
    (lambda: _design(skips=[ROWS_OF_B], B=sp.Buffer(*BITS, words=16), k=17),
     "the bits of a tensor are 17 words in a bank, whose level has room for 16"),
    (lambda: _cube("bitvector"), "ports take the fibers of B in another order than they are stored, and the values of "
                                 "bitvectors are counted"),
    (lambda: _design(skips=[ROWS_OF_B], B=sp.Buffer(*DENSE)), "its last level is dense, but the array takes no zeros of B"),
    (lambda: _design(skips=[COLUMNS_OF_A], B=sp.Buffer(*CSR)), "its last level is compressed, but the array takes every j"),
    (lambda: _design(skips=[ROWS_OF_B], B=sp.Buffer(*CSR, order=(1, 0))), "fibers go along j, which is not the last level"),
    (lambda: _design(skips=[COLUMNS_OF_A], A=sp.Buffer(*DENSE)),
     "which elements of A a port takes is found by values: i is skipped"),
    (lambda: _design(skips=[COLUMNS_OF_A], A=sp.Buffer(*DENSE, order=(1, 0))),
     "its last level is dense, but the array takes no zeros of A"),
    (lambda: sp.Design(PRODUCT, sp.Transform(INPUT), {"i": 2, "j": 2, "k": 2}, buffers={"B": 3}),     # type: ignore[dict-item]
     "which is no mapping to buffers"),
    (lambda: sp.Design(sp.functionality("C(i,j) = A(i,k) * A(k,j)"), sp.Transform(OUTPUT), {"i": 3, "j": 3, "k": 3},
                       sparsity=[ROWS_OF_A], buffers={"A": sp.Buffer(*CSR)}), "A is read at several places of a point"),
])
def test_buffers_that_do_not_feed_the_array_are_refused_with_a_remedy(made: "Callable[[], sp.Design]", said: str) -> None:
    with pytest.raises(UserError) as refused:
        made().hardware()
    assert said in refused.value.what and refused.value.fix


@pytest.mark.parametrize("options,said", [
    ({"words": 100}, "words is 100"), ({"banks": 0}, "banks is 0"), ({"operations": 0}, "operations is 0"),
    ({"node": 3}, "node is 3"),
    ({"order": "01"}, "order is '01'"), ({"words": 8}, "words is 8"), ({"words": 1 << 15}, "words is 32768"),
])
def test_a_buffer_of_no_such_size_is_refused(options: "dict[str, object]", said: str) -> None:
    with pytest.raises(UserError) as refused:
        sp.Buffer("dense", "compressed", **options)     # type: ignore[arg-type]
    assert said in refused.value.what
    with pytest.raises(UserError, match="there is no level 'sparse'"):
        sp.Buffer("dense", "sparse")
    with pytest.raises(ValueError, match="a walk has 1 to 65536 fibers, not 0"):
        BitScanner(0)
    with pytest.raises(ValueError, match="a loop has one iteration or more"):
        Nest(0, ((0, 1),), 4)


def test_a_tensor_of_too_many_values_is_refused_when_it_is_given() -> None:
    array = _design(skips=[ROWS_OF_B], B=sp.Buffer(*CSR, words=16), k=8)
    with pytest.raises(UserError) as refused:
        array.run("tokens", A=np.ones((5, 8), int), B=np.ones((8, 4), int))
    assert refused.value.what == "B of operation 0 has 32 values in a bank, which has 16 words"
