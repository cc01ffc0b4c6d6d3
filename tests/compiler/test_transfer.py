"""Where streams have their words: loads and stores never meet in a bank, unless there is only one."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.halide import compile_pes
from sardonyx.compiler.ir.mapped import LOAD, STORE, Stream
from sardonyx.compiler.ir.program import ELASTIC, STATIC, Program
from sardonyx.compiler.ir.transfer import Region, Transfer, places, region, transfers
from sardonyx.compiler.lang.kernel import load_kernel
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.glb import Glb


@pytest.mark.parametrize("banks,load,store", [
    (1, Region(0, 0, 256), Region(0, 512, 256)), (2, Region(0, 0, 512), Region(1, 0, 512)),
    (4, Region(0, 0, 512), Region(3, 0, 512))])
def test_loads_take_the_first_bank_and_stores_the_last(banks: int, load: Region, store: Region) -> None:
    glb = Glb(banks=banks, bank_bytes=1024)
    assert (region(LOAD, glb), region(STORE, glb)) == (load, store)


@given(st.integers(0, 4), st.integers(4, 20))
def test_the_places_of_loads_and_stores_are_in_the_tile_and_do_not_overlap(banks: int, bits: int) -> None:
    glb = Glb(banks=1 << banks, bank_bytes=1 << bits)
    begin, end = [], []
    for direction in (LOAD, STORE):
        bank, address, room = region(direction, glb)
        assert address + 2 * room <= glb.bank_bytes
        begin.append(bank * glb.bank_bytes + address)
        end.append(begin[-1] + 2 * room)
    assert 0 <= begin[0] < end[0] <= begin[1] < end[1] <= glb.tile_bytes
    assert all(at % 8 == 0 for at in begin)


def test_a_stream_has_the_banks_of_the_tiles_to_the_next_one_that_has_streams() -> None:
    arch = replace(presets.get("small"), columns=16, glb=Glb(bank_bytes=1024, ring=3))
    streams = [(LOAD, 1), (LOAD, 4), (LOAD, 7), (STORE, 6), (STORE, 15)]
    assert places(streams, arch) == [(2, Region(0, 0, 2048)), (1, Region(0, 0, 512)), (3, Region(0, 0, 1536)),
                                     (3, Region(3, 0, 1536)), (1, Region(1, 0, 512))]
    assert places(streams, replace(arch, glb=replace(arch.glb, ring=1))) == [
        (1, region(direction, arch.glb)) for direction, _ in streams]


@given(st.sampled_from([1, 2, 4]), st.integers(1, 8), st.sampled_from([1, 2]), st.sampled_from([0, 8, 504]),
       st.sets(st.tuples(st.sampled_from([LOAD, STORE]), st.integers(0, 7)), min_size=1, max_size=8))
def test_streams_in_chains_do_not_meet_in_a_bank(banks: int, ring: int, width: int, kept: int,
                                                 tiles: "set[tuple[str, int]]") -> None:
    """Nor are any where memories are kept, at the end of each tile."""
    glb = Glb(columns_per_tile=width, banks=banks, bank_bytes=1024, ring=ring, kept_bytes=kept)
    arch = replace(presets.get("small"), columns=8 * width, glb=glb, memory_readback=True)
    streams = sorted((direction, tile * width) for direction, tile in tiles)
    taken: dict[int, str] = {}
    for (direction, column), (length, place) in zip(streams, places(streams, arch), strict=True):
        assert 1 <= length <= ring and place.address % 8 == 0
        first, tile = place.bank * glb.bank_bytes + place.address, column // width
        assert first + 2 * place.room <= length * glb.tile_bytes and tile + length <= arch.glb_tiles
        begin = tile * glb.tile_bytes + first
        assert length == 1 or -(begin + 2 * place.room) % glb.tile_bytes == kept or not kept
        if length == banks == 1:
            continue    # halves of a bank
        for bank in range(begin // glb.bank_bytes, -(-(begin + 2 * place.room) // glb.bank_bytes)):
            assert taken.setdefault(bank, f"{direction} {column}") == f"{direction} {column}"


def test_a_stream_is_counted_by_sections_or_by_loops() -> None:
    glb = Glb(banks=2, bank_bytes=1024)
    arch = replace(presets.get("small"), glb=glb)
    block = Stream("load B0", LOAD, "B0", sections=2)
    sectioned, static = transfers([(block, 5), (Stream("out", STORE, "out", count=60), 3)], arch)
    assert sectioned == Transfer("B0", LOAD, 5, 0, 0, 512, 2)
    assert static == Transfer("out", STORE, 3, 1, 0, 512, loops=((60, 1),))
    assert static.count == 60
    for wrong in ({}, {"sections": 1, "loops": ((3, 1),)}):
        with pytest.raises(AssertionError, match="stream B0 is counted by its sections or by its loops"):
            Transfer("B0", LOAD, 0, 0, 0, 512, **wrong)
    with pytest.raises(AssertionError, match="the words of B0 say how many they are"):
        assert sectioned.count


def test_a_program_is_elastic_or_static_and_has_its_loads_first() -> None:
    from stencils import BLUR
    sparse = compile_einsum(load_kernel("spmspm").einsum(), presets.get("small")).program
    dense = compile_pes(BLUR, presets.get("small"), (6, 4)).program
    assert (sparse.mode, dense.mode) == (ELASTIC, STATIC)
    for program in (sparse, dense):
        assert program.transfers == (*program.loads, *program.stores)
    with pytest.raises(AssertionError, match="a program is elastic or static, not slow"):
        Program(0, "slow", {}, {}, ())
