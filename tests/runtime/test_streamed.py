"""Configuration words as a host brings them, packed where the machine reads such."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from machines import LEAST, copier
from packed_words import unpacked

from sardonyx.compiler.backend.image import image
from sardonyx.runtime.commands import Command, Wait, WriteMemory, WriteRegister
from sardonyx.runtime.plan import prepare
from sardonyx.runtime.streamed import streamed

PACKS = replace(LEAST, glb=replace(LEAST.glb, packed=True))


def told(commands: "Iterable[Command]") -> "dict[tuple[str, int | None], int]":
    return {(each.name, each.glb_tile): each.value for each in commands if isinstance(each, WriteRegister)}


def test_a_machine_that_reads_packed_words_is_told_so_and_gets_the_same_writes_in_fewer_lines() -> None:
    commands, plain = [*prepare(copier(PACKS), PACKS)], told(prepare(copier(LEAST), LEAST))
    brought = {each.address: each.words for each in commands if isinstance(each, WriteMemory)}
    values, found = told(commands), []
    for tile in range(PACKS.glb_tiles):
        lines = brought[tile * PACKS.glb.tile_bytes + values["config_start", tile]].tobytes()
        assert values["config_control", tile] == 0b1001 and plain["config_control", tile] == 1
        assert 8 * values["config_words", tile] == len(lines) < 8 * plain["config_words", tile]
        found += [(tile + column << 24 | row << 16 | register, data) for column, row, register, data in unpacked(lines)]
    assert found == image(copier(PACKS), PACKS)


def test_the_limit_of_cycles_is_for_lines_of_which_each_byte_takes_one() -> None:
    commands = [*prepare(copier(PACKS), PACKS)]
    lines = max(count for (name, _), count in told(commands).items() if name == "config_words")
    assert isinstance(commands[-1], Wait) and commands[-1].limit > 8 * lines


def test_words_that_packing_would_make_longer_than_their_room_are_brought_as_they_are() -> None:
    """A round of them fills a GLB tile: packed, each takes a place of six bytes and four of data."""
    words = np.array([(number * 37 % 2) << 56 | (200 - number) << 48 | number * 301 << 32 | 0x1020304
                      for number in range(PACKS.glb.program_bytes // 8)], "<u8")
    commands = [*streamed({1: words}, PACKS)]
    brought, = (each for each in commands if isinstance(each, WriteMemory))
    assert brought.address == PACKS.glb.tile_bytes and brought.words.tobytes() == words.tobytes()
    assert [told(commands)[name, 1] for name in ("config_control", "config_words")] == [1, len(words)]
