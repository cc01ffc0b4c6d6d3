"""Results of copies are those of the sub-tiles, in order, however they were dealt."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import sardonyx
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.copies import Copies
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.primitive import ADDRESS, SHARING_PRIMITIVES
from sardonyx.options import DISPATCH
from sardonyx.runtime.data.blocks import by_number, out_of_slots
from sardonyx.runtime.data.lying import LyingBlock, in_words
from sardonyx.runtime.data.rounds import Rounds
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.sim import engines
from sardonyx.sim.expected import expected
from sardonyx.tensor_job import TensorJob
from sardonyx.tensors import values
from sardonyx.tensors.values import random_tensor

ONYX = presets.get("onyx")
SHARING = replace(ONYX, pe=replace(ONYX.pe, primitives=(*ONYX.pe.primitives, *SHARING_PRIMITIVES)))
PLACED = replace(SHARING, pe=replace(SHARING.pe, primitives=(*SHARING.pe.primitives, ADDRESS)),
                 glb=replace(ONYX.glb, numbered=True))


def matrix(shape, density, seed):
    """A random matrix of small integers."""
    random = np.random.default_rng(seed)
    return scipy.sparse.csr_array(random.integers(-3, 4, shape) * (random.random(shape) < density))


def unrolled(statement, operands, copies, how, engine="tokens", edge=5, groups=None, arch=SHARING):
    """A checked job on copies in so many groups, or as many as there are links for."""
    data = {name: values.to_coo(each, name) for name, each in operands.items()}
    program = parse(statement)
    job = TensorJob(compile_einsum(program, arch, copies=copies, dynamic=how == "dynamic", groups=groups), data,
                    Work(tile(program, data, arch.mem.level_words, edge)), dispatch=how)
    for part in job.parts():
        engines.run(engine, job.compiled, part, part.take)
    assert job.check()[1] > 0
    return job


@settings(max_examples=6)
@given(how=st.sampled_from(tuple(DISPATCH)), copies=st.integers(2, 6), groups=st.integers(1, 3),
       edge=st.sampled_from([1, 5, 17]), density=st.sampled_from([0.1, 0.6]), seed=st.integers(0, 99))
def test_copies_give_what_numpy_gives(how, copies, groups, edge, density, seed):
    b, c = matrix((7, 11), density, seed), matrix((7, 11), density, seed + 1)
    unrolled("X(i,j) = B(i,j) + C(i,j)", {"B": b, "C": c}, copies, how, "tokens", edge, groups)


@pytest.mark.parametrize("groups", [((0,), (1,)), ((0, 1), (2,))])
def test_dense_operands_of_copies_lie_where_a_copy_has_a_link_to_itself(groups):
    """The last round is filled up with empty sub-tiles."""
    data = {"A": values.to_coo(matrix((23, 17), 0.9, 1), "A"), "b": random_tensor((17,), 1.0, 2)}
    work = Work(tile(parse("x(i) = A(i,j) * b(j)", "ij", {"b": "d"}), data, 100, {"i": 1, "j": 9}))
    lies, copied = (Rounds(work, Copies(groups), "order", lambda stored: None, listed) for listed in (True, False))
    for one, other in zip(lies.transactions(), copied.transactions(), strict=True):
        for name, words in other.items():
            assert in_words(one[name]).tolist() == words.tolist()
            copies = groups[int(name.rpartition(".")[2])] if name.startswith("b_vals") else ()
            assert isinstance(one[name], LyingBlock) == (len(copies) == 1)
    assert lies.words == copied.words


@pytest.mark.parametrize("engine", ["tokens", "fabric"])
@pytest.mark.parametrize("how", DISPATCH)
def test_copies_that_share_links_give_what_numpy_gives(how, engine):
    operands = {"B": matrix((23, 17), 0.3, 1), "C": matrix((17, 19), 0.3, 2)}
    job = unrolled("X(i,j) = B(i,k) * C(k,j)", operands, 7, how, engine, 6, 1 if how == "dynamic" else None)
    assert job.facts()["link_groups"] == ("7" if how == "dynamic" else "4 + 3")


@pytest.mark.parametrize("how", ["order", "dynamic"])
def test_dense_levels_of_a_result_are_counted_in_every_copy(how):
    b = matrix((11, 9), 0.3, 4)
    result = sardonyx.einsum("X(i,j) = B(i,k) * B(j,k)", B=b, formats={"X": "ds"}, arch=SHARING, engine="tokens", tile=4,
                             unroll=5, dispatch=how)
    assert (result.value != b @ b.T).nnz == 0


@pytest.mark.parametrize("how", DISPATCH)
def test_operands_without_nonzeros_give_a_result_without(how):
    empty = scipy.sparse.csr_array((9, 9), dtype=np.int64)
    assert sardonyx.einsum("X(i,j) = B(i,j) + C(i,j)", B=empty, C=empty, arch=SHARING, engine="tokens", unroll=3,
                           dispatch=how).value.nnz == 0


@settings(max_examples=20)
@given(how=st.sampled_from(tuple(DISPATCH)), seed=st.integers(0, 999),
       groups=st.sampled_from([((0, 1, 2),), ((0, 1, 2), (3,), (4, 5))]))
def test_blocks_that_arrive_in_any_order_land_in_order(how, seed, groups):
    """Copies end whenever they like, and each link has another order; the blocks of one copy alone are in order."""
    random = np.random.default_rng(seed)
    einsum = parse("X(i,j) = B(i,j)")
    work = Work(tile(einsum, {"B": random_tensor((11, 13), 0.4, seed)}, 1024, 3))
    wanted, given = [*expected(work)], list[dict]()
    rounds = Rounds(work, Copies(groups, how == "dynamic"), how, given.append)
    nothing = {name: np.array(words, np.uint16) for name, words in (("X0", [0]), ("X1", [1, 0, 0]), ("X_vals", [0]))}
    arrive = {}
    for group, members in enumerate(groups):
        items, copies = (each[group].reshape(-1) for each in (rounds.deal.items, rounds.deal.copies))
        if how == "dynamic":
            copies = random.choice(members, len(items))
            arrive[f"numbers.{group}"] = [np.array([1, copy]) for copy in copies]
        for name in nothing:
            turns = random.permutation(copies)
            of_copy = {copy: iter(items[copies == copy].tolist()) for copy in members}
            arrive[f"{name}.{group}"] = [np.concatenate(([1, copy] if len(members) > 1 else [], block)).astype(int)
                                         for copy in turns.tolist()
                                         for item in (next(of_copy[copy]),)
                                         for block in ((wanted[item] if item >= 0 else nothing)[name],)]
    for turn in range(len(rounds)):
        rounds.take({f"{name}": np.concatenate(blocks[turn * size:(turn + 1) * size])
                     for name, blocks in arrive.items() for size in (len(groups[int(name.partition('.')[2])]),)})
    assert len(given) == len(wanted)
    for found, should in zip(given, wanted, strict=True):
        assert found.keys() == should.keys() and all(np.array_equal(found[name], should[name]) for name in should)


@pytest.mark.parametrize("how", DISPATCH)
def test_results_that_output_addresses_place_are_taken_as_they_lie(how):
    operands = {"B": matrix((23, 17), 0.3, 1), "C": matrix((17, 19), 0.3, 2)}
    result = sardonyx.einsum("X(i,j) = B(i,k) * C(k,j)", **operands, arch=PLACED, engine="tokens", tile=6, unroll=5,
                             dispatch=how)
    assert (result.value != operands["B"] @ operands["C"]).nnz == 0
    assert result.report["results"] == "placed by output addresses"


@given(seed=st.integers(0, 999), first=st.sampled_from((0, 7, 65530, -3)), sections=st.integers(1, 2))
def test_blocks_of_any_arrival_have_one_order(seed, first, sections):
    """Blocks that came behind their numbers, and those that a store has placed in slots."""
    random = np.random.default_rng(seed)
    blocks = [np.concatenate([[n, *random.integers(0, 9, n)] for n in random.integers(0, 4, sections)]) for _ in range(9)]
    came = np.concatenate([[1, (first + at) % 65536, *blocks[at]] for at in random.permutation(9)]).astype(np.uint16)
    with np.errstate(all="raise"):      # numbers pass 2^16, which is no overflow
        np.testing.assert_array_equal(by_number(came, "X0", sections, 9, first), np.concatenate(blocks))
    room = max(map(len, blocks)) + int(random.integers(0, 3))
    slots = np.concatenate([[*block, *random.integers(0, 99, room - len(block))] for block in blocks])
    np.testing.assert_array_equal(out_of_slots(slots, sections, 9), np.concatenate(blocks))


def test_a_report_says_how_even_the_copies_are():
    b, c = matrix((40, 40), 0.1, 1), matrix((40, 40), 0.1, 2)
    report = sardonyx.einsum("X(i,j) = B(i,k) * C(k,j)", B=b, C=c, arch="onyx", engine="tokens", tile=9, unroll=2,
                             dispatch="expected", order="ijk").report
    assert report["copies"] == 2 and report["dispatch"] == "expected"
    assert 2 * report["rounds"] >= report["sub_tiles"] > report["rounds"]
    assert 0.99 < report["balance"] <= 1
    assert report["tiles_used"]["mem"] == 18


def test_results_are_held_until_those_before_have_come():
    einsum = parse("x(i) = b(i) * c(i)")
    operands = {name: random_tensor((40,), 0.5, seed) for seed, name in enumerate("bc")}
    work = Work(tile(einsum, operands, 1024, 3))
    given: list[dict] = []
    rounds = Rounds(work, Copies(((0,), (1,), (2,))), "sorted", given.append)
    wanted = [*expected(work)]
    counts = []
    for turn in range(len(rounds)):
        items = [int(each[turn, 0]) for each in rounds.deal.items]
        rounds.take({f"{name}.{copy}": words for copy, item in enumerate(items)
                     for name, words in wanted[item if item >= 0 else 0].items()})
        counts.append(len(given))
    assert counts[0] < 3, "the largest sub-tiles are not the first ones"
    assert len(given) == len(wanted)
    for found, should in zip(given, wanted, strict=True):
        assert found.keys() == should.keys() and all(np.array_equal(found[name], should[name]) for name in should)


@pytest.mark.parametrize("arguments,message", [
    ({"unroll": 0}, "unroll: it is 0, but has to be 1 or more\n  try: give a whole number, 1 or more"),
    ({"unroll": "all"}, "unroll: it is 'all', which is no whole number\n  try: give a whole number, 1 or more"),
    ({"dispatch": "best"},
     "there is no way to deal sub-tiles to copies 'best'\n  try: choose one of order, sorted, expected, dynamic"),
])
def test_what_is_no_way_to_unroll_is_refused(arguments, message):
    with pytest.raises(UserError) as error:
        sardonyx.einsum("x(i) = b(i)", b=np.arange(5), engine="tokens", **arguments)
    assert str(error.value) == message


def test_as_many_copies_as_gain_are_asked_for_by_a_word():
    operands = {"B": matrix((40, 40), 0.1, 1), "C": matrix((40, 40), 0.1, 2)}

    def most(arch, **how):
        return sardonyx.einsum("X(i,j) = B(i,k) * C(k,j)", **operands, order="ijk", arch=arch, engine="tokens", unroll="most",
                               **how).report

    # Two groups of copies have links of their own, and bring what ten copies take; seven in a group bring as much as five.
    shared = most(SHARING, tile=9)
    assert (shared["copies"], shared["link_groups"]) == (10, "5 + 5")
    assert shared["most"] == "14 fit, for which 1,115 cycles are expected, 1,115 for 10"
    apart = most(ONYX, tile=9)
    assert apart["copies"] == 2 and apart["most"] == "2 fit"
    assert most(ONYX, tile=9, without="pipelining")["most"] == "2 fit"
    small = most("small", tile=9)
    assert "copies" not in small and small["most"] == "1 fit"


def test_the_command_line_unrolls(capsys):
    from sardonyx.cli import main
    assert main(["run", "kernel", "vec_elemmul", "--size", "50", "--tile", "7", "--engine", "tokens", "--unroll", "2",
                 "--dispatch", "sorted", "--json"]) == 0
    assert '"copies": 2' in capsys.readouterr().out
    assert main(["run", "kernel", "vec_elemmul", "--size", "50", "--engine", "tokens", "--unroll", "most", "--json"]) == 0
    assert '"copies": 2' in capsys.readouterr().out


@pytest.mark.parametrize("words,cycles,loads,text", [
    (900, 1000, [5.0, 5.0], "links: b0.1 brings 0.90 words a cycle"),
    (100, 1000, [9.0, 1.0], "imbalance: the busiest copy has 1.80 times as much to do as others on average"),
    (100, 1000, [5.0, 5.0], ""),
])
def test_the_bottleneck_is_links_or_imbalance_or_inside_the_copies(words, cycles, loads, text):
    work = Work(tile(parse("x(i) = b(i)"), {"b": random_tensor((9,), 1.0, 0)}, 1024, 3))
    rounds = Rounds(work, Copies(((0,), (1,))), "order", lambda stored: None)
    rounds.words = {"b0.0": 3, "b0.1": words}
    rounds.loads = np.array(loads)
    assert rounds.bottleneck(cycles) == text
    rounds.stored = {"x0.0": 950}
    assert rounds.bottleneck(1000) == "links: x0.0 takes 0.95 words a cycle"
