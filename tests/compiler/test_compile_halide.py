"""From a Halide program to a bitstream: deterministic, complete, verified at every stage, and clear about what it refuses."""

from dataclasses import replace

import halide as hl
import pytest
from halide_programs import X, Y, image, load, name_of
from stencils import BLUR, plane, stencil

from sardonyx.apps.dense import cascade, gaussian
from sardonyx.compiler.backend.encode import decode, encode
from sardonyx.compiler.halide import FILES, CompiledDense, compile_halide, compile_pes
from sardonyx.compiler.ir.dataflow import Ref
from sardonyx.compiler.ir.pe_graph import PeGraph, PeNode
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.primitive import ALU, BUFFER

TINY, SMALL, AMBER = (presets.get(name) for name in ("tiny", "small", "amber"))

PIPELINE = load(gaussian.build())


@pytest.fixture(scope="module")
def blur() -> CompiledDense:
    return compile_halide(PIPELINE, SMALL, (30, 20), seed=3)


def test_the_same_arguments_give_the_same_bitstream(blur: CompiledDense) -> None:
    again = compile_halide(PIPELINE, SMALL, (30, 20), seed=3)
    assert encode(again.program, SMALL) == encode(blur.program, SMALL)
    other = compile_halide(PIPELINE, SMALL, (30, 20), seed=4)
    assert other.program.config != blur.program.config


def test_a_bitstream_says_all_of_a_program(blur: CompiledDense) -> None:
    found = decode(encode(blur.program, SMALL), SMALL)
    assert found == blur.program


def test_every_stage_is_a_file(blur: CompiledDense) -> None:
    texts = blur.files()
    assert tuple(texts) == FILES
    assert sorted(texts) == ["1_words.txt", "2_pes.txt", "3_static.txt", "4_settled.txt", "5_placement.json", "6_routing.txt",
                             "7_times.txt", "app.bits", "array.svg", "program.json"]
    assert all(texts.values())
    assert "mul" in texts["1_words.txt"]
    assert "muladd" in texts["2_pes.txt"]
    assert "wr0_on" not in texts["3_static.txt"]
    assert "wr0_on=1" in texts["4_settled.txt"]
    assert "photo.g2f starts in cycle 1" in texts["7_times.txt"]


def test_a_graph_of_pes_has_no_words() -> None:
    texts = compile_pes(BLUR, SMALL, (6, 4)).files()
    assert texts["1_words.txt"] == ""
    assert "muladd" in texts["2_pes.txt"]


def test_a_program_says_how_many_words_of_a_tile_every_stream_has() -> None:
    found = compile_pes(BLUR, SMALL, (8, 5), lanes=2)
    assert {each.name: each.count for each in found.program.stores} == {"out.0": 20, "out.1": 20}
    assert {each.count for each in found.program.loads} == {found.walk.grid.points}
    assert all(not each.sections for each in found.program.transfers)


def test_amber_is_programmed_with_its_own_operations() -> None:
    found = compile_halide(load(gaussian.build()), AMBER, (30, 20))
    assert all(node.op != "muladd" for node in found.pes.nodes)
    assert {"pe", "mem"} <= {block.kind for block in found.graph.blocks.values()}


def test_streams_of_one_direction_have_tiles_of_the_global_buffer_of_their_own() -> None:
    onyx = presets.get("onyx")
    transfers = compile_pes(BLUR, onyx, (8, 4), lanes=4).program.transfers
    for direction in ("load", "store"):
        tiles = [each.column // onyx.glb.columns_per_tile for each in transfers if each.direction == direction]
        assert len(set(tiles)) == len(tiles) == 4


@pytest.mark.parametrize("width", [5, 11, 12, 19])
def test_tiles_with_short_rows_compile_wherever_they_are_placed(width: int) -> None:
    """Words of a row before wait in PEs that pass them on, because a row is too short for a MEM tile."""
    pipeline = load(cascade.build())
    for seed in range(3):
        compile_halide(pipeline, SMALL, (width, 9), seed=seed)


def refused(graph: PeGraph, arch: Arch, tile: tuple[int, ...], lanes: int = 1) -> str:
    with pytest.raises(UserError) as error:
        compile_pes(graph, arch, tile, lanes)
    return str(error.value)


@pytest.mark.parametrize(("tile", "message"), [
    ((4,), "a tile of 4 for results over x, y\n  try: give 2 positive sizes, one for each of x, y"),
    ((4, 4, 4), "a tile of 4 x 4 x 4 for results over x, y\n  try: give 2 positive sizes, one for each of x, y"),
    ((), "a tile of no dimensions for results over x, y\n  try: give 2 positive sizes, one for each of x, y"),
    ((4, 0), "a tile of 4 x 0 for results over x, y\n  try: give 2 positive sizes, one for each of x, y")])
def test_tiles_of_another_rank_or_without_elements_are_refused(tile: tuple[int, ...], message: str) -> None:
    assert refused(BLUR, SMALL, tile) == message


def test_lanes_must_divide_a_tile() -> None:
    assert refused(BLUR, SMALL, (5, 4), 2) == "5 columns of a tile do not divide into 2 lanes\n  try: change the tile or unroll"
    assert refused(BLUR, SMALL, (5, 4), 0) == "5 columns of a tile do not divide into 0 lanes\n  try: change the tile or unroll"


def test_a_smaller_result_has_lanes() -> None:
    half = replace(BLUR, outputs={"out": replace(plane("out"), scale=(2, 2))})
    assert compile_pes(half, SMALL, (4, 4), 2).walk.lanes == 2


def test_results_without_an_image_are_refused() -> None:
    graph = PeGraph(("x",), (PeNode("or", {"a": 7, "b": 0}),), {}, {"out": Ref(0, (0,))}, {"out": plane("out", 1)})
    assert refused(graph, SMALL, (4,)) == (
        "program: the results are the same for all images, so there is nothing to compute on the array\n"
        "  try: compute them in the host program")


def test_tables_larger_than_a_mem_tile_are_refused() -> None:
    graph = PeGraph(("x",), (PeNode("input", name="photo"), PeNode("lookup", {"a": Ref(0, (0,))}, table=(1,) * 2049)),
                    {"photo": plane("photo", 1)}, {"out": Ref(1, (0,))}, {"out": plane("out", 1)})
    assert refused(graph, SMALL, (4,)) == (
        "the program reads a table of 2049 entries at data, but a MEM tile of 'small' holds 2048\n"
        "  try: limit the index with clamp, or compute the entries")


def test_tiles_larger_than_a_bank_are_refused() -> None:
    arch = replace(TINY, glb=Glb(columns_per_tile=1, bank_bytes=1024))
    assert refused(BLUR, arch, (30, 20)) == (
        "a stream takes 704 words a tile (32 x 22 points), but a bank of the global buffer of 'tiny' holds 512\n"
        "  try: use a smaller tile (--tile or tile=)")


def test_a_tile_larger_than_a_bank_has_a_chain_of_tiles_of_the_global_buffer() -> None:
    arch = replace(TINY, glb=Glb(columns_per_tile=1, bank_bytes=1024, ring=2))
    program = compile_pes(BLUR, arch, (30, 20)).program
    assert [(each.name, each.tiles, each.count) for each in program.transfers] == [("photo", 2, 704), ("out", 2, 600)]
    assert all(each.count <= each.room for each in program.transfers)
    assert refused(BLUR, arch, (62, 62)) == (
        "a stream takes 4096 words a tile (64 x 64 points), but a chain of 2 tiles of the global buffer of 'tiny' holds 2048\n"
        "  try: use a smaller tile (--tile or tile=)")


@pytest.mark.parametrize("seed", range(4))
def test_streams_of_any_placement_have_room_in_a_chain_each(seed: int) -> None:
    """Some place the load and the store in one chain at first, of which each would have half."""
    arch = replace(SMALL, glb=Glb(columns_per_tile=1, bank_bytes=1024, ring=2))
    program = compile_halide(PIPELINE, arch, (40, 30), seed=seed).program
    assert all(each.count <= each.room for each in program.transfers)


def test_a_global_buffer_of_one_bank_is_refused() -> None:
    arch = replace(TINY, glb=Glb(columns_per_tile=1, banks=1))
    assert refused(BLUR, arch, (3, 2)) == (
        "the global buffer of 'tiny' has one bank a tile, but static streams need one for loads and one for stores\n"
        "  try: give it two banks")


def test_machines_without_buffers_are_refused() -> None:
    sparse = tuple(each for each in TINY.mem.primitives if each is not BUFFER)
    assert refused(BLUR, replace(TINY, mem=replace(TINY.mem, primitives=sparse)), (3, 2)) == (
        "the program needs primitives that 'tiny' does not have: buffer\n"
        "  try: use small, or add buffer to the machine's description")
    plain = tuple(each for each in TINY.pe.primitives if each is not ALU)
    assert "does not have: alu" in refused(BLUR, replace(TINY, pe=replace(TINY.pe, primitives=plain)), (3, 2))


def test_machines_without_mem_tiles_or_too_few_pes_are_refused() -> None:
    assert "it needs 1 MEM tiles, has 0" in refused(stencil({(0, 0): 1}), replace(TINY, mem_every=0), (3, 2))
    many = stencil({(x, y): 1 + x for x in range(5) for y in range(3)})
    assert "it needs 15 PE tiles, has 12" in refused(many, TINY, (3, 2))


def test_a_halide_program_names_what_it_computes() -> None:
    twice = hl.Func("twice")
    twice[X, Y] = hl.u16(image("photo")[X, Y]) * 2
    assert compile_halide(load(twice), TINY, (3, 2)).title == f"{name_of(twice)} by tiles of 3 x 2"
