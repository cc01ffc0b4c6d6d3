"""Regions in generated Verilog: each has its own runs, beside whatever goes on in the others."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import checks
import pytest
from machines import LEAST, copier
from three_regions import BLOCK, CONFIGURE, PART, START, STATIC, STOP, THREE, blocks, stored

from sardonyx.compiler.backend.encode import address
from sardonyx.compiler.backend.image import image
from sardonyx.hw import emit
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.config import EVERY_ROW
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.soc import CONFIGURED, CONFIGURING
from sardonyx.hw.soc.top import Sardonyx
from sardonyx.runtime import host
from sardonyx.runtime.data.images import images
from sardonyx.runtime.session import Session
from sardonyx.sim.rtl import simulator
from sardonyx.sim.rtl.machine import Machine


@pytest.fixture
def machine() -> Iterator[Machine]:
    with simulator.whole_machine(THREE).start(check=True) as running:
        yield running


def test_programs_run_at_once_wherever_they_are_placed_with_the_words_and_cycles_that_they_have_alone(machine: Machine) -> None:
    session = Session(machine, [2, 2, 2])
    program, given = copier(PART), [blocks(25, seed) for seed in range(3)]
    alone = []
    for region in range(3):
        assert session.regions[region].arch.fingerprint == PART.fingerprint
        session.load(region, program)
        session.run(region, given[region], {"b_vals": 31})
        alone.append(stored(session, region))
        assert alone[-1][0] == [each["a_vals"].tolist() for each in given[region]]
        assert len(alone[-1][1]) > 2, "several launches"
    for region in range(3):
        session.run(region, given[region], {"b_vals": 31})
    assert all(session.busy(region) for region in range(3))
    assert [stored(session, region) for region in (1, 2, 0)] == [alone[region] for region in (1, 2, 0)]


def test_a_region_of_more_columns_is_another_machine(machine: Machine) -> None:
    session = Session(machine, [4, 2])
    wide = copier(replace(LEAST, columns=4))
    session.load(0, wide)
    session.load(1, copier(PART))
    with pytest.raises(UserError, match="compile it for the `arch` of this region"):
        session.load(1, wide)
    for region in (0, 1):
        session.run(region, [{"a_vals": BLOCK}], {"b_vals": 21})
    assert [stored(session, region)[0] for region in (0, 1)] == [[BLOCK.tolist()]] * 2


@pytest.mark.parametrize("times", [20, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_region_has_its_words_and_cycles_while_another_is_configured_again_and_again(machine: Machine, times: int) -> None:
    session = Session(machine, [2, 2, 2])
    program, given = copier(PART), blocks(100, 1)
    bounds = {"b_vals": 31}
    session.load(0, program)
    session.run(0, given, bounds)
    alone = stored(session, 0)
    there, = images(image(program, PART), PART)
    back, = images([(address(x, EVERY_ROW, register), 0) for x in range(2) for register in range(3)], PART)
    other, configured = session.regions[1], 0
    while configured < times:
        session.run(0, given, bounds)
        while session.busy(0):
            for tile, lines in (there, back)[configured % 2].items():
                other.write_memory(tile * PART.glb.tile_bytes, lines.view("<u2"))
                for name, value in (("config_control", 1), ("config_start", 0), ("config_words", len(lines))):
                    other.write_register(name, value, tile)
            other.write_register("control", CONFIGURE)
            while other.read_register("status") >> CONFIGURING & 1:
                pass
            assert other.read_register("status") >> CONFIGURED & 1
            configured += 1
        assert stored(session, 0) == alone


def test_the_host_configures_and_reads_columns_of_the_region_over_whose_registers_it_asks(machine: Machine) -> None:
    session = Session(machine, [2, 2, 2])
    session.regions[1].configure([(address(0, 1, 0), 1)])
    assert session.regions[1].read_configuration(address(0, 1, 0)) == 1
    for region, column in ((0, 2), (1, 1), (1, 4), (2, 3)):
        machine.write_register("config_address", address(column, 1, 0), region=region)
        for name in ("config_write", "config_read"):
            with pytest.raises(AssertionError, match=f"write of register {name} was answered with 2"):
                machine.write_register(name, 0, region=region)
    assert session.regions[1].read_configuration(address(0, 1, 0)) == 1


def test_a_tile_changes_hands_only_when_nothing_goes_on_there(machine: Machine) -> None:
    assert [machine.read_register("tiles", region=region) for region in range(3)] == [63, 0, 0]
    assert machine.read_register("shape") >> 27 == 3
    machine.write_register("claim", 0b001100, region=1)
    assert [machine.read_register("tiles", region=region) for region in range(3)] == [0b110011, 0b001100, 0]
    for name in ("store_control", "store_limit", "store_sections"):
        machine.write_register(name, 1, 2)
    machine.write_register("control", START, region=1)      # and nothing comes that it stores
    for region, mask in ((2, 0b001000), (1, 0b100000), (0, 1 << 6), (0, 1 << 31)):
        with pytest.raises(AssertionError, match="claim was answered with 2"):
            machine.write_register("claim", mask, region=region)
    machine.write_register("claim", 0b110000, region=2)
    machine.write_register("control", STOP, region=1)
    machine.write_register("claim", 0b111000, region=2)
    assert [machine.read_register("tiles", region=region) for region in range(3)] == [0b000011, 0b000100, 0b111000]
    machine.write_register("claim", 0b010000, region=2)
    assert [machine.read_register("tiles", region=region) for region in range(3)] == [0b000011, 0b000100, 0b010000]
    machine.write_register("claim", 0b111011)
    assert [machine.read_register("tiles", region=region) for region in range(3)] == [0b111011, 0b000100, 0]


def test_a_machine_of_one_region_has_nothing_to_claim() -> None:
    with simulator.whole_machine(LEAST).start() as machine:
        assert (machine.read_register("tiles"), machine.read_register("shape") >> 27) == (3, 1)
        with pytest.raises(AssertionError, match="claim was answered with 2"):
            machine.write_register("claim", 1)
        assert machine.read_register("tiles") == 3


def test_what_a_machine_cannot_be_split_into_is_refused(machine: Machine) -> None:
    session = Session(machine, [2, 2])
    for columns, said in (([2] * 4, "4 regions"), ([4, 4], "columns 4..7"), ([2, 0], "a region of 0 columns"),
                          ([3, 2], "from 3 on are not.*\n.*multiples of 2 columns"), (["2", 2], "of 2 columns"),
                          ([2.0], "2.0"), ([True], "True")):
        with pytest.raises(UserError, match=said):
            session.split(columns)
    assert [machine.read_register("tiles", region=region) for region in range(2)] == [0b000011, 0b001100], "as before"
    with pytest.raises(UserError, match="there is no region 2"):
        Session(machine, [2, 2]).wait(2)
    with pytest.raises(UserError, match="no program"):
        Session(machine, [2, 2]).run(0, [])


@pytest.mark.parametrize("arch", [THREE, STATIC, replace(THREE, feed_through=True, power_domains=True)],
                         ids=["elastic", "static", "abutted, power domains"])
def test_the_verilog_of_regions_is_without_warnings(arch: Arch, tmp_path: Path) -> None:
    # Icarus has a word to say about the queue of descriptors, whatever is around it.
    files = emit.emit(Sardonyx(replace(arch, glb=replace(arch.glb, queue=False))), tmp_path)
    checks.lint(files, "sardonyx")
    checks.check_yosys(files, "sardonyx")
    checks.check_icarus(files, "sardonyx")


def test_a_region_starts_nothing_in_tiles_that_it_had_before(machine: Machine) -> None:
    session = Session(machine, [2, 4])
    session.regions[1].write_register("store_control", 1, 3)     # of words that nobody sends
    session.split([2, 2])
    program = copier(PART)
    session.load(1, program)
    session.run(1, [{"a_vals": BLOCK}], {"b_vals": 21})
    assert stored(session, 1)[0] == [BLOCK.tolist()]


def test_a_machine_of_one_region_has_no_session() -> None:
    with simulator.whole_machine(LEAST).start() as machine, pytest.raises(UserError, match="the machine has one region"):
        Session(machine, [2])


def test_what_stops_a_run_is_raised_for_its_region_and_the_others_go_on(machine: Machine) -> None:
    session = Session(machine, [2, 2, 2])
    program, given = copier(PART), blocks(25, 3)
    for region in range(3):
        session.load(region, program)
    for region in (0, 1):
        session.run(region, [{"a_vals": BLOCK[:-3]}], {"b_vals": 31})
    session.run(2, given, {"b_vals": 31})
    assert stored(session, 2)[0] == [each["a_vals"].tolist() for each in given]
    for region in (0, 1):
        with pytest.raises(AssertionError, match="a block ended before the lengths in it said"):
            session.wait(region)
        session.run(region, given, {"b_vals": 31})
    assert [stored(session, region)[0] for region in (0, 1)] == [[each["a_vals"].tolist() for each in given]] * 2


def test_a_region_is_a_device_while_others_go_on_and_then_has_no_program(machine: Machine) -> None:
    session = Session(machine, [2, 2, 2])
    program, given = copier(PART), blocks(25, 4)
    for region in (0, 1):
        session.load(region, program)
    session.run(0, given, {"b_vals": 31})
    outcomes = host.run(session.regions[1], program, given, {"b_vals": 31})
    found = [each["b_vals"].tolist() for one in outcomes for each in one.stored]
    assert found == stored(session, 0)[0] == [each["a_vals"].tolist() for each in given]
    with pytest.raises(UserError, match="region 1 has no program"):
        session.run(1, given)
    session.run(0, given, {"b_vals": 31})
    with pytest.raises(UserError, match="region 0 is busy"):
        session.regions[0].wait(10)
    assert len(stored(session, 0)[0]) == 25
