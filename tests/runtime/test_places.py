"""Whoever writes to the global buffer while launches are in one run finds nobody there: any pictures, any blocks."""

import functools
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import halide as hl
import numpy as np
import pytest
from halide_programs import X, Y, load
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import LEAST, copier
from stencil_machine import STENCILS

from sardonyx.compiler.halide import CompiledDense, compile_halide
from sardonyx.compiler.ir.mapped import LOAD, STORE
from sardonyx.compiler.ir.transfer import PLACES, WORD_BYTES, Transfer, region
from sardonyx.runtime.batches import Place
from sardonyx.runtime.commands import Read, WriteMemory
from sardonyx.runtime.data.frames import Frames
from sardonyx.runtime.order import Phase, ordered
from sardonyx.runtime.plan import Launch, launches, loops_of_transactions

QUEUED = replace(STENCILS, name="queued stencils", glb=replace(STENCILS.glb, queue=True))
PART = replace(LEAST, name="part", glb=replace(LEAST.glb, bank_bytes=16384))

Span = tuple[int, int]


@functools.cache
def mixed(lanes: int) -> CompiledDense:
    photo, found = hl.ImageParam(hl.UInt(8), 2, "photo"), hl.Func("mixed")
    found[X, Y] = photo[X, Y] + photo[X + 2, Y + 2]
    return compile_halide(load(found), QUEUED, (20, 12), lanes)


def meet(some: "Iterable[Span]", others: "Iterable[Span]") -> bool:
    return any(first < end and begin < last for first, last in some for begin, end in others)


def written(launch: Launch) -> "list[Span]":
    return [(each.address, each.address + WORD_BYTES * each.words.size)
            for each in launch.loads if isinstance(each, WriteMemory)]


def stored(launch: Launch, most: int) -> "list[Span]":
    """Where its words are until they are read; most: 16-bit words of those whose number is not known before."""
    return [(each.address, each.address + WORD_BYTES * (most if each.words is None else each.words))
            for each in launch.reads if isinstance(each, Read)]


def check(found: "Iterable[Launch]", most: int = 0) -> None:
    """Do launches in their order."""
    in_use: dict[int, list[Span]] = {}      # by loads of launches that have not ended
    keeps: dict[int, list[Span]] = {}       # of what stores gave, by launch
    for phase, launch in ordered(found):
        match phase:
            case Phase.LOADS:
                others = [span for spans in (*in_use.values(), *keeps.values()) for span in spans]
                assert not meet(written(launch), others), "nobody is where its words come to"
                in_use[id(launch)] = written(launch)
            case Phase.STARTS:
                others = [span for spans in (*in_use.values(), *keeps.values()) for span in spans]
                assert not meet(stored(launch, most), others), "what it gives has gone from there, and nobody reads there"
                keeps[id(launch)] = stored(launch, most)
            case Phase.ENDS:
                del in_use[id(launch)]
            case Phase.READS:
                del keeps[id(launch)]
    assert not in_use and not keeps, "all has ended, and was read"


@settings(max_examples=25, deadline=None)
@given(columns=st.integers(1, 130), rows=st.integers(1, 90), lanes=st.sampled_from([1, 2]))
def test_tiles_of_any_picture_have_places_of_their_own(columns: int, rows: int, lanes: int) -> None:
    made, shape = mixed(lanes), (columns, rows)
    whole: Any = Frames(made.walk, {"photo": np.zeros((rows + 2, columns + 2), np.uint8)}, shape, (20, 12))
    found = list(launches(made.program, QUEUED, whole.transactions(loops_of_transactions(QUEUED.glb)), chained=True))
    assert sum(each.transactions for each in found) == -(-columns // 20) * -(-rows // 12)
    check(found)


@settings(max_examples=25, deadline=None)
@given(sizes=st.lists(st.integers(1, 5000), min_size=1, max_size=20))
def test_blocks_of_any_size_have_places_of_their_own(sizes: "list[int]") -> None:
    blocks = [{"a_vals": np.array([size - 1, *range(size - 1)], np.uint16)} for size in sizes]
    found = list(launches(copier(PART), PART, blocks, {"b_vals": max(sizes)}, chained=True))
    assert sum(each.transactions for each in found) == len(sizes)
    check(found, 1)

@pytest.mark.parametrize("banks", [1, 2, 4])
@pytest.mark.parametrize("tiles", [1, 2, 3, 8])
@pytest.mark.parametrize("kept", [0, 64])
def test_a_load_and_a_store_of_a_chain_have_places_of_their_own(banks: int, tiles: int, kept: int) -> None:
    """In every part of the banks, and none of what is kept at the end of each tile."""
    glb = replace(QUEUED.glb, ring=tiles, banks=banks, kept_bytes=kept)
    tiles = glb.longest_chain
    keeps = [(end - kept, end) for end in range(glb.tile_bytes, (tiles + 1) * glb.tile_bytes, glb.tile_bytes) if kept]
    streams = [Transfer("x", direction, 0, *region(direction, glb, tiles), sections=1, tiles=tiles)
               for direction in (LOAD, STORE)]
    for parts, part in ((2, None), (2, 0), (2, 1), *((PLACES, part) for part in range(PLACES))):
        place = Place(glb, part, parts)
        load, store = ((place.address(each), place.address(each) + WORD_BYTES * place.room(each)) for each in streams)
        assert load[1] <= tiles * glb.tile_bytes // 2 <= store[0] < store[1] <= tiles * glb.tile_bytes
        assert not meet((load, store), keeps)
