"""Plans are values that need no machine, and whatever executes them in order gives the words."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from copying import Copier, block
from machines import LEAST, copier
from planned import SMALL, blur, set_in

from sardonyx.compiler.backend.encode import contents
from sardonyx.compiler.backend.image import image, registers
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.mask import Mask
from sardonyx.hw.arch.primitive import ALU
from sardonyx.hw.arch.soc import MOVED_WINDOW
from sardonyx.runtime import host
from sardonyx.runtime.batches import WATCHDOG_CYCLES
from sardonyx.runtime.commands import Configure, Count, Read, Start, Wait, WriteMemory, WriteRegister
from sardonyx.runtime.data.images import images
from sardonyx.runtime.data.load_loops import Reads
from sardonyx.runtime.plan import (
    Launch,
    launches,
    prepare,
)
from sardonyx.runtime.streamed import CONFIG_PARTS
from sardonyx.runtime.works import CYCLES_PER_WORD


def test_a_program_runs_on_whatever_executes_commands() -> None:
    device, blocks = Copier(LEAST), [block(1, 2, 3), block(), block(9)]
    found = list(host.run(device, copier(LEAST), ({"a_vals": each} for each in blocks), {"b_vals": 4}))
    assert [(len(each.stored), each.cycles, each.loaded) for each in found] == [(3, 14, 7)]
    assert [each["b_vals"].tolist() for each in found[0].stored] == [[3, 1, 2, 3], [0], [1, 9]]
    assert device.held(registers(copier(LEAST), LEAST)) == registers(copier(LEAST), LEAST)


def test_a_program_of_another_machine_is_not_started() -> None:
    device = Copier(LEAST)
    with pytest.raises(AssertionError, match=r"the machine is [0-9a-f]{16}, not 0000000000000005"):
        list(host.run(device, replace(copier(LEAST), fingerprint=5), []))
    assert not device.configured


def test_a_program_of_tiles_that_a_machine_avoids_is_not_started() -> None:
    device = Copier(replace(LEAST, avoid=Mask(((1, 1),), (0,))))
    with pytest.raises(UserError) as error:
        list(host.run(device, copier(LEAST), []))
    assert str(error.value) == ("machine 'least': the program uses tile (1, 1), GLB tile 0, to be avoided there\n"
                                "  try: compile it for this description, with its `avoid`")
    assert not device.configured


# Launches write the load of tile 0, and the store of tile 1.
DISABLED = [WriteRegister("store_control", 0, 0), WriteRegister("load_control", 0, 1)]


def test_preparing_disables_every_other_stream_and_has_the_configuration_streamed() -> None:
    program = copier(LEAST)
    commands = [*prepare(program, LEAST)]
    assert commands[:2] == DISABLED
    lines, = images(image(program, LEAST), LEAST)
    written = {each.address: each.words.tolist() for each in commands if isinstance(each, WriteMemory)}
    size = LEAST.glb.tile_bytes
    last = size // CONFIG_PARTS
    assert written == {tile * size + size - last: each.view("<u2").tolist() for tile, each in lines.items()}
    for tile, each in lines.items():
        assert 8 * len(each) <= last
        told = {"config_control": 1, "config_start": size - last, "config_words": len(each)}
        assert told.items() <= set_in(commands, tile).items()
    assert commands[-2] == Start(configure=True) and isinstance(commands[-1], Wait) and commands[-1].configure


def test_registers_of_configuration_follow_each_other_behind_its_words() -> None:
    """A host that goes on before they are answered waits once, and one whose words come by themselves asked for these first."""
    kinds = [type(each) for each in [*prepare(copier(LEAST), LEAST)][len(DISABLED):]]
    words = kinds.count(WriteMemory)
    registers = len(kinds) - words - len([Start, Wait])
    assert words == LEAST.glb_tiles and kinds == [WriteMemory] * words + [WriteRegister] * registers + [Start, Wait]


def test_without_configuration_dmas_the_host_writes_every_word() -> None:
    arch = replace(LEAST, glb=replace(LEAST.glb, configuration_dma=False))
    program = copier(arch)
    assert [*prepare(program, arch)] == [*DISABLED, Configure(tuple(image(program, arch)))]


def test_an_image_larger_than_the_global_buffer_comes_in_rounds() -> None:
    arch = replace(LEAST, pe=replace(LEAST.pe, primitives=(ALU, *LEAST.pe.primitives)), glb=replace(LEAST.glb, bank_bytes=16))
    commands = [*prepare(copier(arch), arch)]
    rounds = [each for each in commands if isinstance(each, Start)]
    assert len(rounds) > 1 and {*rounds} == {Start(configure=True)}
    assert all(len(each.words) <= 16 for each in commands if isinstance(each, WriteMemory))


def test_a_specialised_machine_gets_contents_alone() -> None:
    program = replace(copier(LEAST), contents={(0, 1): (5, 6)})
    written = [each for each in prepare(program, LEAST, configurable=False) if isinstance(each, WriteMemory)]
    (where, _), = contents(program)
    size = LEAST.glb.tile_bytes
    assert [(each.address, each.words.tolist()) for each in written] == [
        (size - size // CONFIG_PARTS, [5, 6, where & 0xFFFF, where >> 16 & 0xFF])]
    assert [*prepare(copier(LEAST), LEAST, configurable=False)] == DISABLED


def test_an_elastic_launch_says_sections_and_reads_what_was_counted() -> None:
    launch, = launches(copier(LEAST), LEAST, [{"a_vals": block(1, 2)}, {"a_vals": block()}], {"b_vals": 3})
    assert (launch.transactions, launch.loaded) == (2, 4)
    write = launch.commands[0]
    assert isinstance(write, WriteMemory) and (write.address, write.words.tolist()) == (0, [2, 1, 2, 0])
    assert set_in(launch.commands, 0) == {"load_control": 1, "load_start": 0, "load_extent0": 3, "load_stride0": 2,
                                             "load_extent1": 0}
    assert set_in(launch.commands, 1) == {"store_control": 1, "store_start": 512, "store_limit": 256, "store_sections": 2}
    # At least so many cycles as fill and drain, and up to a multiple of what shows where tokens moved last.
    limit = -(-(WATCHDOG_CYCLES + CYCLES_PER_WORD * (4 + 2)) // MOVED_WINDOW) * MOVED_WINDOW
    assert set_in(launch.commands, None) == {"hold": 0, "runs": 0, "cycle_limit": limit, "watchdog_limit": WATCHDOG_CYCLES,
                                                "irq_status": 0xFFFFFFFF, "irq_enable": 0xFFFFE7FF}
    assert launch.commands[-4:] == (Start(), Wait(limit + WATCHDOG_CYCLES), Count("b_vals", 1),
                                     Read("b_vals", 1024 + 512, None))


def test_one_bank_is_shared_half_and_half() -> None:
    arch = replace(LEAST, glb=replace(LEAST.glb, banks=1))
    launch, = launches(copier(arch), arch, [{"a_vals": block(1)}], {"b_vals": 4})
    assert set_in(launch.commands, 1)["store_start"] == 256
    assert set_in(launch.commands, 1)["store_limit"] == 128
    assert launch.commands[-1] == Read("b_vals", 512 + 256, None)


def test_the_chains_of_a_program_are_made_before_it_runs_and_all_others_ended() -> None:
    arch = replace(LEAST, columns=6, glb=replace(LEAST.glb, ring=3))
    program = copier(arch)      # streams in tiles 0 and 1
    assert [(each.tiles, each.room) for each in program.transfers] == [(1, 256), (3, 1536)]
    commands = list(prepare(program, arch))
    assert [each for each in commands if isinstance(each, WriteRegister) and each.name == "ring_control"] == [
        WriteRegister("ring_control", word, tile) for tile, word in enumerate((0, 2 << 8, 1, 1, 0, 0))]
    assert "ring_control" not in {each.name for each in prepare(copier(LEAST), LEAST) if isinstance(each, WriteRegister)}
    for tiles in (2, 4):
        one, other = program.transfers
        with pytest.raises(UserError) as error:
            list(prepare(replace(program, transfers=(one, replace(other, tiles=tiles))), arch))
        assert str(error.value) == ("machine 'least': a stream of the program has another place in the global buffer than "
                                    "there is for it\n  try: compile the program for this description")
    with pytest.raises(UserError) as error:
        list(launches(program, arch, [{"a_vals": block(1)}], {"b_vals": 1537}))
    assert str(error.value) == ("a block of stream b_vals takes 1537 words but its part of 3 chained tiles of the global "
                                "buffer holds 1536\n  try: use a smaller tile (--tile or tile=)")


def test_streams_that_do_not_fit_are_refused_with_their_name() -> None:
    with pytest.raises(UserError) as error:
        list(launches(copier(LEAST), LEAST, [{"a_vals": block(*range(256))}], {"b_vals": 4}))
    assert str(error.value) == ("a block of stream a_vals takes 257 words but a bank of the global buffer holds 256\n"
                                "  try: use a smaller tile (--tile or tile=)")
    program = blur()
    small = replace(program, transfers=tuple(replace(each, room=20) for each in program.transfers))
    for held, name, needed in ((1, "out", 24), (program.loads[0].count, "photo", program.loads[0].count)):
        reads = Reads(np.zeros(held, np.uint16), ((program.loads[0].count, 1 if held > 1 else 0),))
        with pytest.raises(UserError) as error:
            list(launches(small, SMALL, [{"photo": reads}]))
        assert str(error.value) == (f"stream {name} takes {needed} words a tile but a bank of the global buffer holds 20\n"
                                    "  try: use a smaller tile (--tile or tile=)")


def test_transactions_are_asked_for_when_a_launch_needs_them() -> None:
    arch = replace(LEAST, glb=Glb(columns_per_tile=1, bank_bytes=64, load_loops=2, store_loops=2))
    asked = []

    def blocks() -> Iterator[dict[str, np.ndarray]]:
        for number in range(9):
            asked.append(number)
            yield {"a_vals": block(*range(15))}

    found = launches(copier(arch), arch, blocks(), {"b_vals": 16})
    assert asked == []
    assert next(found).transactions == 1
    assert asked == [0, 1, 2], "till the banks have no room for more"
    assert [next(found).transactions, next(found).transactions] == [1, 1]
    assert asked == [0, 1, 2, 3]
    assert [each.transactions for each in found] == [1] * 6


def places(launch: Launch) -> "list[int]":
    """The addresses of words that are written and read."""
    return [each.address for each in launch.commands if isinstance(each, WriteMemory | Read)]


def test_work_that_fits_the_banks_is_one_launch_and_other_work_takes_their_halves_in_turn() -> None:
    half, blocks = LEAST.glb.bank_bytes // 2, [{"a_vals": block(*range(31))}] * 20     # four have room in half a bank
    one, = launches(copier(LEAST), LEAST, blocks[:8], {"b_vals": 32})
    assert not one.apart and places(one) == [0, 1024 + 512]
    found = list(launches(copier(LEAST), LEAST, blocks, {"b_vals": 32}))
    assert [(each.transactions, each.apart) for each in found] == [(4, False), *[(4, True)] * 4]
    # The one stream of a tile has half of each of its banks.
    assert [places(each) for each in found] == [[512 * (n % 2), 1024 + 512 * (1 - n % 2)] for n in range(5)]
    assert {set_in(each.commands, 1)["store_limit"] for each in found} == {half // 2}


def test_a_transaction_that_is_larger_than_half_a_bank_has_it_for_itself() -> None:
    small, large = {"a_vals": block(*range(31))}, {"a_vals": block(*range(200))}
    found = list(launches(copier(LEAST), LEAST, [*[small] * 9, large, small, small], {"b_vals": 32}))
    assert [(each.transactions, each.apart) for each in found] == [(4, False), (4, True), (1, True), (2, False), (1, False)]
    assert places(found[3]) == [0, 1024 + 512]


def test_words_are_written_and_read_while_others_compute() -> None:
    """And nothing is in the places of a launch that is not done with."""
    device, done = Copier(LEAST), []

    def log(name: str, what: "Callable[..., Any]") -> "Callable[..., Any]":
        def logged(*arguments: Any) -> Any:
            if name != "write_register" or arguments[0] == "control":
                done.append((name, arguments[0]))
            return what(*arguments)

        return logged

    for name in ("write_memory", "read_memory", "wait", "write_register"):
        setattr(device, name, log(name, getattr(device, name)))
    blocks = [block(*(32 * number + each for each in range(31))) for number in range(20)]
    given = [{"a_vals": each} for each in blocks]
    for overlapped in (True, False):
        done.clear()
        found = list(host.run(device, copier(LEAST), given, {"b_vals": 32}, overlapped=overlapped))
        assert [each["b_vals"].tolist() for outcome in found for each in outcome.stored] == [each.tolist() for each in blocks]
        # The device reads what it copies where it is started. The configuration is waited for behind the first words.
        first = done.index(("write_memory", 0), 2 + sum(name == "write_memory" for name, _ in done[:4]))
        told = "".join({"write_memory": "w", "read_memory": "r", "wait": ".", "write_register": "S"}[name]
                       for name, _ in done[first:])
        assert told.replace("Sr", "S") == ("w.Sw.Srw.Srw.Srw.Sr.r" if overlapped else "wS.r" * 5)
