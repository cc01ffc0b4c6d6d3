"""Launches of static programs: loops that walk over the words of several transactions, which come as they lie."""

from dataclasses import replace

import numpy as np
import pytest
from dma_model import addresses
from planned import SMALL, blur, set_in
from stencils import BLUR

from sardonyx.compiler.dense.map.grid import walk
from sardonyx.compiler.halide import compile_pes
from sardonyx.compiler.ir.program import Program
from sardonyx.hw.arch.glb import LINE_BYTES, Glb
from sardonyx.hw.arch.soc import glb_registers, named
from sardonyx.runtime.batches import LAUNCH_LIMIT, WATCHDOG_CYCLES
from sardonyx.runtime.commands import Read, WriteMemory
from sardonyx.runtime.data.frames import Frames
from sardonyx.runtime.data.load_loops import Reads, in_order
from sardonyx.runtime.plan import Launch, launches, loops_of_transactions


def photos(count: int, *numbers: int) -> "list[dict[str, Reads]]":
    """Transactions whose words are the number of the transaction and those that follow it."""
    return [{"photo": in_order(np.arange(number, number + count).astype(np.uint16))} for number in numbers]


def test_transactions_of_a_static_program_are_the_runs_of_a_launch_an_iteration_of_the_outermost_loops_each() -> None:
    program = blur()
    load, store = program.loads[0], program.stores[0]
    launch, = launches(program, SMALL, photos(load.count, 1, 2, 3))
    assert (launch.transactions, launch.loaded) == (3, 3 * load.count)
    assert set_in(launch.commands, None)["runs"] == 2
    written, = (each for each in launch.commands if isinstance(each, WriteMemory))
    assert written.words.tolist() == [word for number in (1, 2, 3) for word in range(number, number + load.count)]
    loads = set_in(launch.commands, load.column // SMALL.glb.columns_per_tile)
    stores = set_in(launch.commands, store.column // SMALL.glb.columns_per_tile)
    for found, unit, levels, count in ((loads, "load", SMALL.glb.load_loops, load.count),
                                       (stores, "store", SMALL.glb.store_loops, store.count)):
        assert named(glb_registers(SMALL.glb))[f"{unit}_control"].word(sliced=1) & found[f"{unit}_control"]
        assert [found[f"{unit}_extent{level}"] for level in range(levels)] == [count - 1, *[0] * (levels - 2), 2]
        # One behind the other: the next word from the last one.
        assert (found[f"{unit}_stride0"], found[f"{unit}_stride{levels - 1}"]) == (2, 2)
    assert stores["store_limit"] == 3 * store.count
    read = launch.commands[-1]
    assert isinstance(read, Read) and read.words == 3 * store.count


def test_what_has_no_room_or_other_loops_is_another_launch() -> None:
    program = blur()
    count, out = program.loads[0].count, program.stores[0].count
    small = replace(program, transfers=tuple(replace(each, room=4 * count + LINE_BYTES) for each in program.transfers))
    assert [each.transactions for each in launches(small, SMALL, photos(count, *range(5)))] == [2, 2, 1]
    small = replace(program, transfers=tuple(replace(each, room=6 * out + LINE_BYTES if each in program.stores else each.room)
                                             for each in program.transfers))
    assert [each.transactions for each in launches(small, SMALL, photos(count, *range(7)))] == [3, 3, 1]
    constant = {"photo": Reads(np.array([5], np.uint16), ((count, 0),))}
    given = [*photos(count, 1, 2), constant, constant, constant, *photos(count, 3)]
    found = list(launches(program, SMALL, given))
    assert [each.transactions for each in found] == [2, 3, 1]
    tile = program.loads[0].column // SMALL.glb.columns_per_tile
    stride = f"load_stride{SMALL.glb.load_loops - 1}"
    assert set_in(found[1].commands, tile)[stride] == 2, "one word each"


def test_tiles_that_together_would_reach_the_limit_of_a_launch_are_in_several() -> None:
    """A word that is read often takes little room and much time."""
    program = blur()
    often = tuple(replace(each, loops=((10_000_000, 0),)) for each in program.loads)
    program = replace(program, transfers=(*often, *program.stores))
    one = {"photo": Reads(np.array([5], np.uint16), ((10_000_000, 0),))}
    found = list(launches(program, SMALL, [one] * 7))
    assert max(each.transactions for each in found) * (10_000_000 + WATCHDOG_CYCLES) <= LAUNCH_LIMIT
    assert [each.transactions for each in found] == [5, 2]


@pytest.mark.parametrize("loops", [{"load_loops": 1}, {"store_loops": 1}])
def test_without_a_loop_that_is_left_each_transaction_is_a_launch(loops: "dict[str, int]") -> None:
    arch = replace(SMALL, glb=replace(SMALL.glb, **loops))
    program = blur(arch)
    found = list(launches(program, arch, photos(program.loads[0].count, 1, 2)))
    assert [(each.transactions, set_in(each.commands, None)["runs"]) for each in found] == [(1, 0), (1, 0)]


def test_a_transaction_leaves_the_outermost_loop_where_there_are_several() -> None:
    assert [loops_of_transactions(Glb(load_loops=loops)) for loops in (1, 2, 8)] == [1, 1, 7]


def pictures(image: np.ndarray, shape: "tuple[int, int]", tile: "tuple[int, int]") -> "tuple[Program, Frames]":
    """A blur in tiles."""
    return compile_pes(BLUR, SMALL, tile).program, Frames(walk(BLUR, tile), {"photo": image}, shape, tile)


def walked(launch: Launch, tile: int) -> "list[int]":
    """The words that the registers of a load let it read out of those that were written, by definition, run after run."""
    found, levels = set_in(launch.commands, tile), SMALL.glb.load_loops
    memory = {}
    for each in launch.loads:
        assert isinstance(each, WriteMemory) and each.address % LINE_BYTES == 0
        memory |= {each.address + 2 * at: word for at, word in enumerate(each.words.reshape(-1).tolist())}
    extents, strides = ([found.get(f"load_{what}{level}", 0) for level in range(levels)] for what in ("extent", "stride"))
    begin = tile * SMALL.glb.tile_bytes + found["load_start"]
    return [memory[address] for address in addresses([each + 1 for each in extents], strides, begin)]


@pytest.mark.parametrize("shape, tile, launched, boxed", [
    # Words that tiles of a row share come once.
    pytest.param((60, 30), (20, 30), 1, 64 * 32, id="a row of tiles"),
    pytest.param((62, 30), (62, 10), 1, 64 * 32, id="rows of the image"),
    pytest.param((60, 30), (30, 15), 2, 2 * 64 * 17, id="rows of tiles"),
    pytest.param((600, 200), (200, 200), 3, 3 * 204 * 202, id="a launch a tile"),
    pytest.param((601, 203), (200, 100), 12, 12 * 204 * 102, id="beyond the picture")])
def test_windows_of_an_image_come_as_they_lie(shape: "tuple[int, int]", tile: "tuple[int, int]", launched: int,
                                              boxed: int) -> None:
    image = np.random.default_rng(0).integers(0, 65536, (shape[1] + 2, shape[0] + 2)).astype(np.uint16)
    program, frames = pictures(image, shape, tile)
    most = loops_of_transactions(SMALL.glb)
    found = list(launches(program, SMALL, frames.transactions(most)))
    load = program.loads[0]
    assert [word for each in found for word in walked(each, load.column // SMALL.glb.columns_per_tile)] == [
        word for each in frames.transactions(most) for word in each["photo"].words.tolist()]
    assert (len(found), sum(each.lying for each in found)) == (launched, boxed)
    assert sum(each.transactions for each in found) == len(frames)


@pytest.mark.parametrize("tile, columns, lines, numbers, boxed", [
    # Seven tiles have room; of ten columns 20 in lines.
    pytest.param(40, 5, 4, [5] * 4, 20, id="most of a launch"), pytest.param(40, 7, 4, [7] * 4, 28, id="all of it"),
    pytest.param(40, 3, 8, [3] * 8, 24, id="less than half, of some time"),
    pytest.param(40, 8, 4, [7, 1] * 4, 32, id="one is left"),
    pytest.param(10, 3, 60, [20] * 9, 180, id="a row takes little, so columns"),
    pytest.param(10, 15, 4, [15] * 4, 60, id="small tiles")])
def test_one_of_several_launches_ends_with_a_row_of_tiles(tile: int, columns: int, lines: int, numbers: "list[int]",
                                                          boxed: int) -> None:
    image = np.random.default_rng(0).integers(0, 65536, (100 * lines + 2, tile * columns + 2)).astype(np.uint16)
    program, frames = pictures(image, (tile * columns, 100 * lines), (tile, 100))
    most = loops_of_transactions(SMALL.glb)
    found = list(launches(program, SMALL, frames.transactions(most)))
    place = program.loads[0].column // SMALL.glb.columns_per_tile
    assert [word for each in found for word in walked(each, place)] == [
        word for each in frames.transactions(most) for word in each["photo"].words.tolist()]
    assert [each.transactions for each in found] == numbers
    assert sum(each.transactions for each in found if each.lying) == boxed


def test_a_static_launch_of_one_transaction_has_the_loops_that_read_it() -> None:
    program = blur()
    count, tile = program.loads[0].count, program.loads[0].column // SMALL.glb.columns_per_tile
    constant = Reads(np.array([5], np.uint16), ((count, 0),))
    found = list(launches(program, SMALL, [{"photo": in_order(np.arange(count, dtype=np.uint16))}, {"photo": constant}]))
    assert [(each.transactions, each.loaded) for each in found] == [(1, count), (1, count)]
    second = set_in(found[1].commands, tile)
    assert (second["load_extent0"], second["load_stride0"]) == (count - 1, 0)
    store = program.stores[0]
    there = set_in(found[0].commands, store.column // SMALL.glb.columns_per_tile)
    assert there["store_control"] & 0xFF == 0b101
    assert (there["store_limit"], there["store_extent0"], there["store_stride0"], there["store_extent1"]) == (24, 23, 2, 0)
    read = found[0].commands[-1]
    assert isinstance(read, Read) and read.words == 24


def test_a_static_stream_of_another_length_is_a_fault() -> None:
    with pytest.raises(AssertionError, match=r"stream photo reads 3 words, the program takes \d+"):
        list(launches(blur(), SMALL, [{"photo": in_order(np.zeros(3, np.uint16))}]))
