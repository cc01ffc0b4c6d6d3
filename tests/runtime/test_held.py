"""Registers are written again only where they would hold something else."""

import functools
from dataclasses import replace

import pytest
from copying import Copier, block
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from machines import LEAST, copier

from sardonyx.compiler.backend.image import applied, deciding, registers
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.ir.program import Program
from sardonyx.compiler.lang.kernel import load_kernel
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.mask import Mask
from sardonyx.runtime import host
from sardonyx.runtime.commands import Command, Start, WriteRegister
from sardonyx.runtime.held import Held

PLAIN = replace(LEAST, glb=replace(LEAST.glb, queue=False))
SMALL = presets.get("small")
KERNELS = ("vec_elemmul", "spmv", "mat_elemadd")


@functools.cache
def program(name: str, arch: Arch) -> Program:
    return compile_einsum(load_kernel(name).einsum(), arch).program


def test_what_registers_hold_is_not_written_again_and_what_acts_when_it_is_written_is():
    held = Held(PLAIN)
    first = [WriteRegister("load_start", 8, 0), WriteRegister("load_start", 8, 1), WriteRegister("irq_status", 3), Start()]
    again: list[Command] = [WriteRegister("irq_status", 3), Start()]
    assert list(held.changes(first)) == first
    assert list(held.changes(first)) == again
    changed = [WriteRegister("load_start", 0, 0), *first]
    assert list(held.changes(changed)) == [changed[0], first[0], *again]


def test_a_control_whose_bits_the_machine_clears_is_written_each_time():
    control = [WriteRegister("load_control", 9, 0)]
    for arch, second in ((PLAIN, []), (LEAST, control)):
        held = Held(arch)
        assert list(held.changes(control)) == control and list(held.changes(control)) == second


def test_launches_of_a_program_write_the_loops_that_they_do_not_use_once():
    written: list[tuple[str, int | None]] = []

    class Told(Copier):
        def write_register(self, name: str, value: int, glb_tile: int | None = None, region: int = 0) -> None:
            written.append((name, glb_tile))
            super().write_register(name, value, glb_tile, region)

    blocks = [block(*range(number)) for number in (100, 120, 90)]
    found = list(host.run(Told(PLAIN), copier(PLAIN), [{"a_vals": each} for each in blocks], {"b_vals": 121}))
    assert [each["b_vals"].tolist() for one in found for each in one.stored] == [each.tolist() for each in blocks]
    assert len(found) == 3, "of which two do not fit together"
    assert written.count(("load_extent1", 0)) == written.count(("load_control", 0)) == written.count(("irq_enable", None)) == 1
    assert written.count(("load_extent0", 0)) == 3 and written.count(("control", None)) == 4, "starts, and the configuration"


def test_after_reset_only_what_is_not_0_is_written():
    held = Held(PLAIN, after_reset=True)
    commands: list[Command] = [WriteRegister("load_control", 0, 0), WriteRegister("load_start", 8, 0),
                               WriteRegister("load_start", 0, 0), WriteRegister("irq_status", 0), Start()]
    assert list(held.changes(commands)) == commands[1:]


def test_a_host_that_keeps_what_registers_hold_writes_those_of_a_program_once():
    written: list[str] = []

    class Told(Copier):
        def write_register(self, name: str, value: int, glb_tile: int | None = None, region: int = 0) -> None:
            written.append(name)
            super().write_register(name, value, glb_tile, region)

    held, given = Held(PLAIN), [{"a_vals": block(5, 6, 7)}]
    device = Told(PLAIN)
    for _ in range(2):
        found = list(host.run(device, copier(PLAIN), given, {"b_vals": 4}, held=held))
        assert found[0].stored[0]["b_vals"].tolist() == [3, 5, 6, 7]
    assert written.count("load_extent1") == written.count("store_limit") == 1
    assert written.count("control") == 3, "two starts, and the configuration, which is there the second time"


def test_a_program_after_reset_writes_no_register_of_a_tile_that_stays_0_and_the_same_program_none():
    held, device, given = Held(PLAIN, after_reset=True), Copier(PLAIN), [{"a_vals": block(5, 6, 7)}]
    wanted = registers(copier(PLAIN), PLAIN)
    list(host.run(device, copier(PLAIN), given, {"b_vals": 4}, held=held))
    assert device.configured and all(word for _, word in device.configured) and held.tiles == wanted
    written = len(device.configured)
    list(host.run(device, copier(PLAIN), given, {"b_vals": 4}, held=held))
    assert len(device.configured) == written


@pytest.mark.parametrize("wrong", ["avoided", "too long", "left"])
def test_a_run_that_does_not_come_to_its_end_leaves_nothing_that_is_taken_to_be_held(wrong: str):
    """Its configuration has not been written, or is not waited for: the next run of its program writes all of it."""
    made = copier(PLAIN)
    avoided = replace(PLAIN, avoid=Mask(tuple(made.config)[:1]))
    device = Copier(avoided if wrong == "avoided" else PLAIN)
    held = Held(PLAIN, after_reset=True)
    runs = host.run(device, made, [{"a_vals": block(*range(PLAIN.glb.bank_bytes if wrong == "too long" else 3))}] * 2,
                    {"b_vals": 4}, single=True, held=held)
    if wrong == "left":
        next(runs)
        runs.close()
    else:
        with pytest.raises(UserError, match="to be avoided" if wrong == "avoided" else "but a bank"):
            list(runs)
    assert held.values == {} and held.tiles == {}
    working = Copier(PLAIN)
    list(host.run(working, made, [{"a_vals": block(5)}], {"b_vals": 4}, held=held))
    there = applied(working.configured, PLAIN, {})
    assert all(there[where] == registers(made, PLAIN)[where] for where in deciding(made, PLAIN))


@settings(max_examples=20)
@drawn(first=st.sampled_from(KERNELS), second=st.sampled_from(KERNELS), known=st.booleans())
def test_programs_one_after_the_other_find_what_they_want_in_the_registers_of_tiles(first: str, second: str, known: bool):
    held = Held(SMALL, after_reset=known)
    there = dict.fromkeys(registers(program(first, SMALL), SMALL), 0 if known else 9)
    for name in (first, second):
        made = program(name, SMALL)
        there = applied(held.configuration(made), SMALL, there)
        wanted = registers(made, SMALL)
        assert all(there[where] == wanted[where] for where in deciding(made, SMALL))
        assert held.tiles.items() <= there.items(), "what it says they hold they hold"
