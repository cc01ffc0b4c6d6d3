"""Rows of an operand dealt to parts, whose sums are merged row by row."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sam_reference import Tokens
from test_fuse import operands
from test_lanes import TWICE, fused, program

from sardonyx.compiler.einsum import compile_fused
from sardonyx.compiler.ir.mapped import STORE
from sardonyx.compiler.ir.sam_levels import Scanner
from sardonyx.compiler.ir.sam_ops import SpaceError
from sardonyx.compiler.ir.sam_parts import PartMerger, PartRows, RowScanner
from sardonyx.compiler.sparse.blocks import map_graph
from sardonyx.compiler.sparse.fused_tiling import sharing, tile_fused
from sardonyx.compiler.sparse.lanes import Deal, lanes_of
from sardonyx.compiler.sparse.lower import lower_fused
from sardonyx.compiler.sparse.parts import dealt_tiles, with_parts
from sardonyx.compiler.sparse.renumber import row_numbers
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.token import parse_stream
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.sim.golden import einsum as golden
from sardonyx.sim.model.tokens import fabric
from sardonyx.sim.model.tokens.network import Network
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.values import random_tensor, to_array

CAPACITY = 1024


def in_parts(text: str, parts: int):
    return replace(fused(text, parts), parts=True)


def matrix(*lengths: int) -> Coo:
    """A square matrix of ones whose rows are so long."""
    coords = np.array([(row, column) for row, length in enumerate(lengths) for column in range(length)])
    return Coo.make((len(lengths), len(lengths)), coords, np.ones(len(coords), np.int64))


@settings(max_examples=30, deadline=None)
@given(rows=st.integers(1, 9), density=st.sampled_from([0.0, 0.3, 1.0]), parts=st.integers(1, 5),
       edge=st.integers(1, 4), seed=st.integers(0, 99))
def test_a_part_has_every_so_many_th_row_and_all_have_as_many(rows, density, parts, edge, seed):
    data = {"A": random_tensor((rows, rows), density, seed), "x": random_tensor((rows,), 1.0, 1)}
    tiles = tile_fused(fused(TWICE, 1), data, CAPACITY, {"i": edge}).tiles[0]
    found = dealt_tiles(tiles, Deal(parts, parts=True))
    for number in range(len(tiles.ids)):
        shares = [to_array(part.tile(number)) for part in found]
        together = np.stack(shares, axis=1).reshape(-1, tiles.edges[1])
        whole = to_array(tiles.tile(number))
        assert np.array_equal(together[:len(whole)], whole) and not together[len(whole):].any()
        assert [part.counts[number].tolist() for part in found] == [[len(each), np.count_nonzero(each)] for each in shares]


@settings(max_examples=20, deadline=None)
@given(size=st.integers(1, 7), density=st.sampled_from([0.0, 0.2, 0.6, 1.0]), seed=st.integers(0, 99), parts=st.integers(2, 5),
       edge=st.none() | st.integers(1, 4), numbered=st.booleans(), text=st.sampled_from((
           TWICE, "y(i) = A(i,j) * x(j) * 3; z(i) = B(i,j) * y(j)", "y(i) = A(i,j) * x(j); w(i) = A(i,j) * y(j) * 3",
           "y(i) = A(i,j) * x(j); w(i) = A(i,j) * y(j); z(i) = A(i,j) * w(j) * x(j)")))
def test_parts_give_what_statements_give_one_by_one(size, density, seed, parts, edge, numbered, text):
    made, statements = in_parts(text, parts), program(text)
    data = operands(statements, size, density, seed)
    dealt = {access.tensor: access for access in made.einsum.operands if access.slot in lanes_of(made)}
    made = replace(made, numbers=row_numbers(made.einsum, dealt, data, parts)) if numbered else made
    tiling = tile_fused(made, data, CAPACITY, {"i": edge} if edge else None)
    work = Work(tiling, lanes_of(made))
    found = work.result(fabric.run_graph(map_graph(lower_fused(sharing(made, tiling))), work.transactions()))
    assert work.lanes and found == golden.evaluate_all(statements.statements, data)[statements.result.result.tensor]


def test_a_dense_result_is_stored_by_each_part_as_it_has_its_rows():
    data = {"A": matrix(*[2] * 9), "x": random_tensor((9,), 1.0, 1)}
    made = with_parts(fused("y(i) = A(i,j) * x(j); w(i) = A(i,j) * y(j)", 4), data, CAPACITY)
    graph = map_graph(lower_fused(made))
    stores = [stream.name for stream in graph.streams if stream.direction == STORE]
    assert made.parts and stores == [f"w.lane{part}_vals" for part in range(4)]
    assert sum(block.primitive == "joiner" for block in graph.blocks.values()) == 3, "one vector is merged"
    work = Work(tile_fused(made, data, CAPACITY), lanes_of(made))
    rows = {name: np.array([3, part, 4 + part, 8 + part]) for part, name in enumerate(stores)}
    assert work.joined(rows)["w_vals"].tolist() == [9, *made.numbers["i"]]


@pytest.mark.parametrize("text,lengths,parts,why", [
    (TWICE, [2] * 8, True, "lanes take 16 cycles for nonzeros and ends of rows, parts 12"),
    (TWICE, [8] + [0] * 7, False, "one part has all nonzeros"),
    ("y(i) = A(i,j) * x(j) + x(i); z(i) = A(i,j) * y(j)", [2] * 8, False, "a sum of other rows as well"),
    ("y(i) = A(i,j) * x(j); z(i) = relu(A(i,j) * y(j))", [2] * 8, False, "what is made of the sum is no sum"),
    ("y(i) = A(i,j) * x(j); z = A(i,j) * y(j)", [2] * 8, False, "a result of no rows"),
    ("y(i) = A(i,j) * x(j); z(i) = A(i,j) * y(j) * x(i)", [2] * 8, False, "a factor of the row"),
    ("y(i) = A(i,j) * x(j)", [2] * 8, False, "nothing is kept")])
def test_rows_are_dealt_where_that_can_be_and_takes_fewer_cycles(text, lengths, parts, why):
    data = {"A": matrix(*lengths), "x": random_tensor((len(lengths),), 1.0, 1)}
    assert with_parts(fused(text, 2), data, CAPACITY).parts is parts, why


def test_vectors_that_would_not_fit_with_empty_rows_are_left_to_lanes():
    data = {"A": matrix(*[2] * 8), "x": random_tensor((8,), 1.0, 1)}
    assert with_parts(fused(TWICE, 3), data, 9).parts and not with_parts(fused(TWICE, 3), data, 8).parts
    assert not with_parts(fused(TWICE, 1), data, CAPACITY).parts


def test_seven_parts_take_the_longest_row_of_each_seven_and_are_certain():
    size = 70
    data = {"A": random_tensor((size, size), 0.1, 1), "x": random_tensor((size,), 1.0, 2)}
    made = with_parts(fused(TWICE, 7), data, CAPACITY)
    tiling = tile_fused(made, data, CAPACITY)
    work, rows = Work(tiling, lanes_of(made)), np.bincount(data["A"].coords[:, 0], minlength=size)
    compiled = compile_fused(sharing(made, tiling), presets.get("onyx"))
    assert made.parts and not compiled.waits
    assert compiled.slack < 20, "127, where what guides sums has to be held beside references and products"
    cycles = fabric.ideal_cycles(compiled.graph, list(work.transactions()))
    # Loading, two products, and 60 for each latency; lanes take 400.
    first, rows = (rows.reshape(10, 7).max(axis=1) + 1).sum(), rows[np.argsort(made.numbers["i"])]
    loading, product = max(rows[part::7].sum() for part in range(7)) + 10, (rows.reshape(10, 7).max(axis=1) + 1).sum()
    assert product < 0.8 * first, "long rows are at the same time"
    assert cycles < loading + 2 * product + 3 * 60


def streams(operation: PartRows | PartMerger, given: dict[str, str]) -> dict[str, Tokens]:
    """What the primitive of an operation gives."""
    node = (operation.primitive.name, operation.settings)
    ports = {name: operation.renamed.get(name, name) for name in (*given, *operation.outputs)}
    found = Network({"it": node}, []).run({("it", ports[name]): parse_stream(text) for name, text in given.items()},
                                          [("it", ports[name]) for name in operation.outputs])
    return {name: found.outputs["it", ports[name]] for name in operation.outputs}


def test_a_part_has_the_coordinates_of_its_rows():
    assert streams(PartRows("i", 3, 1), {"rows": "0 1 5 S0 D"}) == {"crd": parse_stream("1 4 16 S0 D")}


def test_rows_of_two_parts_are_merged_in_order():
    found = streams(PartMerger("i"), {"crd0": "0 2 4 S0 D", "val0": "5 0 9 S0 D", "crd1": "1 3 S0 D", "val1": "6 8 S0 D"})
    assert found == {"crd": parse_stream("0 1 2 3 4 S0 D"), "val0_o": parse_stream("5 N 0 N 9 S0 D"),
                     "val1_o": parse_stream("N 6 N 8 N S0 D")}


def test_rows_that_are_counted_again_are_the_same_ones():
    once, again = Scanner("A", 0, "i", True, True), RowScanner("A", 0, "i", True, True, of="rows")
    assert once.spaces("rows", {}) == again.spaces("others", {}) and once.moved == again.moved
    assert once.settings == again.settings


def test_values_that_are_not_of_the_rows_of_a_part_are_found():
    own, other = (("i", "rows"),), (("i", "others"),)
    with pytest.raises(SpaceError, match="val1 does not belong to its coordinates"):
        PartMerger("i").spaces("merge", {"crd0": own, "val0": own, "crd1": own, "val1": other})
    with pytest.raises(SpaceError, match="the coordinates are not those of j"):
        PartRows("j", 2, 1).spaces("rows", {"rows": own})
    with pytest.raises(SpaceError, match="the two parts are not of the same loops"):
        PartMerger("i").spaces("merge", {"crd0": own, "val0": own, "crd1": (*other, *own), "val1": own})
    with pytest.raises(SpaceError, match="the coordinates are not those of j"):
        PartMerger("j").spaces("merge", {"crd0": own, "val0": own, "crd1": own, "val1": own})
