"""Halide programs in generated Verilog: one reconfigurable machine, built once, runs them all, as every other engine does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import halide as hl
import numpy as np
import pytest
from collect import folded, in_one_piece, ran
from halide_programs import TYPES, X, Y, load
from hypothesis import assume, event, given, note, settings
from hypothesis import strategies as st
from stencil_machine import STENCILS

from sardonyx.apps.dense import gaussian
from sardonyx.compiler.halide import CompiledDense, compile_halide, compile_pes
from sardonyx.compiler.ir.dataflow import Ref
from sardonyx.compiler.ir.pe_graph import PeGraph, PeNode
from sardonyx.compiler.lang.halide.pipeline import Pipeline
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.soc import FLUSH_CYCLES
from sardonyx.runtime import host
from sardonyx.runtime.data.frames import Frames
from sardonyx.runtime.plan import loops_of_transactions
from sardonyx.sim.engines import Run
from sardonyx.sim.golden.halide import realize
from sardonyx.sim.rtl import simulator

TILES = ("tokens", "fabric", "rtl-full")


def frames(compiled: CompiledDense, images: dict[str, np.ndarray], shape: tuple[int, ...], tile: tuple[int, ...]) -> Frames:
    return Frames(compiled.walk, images, shape, tile, gathered=compiled.words.gathered if compiled.words else {})


def agree(pipeline: Pipeline, images: dict[str, np.ndarray], shape: tuple[int, ...], tile: tuple[int, ...], lanes: int = 1,
          seed: int = 0, engines: tuple[str, ...] = TILES) -> tuple[CompiledDense, dict[str, tuple[list[Any], Run]]]:
    """NumPy and the engines give the same picture; what the engines gave."""
    expected = realize(pipeline, images, shape[::-1])
    compiled = compile_halide(pipeline, STENCILS, tile, lanes, seed)
    whole = frames(compiled, images, shape, tile)
    found = {engine: ran(engine, compiled, whole) for engine in engines}
    for engine, (stored, _) in found.items():
        np.testing.assert_array_equal(whole.picture(stored).astype(expected.dtype), expected, err_msg=engine)
    return compiled, found


@pytest.mark.parametrize("forms", [(folded,), pytest.param((folded, in_one_piece), marks=pytest.mark.slow)], ids=len)
def test_words_and_cycles_are_the_same_in_every_form_of_the_verilog(forms: tuple[Callable[..., Any], ...]) -> None:
    """The tiles of the program, the same folded to it, all tiles with their configuration, and a machine in one piece."""
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    down = hl.Func("down")
    down[X, Y] = hl.u8((hl.u16(photo[X, Y]) * 3 + hl.u16(photo[X, Y + 1]) + hl.u16(photo[X + 1, Y + 2])) >> 2)
    images = {"photo": np.random.default_rng(0).integers(0, 256, (20, 61), dtype=np.uint8)}
    compiled, found = agree(load(down), images, (60, 18), (40, 10), engines=("rtl", "rtl-full"))
    assert compiled.static.lines
    transactions = list(frames(compiled, images, (60, 18), (40, 10)).transactions(loops_of_transactions(STENCILS.glb)))
    for form in forms:
        found[form.__name__] = form(compiled.program, STENCILS, transactions)
    assert len({run.cycles for _, run in found.values()}) == 1
    words = [[{name: each.tolist() for name, each in item.items()} for item in stored] for stored, _ in found.values()]
    assert words.count(words[0]) == len(words) == 2 + len(forms)


@pytest.mark.parametrize("engine", ["rtl", "rtl-full"])
def test_tiles_follow_each_other_in_a_launch_within_16_cycles(engine: str) -> None:
    """The host starts them once, and each gives what it gives alone."""
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    blur = gaussian.build(photo)
    images = {"photo": np.random.default_rng(1).integers(0, 256, (9, 101), dtype=np.uint8)}
    compiled = compile_halide(load(blur), STENCILS, (11, 7))
    alone, all_of_them = (ran(engine, compiled, frames(compiled, images, shape, (11, 7))) for shape in ((11, 7), (99, 7)))
    (first, one), (stored, several) = alone, all_of_them
    assert len(stored) == 9 and several.launches == one.launches == 1
    assert stored[0]["blur"].reshape(-1).tolist() == first[0]["blur"].reshape(-1).tolist()
    assert several.cycles == 9 * one.cycles + 8 * (FLUSH_CYCLES + 2)
    assert FLUSH_CYCLES + 2 <= 16


def test_transfers_of_tiles_overlap_the_tiles_that_compute() -> None:
    """No word is lost by it, in a static program, where none can wait, and each launch takes as many cycles as without."""
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    images = {"photo": np.random.default_rng(1).integers(0, 256, (82, 82), dtype=np.uint8)}
    compiled = compile_halide(load(gaussian.build(photo)), STENCILS, (20, 20))
    whole = frames(compiled, images, (80, 80), (20, 20))
    expected = realize(load(gaussian.build(photo)), images, (80, 80))
    program, cycles, launches = compiled.program, [], []
    for overlapped in (False, True):
        with simulator.whole_machine(STENCILS).start() as machine:
            found = list(host.run(machine, program, whole.transactions(loops_of_transactions(STENCILS.glb)),
                                  overlapped=overlapped))
            cycles.append(machine.cycles)
        np.testing.assert_array_equal(whole.picture(each for one in found for each in one.stored).astype(np.uint8), expected)
        launches.append([one.cycles for one in found])
    assert launches[0] == launches[1] and len(launches[0]) == 4
    # 4 of 16 tiles a launch: of the words that are written and read, those of the first and of the last one remain.
    transfers = (16 * 22 * 22 + 16 * 20 * 20) // 4
    assert cycles[0] - cycles[1] > 0.6 * transfers


@pytest.mark.parametrize("shape, tile, lanes, out", [
    pytest.param((30, 9), (10, 9), 1, (32 * 9, 0), id="a row of tiles that begin anywhere in a line"),
    pytest.param((13, 21), (13, 7), 1, (16 * 21, 0), id="rows of the picture"),
    pytest.param((44, 11), (22, 11), 2, ((12 + 16 + 16 + 12) * 11, 0), id="stripes of 11, begun where lines are"),
    pytest.param((15, 9), (10, 5), 1, (20 * 10, 0), id="two rows of tiles, beyond the picture"),
    pytest.param((57, 50), (19, 50), 1, (60 * 50, 0), id="most of a bank"),
    pytest.param((129, 83), (43, 83), 1, (3 * 48 * 83, 0), id="halves of banks")])
def test_results_are_stored_as_they_lie_in_memory(shape: tuple[int, int], tile: tuple[int, int], lanes: int,
                                                  out: tuple[int, int]) -> None:
    """Words that are read: in rows of whole lines, and tile by tile. Every element is compared."""
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    images = {"photo": np.random.default_rng(11).integers(0, 256, (shape[1] + 2, shape[0] + 2), dtype=np.uint8)}
    mixed = hl.Func("mixed")
    mixed[X, Y] = photo[X, Y] * 3 + photo[X + 2, Y] * 5 + photo[X + 1, Y + 2]
    _, found = agree(load(mixed), images, shape, tile, lanes, engines=("rtl-full",))
    run = found["rtl-full"][1]
    assert (run.placed, run.tiled) == out
    assert run.launches == {(15, 9): 2, (129, 83): 3}.get(shape, 1)


def test_a_gaussian_blur_runs_at_one_point_a_cycle() -> None:
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    blur = gaussian.build(photo)
    picture = np.random.default_rng(1).integers(0, 256, (22, 62), dtype=np.uint8)
    compiled, found = agree(load(blur), {"photo": picture}, (60, 20), (60, 20))
    photo.set(hl.Buffer(picture))
    np.testing.assert_array_equal(frames(compiled, {"photo": picture}, (60, 20), (60, 20)).picture(found["rtl-full"][0]),
                                  np.asarray(blur.realize([60, 20])))
    points, cycles = compiled.walk.grid.points, found["rtl-full"][1].cycles
    assert cycles is not None
    assert points <= cycles <= points + 100


def test_lanes_tiles_that_do_not_divide_and_one_element() -> None:
    photo = hl.ImageParam(hl.Int(16), 2, "photo")
    images = {"photo": np.random.default_rng(2).integers(-32768, 32768, (9, 14), dtype=np.int16)}
    edges = hl.Func("edges")
    edges[X, Y] = hl.max(photo[X, Y], photo[X + 1, Y]) - photo[X, Y + 1]
    agree(load(edges), images, (13, 7), (6, 3), lanes=2)
    agree(load(edges), images, (1, 1), (1, 1))
    agree(load(edges), images, (13, 8), (13, 1))


def test_smaller_and_larger_pictures() -> None:
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    images = {"photo": np.random.default_rng(3).integers(0, 256, (9, 14), dtype=np.uint8)}
    half, double = hl.Func("half"), hl.Func("double")
    half[X, Y] = hl.u16(photo[2 * X, 2 * Y]) + hl.u16(photo[2 * X + 1, 2 * Y + 1])
    agree(load(half), images, (7, 4), (3, 2))
    double[X, Y] = hl.select(X % 2 == 0, photo[X // 2, Y], hl.u8(255) - photo[X // 2, Y])
    agree(load(double), images, (28, 9), (9, 4))


def test_words_that_are_read_several_times_are_held_once() -> None:
    """Each word in two columns and three rows, by loops of the load DMA, also where a tile ends inside such a block."""
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    images = {"photo": np.random.default_rng(7).integers(0, 256, (9, 14), dtype=np.uint8)}
    enlarged = hl.Func("enlarged")
    enlarged[X, Y] = photo[X // 2, Y // 3]
    for tile, held in (((14, 9), 7 * 3), ((7, 9), 4 * 3), ((13, 6), 7 * 2), ((13, 5), 7 * 2)):
        compiled, found = agree(load(enlarged), images, (28, 27), tile, engines=("rtl-full",))
        tiles = list(frames(compiled, images, (28, 27), tile).transactions(loops_of_transactions(STENCILS.glb)))
        assert [reads.size for reads in tiles[0].values()] == [held]
        cycles = found["rtl-full"][1].cycles
        assert cycles is not None and cycles <= len(tiles) * (compiled.walk.grid.points + 60)


def test_a_weight_for_each_row_or_for_all_is_held_once() -> None:
    photo, rows, gain = (hl.ImageParam(hl.UInt(8), dims, name) for dims, name in ((2, "photo"), (1, "rows"), (1, "gain")))
    random = np.random.default_rng(8)
    images = {"photo": random.integers(0, 256, (9, 14), dtype=np.uint8), "rows": random.integers(0, 256, 9, dtype=np.uint8),
              "gain": np.array([7], np.uint8)}
    weighted = hl.Func("weighted")
    weighted[X, Y] = photo[X, Y] * rows[Y] + gain[0]
    compiled, _ = agree(load(weighted), images, (14, 9), (7, 5), engines=("fabric", "rtl-full"))
    first = next(frames(compiled, images, (14, 9), (7, 5)).transactions(loops_of_transactions(STENCILS.glb)))
    assert sorted(reads.size for reads in first.values()) == [1, 5, 35]


def test_tables_with_contents_of_their_own_one_program_after_the_other() -> None:
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    images = {"photo": np.random.default_rng(6).integers(0, 256, (9, 14), dtype=np.uint8)}
    for seed in range(2):
        curve = hl.Buffer(np.random.default_rng(seed).integers(0, 65536, 256, dtype=np.uint16))
        mapped = hl.Func("mapped")
        mapped[X, Y] = curve[hl.i32(photo[X, Y])] + hl.u16(photo[X, Y + 1])
        agree(load(mapped), images, (14, 8), (7, 4))


def test_a_row_longer_than_a_mem_tile() -> None:
    """Two delay lines, one behind the other: the machine has three MEM tiles."""
    photo = hl.ImageParam(hl.UInt(16), 2, "photo")
    rows = hl.Func("rows")
    rows[X, Y] = photo[X, Y] + photo[X, Y + 1] * 3
    images = {"photo": np.random.default_rng(4).integers(0, 65536, (2, 2048), dtype=np.uint16)}
    compiled, _ = agree(load(rows), images, (2048, 1), (2048, 1), engines=("fabric", "rtl-full"))
    assert len(compiled.static.lines) == 2


def test_a_node_ahead_of_the_grid() -> None:
    """What a line keeps may be needed before the first point that is loaded."""
    nodes = (PeNode("input", name="photo"), PeNode("mult0", {"a": Ref(0, (5, 3)), "b": 2}),
             PeNode("adc", {"a": Ref(1, (0, 0)), "b": Ref(1, (0, 1)), "d": 0}))
    photo = hl.ImageParam(hl.UInt(16), 2, "photo")
    copy = hl.Func("copy")
    copy[X, Y] = photo[X, Y] + 1
    stream = compile_halide(load(copy), STENCILS, (2, 2)).pes.inputs["photo"]
    graph = PeGraph(("x", "y"), nodes, {"photo": stream}, {"out": Ref(2, (0, 0))}, {"out": replace(stream, image="out")})
    compiled = compile_pes(graph, STENCILS, (60, 4))
    assert compiled.static.lines
    image = np.random.default_rng(5).integers(0, 65536, (8, 65), dtype=np.uint16)
    whole = frames(compiled, {"photo": image}, (60, 4), (60, 4))
    found = whole.picture(ran("rtl-full", compiled, whole)[0])
    assert np.array_equal(found, 2 * image[3:7, 5:] + 2 * image[4:8, 5:])


@st.composite
def programs(draw: Any) -> tuple[hl.Func, dict[str, str]]:
    """Small pipelines of one or two Funcs on one or two images, stencils of words with flags among them."""
    names = {name: draw(st.sampled_from(["uint8", "int8", "uint16", "int16"])) for name in draw(st.sampled_from(["a", "ab"]))}
    images = {name: hl.ImageParam(TYPES[dtype], 2, name) for name, dtype in names.items()}

    def tap(source: Any) -> hl.Expr:
        return hl.cast(hl.UInt(16), source[X + draw(st.integers(0, 3)), Y + draw(st.integers(0, 2))])

    def value(depth: int, sources: list[Any]) -> hl.Expr:
        if depth == 0:
            return tap(draw(st.sampled_from(sources)))
        one, other = (value(draw(st.integers(0, depth - 1)), sources) for _ in range(2))
        return draw(st.sampled_from([
            lambda: one + other, lambda: one - other, lambda: one * hl.u16(draw(st.integers(1, 300))) + other,
            lambda: hl.min(one, other), lambda: hl.max(one, other), lambda: one ^ other,
            lambda: hl.select(one > other, one - other, hl.u16(draw(st.integers(0, 9)))),
            lambda: (one >> draw(st.integers(1, 9))) + other, lambda: hl.select(one == other, hl.u16(1), one)]))()

    sources: list[Any] = list(images.values())
    if draw(st.booleans()):
        first = hl.Func("first")
        first[X, Y] = value(1, sources)
        sources = [first, *sources]
    out = hl.Func("out")
    # Every image is read, so that the shape of the result is known.
    out[X, Y] = sum((tap(each) for each in images.values()), value(draw(st.integers(1, 2)), sources))
    return out, names


@settings(max_examples=25)
@given(programs(), st.tuples(st.integers(1, 9), st.integers(1, 7)), st.tuples(st.integers(1, 6), st.integers(1, 5)),
       st.integers(1, 2), st.integers(0, 10 ** 6))
def test_random_programs_give_the_same_words_on_every_engine(program: tuple[hl.Func, dict[str, str]], shape: tuple[int, int],
                                                             tile: tuple[int, int], lanes: int, seed: int) -> None:
    func, names = program
    rng = np.random.default_rng(seed)
    images = {name: rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, (shape[1] + 8, shape[0] + 12)).astype(dtype)
              for name, dtype in names.items()}
    note(f"seed {seed}")
    try:
        _, found = agree(load(func), images, shape, (tile[0] * lanes, tile[1]), lanes, seed % 100)
    except UserError as error:
        event(error.what[:40])
        assume(False)
        pytest.fail("refused programs are not counted")
    assert found["rtl-full"][1].cycles
