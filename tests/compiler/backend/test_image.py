"""What is written to configure: registers hold what the program wants, whatever they held, and no more is written."""

import functools
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import LEAST, copier

from sardonyx.compiler.backend.encode import address, words
from sardonyx.compiler.backend.image import applied, deciding, image, registers
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.ir.program import Program
from sardonyx.compiler.lang.kernel import load_kernel
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.config import EVERY_ROW
from sardonyx.hw.arch.primitive import ALU
from sardonyx.hw.arch.register_file import FIELDS

SMALL = presets.get("small")
GATED = replace(SMALL, power_domains=True)
KERNELS = ("vec_elemmul", "spmspm", "spmv")


@functools.cache
def program(name: str, arch: Arch) -> Program:
    return compile_einsum(load_kernel(name).einsum(), arch).program


def any_registers(seed: int, arch: Arch, like: "dict[int, int]") -> dict[int, int]:
    """Registers that hold anything, some of them what others of their column or a program hold."""
    draw = random.Random(seed)
    return {where: draw.choice((word, 0, 5, draw.getrandbits(32))) for where, word in like.items()}


@settings(max_examples=30)
@given(name=st.sampled_from(KERNELS), seed=st.integers(0, 1 << 30), arch=st.sampled_from((SMALL, GATED)))
def test_a_machine_holds_what_a_program_wants_whatever_it_held_and_whether_or_not_that_is_known(name: str, seed: int,
                                                                                             arch: Arch) -> None:
    wanted, decides = registers(program(name, arch), arch), deciding(program(name, arch), arch)
    held = any_registers(seed, arch, wanted)
    for known in (held, None):
        after = applied(image(program(name, arch), arch, known), arch, held)
        assert {where: after[where] for where in decides} == {where: wanted[where] for where in decides}


def test_registers_of_modes_and_boxes_and_of_what_a_tile_is_set_to_decide() -> None:
    made = program("spmspm", SMALL)
    decides, off = deciding(made, SMALL), {"core": {"mode": 0}}
    for site, tile in SMALL.tiles.items():
        space, config = SMALL.config_map(tile.kind), made.config.get(site, off)
        mode = space.sets["core"].decode(space.sets["core"].encode(**config["core"]))["mode"]
        scheduled = {each.name for each in FIELDS} if mode == "alu" else ()
        own = {slot.word for (name, field), slot in space.slots.items()
               if (name in ("core", mode) or name[:2] in ("sb", "cb")) and field not in scheduled}
        assert own == {where & 0xFFFF for where in decides if (where >> 24, where >> 16 & 0xFF) == site}
    assert len(decides) < len(registers(made, SMALL)) / 2


@pytest.mark.parametrize("static", [True, False])
def test_a_register_file_decides_where_words_may_go_through_it(static: bool) -> None:
    made = copier(LEAST)
    adds = replace(made, config={(0, 1): {"core": {"mode": "alu"}, "alu": {"static": int(static)}}})
    arch = replace(LEAST, pe=replace(LEAST.pe, primitives=(ALU, *LEAST.pe.primitives)))
    slot = arch.config_map("pe").slots["alu", "rd1_gap0"]
    assert (address(0, 1, slot.word) in deciding(adds, arch)) is static
    pipelined = replace(arch, interconnect=replace(arch.interconnect, fifo="none"))
    assert address(0, 1, pipelined.config_map("pe").slots["alu", "rd1_gap0"].word) in deciding(adds, pipelined)


def test_registers_are_those_of_the_bitstream_and_zero_in_all_other_tiles() -> None:
    wanted, given = registers(program("spmspm", SMALL), SMALL), dict(words(program("spmspm", SMALL), SMALL))
    assert given.items() <= wanted.items()
    assert not any(word for where, word in wanted.items() if where not in given)
    assert len(wanted) == sum(SMALL.config_map(tile.kind).words for tile in SMALL.tiles.values())


@settings(max_examples=20)
@given(seed=st.integers(0, 1 << 30))
def test_no_more_is_written_than_what_differs(seed: int) -> None:
    made = program("spmv", SMALL)
    wanted = registers(made, SMALL)
    held = any_registers(seed, SMALL, wanted)
    decides = deciding(made, SMALL)
    assert len(image(made, SMALL, held)) <= sum(held[where] != wanted[where] for where in decides)
    assert image(made, SMALL, wanted) == []


def test_a_word_that_most_rows_want_is_written_once_and_then_the_others() -> None:
    arch = replace(LEAST, rows=4)
    made = copier(arch)
    wanted = registers(made, arch)
    held = dict.fromkeys(wanted, 9)
    writes = [(where, word) for where, word in image(made, arch, held) if where >> 24 == 0 and where & 0xFFFF == 0]
    io, every, *others = writes
    assert io == (address(0, 0, 0), wanted[address(0, 0, 0)])
    assert every == (address(0, EVERY_ROW, 0), 0)
    assert others == [(address(0, 1, 0), wanted[address(0, 1, 0)])] and others[0][1]


def test_what_a_table_holds_is_written_last_whatever_the_registers_hold() -> None:
    made = program("spmspm", SMALL)
    site = next(site for site in made.config if SMALL.tiles[site].has_memory)
    filled = replace(made, contents={site: (1, 2, 3)})
    expected = [(address(*site, 0x8000), 2 << 16 | 1), (address(*site, 0x8001), 3)]
    assert image(filled, SMALL, registers(made, SMALL)) == expected
    assert image(filled, SMALL)[-2:] == expected


@pytest.mark.parametrize("known", [True, False])
def test_power_is_switched_first_and_no_tile_that_stays_off_is_on_on_the_way(known: bool) -> None:
    made = program("spmspm", GATED)
    held = dict.fromkeys(registers(made, GATED), 0)
    writes = image(made, GATED, held if known else None)
    on = {site for site, sets in made.config.items() if sets["power"]["on"]}
    switches = [where & 0xFFFF == 0 for where, _ in writes]
    assert any(switches) and switches == sorted(switches, reverse=True)
    for count in range(sum(switches) + 1):
        after = applied(writes[:count], GATED, held)
        assert {site for site in GATED.tiles if after[address(*site, 0)] & 1} <= on
