"""Buffers of results store fibers in their format, and tell when these have no room."""

import dataclasses
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.hw.arch.check import Misfits
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.spatial import Shaped
from sardonyx.hw.arch.token import stop
from sardonyx.hw.arch.written import Written
from sardonyx.hw.spatial.buffer.fiber_bank import FiberBank
from sardonyx.hw.spatial.buffer.written_result import WrittenResult
from sardonyx.runtime.data import written as data
from sardonyx.sim.model import written as model
from sardonyx.sim.rtl.bench import Bench

EXTENT, BITS = 20, 24
PORTS = ("C_0", "C_1", "C_2")
RESULTS = {
    "dense": Written(Shaped("C", BITS, (3, EXTENT)), (0, 1), PORTS, "dense", 64),
    "compressed": Written(Shaped("C", BITS, (3, EXTENT)), (0, 1), PORTS, "compressed", 32),
    "bits": Written(Shaped("C", BITS, (EXTENT, 3)), (1, 0), PORTS, "bitvector", 32),
    "lists": Written(Shaped("C", BITS, (3, EXTENT)), (0, 1), PORTS, "linked list", 64, 4, 1),
    "lists of two operations": Written(Shaped("C", BITS, (3, EXTENT)), (0, 1), PORTS, "linked list", 64, 2, 2),
    "parts of fibers": Written(Shaped("C", BITS, (3, EXTENT)), (0, 1), ("C_0", "C_0_12", "C_1", "C_1_12", "C_2", "C_2_12"),
                               "compressed", 32, begins=(0, 12)),
}
Pairs = dict[str, list[tuple[int, int]]]
stalls = st.none() | st.integers(1, 1 << 30)


@cache
def bench(name: str) -> Bench:
    return Bench(WrittenResult(RESULTS[name]))


def fibers(tensors: np.ndarray, begins: "tuple[int, ...]" = (0,)) -> Pairs:
    """The pairs of each port, of tensors of fibers with zeros left out."""
    return {f"{name}_{begin}" if begin else name: [pair for tensor in tensors for pair in [
        *((int(crd), int(tensor[nth, crd])) for crd in np.flatnonzero(tensor[nth]) if begin <= crd < end), (stop(0), 0)]]
            for nth, name in enumerate(PORTS) for begin, end in pairwise((*begins, EXTENT))}


def ran(name: str, pairs: Pairs, stalls: "int | None" = None) -> "tuple[dict[str, list[int]], dict[str, int]]":
    kind = RESULTS[name]
    words = {f"i{nth}": [value % (1 << BITS) | crd << BITS for crd, value in pairs[port]]
             for nth, port in enumerate(kind.ports)}
    found = bench(name).run(words, stalls=stalls, idle=200)     # an empty dense tensor moves nothing for 60 cycles
    return {kind.name(array): found.outputs[array] for array in kind.arrays}, found.status


def random(operations: int, most: int, seed: int) -> np.ndarray:
    """Tensors from empty to full, of at most so many values that are not 0, with empty fibers."""
    source = np.random.default_rng(seed)
    found = source.integers(-1 << BITS - 1, 1 << BITS - 1, (operations, 3, EXTENT)) * (source.random((operations, 3, 1)) < 0.7)
    for tensor in found:
        tensor.reshape(-1)[source.permutation(tensor.size)[source.integers(0, most + 1):]] = 0
    return found


@pytest.mark.parametrize("name", RESULTS)
@settings(max_examples=12)
@given(tensors=st.integers(1, 4), stalls=stalls, seed=st.integers(0, 1 << 30))
def test_fibers_are_stored_in_their_format_and_read_back(name: str, tensors: int, stalls: "int | None", seed: int) -> None:
    kind = RESULTS[name]
    operations = random(tensors * kind.operations, 32 if kind.operations == 1 else 14, seed)
    pairs = fibers(operations, kind.begins)
    found, status = ran(name, pairs, stalls)
    assert not status["overflow"]
    wanted = model.written(kind, pairs)
    for array, words in wanted.items():
        # What no element of a node has is not said.
        if not (kind.kind == "linked list" and array in ("C_coordinates", "C_values")):
            assert found[array] == words
    exact = operations.reshape(tensors, kind.operations, 3, EXTENT).sum(axis=1)
    stored = (exact + (1 << BITS - 1)) % (1 << BITS) - (1 << BITS - 1)
    for arrays in (found, wanted):
        assert np.array_equal(data.read(kind, arrays), np.transpose(stored, (0, *(1 + at for at in np.argsort(kind.order)))))


def test_each_run_of_a_list_has_rising_coordinates() -> None:
    kind = RESULTS["lists of two operations"]
    operations = np.zeros((2, 3, EXTENT), int)
    operations[0, 0, [3, 5, 7]], operations[1, 0, [0, 5]], operations[1, 2, 9] = (1, 2, 3), (4, 5), 6
    found, _ = ran("lists of two operations", fibers(operations))
    arrays = {array: found[kind.name(array)][1:] for array in kind.arrays}
    assert arrays["heads"] == [0, (1 << 16) - 1, 3, 4]
    assert data.runs(kind, arrays) == [[[(3, 1), (5, 2)], [(7, 3)], [(0, 4), (5, 5)]], [], [[(9, 6)]]]


@pytest.mark.parametrize("name", ["compressed", "bits"])
def test_a_tensor_that_does_not_fit_is_reported_and_those_before_it_are_whole(name: str) -> None:
    tensor = np.zeros((2, 3, EXTENT), int)
    tensor[0, 1, 4] = 9
    tensor[1].reshape(-1)[:33] = 5
    kind, pairs = RESULTS[name], fibers(tensor)
    found, status = ran(name, pairs)
    assert status["overflow"]
    first = {port: words[:words.index((stop(0), 0)) + 1] for port, words in pairs.items()}
    assert found == model.written(kind, first)
    with pytest.raises(UserError):
        model.written(kind, pairs)


def test_nodes_that_run_out_are_reported() -> None:
    # Of two operations each of three fibers has 11 values: six nodes of 2 each, of 32.
    tensor = np.zeros((2, 3, EXTENT), int)
    tensor[:, :, :11] = 1
    with pytest.raises(UserError):
        model.written(RESULTS["lists of two operations"], fibers(tensor))
    assert ran("lists of two operations", fibers(tensor))[1]["overflow"]
    tensor[1, 2, :9] = 0
    assert not ran("lists of two operations", fibers(tensor))[1]["overflow"]


def test_an_array_leaves_while_the_next_one_is_written() -> None:
    tensors = np.ones((8, 3, EXTENT), int)
    tensors[:, :, 10:] = 0
    words = fibers(tensors)
    found = bench("compressed").run({f"i{nth}": [value | crd << BITS for crd, value in words[port]]
                                     for nth, port in enumerate(PORTS)})
    # A cycle for each pair, each end, and two for a tensor.
    assert found.cycles <= 8 * (3 * (10 + 1) + 2) + 40


@pytest.mark.parametrize("changed,said", [
    ({"words": 32, "kind": "dense"}, "words are 32, but C takes 60"), ({"ports": PORTS[:2]}, "ports are 2, but C has 3 fibers"),
    ({"operations": 2}, "operations are 2, but the last level is compressed"), ({"order": (0, 0)}, "order does not name"),
    ({"kind": "linked list", "node": 64}, "node is 64 elements of 32"),
    ({"tensor": Shaped("C", 40, (3, EXTENT))}, "has 40 bits"),
])
def test_results_that_cannot_be_are_refused(changed: "dict[str, object]", said: str) -> None:
    with pytest.raises(Misfits, match=said):
        dataclasses.replace(RESULTS["compressed"], **changed)     # type: ignore[arg-type]


@settings(max_examples=20)
@given(parts=st.integers(1, 4), tensors=st.integers(1, 3), stalls=stalls, seed=st.integers(0, 1 << 30))
def test_fibers_of_several_operations_are_added_by_coordinate(parts: int, tensors: int, stalls: "int | None",
                                                              seed: int) -> None:
    operations = random(parts * tensors, 60, seed)[:, 0]
    words = [crd << BITS | value % (1 << BITS) for fiber in operations for crd, value in [
        *((int(crd), int(fiber[crd])) for crd in np.flatnonzero(fiber)), (stop(0), 0)]]
    found = fiber_bank().run({"i": words}, {"parts": parts}, stalls=stalls)
    wanted = list[int]()
    for group in operations.reshape(tensors, parts, EXTENT):
        there = np.flatnonzero((group != 0).any(axis=0))
        wanted += [int(crd) << BITS | int(group[:, crd].sum()) % (1 << BITS) for crd in there] + [stop(0) << BITS]
    assert found.outputs["o"] == wanted and not found.left


@cache
def fiber_bank() -> Bench:
    return Bench(FiberBank(EXTENT, BITS))
