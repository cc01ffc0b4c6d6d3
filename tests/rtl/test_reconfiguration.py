"""Machines in generated Verilog that configuration DMAs configure: registers, programs one after the other, times."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pytest
from machines import KERNELS, LEAST, copier

from sardonyx.compiler.backend.encode import address
from sardonyx.compiler.backend.image import deciding, image, registers
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.lang.kernel import load_kernel
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.config import EVERY_ROW
from sardonyx.hw.arch.soc import ASTRAY, CONFIGURED, FINISHED
from sardonyx.hw.configuration import word_bits
from sardonyx.runtime import host
from sardonyx.runtime.commands import Start, Wait, WriteMemory
from sardonyx.runtime.data.images import images
from sardonyx.runtime.plan import launches, prepare
from sardonyx.sim.rtl import simulator
from sardonyx.sim.rtl.machine import Machine

# Two columns a GLB tile, two segments of a column.
PAIRS = replace(LEAST, name="pairs", columns=4, rows=3, config_rows=2, glb=replace(LEAST.glb, columns_per_tile=2))
START, CONFIGURE = 1, 4


@pytest.fixture
def pairs() -> Iterator[Machine]:
    with simulator.whole_machine(PAIRS).start() as running:
        yield running


def put(machine: Machine, tile: int, lines: np.ndarray, control: int = 1) -> None:
    """Words for the configuration DMA of a GLB tile, in its second bank."""
    glb = machine.arch.glb
    machine.write_memory(tile * glb.tile_bytes + glb.bank_bytes, lines.view("<u2"))
    for name, value in (("config_control", control), ("config_start", glb.bank_bytes), ("config_words", len(lines))):
        machine.write_register(name, value, tile)


def stream(machine: Machine, given: "Mapping[int, np.ndarray]", command: int = CONFIGURE) -> int:
    """Have words streamed, and wait; the status."""
    for tile in range(machine.arch.glb_tiles):
        put(machine, tile, given.get(tile, np.zeros(0, "<u8")))
    return commanded(machine, command)


def commanded(machine: Machine, command: int) -> int:
    """The status at the end of a configuration, or of the run behind it."""
    machine.write_register("irq_enable", 0xFFFFFFFF ^ 1 << ASTRAY ^ (1 << CONFIGURED if command & START else 0))
    machine.write_register("irq_status", 0xFFFFFFFF)
    machine.write_register("control", command)
    assert machine.wait(5000)
    return machine.read_register("status")


def random_words(arch: Arch, seed: int) -> dict[int, int]:
    """A word for every register of a machine, cut to its bits, by address, in any order."""
    draw = random.Random(seed)
    bits = {site: word_bits(arch.config_map(spec.kind)) for site, spec in arch.tiles.items()}
    places = [(site, register) for site in arch.tiles for register in range(len(bits[site]))]
    return {address(*site, register): draw.getrandbits(32) & (1 << bits[site][register]) - 1
            for site, register in draw.sample(places, len(places))}


def held(machine: Machine, wanted: "Mapping[int, int]") -> dict[int, int]:
    return {where: machine.read_configuration(where) for where in wanted}


@pytest.mark.parametrize("arch", [PAIRS, KERNELS], ids=lambda arch: str(arch.name))
def test_every_register_holds_what_is_streamed_and_the_time_is_that_of_the_words_of_the_busiest_tile(arch: Arch) -> None:
    wanted = random_words(arch, 1)
    given, = images(wanted.items(), arch)
    with simulator.whole_machine(arch).start() as machine:
        assert stream(machine, given) == 1 << CONFIGURED
        cycles = machine.read_register("config_cycles")
        assert held(machine, wanted) == wanted
    segments = -(-arch.rows // arch.config_rows)
    assert cycles == max(map(len, given.values())) + 1 + segments + 1


def test_a_write_to_every_row_reaches_all_tiles_of_a_column_but_that_of_io(pairs: Machine) -> None:
    before = random_words(PAIRS, 2)
    stream(pairs, next(images(before.items(), PAIRS)))
    given, = images([(address(2, EVERY_ROW, 1), 0)], PAIRS)
    assert stream(pairs, given) == 1 << CONFIGURED
    changed = {address(2, y, 1): 0 for y in range(1, PAIRS.rows + 1)}
    assert held(pairs, before) == before | changed


def test_one_tile_configures_the_columns_of_the_next_when_they_are_chained(pairs: Machine) -> None:
    wanted = random_words(PAIRS, 3)
    lines = np.array([where << 32 | word for where, word in wanted.items()], "<u8")
    half = len(lines) // 2      # what a bank holds
    for part in (lines[:half], lines[half:]):
        put(pairs, 0, part)
        pairs.write_register("config_control", 2, 1)
        assert commanded(pairs, CONFIGURE) == 1 << CONFIGURED
    assert held(pairs, wanted) == wanted


def test_a_word_beyond_the_chain_is_reported(pairs: Machine) -> None:
    put(pairs, 0, np.array([address(2, 1, 0) << 32 | 1], "<u8"))
    put(pairs, 1, np.zeros(0, "<u8"))
    assert commanded(pairs, CONFIGURE) == 1 << CONFIGURED | 1 << ASTRAY
    assert pairs.read_configuration(address(2, 1, 0)) == 0


def test_configuration_by_the_host_is_refused_while_words_stream_and_done_behind_them(pairs: Machine) -> None:
    lines = np.array([address(0, 1, 0) << 32 | 7] * (PAIRS.glb.bank_bytes // 8), "<u8")
    put(pairs, 0, lines)
    put(pairs, 1, lines[:0])
    pairs.write_register("config_address", address(0, 2, 0))
    pairs.write_register("control", CONFIGURE)
    for name in ("config_write", "config_read"):
        with pytest.raises(AssertionError, match=f"write of register {name} was answered with 2"):
            pairs.write_register(name, 5)
    assert pairs.read_register("status") >> CONFIGURED & 1 == 0, "it still streams"
    pairs.write_register("irq_enable", 1 << CONFIGURED)
    assert pairs.wait(500)
    assert pairs.read_configuration(address(0, 2, 0)) == 0
    pairs.write_register("config_write", 5)
    assert [pairs.read_configuration(address(0, y, 0)) for y in (1, 2)] == [7, 5]


def test_programs_follow_each_other_by_what_differs_and_give_what_they_give_alone() -> None:
    """From one launch to the next without a reset, the new configuration and the start in one command."""
    there = copier(LEAST)
    back = replace(there, config={**there.config, (0, 0): {}, (1, 0): {}})      # what is stored never comes
    block = np.array([5, *range(5)], np.uint16)
    launch, = launches(there, LEAST, [{"a_vals": block}], {"b_vals": 6})
    with simulator.whole_machine(LEAST).start(check=True) as machine:
        host.execute(machine, prepare(there, LEAST))
        alone = host.execute(machine, launch.commands, there)["b_vals"].tolist()
        cycles = machine.read_register("cycles")
        assert alone == block.tolist()
        for _ in range(2):
            for made, before in ((back, there), (there, back)):
                given, = images(image(made, LEAST, registers(before, LEAST)), LEAST)
                assert sum(map(len, given.values())) < len(registers(made, LEAST))
                host.execute(machine, (each for each in launch.commands if not isinstance(each, (Start, Wait, WriteMemory))))
                machine.write_memory(0, block)
                machine.write_register("watchdog_limit", 100)
                status = stream(machine, given, START | CONFIGURE)
                assert status >> CONFIGURED & 1
                assert bool(status >> FINISHED & 1) is (made is there)
            assert machine.read_memory(LEAST.glb.tile_bytes + LEAST.glb.bank_bytes, 6).tolist() == alone
            assert machine.read_register("cycles") == cycles


def test_what_registers_hold_that_do_not_decide_changes_neither_words_nor_cycles() -> None:
    """Such as those of schedules, in tiles that have none; machines of before leave them as they were."""
    program = compile_einsum(load_kernel("vec_elemmul").einsum(), KERNELS).program
    given = {"b0": [2, 0, 3, 3, 1, 4, 6], "b_vals": [3, 1, 2, 3], "c0": [2, 0, 2, 2, 4, 5], "c_vals": [2, 7, 8]}
    blocks = {name: np.array(words, np.uint16) for name, words in given.items()}
    decides, found = deciding(program, KERNELS), []
    others = [(where, word) for where, word in random_words(KERNELS, 6).items() if where not in decides]
    with simulator.whole_machine(KERNELS).start(check=True) as machine:
        for before in ([], others):
            machine.configure(before)
            outcome, = host.run(machine, program, [blocks])
            found.append((outcome.cycles, {name: words.tolist() for name, words in outcome.stored[0].items()}))
        assert any(word and machine.read_configuration(where) == word for where, word in others[::40]), "they hold it still"
    assert found[0] == found[1] and found[0][1] == {"x0": [1, 4], "x_vals": [1, 14]}
