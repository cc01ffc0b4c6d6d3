"""Static programs on whole machines: loads, routes, PEs and stores in step by construction, without valid and ready.

Expected words and cycles are computed by hand from the contracts: a word is at `g2f` from START on; a route costs
one cycle at each switch box of an odd tile (even ones pass, or cost one in mode `delay`) and one at each core input.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from sardonyx.compiler.backend.encode import address, words
from sardonyx.compiler.ir.program import STATIC, Program, Site
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.config import STATUS_REGISTER
from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.arch.op import BY_NAME, CONDITIONS
from sardonyx.hw.arch.primitive import ALU
from sardonyx.hw.arch.soc import FINISHED, STORE_LIMIT, STORE_LOST, WATCHDOG
from sardonyx.hw.arch.tile import PE, TileSpec
from sardonyx.sim.rtl import simulator
from sardonyx.sim.rtl.machine import Machine

# What the programs below compute, and no more: every form of the machine has a PE of its own to be built.
OPS = tuple(BY_NAME[name] for name in ("muladd", "adc", "sbc"))
ARCH = Arch("static", 2, 2, mem_every=0, interconnect=Interconnect(1),
            pe=TileSpec("pe", PE.ports, (ALU,), ops=OPS, multiplier_tree=False),
            glb=Glb(columns_per_tile=1, bank_bytes=512, load_loops=2, store_loops=2))
PLAIN = replace(ARCH, interconnect=Interconnect(1, fifo="none"))
FULL = replace(ARCH, interconnect=Interconnect(1, fifo="full"))
REGISTERED, PLAIN_REGISTERED, FULL_REGISTERED = (
    replace(arch, interconnect=replace(arch.interconnect, output_registers=True)) for arch in (ARCH, PLAIN, FULL))
LATE = replace(ARCH, glb=replace(ARCH.glb, bank_macros=2, read_latency=3))
CONDITION = {each.name: each.code for each in CONDITIONS}
BANK, START = ARCH.glb.bank_bytes, ARCH.glb.load_start_cycle

Values = Mapping[str, int | str]


class Tiles:
    """The configuration of a static program, one multiplexer after the other."""

    def __init__(self, arch: Arch = ARCH) -> None:
        self.arch = arch
        self.config: dict[Site, dict[str, dict[str, int | str]]] = {}

    def put(self, site: Site, name: str, **values: int | str) -> None:
        self.config.setdefault(site, {}).setdefault(name, {}).update(values)

    def route(self, site: Site, sink: str, source: str, layer: str = "data", mode: str = "static") -> None:
        """Let a sink of a tile take a source: a switch-box output as `mode` says, or a static core input."""
        spec = self.arch.tiles[site]
        code = self.arch.interconnect.select(spec, sink, source, layer)
        elastic = self.arch.interconnect.fifo != "none"
        if sink in {port.name for port in spec.inputs(layer)}:
            self.put(site, f"cb_{layer}", **{f"{sink}_sel": code}, **({f"{sink}_static": 1} if elastic else {}))
        else:
            use = {f"{sink}_mode": mode} if elastic else {f"{sink}_delay": int(mode == "delay")}
            self.put(site, f"sb_{layer}", **{f"{sink}_sel": code}, **use)

    def alu(self, site: Site, op: str, **values: int | str) -> None:
        elastic = self.arch.interconnect.fifo != "none"
        self.put(site, "core", mode="alu")
        self.put(site, "alu", op=BY_NAME[op].code, **({"static": 1} if elastic else {}), **values)

    def counter(self, site: Site, step: int = 1, cond: str = "eq") -> None:
        """A PE whose result is step * (t - 1) in cycle t, from 1 on; `p` reports a condition of it."""
        self.alu(site, "adc", const_a=step, cond=CONDITION[cond], operand_b="channel0", mode0="delay", write0="res")

    def program(self) -> Program:
        spaces = {site: self.arch.config_map(self.arch.tiles[site].kind) for site in self.config}
        config = {site: space.decode(space.encode(self.config[site])) for site, space in spaces.items()}
        return Program(self.arch.fingerprint, STATIC, {}, config, ())


@pytest.fixture(params=[pytest.param(False, marks=pytest.mark.slow), True], ids=["folded", "reconfigurable"])
def full(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def load(machine: Machine, tile: int, data: np.ndarray, at: int = 0) -> None:
    """A linear load of data from the first bank."""
    machine.write_memory(tile * machine.arch.glb.tile_bytes + at, data)
    for name, value in (("load_control", 1), ("load_start", at), ("load_extent0", len(data) - 1), ("load_stride0", 2)):
        machine.write_register(name, value, tile)


def store(machine: Machine, tile: int, count: int, at: int = BANK, limit: int = 1 << 16) -> None:
    """A linear static store of so many words, by default to the second bank."""
    for name, value in (("store_control", 1 | 1 << 2), ("store_start", at), ("store_limit", limit),
                        ("store_extent0", count - 1), ("store_stride0", 2)):
        machine.write_register(name, value, tile)


def run(machine: Machine, program: Program, full: bool, watchdog: int = 300) -> int:
    """Configure and run to the interrupt; the status."""
    if full:
        machine.configure(words(program, machine.arch))
    machine.write_register("watchdog_limit", watchdog)
    machine.write_register("irq_enable", 0xFFFFFFFF)
    machine.write_register("irq_status", 0xFFFFFFFF)
    machine.write_register("control", 1)
    assert machine.wait(5000)
    return machine.read_register("status")


def start(arch: Arch, program: Program, full: bool) -> Machine:
    return (simulator.whole_machine(arch) if full else simulator.folded(arch, program)).start()


def stored(machine: Machine, tile: int, at: int = BANK) -> list[int]:
    count = machine.read_register("store_words", tile)
    return machine.read_memory(tile * machine.arch.glb.tile_bytes + at, count).tolist()


def stencil(arch: Arch, threshold: int, mode: str = "static") -> Program:
    """y[k] = z[k] + z[k-5] with z = 3 x + 7, from column 0 to column 1; stored from the cycle `threshold` + 6 on.

    Cycles: x[k] is at g2f in L + k; (0, 0) is even and passes; in (0, 1), core input 1, operation 2, switch box 1; in (1, 1),
    core input 1, operation 2, switch box even; in (1, 0), core input 1: y[k] is at the store in L + k + 8. The count t is at
    the comparison in cycle t + 2: (0, 2) is even, core input 1; from there, operation 2, switch box (1, 2) 1, (1, 1) even, core
    input of (1, 0) 1. With registers at core outputs words meet three more, counts two; with a FIFO
    at every hop each two more.
    """
    tiles = Tiles(arch)
    tiles.route((0, 0), "s0", "g2f", mode=mode)
    tiles.route((0, 1), "data0", "n_in0")
    tiles.alu((0, 1), "muladd", stream_a=1, const_b=3, const_c=7)
    tiles.route((0, 1), "e0", "res0")
    tiles.route((1, 1), "data0", "w_in0")
    tiles.alu((1, 1), "adc", stream_a=1, operand_b="channel1", mode1="delay", write1="a", base1=30, depth1=6)
    tiles.route((1, 1), "n0", "res0")
    tiles.route((1, 0), "f2g", "s_in0")

    tiles.counter((0, 2))
    tiles.route((0, 2), "e0", "res0")
    tiles.route((1, 2), "data0", "w_in0")
    tiles.alu((1, 2), "sbc", stream_a=1, const_b=threshold, const_d=1, cond=CONDITION["uge"])
    tiles.route((1, 2), "n0", "bit", "bit")
    tiles.route((1, 1), "n0", "s_in0", "bit")
    tiles.route((1, 0), "f2g_bit", "s_in0", "bit")
    return tiles.program()


STENCIL_LATENCY = 8


def expected(x: np.ndarray) -> list[int]:
    z = (3 * x.astype(np.int64) + 7) % (1 << 16)
    return ((z[5:] + z[:-5]) % (1 << 16)).tolist()


# Machines of which others here differ in less are built for the whole of the tests only.
SLOW = partial(pytest.param, marks=pytest.mark.slow)


@pytest.mark.parametrize("arch,full", [(ARCH, False), (ARCH, True), (PLAIN, True), (LATE, True), SLOW(REGISTERED, True),
                                       SLOW(PLAIN_REGISTERED, True), SLOW(FULL, True), (FULL_REGISTERED, True)],
                         ids=["folded", "reconfigurable", "reconfigurable without FIFOs", "with a late global buffer",
                              "with registers at core outputs", "with such registers and without FIFOs",
                              "with a FIFO at every hop", "with both"])
def test_a_stencil_of_two_pes_stores_its_words_in_their_cycles(arch: Arch, full: bool) -> None:
    start_cycle = arch.glb.load_start_cycle
    registers, hops = arch.interconnect.output_registers, arch.interconnect.fifo == "full"
    latency = STENCIL_LATENCY + 3 * registers + 2 * hops
    first = start_cycle + latency + 5      # the cycle of y[5] at the store
    program = stencil(arch, first - 6 - 2 * registers - 2 * hops)
    with start(arch, program, full) as machine:
        for seed, count in enumerate((6, 80, 255)):
            x = np.random.default_rng(seed).integers(0, 1 << 16, count).astype(np.uint16)
            load(machine, 0, x)
            store(machine, 1, count - 5)
            assert run(machine, program, full) == 1 << FINISHED
            assert stored(machine, 1) == expected(x)
            # The run ends with the last word stored; cycle 0 of the tiles is the first that is counted.
            assert machine.read_register("cycles") == start_cycle + latency + count


def test_mode_delay_costs_a_cycle_on_an_even_tile() -> None:
    first = START + STENCIL_LATENCY + 1 + 5
    program = stencil(ARCH, first - 6, mode="delay")
    with start(ARCH, program, True) as machine:
        x = np.arange(40, dtype=np.uint16)
        load(machine, 0, x)
        store(machine, 1, 35)
        assert run(machine, program, True) == 1 << FINISHED
        assert stored(machine, 1) == expected(x)
        assert machine.read_register("cycles") == START + STENCIL_LATENCY + 1 + 40


def ramps() -> Program:
    """Both loads to the store of the other column, and in row 2 a counter per column, whose predicate marks the words.

    Column 0 to 1: (0, 0) even; (0, 1) odd, 1; (1, 1) even; core input of (1, 0), 1. Column 1 to 0: (1, 0) odd, 1; (1, 1)
    even; (0, 1) odd, 1; core input of (0, 0), 1. A counter of step 2048 is negative in cycles 17 to 32. Its predicate passes
    from (0, 2), even, by (0, 1), odd, 1, to the core input of (0, 0), 1; and from (1, 2), odd, 1, by (1, 1), even, to that of
    (1, 0), 1.
    """
    tiles = Tiles()
    for x in (0, 1):
        tiles.route((x, 0), "s0", "g2f")
        tiles.route((x, 1), "we"[1 - x] + "0", "n_in0")
        tiles.route((x, 1), "n0", "ew"[x] + "_in0")
        tiles.route((x, 0), "f2g", "s_in0")
        tiles.counter((x, 2), 2048, "negative")
        tiles.route((x, 2), "n0", "bit", "bit")
        tiles.route((x, 1), "n0", "s_in0", "bit")
        tiles.route((x, 0), "f2g_bit", "s_in0", "bit")
    return tiles.program()


# Cycles of the routes of `ramps` from g2f of a column to the store of the other.
RAMP_LATENCY = (2, 3)


@pytest.mark.parametrize("nest", ["linear", "a line each", "backwards"])
def test_every_load_is_at_its_io_tile_from_the_same_cycle_on_and_without_gaps(nest: str, full: bool) -> None:
    program = ramps()
    step = {"linear": 2, "a line each": 8, "backwards": -10}[nest]
    first = {"linear": 0, "a line each": 0, "backwards": 500}[nest]
    with start(ARCH, program, full) as machine:
        for tile in (0, 1):
            # Word k of the load is k.
            contents = np.full(256, 0xFFFF, np.uint16)
            contents[(first + step * np.arange(50)) // 2] = np.arange(50)
            load(machine, tile, contents)
            for name, value in (("load_start", first), ("load_extent0", 49), ("load_stride0", step)):
                machine.write_register(name, value & 0xFFFFFFFF, tile)
            store(machine, tile, 16)
        assert run(machine, program, full) == 1 << FINISHED
        for tile in (0, 1):
            marked = np.arange(17 + 2, 17 + 2 + 16)
            assert stored(machine, tile) == (marked - RAMP_LATENCY[1 - tile] - START).tolist()


def loop(step: int = 128) -> Program:
    """x + 1 from column 0 to column 0, marked in the cycles in which a counter is negative: 257 to 512 with step 128.

    (0, 0) even; (0, 1), core input 1, operation 2, switch box 1; core input of (0, 0), 1. Marks as in `ramps`.
    """
    tiles = Tiles()
    tiles.route((0, 0), "s0", "g2f")
    tiles.route((0, 1), "data0", "n_in0")
    tiles.alu((0, 1), "adc", stream_a=1, const_b=1)
    tiles.route((0, 1), "n0", "res0")
    tiles.route((0, 0), "f2g", "s_in0")
    tiles.counter((0, 2), step, "negative")
    tiles.route((0, 2), "n0", "bit", "bit")
    tiles.route((0, 1), "n0", "s_in0", "bit")
    tiles.route((0, 0), "f2g_bit", "s_in0", "bit")
    return tiles.program()


LOOP_LATENCY, MARKED = 5, np.arange(257 + 2, 512 + 2 + 1)


def looped(x: np.ndarray) -> list[int]:
    """The words that `loop` stores of a load."""
    return (x[MARKED - LOOP_LATENCY - START] + np.uint16(1)).tolist()


def load_over_and_over(machine: Machine, step: int, times: int) -> np.ndarray:
    """A load of the first bank of tile 0, a word every `step` bytes, that often; the words in order."""
    contents = np.random.default_rng(step).integers(0, 1 << 16, BANK // 2).astype(np.uint16)
    count = BANK // step
    load(machine, 0, contents)
    for name, value in (("load_extent0", count - 1), ("load_stride0", step), ("load_extent1", times - 1),
                        ("load_stride1", step - BANK)):
        machine.write_register(name, value & 0xFFFFFFFF, 0)
    return np.tile(contents[::step // 2], times)


@pytest.mark.parametrize("step", [2, 8], ids=["linear", "a line each"])
def test_a_load_and_a_static_store_of_one_tile_in_different_banks_do_not_collide(step: int, full: bool) -> None:
    program = loop()
    with start(ARCH, program, full) as machine:
        x = load_over_and_over(machine, step, 3 * step // 2)
        store(machine, 0, 256)
        assert run(machine, program, full) == 1 << FINISHED
        assert stored(machine, 0) == looped(x)
        # The load went on for longer than the store.
        assert len(x) > MARKED[-1] and machine.read_register("cycles") == START + len(x)


def test_the_host_does_not_disturb_a_static_run() -> None:
    program = loop()
    with start(ARCH, program, True) as machine:
        x = load_over_and_over(machine, 2, 3)
        store(machine, 0, 256)
        machine.configure(words(program, ARCH))
        for name, value in (("watchdog_limit", 300), ("irq_enable", 0xFFFFFFFF), ("control", 1)):
            machine.write_register(name, value)
        begin = machine.cycles
        accesses = 0
        while machine.cycles - begin < len(x) - 100:    # both banks, while the run goes on
            np.testing.assert_array_equal(machine.read_memory(0, 40), x[:40])
            machine.read_memory(BANK, 40)
            accesses += 1
        assert accesses > 5
        assert machine.wait(5000)
        assert machine.read_register("status") == 1 << FINISHED
        assert stored(machine, 0) == looped(x)


@pytest.mark.parametrize("step", [2, 8], ids=["linear", "a line each"])
def test_a_word_that_finds_its_bank_busy_ends_the_run_as_lost(step: int, full: bool) -> None:
    program = loop()
    with start(ARCH, program, full) as machine:
        load_over_and_over(machine, step, 3 * step // 2)
        store(machine, 0, 256, at=0)
        assert run(machine, program, full) == 1 << STORE_LOST
        # Words of a line, and the first one of the next: then a line waits, also where it meets a linear load.
        assert machine.read_register("store_words", 0) <= 5
        # The machine is as good as new.
        x = load_over_and_over(machine, step, 3 * step // 2)
        store(machine, 0, 256)
        assert run(machine, program, full) == 1 << FINISHED
        assert stored(machine, 0) == looped(x)


def test_a_static_store_stops_at_its_limit_and_the_next_run_begins_anew(full: bool) -> None:
    program = loop()
    with start(ARCH, program, full) as machine:
        for _ in range(2):
            x = load_over_and_over(machine, 2, 3)
            store(machine, 0, 256, limit=10)
            assert run(machine, program, full) == 1 << STORE_LIMIT
            assert stored(machine, 0) == looped(x)[:10]
        store(machine, 0, 200)
        assert run(machine, program, full) == 1 << FINISHED
        assert stored(machine, 0) == looped(x)[:200]


@pytest.mark.parametrize("arch", [ARCH, PLAIN], ids=["split", "none"])
def test_the_watchdog_ends_a_static_run_whose_words_are_never_marked(arch: Arch) -> None:
    program = stencil(arch, 0xFFFF)
    with start(arch, program, True) as machine:
        load(machine, 0, np.arange(100, dtype=np.uint16))
        store(machine, 1, 95)
        assert run(machine, program, True, watchdog=250) == 1 << WATCHDOG
        # Counted from the last word loaded.
        assert 250 + 100 <= machine.read_register("cycles") <= 250 + 100 + 5
        assert [machine.read_configuration(address(*site, STATUS_REGISTER)) for site in program.config] == [0] * 6
