"""The pipeline: what does not fit is named, stages are written, the same input gives the same program."""

from dataclasses import replace

import pytest
from statements import able

from sardonyx.compiler.backend.route import Unroutable
from sardonyx.compiler.einsum import FILES, compile_einsum
from sardonyx.compiler.ir import mapped
from sardonyx.compiler.ir.mapped import LOAD, Block, MappedGraph, Net, Pin
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.lang.kernel import kernel_names, load_kernel
from sardonyx.compiler.sparse.balance import balance
from sardonyx.compiler.sparse.blocks import map_graph
from sardonyx.compiler.sparse.lower import lower
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.arch.primitive import LEVEL
from sardonyx.hw.arch.timing import Timing

PRODUCT = parse("X(i,j) = B(i,k) * C(k,j)")


def test_operations_that_the_pes_do_not_have_are_named() -> None:
    small = presets.get("small")
    arch = replace(small, pe=replace(small.pe, ops=tuple(op for op in small.pe.ops if op.name not in ("mult0", "adc"))))
    with pytest.raises(UserError) as error:
        compile_einsum(PRODUCT, arch)
    assert str(error.value) == ("pe.ops: the program needs operations that the PEs do not have: mult0\n"
                                "  try: choose another machine, or add them to its description")


def test_a_program_too_large_names_every_resource_needed_and_available():
    with pytest.raises(UserError) as error:
        compile_einsum(load_kernel("mttkrp").einsum(), presets.get("tiny"))
    assert str(error.value) == (
        "the program is too large for 'tiny': it needs 13 PE tiles, has 12; 13 MEM tiles, has 4; 10 load streams, has 4\n"
        "  try: use a larger machine (arch='onyx'), or compute the expression in parts")


def test_a_machine_without_sparse_primitives_is_named():
    with pytest.raises(UserError) as error:
        compile_einsum(PRODUCT, presets.get("amber"))
    assert str(error.value) == (
        "the program needs primitives that 'amber' does not have: dropper, joiner, level, reducer, repeater\n"
        "  try: choose a machine with sparse primitives")


# Ten tiles of 512 words. A block of b has more than half of that, and the result may have as many as c.
CHAINED = replace(presets.get("small"), columns=10, glb=Glb(columns_per_tile=1, bank_bytes=512, ring=8))
WORDS = {"b0": 354, "b_vals": 351, "c0": 104, "c_vals": 101, "x0": 101, "x_vals": 101}


@pytest.mark.parametrize("seed", range(8))
def test_blocks_larger_than_a_bank_have_room_wherever_they_are_placed(seed: int) -> None:
    program = compile_einsum(parse("x(i) = b(i) * c(i)"), CHAINED, seed, words=WORDS).program
    assert all(WORDS[each.name] <= each.room for each in program.transfers)


def test_those_that_are_too_long_for_a_tile_have_the_chains_where_there_are_too_few_for_all() -> None:
    """Four loads in five tiles: a chain of two and three tiles alone."""
    words = {**WORDS, "b_vals": 200, "b0": 400}
    program = compile_einsum(parse("x(i) = b(i) * c(i)"), replace(CHAINED, columns=5), words=words).program
    assert {each.name: each.tiles for each in program.transfers if each.direction == LOAD}["b0"] >= 2
    assert all(words[each.name] <= each.room for each in program.transfers)


def test_blocks_of_which_nothing_is_known_have_as_much_room_as_placements_give() -> None:
    """A level buffer holds more than any chain of these tiles."""
    program = compile_einsum(parse("x(i) = b(i) * c(i)"), CHAINED).program
    assert all(each.tiles >= 2 for each in program.transfers)


def test_an_unroutable_program_names_the_channel_and_brings_the_picture():
    arch = replace(presets.get("small"), interconnect=Interconnect(tracks=1))
    with pytest.raises(Unroutable) as error:
        compile_einsum(PRODUCT, arch)
    assert "most congested is the channel" in str(error.value)
    assert error.value.picture.startswith("<svg")


def test_an_order_that_needs_an_accumulator_is_refused_by_a_machine_without_one():
    arch = presets.get("small")
    arch = replace(arch, name="without", mem=replace(arch.mem, primitives=(LEVEL,)))
    with pytest.raises(UserError) as error:
        compile_einsum(parse("X(i,j) = B(i,k) * C(k,j)", "ikj"), arch)
    assert str(error.value) == ("the program needs primitives that 'without' does not have: accumulator\n"
                                "  try: put the loops of the result outermost, or choose a machine that has it")


@pytest.mark.parametrize("text,form,lacks,fix", [
    ("x(i) = b(i) / 3", "s", "divider", "use sparse, or add divider to the machine's description"),
    ("x(i) = B(j,i)", "d", "accumulator, scatter", "use sparse, or add them to the machine's description"),
    ("X(i,j) = B(i,j)", "sd", "scatter",
     "use sparse, or add scatter to the machine's description, or store the result compressed, or in loop order")])
def test_a_machine_is_told_with_what_to_add_that_it_lacks(text, form, lacks, fix):
    arch = presets.get("small")
    arch = replace(arch, mem=replace(arch.mem, primitives=(LEVEL,)))
    with pytest.raises(UserError) as error:
        compile_einsum(parse(text, "ji" if "j,i" in text else "", {text[0]: form}), arch)
    assert str(error.value) == f"the program needs primitives that 'small' does not have: {lacks}\n  try: {fix}"


def test_every_stage_is_a_file_and_the_same_for_the_same_input():
    first, second = (compile_einsum(PRODUCT, replace(presets.get("small"))).files() for _ in range(2))
    assert tuple(first) == FILES
    assert sorted(first) == ["1_sam.dot", "1_sam.json", "1_sam.txt", "2_mapped.txt", "3_balanced.txt", "4_placement.json",
                             "5_routing.txt", "app.bits", "array.svg", "program.json"]
    assert first == second


@pytest.mark.parametrize("name", kernel_names())
def test_balancing_keeps_the_graph_and_its_tiles_available(name):
    arch = able(Arch("wide", 12, 8, glb=Glb(columns_per_tile=1)))
    graph = map_graph(lower(load_kernel(name).einsum()))
    balanced = balance(graph, arch)
    mapped.verify(balanced, arch)
    assert {b.name for b in balanced.blocks.values() if not b.slack} == set(graph.blocks)
    assert balanced.count("pe") <= sum(tile.kind == "pe" for tile in arch.tiles.values())


def test_without_spare_tiles_balancing_changes_nothing():
    graph = map_graph(lower(PRODUCT))
    assert balance(graph, presets.get("small"), spare=0) == graph


def test_both_paths_to_a_locator_have_a_tile_that_holds_tokens():
    graph = map_graph(lower(replace(parse("X(i,j) = B(i,k) * C(k,j)", formats={"B": "dd01", "C": "ss10"}), locate="all")))
    held = [name for name, block in balance(graph, presets.get("small")).blocks.items() if block.slack]
    assert {"slack locate_B_k.in1 0", "slack repeat_B_k.data1 0"} <= {*held}


@pytest.mark.parametrize("registers,wanted", [(False, 3), (True, 4)])
def test_registers_at_core_outputs_ask_for_more_slack(registers: bool, wanted: int) -> None:
    """Beside three pass-throughs of 2 cycles on nets of 3: 15 cycles less 4 tokens that a net holds, by 4 a tile; on nets of 4
    cycles they take 18."""
    small = presets.get("small")
    boxes = replace(small.interconnect, output_registers=registers)
    arch = replace(small, interconnect=boxes, pe=replace(small.pe, pass_depth=4))
    path = ["one", "two", "three"]
    blocks = {"load": Block("load", "io", "", {}), **{name: Block(name, "pe", "pass_through", {}) for name in path},
              "join": Block("join", "pe", "joiner", {})}
    nets = (Net(Pin("load", "g2f"), (Pin("one", "data0"), Pin("join", "data0"))),
            *(Net(Pin(one, "res0"), (Pin(two, port),)) for one, two, port in
              zip(path, [*path[1:], "join"], ["data0", "data0", "data1"], strict=True)))
    balanced = balance(MappedGraph(blocks, nets, ()), arch)
    assert sum(block.slack for block in balanced.blocks.values()) == wanted


def test_the_verifier_finds_a_port_driven_twice():
    graph = map_graph(lower(PRODUCT))
    sink = graph.nets[0].sinks[0]
    extra = Block("more", "io", "", {})
    broken = MappedGraph({**graph.blocks, "more": extra}, (*graph.nets, Net(Pin("more", "g2f"), (sink,))),
                         (*graph.streams, mapped.Stream("more", "load", "Z", 0)))
    with pytest.raises(AssertionError, match="is driven twice"):
        mapped.verify(broken, presets.get("small"))


def test_no_stretch_between_registers_holds_more_than_one_core():
    arch = able(presets.get("onyx"))
    inside = dict.fromkeys(("pe_inside", "mem_inside", "glb_inside", "boxes_inside", "setup", "register"), 1)
    cores = dict.fromkeys(("pe", "pe_bit", "pe_valid", "mem", "glb"), 1000)
    boxes = dict.fromkeys(("switch_box", "switch_box_valid", "connection_box", "connection_box_valid"), 10)
    routes = replace(arch, timing=Timing(**inside, **cores, **boxes))
    for name in kernel_names():
        found = compile_einsum(load_kernel(name).einsum(), routes).timing
        assert found.delay_ps <= 1000 + 3 * 10 + 1 and found.where.startswith("net ")
