"""Copies of a program: what they are made of, and how many fit."""

from dataclasses import replace

import pytest

from sardonyx.compiler.backend.encode import decode, encode
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.ir import mapped
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.balance import balance
from sardonyx.compiler.sparse.blocks import map_graph
from sardonyx.compiler.sparse.lower import lower
from sardonyx.compiler.sparse.unroll import MOST_COPIES, Copies, check_copies, most_copies, unroll
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError

PRODUCT = parse("X(i,j) = B(i,k) * C(k,j)", "ijk", {"C": "ss10"})
SCALED = parse("x(i) = b(i) * c")
ONYX, SMALL = presets.get("onyx"), presets.get("small")


def test_a_copy_has_the_blocks_nets_and_streams_of_the_program():
    graph = map_graph(lower(PRODUCT))
    found, copies = unroll(graph, 3)
    mapped.verify(found, ONYX)
    assert copies == Copies(((0,), (1,), (2,)))
    assert len(found.blocks) == 3 * len(graph.blocks) and len(found.nets) == 3 * len(graph.nets)
    for copy in range(3):
        for each in graph.blocks.values():
            assert found.blocks[f"{each.name}.{copy}"] == replace(each, name=f"{each.name}.{copy}")
        for net in graph.nets:
            assert any(other.source == (f"{net.source.block}.{copy}", net.source.port)
                       and other.sinks == tuple((f"{sink.block}.{copy}", sink.port) for sink in net.sinks)
                       for other in found.nets)
    assert [each.name for each in found.streams] == [f"{each.name}.{copy}" for copy in range(3) for each in graph.streams]


def test_one_copy_is_the_program_itself():
    graph = map_graph(lower(PRODUCT))
    assert unroll(graph, 1) == (graph, Copies())
    assert Copies().link("B0", 0) == "B0" and Copies(((0,), (1,))).link("B0", 1) == "B0.1"
    assert compile_einsum(PRODUCT, SMALL).files() == compile_einsum(PRODUCT, SMALL, copies=1).files()


def test_copies_share_the_pes_that_are_left_for_balancing():
    one, two = (compile_einsum(SCALED, SMALL, copies=copies) for copies in (1, 2))
    assert two.slack == 2 * one.slack
    assert two.tiles == {kind: 2 * count for kind, count in one.tiles.items()}
    balanced = balance(two.unbalanced, SMALL, 0)
    assert balanced.count("pe") == two.unbalanced.count("pe")


def test_a_bitstream_says_how_many_copies_it_has():
    program = compile_einsum(SCALED, SMALL, copies=2).program
    found = decode(encode(program, SMALL), SMALL)
    assert found == program and found.source["copies"] == 2
    assert {each.name for each in found.transfers} == {f"{name}.{copy}" for copy in (0, 1)
                                                       for name in ("b0", "b_vals", "c_vals", "x0", "x_vals")}


def test_as_many_copies_fit_as_tiles_and_links_allow():
    graph = map_graph(lower(PRODUCT))
    assert most_copies(graph, ONYX) == 2      # of its 16 links a copy loads six levels
    assert most_copies(graph, replace(ONYX, columns=256)) == 21
    assert most_copies(map_graph(lower(SCALED)), replace(ONYX, columns=256, rows=200)) == 42
    assert MOST_COPIES == 64


@pytest.mark.parametrize("copies,arch,message", [
    (3, ONYX, "unroll: 3 copies of the program are too many for 'onyx': they need 18 load streams, it has 16\n"
              "  try: use 2 or less"),
    (2, SMALL, "unroll: 2 copies of the program are too many for 'small': they need 18 MEM tiles, it has 16; "
               "they need 12 load streams, it has 8\n"
               "  try: leave unroll out, or use a larger machine"),
])
def test_more_copies_than_fit_are_refused(copies, arch, message):
    with pytest.raises(UserError) as error:
        compile_einsum(PRODUCT, arch, copies=copies)
    assert str(error.value) == message


def test_more_copies_than_can_be_told_apart_are_refused():
    with pytest.raises(UserError) as error:
        check_copies(map_graph(lower(parse("x = b"))), replace(ONYX, columns=256), 65)
    assert str(error.value) == ("unroll: 65 copies of the program are too many for 'onyx': at most 64 are told apart\n"
                                "  try: use 64 or less")
