"""Copies of a program: how many fit, and which links they share."""

from dataclasses import replace

import pytest
from unrolled import ONYX, PRODUCT, SCALED, SMALL, TOTAL, graph_of, own, placing, sharing

from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.copies import Copies, grouped, most_groups, spare_pes
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.mask import Mask


def test_copies_share_the_pes_that_are_left_for_balancing():
    one, two = (compile_einsum(SCALED, SMALL, copies=copies) for copies in (1, 2))
    # By their routes copies may need more than one of them alone, all of them as much.
    assert two.slack % 2 == 0 and two.slack >= 2 * one.slack
    assert all(two.tiles[kind] == 2 * one.tiles[kind] for kind in ("pe", "mem"))
    assert one.tiles["io"] < two.tiles["io"] <= 2 * one.tiles["io"]     # streams of two copies may meet in an IO tile
    assert spare_pes(graph_of(SCALED), SMALL, own(2)) == 48 // 2 - graph_of(SCALED).count("pe")


def test_copies_are_in_as_many_groups_as_there_are_links_for():
    graph, machine = graph_of(PRODUCT), sharing(ONYX)
    assert grouped(graph, machine, 2) == own(2)
    assert grouped(graph, machine, 7).groups == ((0, 1, 2, 3), (4, 5, 6))
    assert grouped(graph, machine, 7, groups=1).groups == (tuple(range(7)),)
    assert grouped(graph, machine, 3, dynamic=True).groups == ((0, 1, 2),)      # alone a copy has nobody to share with
    assert most_groups(graph, ONYX) == 2 and most_groups(graph_of(TOTAL), ONYX) == 8
    # A program has its MEM tiles for 14.
    assert grouped(graph, machine, 14, dynamic=True).count == 14


def test_results_are_placed_where_there_are_tiles_and_links_for_that():
    graph, machine = graph_of(PRODUCT), placing(ONYX)
    assert grouped(graph, machine, 7) == Copies(((0, 1, 2, 3), (4, 5, 6)), placed=True)
    assert grouped(graph, machine, 2) == own(2), "links of their own need no numbers"
    assert not grouped(graph, sharing(ONYX), 7).placed
    # Five groups take 15 links of 16, four leave four for the numbers.
    copied = graph_of(parse("X(i,j) = B(i,j)"))
    assert grouped(copied, machine, 10) == grouped(copied, sharing(ONYX), 10) and most_groups(copied, ONYX) == 5
    assert grouped(copied, machine, 10, groups=4).placed
    # 73 PEs are enough without output addresses, and 90 with them.
    columns = [column for column in range(32) if column % 4 != 3]
    some, most = (Mask.block(columns, range(5, 17)), Mask.block(columns[:10], [4]))
    few = [replace(machine, avoid=Mask(tiles)) for tiles in (some.tiles, (*some.tiles, *most.tiles))]
    assert [grouped(graph, arch, 7).placed for arch in few] == [True, False]


def test_tiles_that_are_avoided_are_no_room_for_copies():
    """Nor for balancing; and GLB tiles that are avoided are no links."""
    rows = replace(SMALL, avoid=Mask.block(range(8), range(5, 9)))
    assert spare_pes(graph_of(SCALED), rows, own(2)) == 24 // 2 - graph_of(SCALED).count("pe")
    few = compile_einsum(PRODUCT, replace(SMALL, avoid=Mask.block([0, 1, 2, 4, 5, 6], range(3, 9))))
    assert few.graph.count("pe") <= 12 and few.slack <= 5
    links = replace(ONYX, avoid=Mask(glb=tuple(range(5))))
    assert most_groups(graph_of(PRODUCT), links) == 1 and most_groups(graph_of(TOTAL), links) == 5
    assert grouped(graph_of(PRODUCT), sharing(links), 4).groups == ((0, 1, 2, 3),)
    assert compile_einsum(TOTAL, links, copies=5).copies == own(5)


@pytest.mark.parametrize("copies,arch,dynamic,message", [
    (3, ONYX, False, "3 copies of the program: they are too many for 'onyx': they need 18 load streams, it has 16\n"
                     "  try: use 2 or less, or add filter and arbiter to pe.primitives of its description"),
    (15, sharing(ONYX), False, "15 copies of the program: they are too many for 'onyx': they need 135 MEM tiles, it has 128\n"
                               "  try: use 14 or less"),
    (2, sharing(SMALL), False, "2 copies of the program: they are too many for 'small': they need 18 MEM tiles, it has 16\n"
                               "  try: use one, or a larger machine"),
    (99, sharing(ONYX), False, "99 copies of the program: they are too many for 'onyx': at most 64 are told apart\n"
                               "  try: use 14 or less"),
    (2, ONYX, True, "dispatch: dynamic dispatch needs primitives that 'onyx' does not have: filter, arbiter, dispatcher\n"
                    "  try: use sparse, or add them to the machine's description, or choose another way to dispatch"),
])
def test_more_copies_than_fit_are_refused(copies, arch, dynamic, message):
    with pytest.raises(UserError) as error:
        compile_einsum(PRODUCT, arch, copies=copies, dynamic=dynamic)
    assert str(error.value) == message


def test_links_have_the_words_of_a_block_for_each_copy_and_what_stands_in_front_of_it() -> None:
    assert Copies().words({"B0": 10}) == {"B0": 10}
    found = Copies(((0, 1, 2), (3, 4))).words({"B0": 10})
    assert found["B0.0"] >= 3 * (10 + 2) and found["B0.1"] >= 2 * (10 + 2)
    assert found["order.0"] >= 2 * 3 and found["numbers.1"] >= 2 * 2
