"""Columns that stand still in generated Verilog: whenever and however often, words and the time of a run are as without it."""

import random
from dataclasses import replace
from pathlib import Path

import checks
import numpy as np
import pytest
from machines import LEAST, copier
from test_memories import ROMS
from test_static import ARCH as STATIC_ARCH
from test_static import FULL, LATE, PLAIN, SLOW, START, STENCIL_LATENCY, expected, load, stencil, store, stored
from three_regions import PART, THREE, blocks
from three_regions import stored as ran

import sardonyx
import sardonyx.halide
from sardonyx.apps.dense import gaussian
from sardonyx.compiler.backend.encode import address, words
from sardonyx.hw import emit
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.config import MEMORY_REGISTER, STATUS_REGISTER
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.soc import BUSY, CONFIGURING, FINISHED, WATCHDOG, glb_registers, named
from sardonyx.hw.soc.top import Sardonyx
from sardonyx.runtime import host
from sardonyx.runtime.session import Session
from sardonyx.runtime.stall import resume, stall, stalled
from sardonyx.sim.rtl import simulator
from sardonyx.sim.rtl.machine import Machine


def stalling(arch: Arch) -> Arch:
    return replace(arch, column_stall=True)


class Restless:
    """A machine of which columns are stalled at random while the host waits: all of them at once, or any of them.

    Where memories can be read a word of each is read meanwhile.
    """

    def __init__(self, machine: Machine, seed: int, whole: bool, pause: int = 60) -> None:
        self._memories = [address(*site, MEMORY_REGISTER) for site, spec in machine.arch.tiles.items()
                          if spec.has_memory and machine.arch.memory_readback]
        self._machine, self._draw, self._whole, self._pause = machine, random.Random(seed), whole, pause
        self.arch, self.times, self.looks = machine.arch, 0, 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._machine, name)

    def wait(self, limit: int) -> bool:
        if self._machine.read_register("status") >> CONFIGURING & 1:
            return self._machine.wait(limit)
        while limit > 0:
            ran = self._draw.choice([1, 2, 3, self._draw.randrange(1, self._pause)])
            if self._machine.wait(ran):
                return True
            chosen = [x for x in range(self.arch.columns) if self._whole or self._draw.random() < .4]
            stall(self._machine, chosen)
            self.times += 1
            if self._machine.wait(self._draw.choice([1, self._draw.randrange(1, self._pause)])):
                resume(self._machine)
                return True
            assert stalled(self._machine) == (*chosen,)
            for first in self._memories:
                if first >> 24 in chosen:
                    self._machine.read_configuration(first + self._draw.randrange(64))
                    self.looks += 1
            resume(self._machine)
            limit -= ran
        return False


@pytest.mark.parametrize("arch", [STATIC_ARCH, replace(PLAIN, glb=LATE.glb), SLOW(PLAIN), SLOW(LATE), SLOW(FULL)],
                         ids=["split", "no FIFOs and late global buffer", "no FIFOs", "late global buffer", "full FIFOs"])
def test_a_static_program_has_its_words_and_cycles_whenever_it_stands_still(arch: Arch) -> None:
    arch = stalling(arch)
    start, hops = arch.glb.load_start_cycle, arch.interconnect.fifo == "full"
    latency = STENCIL_LATENCY + 2 * hops
    program = stencil(arch, start + latency + 5 - 6 - 2 * hops)
    with simulator.whole_machine(arch).start(check=True) as machine:
        machine.configure(words(program, arch))
        frozen = 0
        for seed in range(12):
            x = np.random.default_rng(seed).integers(0, 1 << 16, (6, 80, 255)[seed % 3]).astype(np.uint16)
            load(machine, 0, x)
            store(machine, 1, len(x) - 5)
            restless = Restless(machine, seed, True, 30)
            for name, value in (("watchdog_limit", 40), ("cycle_limit", 400), ("irq_enable", 0xFFFF),
                                ("irq_status", 0xFFFF), ("stall", seed % 2 * 3), ("control", 1)):
                machine.write_register(name, value)     # it may begin frozen
            assert restless.wait(5000)
            assert machine.read_register("status") == 1 << FINISHED
            assert stored(machine, 1) == expected(x)
            assert machine.read_register("cycles") == start + latency + len(x)
            frozen += machine.read_register("stalled_cycles")
        assert frozen > 1000


LONG = stalling(replace(LEAST, name="long", columns=4, glb=replace(LEAST.glb, bank_bytes=2048)))
BLOCKS = [{"a_vals": np.array([size, *range(size)], np.uint16)} for size in (0, 1, 29, 3, 0, 0, 2, 101)]


def copied(machine: object) -> "list[list[int]]":
    """What a copier gives, whose stream goes from column 0 to column 1."""
    outcomes = host.run(machine, copier(machine.arch), BLOCKS, {"b_vals": 110})  # type: ignore[attr-defined]
    return [stored["b_vals"].tolist() for outcome in outcomes for stored in outcome.stored]


@pytest.mark.parametrize("arch", [LONG, *(pytest.param(replace(
    LONG, interconnect=replace(LONG.interconnect, fifo=fifo)), marks=pytest.mark.slow) for fifo in ("full", "inputs"))],
                         ids=["split", "full FIFOs", "no registers on tracks"])
@pytest.mark.parametrize("whole", [True, False], ids=["all columns", "any columns"])
def test_an_elastic_program_has_its_words_whichever_columns_stand_still(arch: Arch, whole: bool) -> None:
    with simulator.whole_machine(arch).start(check=True) as machine:
        for seed in range(15):
            restless = Restless(machine, seed, whole, 20)
            assert copied(restless) == [each["a_vals"].tolist() for each in BLOCKS]
            assert restless.times > 1


def test_folded_to_a_program_columns_stand_still_as_well() -> None:
    with simulator.folded(LONG, copier(LONG)).start(check=True) as machine:
        restless = Restless(machine, 1, False, 20)
        assert copied(restless) == [each["a_vals"].tolist() for each in BLOCKS] and restless.times > 1


# The build of a machine, half a minute; smaller ones stand still above.
@pytest.mark.slow
def test_programs_have_their_words_while_columns_stand_still() -> None:
    arch = replace(stalling(sardonyx.get_arch("small")), memory_readback=True)
    picture = np.random.default_rng(2).integers(0, 256, (14, 22)).astype(np.uint8)
    with sardonyx.simulated(arch) as machine:
        for seed in range(2):
            restless = Restless(machine, seed, False)
            sardonyx.kernel("spmspm", size=10, density=0.3, seed=seed, arch=arch, engine=restless)
            assert restless.times > 2 and restless.looks > 4
            restless = Restless(machine, seed, True)
            alone, still = (sardonyx.halide.run(gaussian.build(), inputs={"photo": picture}, tile=(10, 6), arch=arch,
                                                engine=each) for each in (machine, restless))
            assert still.value.tolist() == alone.value.tolist() and restless.looks > 4
            assert still.report["cycles"] == alone.report["cycles"]     # of four runs behind each other


def test_a_run_that_stands_still_reaches_no_limit_and_goes_on_where_it_was() -> None:
    arch, x = stalling(STATIC_ARCH), np.arange(200, dtype=np.uint16)
    program = stencil(arch, START + STENCIL_LATENCY + 5 - 6)
    with simulator.whole_machine(arch).start() as machine:
        machine.configure(words(program, arch))
        load(machine, 0, x)
        store(machine, 1, 195)
        for name, value in (("watchdog_limit", 30), ("cycle_limit", 250), ("control", 1)):
            machine.write_register(name, value)
        machine.wait(20)
        for _ in range(3):
            stall(machine)
            held = machine.read_register("cycles"), machine.read_register("store_words", 1)
            machine.wait(500)
            assert (machine.read_register("cycles"), machine.read_register("store_words", 1)) == held
            assert machine.read_register("status") == 1 << BUSY
            resume(machine)
            machine.wait(20)
        assert machine.read_register("stalled_cycles") > 1500
        machine.wait(300)
        assert machine.read_register("status") == 1 << FINISHED and stored(machine, 1) == expected(x)
        # One in which nothing moves is ended when its columns may move.
        machine.configure([(at, 0) for at, _ in words(program, arch)])
        machine.write_register("load_control", 0, 0)
        machine.write_register("control", 1)
        stall(machine)
        machine.wait(500)
        assert machine.read_register("status") == 1 << BUSY
        resume(machine)
        machine.wait(100)
        assert machine.read_register("status") == 1 << WATCHDOG


def test_configuration_is_read_and_changed_in_the_middle_of_a_run_and_memories_are_not() -> None:
    """z = 3 x + 7 becomes z = 3 x + 8 from a word on; y[k] = z[k] + z[k-5] is then 1 more, and 2 more 5 words later."""
    arch, x = stalling(STATIC_ARCH), np.random.default_rng(1).integers(0, 1 << 16, 255).astype(np.uint16)
    program = stencil(arch, START + STENCIL_LATENCY + 5 - 6)
    changed = replace(program, config=program.config | {(0, 1): program.config[0, 1] | {
        "alu": program.config[0, 1]["alu"] | {"const_c": 8}}})
    with simulator.whole_machine(arch).start(check=True) as machine:
        machine.configure(words(program, arch))
        load(machine, 0, x)
        store(machine, 1, 250)
        machine.write_register("control", 1)
        machine.wait(60)
        stall(machine)
        for at, word in words(program, arch):
            assert machine.read_configuration(at) == word
        machine.configure(set(words(changed, arch)) - set(words(program, arch)))
        for at, word in words(changed, arch):
            assert machine.read_configuration(at) == word
        for access in (lambda: machine.configure([(address(0, 1, MEMORY_REGISTER), 0)]),
                       lambda: machine.read_configuration(address(1, 2, STATUS_REGISTER - 1))):
            with pytest.raises(AssertionError, match="answered with"):
                access()
        resume(machine)
        machine.wait(500)
        machine.configure([(address(0, 1, MEMORY_REGISTER), 0)])    # reaches no memory, and is not refused
        more = np.array(stored(machine, 1), np.int64) - expected(x)
        first = int(np.argmax(more != 0))
        assert 20 < first < 200 and more.tolist() == [0] * first + [1] * 5 + [2] * (245 - first)


def test_a_region_stands_still_and_the_others_have_their_words_and_cycles() -> None:
    arch, given = stalling(THREE), [blocks(25, seed) for seed in range(3)]
    with simulator.whole_machine(arch).start(check=True) as machine:
        session = Session(machine, [2, 2, 2])
        alone = []
        for region in range(3):
            session.load(region, copier(stalling(PART)))
            session.run(region, given[region], {"b_vals": 31})
            alone.append(ran(session, region))
        draw = random.Random(3)
        for region in range(3):
            session.run(region, given[region], {"b_vals": 31})
        while session.busy(1):
            session.stall(1, draw.choice([None, [0], [1]]))
            assert machine.read_register("stalled", region=0) == machine.read_register("stalled", region=2) == 0
            # Of their columns no bit does anything.
            machine.write_register("stall", 0b111111, region=1)
            assert machine.read_register("stalled", region=1) == 0b001100
            machine.wait(draw.randrange(20))
            session.resume(1)
            machine.wait(draw.randrange(20))
        found = [ran(session, region) for region in range(3)]
        assert [found[0], found[2]] == [alone[0], alone[2]] and found[1][0] == alone[1][0]


def test_a_session_waits_for_no_region_that_stands_still() -> None:
    arch, given = stalling(THREE), blocks(25, 0)
    with simulator.whole_machine(arch).start() as machine:
        session = Session(machine, [2, 2])
        program = copier(stalling(PART))
        for region in range(2):
            session.load(region, program)
        session.stall(0)
        assert stalled(session.regions[0]) == (0, 1) and machine.read_register("stall") == 0b11
        for region in range(2):
            session.run(region, given, {"b_vals": 31})      # the first begins frozen
        assert len(ran(session, 1)[0]) == 25
        for wait in (lambda: session.wait(0), session.step):
            with pytest.raises(UserError, match=r"resume\(0\) first"):
                wait()
        with pytest.raises(UserError, match="region 0 is busy"):
            session.release(0)
        session.stall(0, [])
        assert len(ran(session, 0)[0]) == 25
        session.stall(1, [1])
        with pytest.raises(UserError, match=r"region 1 is stalled\n.*resume\(1\) first"):
            session.save(1)
        with pytest.raises(UserError, match="region 1 is stalled"):
            session.load(1, program)
        assert not session.busy(1)
        with pytest.raises(UserError, match="there is no column 2"):
            session.stall(1, [2])
        session.begin(0, lambda view: None)
        with pytest.raises(UserError, match="region 0 has no program"):
            session.run(0, given, {"b_vals": 31})
        session.release(1)
        assert session.place(4).number == 1 and machine.read_register("stall", region=1) == 0


def test_what_cannot_be_stalled_is_refused() -> None:
    arch = stalling(STATIC_ARCH)
    program = stencil(arch, 20)
    with simulator.whole_machine(arch).start() as machine:
        with pytest.raises(UserError) as refused:
            stall(machine, [1], program)
        assert str(refused.value) == ("machine 'static': 1 of 2 columns of a static program are to be stalled\n"
                                      "  try: stall all of them: every column knows the cycle of each word")
        static = named(glb_registers(arch.glb))["store_control"].word(static=1)
        machine.write_register("store_control", static, 0)
        with pytest.raises(UserError, match="1 of 2 columns of a static program"):
            stall(machine, [1])
        machine.write_register("store_control", 0, 0)
        with pytest.raises(UserError, match=r"1 is no list of columns\n  try: write \[1\]"):
            stall(machine, 1)     # type: ignore[arg-type]
        for columns in ([-1], [2]):
            with pytest.raises(UserError, match=f"there is no column {columns[0]}\n  try: choose some of 0..1"):
                stall(machine, columns)
        assert machine.read_register("stall") == 0
        stall(machine, [0, 1], program)
        stall(machine, [], program)
        assert stalled(machine) == ()
    with simulator.whole_machine(STATIC_ARCH).start() as machine:
        for does in (stall, resume, stalled):
            with pytest.raises(UserError, match="columns cannot be stalled\n  try: describe it with `column_stall`"):
                does(machine)
        with pytest.raises(UserError, match="there is no register 'stall'"):
            machine.write_register("stall", 1)


EVERYTHING = replace(THREE, feed_through=True, power_domains=True, column_stall=True, memory_readback=True, mem_every=2,
                     mem=ROMS.mem, glb=replace(THREE.glb, clock_gates="cell"))


@pytest.mark.parametrize("arch", [
    pytest.param(LONG, id="elastic"), pytest.param(replace(PLAIN, column_stall=True), id="static"),
    pytest.param(EVERYTHING, id="abutted, regions, power domains, clock gates", marks=pytest.mark.slow)])
def test_the_verilog_is_without_warnings(arch: Arch, tmp_path: Path) -> None:
    # Icarus has a word to say about the queue of descriptors, whatever is around it.
    files = emit.emit(Sardonyx(replace(arch, glb=replace(arch.glb, queue=False))), tmp_path)
    checks.lint(files, "sardonyx")
    checks.check_yosys(files, "sardonyx")
    checks.check_icarus(files, "sardonyx")
