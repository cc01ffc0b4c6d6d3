import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statements import able

import sardonyx
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.lang.kernel import kernel_names, load_kernel
from sardonyx.compiler.sparse.estimate import Copying, cycles
from sardonyx.compiler.sparse.narrow import narrow
from sardonyx.compiler.sparse.normalize import normalize
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.tensors.values import random_tensor, to_coo, to_value

PRODUCT = "X(i,j) = B(i,k) * C(k,j)"
MTTKRP = "X(i,j) = B(i,k,l) * C(j,k) * D(j,l)"


def shortened(text, edges, order="", formats=None):
    einsum = parse(text, order, formats)
    program, lone = narrow(einsum, dict.fromkeys(einsum.order, 5) | edges)
    assert set(program.order) == set(einsum.order) - lone
    return program


@pytest.mark.parametrize("text,edges,program", [
    (PRODUCT, {"k": 1}, "X(i,j) = B(i) * C(j)"),
    (PRODUCT, {"i": 1}, "X(j) = B(k) * C(k,j)"),
    (MTTKRP, {"j": 1, "k": 1, "l": 1}, "X(i) = B(i) * C * D"),
    ("X(i,j) = B(i,j) + C(i,j)", {"i": 1}, "X(j) = B(j) + C(j)"),
    ("x(i) = b(i) - C(i,j) * d(j)", {"i": 1}, "x(i) = b(i) - C(i,j) * d(j)"),
    ("x(i) = b(i) - C(i,j) * d(j)", {"j": 1}, "x(i) = b(i) - C(i,j) * d(j)"),
    ("x(i) = sum(j, relu(B(i,j)))", {"i": 1}, "x(i) = sum(j, relu(B(i,j)))"),
    (PRODUCT, {"i": 1, "j": 1, "k": 1}, "X = B * C"),
    ("x(i) = -2 * b(i)", {"i": 1}, "x = -2 * b"),
    ("X(i,j) = B(i,j)", {"i": 1, "j": 1}, "X(i,j) = B(i,j)"),
    ("x(i) = b(i) * (c(i) + d(i))", {"i": 1}, "x(i) = b(i) * (c(i) + d(i))"),
    (PRODUCT, {}, PRODUCT),
])
def test_loops_that_turn_once_are_left_out_but_for_terms_that_may_be_empty(text, edges, program):
    assert str(shortened(text, edges).text) == program


def test_storage_and_order_are_those_of_what_is_left():
    program = shortened(MTTKRP, {"j": 1, "k": 1}, "lkij", {"B": "sds210"})
    assert program.order == ("l", "i")
    assert [str(each.format) for each in (program.result, *program.operands)] == ["s0", "ss10", "", "s0"]
    assert [each.stored for each in program.operands] == [("l", "i"), (), ("l",)]


def test_a_compressed_level_below_a_dense_one_stays_as_it_says_what_occurs():
    assert shortened("X(i,j) = B(i,j)", {"j": 1}, formats={"B": "ds01"}).text == "X(i,j) = B(i,j)"
    assert shortened("X(i,j) = B(i,j)", {"j": 1}, formats={"B": "sd01"}).text == "X(i) = B(i)"
    assert shortened("X(i,j) = B(i,j)", {"i": 1}, formats={"B": "ds01"}).text == "X(j) = B(j)"


def test_tiles_at_the_far_end_are_put_where_they_belong():
    operands = {"B": random_tensor((5, 7), 0.6, 1), "C": random_tensor((7, 4), 0.6, 2)}
    tiling = tile(parse(PRODUCT), operands, 1024, {"i": 1, "j": 3, "k": 4}, narrow=True)
    assert tiling.einsum.text == "X(j) = B(k) * C(k,j)"
    assert tiling.whole.text == PRODUCT
    shapes = {(int(row), tiling.result_shape(item)) for item, (row, _) in enumerate(tiling.outputs)}
    assert {shape for _, shape in shapes} == {(3,), (1,)}


ONYX = able(presets.get("onyx"))
KERNELS = [name for name in kernel_names() if len(load_kernel(name).einsum().order) < 5]


@settings(max_examples=15, deadline=None)
@given(name=st.sampled_from(KERNELS), edges=st.lists(st.sampled_from((1, 1, 3)), min_size=4, max_size=4),
       seed=st.integers(0, 99), density=st.sampled_from((0.1, 0.5, 1.0)))
def test_programs_without_such_loops_give_the_whole_result(name, edges, seed, density):
    einsum = load_kernel(name).einsum()
    shapes = {access.tensor: tuple({"i": 4, "j": 3, "k": 5, "l": 2}.get(index, 2) for index in access.modes)
              for access in einsum.operands}
    operands = {tensor: random_tensor(shape, density if shape else 1.0, seed + at)
                for at, (tensor, shape) in enumerate(shapes.items())}
    given = {tensor: to_value(operand) for tensor, operand in operands.items()}
    formats = {access.tensor: str(access.format) for access in (einsum.result, *einsum.operands) if access.indices}
    cut = dict(zip(einsum.order, edges))
    for without in (None, "narrowing"):
        try:
            found = sardonyx.einsum(einsum.text, order=",".join(einsum.order), formats=formats, tile=cut, engine="tokens",
                                    arch=ONYX, without=without, **given)
        except UserError as refused:
            assert "summed inside a function" in refused.what
            return
        assert ("program" in found.report) <= (without is None and 1 in cut.values())


def test_what_is_left_out_has_a_name():
    with pytest.raises(UserError) as error:
        sardonyx.einsum("x(i) = b(i)", b=np.arange(5), engine="tokens", without="speed")
    assert str(error.value) == \
        "there is no feature 'speed'\n  try: choose one of pipelining, balancing, narrowing, sharing, early"


def test_edges_for_copies_take_words_off_the_links():
    operands = {"B": random_tensor((12, 16, 16), 0.03, 1), "C": random_tensor((12, 16), 0.1, 2),
                "D": random_tensor((12, 16), 0.1, 3)}
    alone = tile(parse(MTTKRP), operands, 1024)
    shared = tile(parse(MTTKRP), operands, 1024, share=lambda program: Copying(9))
    assert Work(shared).busiest + len(shared) <= Work(alone).busiest + len(alone)
    assert Work(shared).cycles() / 9 <= Work(alone).cycles()
    assert tile(parse(MTTKRP), operands, 1024, share=lambda program: Copying()).edges == alone.edges


def test_edges_are_found_where_only_smaller_ones_of_another_index_fit_without_its_loop():
    graph = networkx.les_miserables_graph()
    matrix = to_coo(networkx.to_scipy_sparse_array(graph, nodelist=sorted(graph), dtype=np.int64))
    einsum, operands = parse(PRODUCT), {"B": matrix, "C": matrix}
    chosen = tile(einsum, operands, 1024, narrow=True)
    # Of one k, all of i and j have results of up to 1,296 words.
    swept = [tile(einsum, operands, 1024, {"i": edge, "j": 77, "k": 1}, narrow=True) for edge in (1, 2, 4, 8, 16, 26, 48)]
    assert chosen.edges["k"] == 1
    assert expected(chosen) <= 1.1 * min(map(expected, swept))


def expected(tiling):
    return cycles(normalize(tiling.einsum), tiling)


def test_as_many_items_are_looked_at_as_all_copies_have_time_for():
    # An item of a few cycles each: with 16 copies there is time for many more of them than in one.
    operands = {"B": random_tensor((30, 60, 60), 0.02, 0), "C": random_tensor((30, 60), 0.02, 1),
                "D": random_tensor((30, 60), 0.02, 2)}
    chosen = tile(parse(MTTKRP), operands, 1024, narrow=True, share=lambda program: Copying(21, 4))
    assert (chosen.einsum.text, len(chosen)) == ("X = B * C * D", 32)


def test_launches_of_one_sub_tile_have_larger_ones():
    operands = {"B": random_tensor((200, 200), 0.004, 1), "C": random_tensor((200, 200), 0.004, 2)}
    together, apart = (tile(parse(PRODUCT), operands, 1024, single=single) for single in (False, True))
    assert len(apart) < len(together)
