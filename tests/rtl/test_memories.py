"""What memories hold, in generated Verilog: it survives configurations, and is saved and restored with its program."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import checks
import numpy as np
import pytest
from machines import BENCH

from sardonyx.compiler.backend.encode import address, decode, encode
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.ir.program import STATIC, Program, Site
from sardonyx.compiler.lang.kernel import load_kernel
from sardonyx.hw import emit
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.config import MEMORY_REGISTER, STATUS_REGISTER
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.arch.primitive import BUFFER
from sardonyx.hw.arch.tile import MEM
from sardonyx.hw.soc.top import Sardonyx
from sardonyx.runtime import host
from sardonyx.runtime.memories import InBanks, held, saved, saves
from sardonyx.runtime.plan import prepare
from sardonyx.runtime.region import Region, part
from sardonyx.runtime.session import Session
from sardonyx.runtime.stall import resume, stall
from sardonyx.sim.rtl import simulator
from sardonyx.sim.rtl.machine import Machine

# Two regions of two columns of MEM tiles, in which words are looked up: every column has a memory below its IO tile. Their GLB
# tiles have room for what two programs keep of two memories each.
ROMS = Arch("roms", 4, 2, mem_every=1, regions=2, memory_readback=True, column_stall=True,
             interconnect=Interconnect(1, fifo="none"),
            mem=replace(MEM, primitives=(BUFFER,), sram_lines=8, read_loops=1, write_loops=1, replay=False),
            glb=Glb(columns_per_tile=1, bank_bytes=1024, load_loops=2, store_loops=2, kept_bytes=2 * 256))
SWITCHED = replace(ROMS, name="switched", power_domains=True)
PART = part(ROMS, 2)
SOURCE: "dict[str, object]" = {"expression": "b(i) = t(a(i))", "order": [], "formats": {}, "names": {}}
START, WORDS = 1, ROMS.mem.buffer_words


@pytest.fixture
def machine() -> Iterator[Machine]:
    with simulator.whole_machine(ROMS).start(check=True) as running:
        yield running


def filled(seed: int) -> "dict[Site, tuple[int, ...]]":
    """Random words for every memory of a region."""
    draw = np.random.default_rng(seed)
    return {site: tuple(map(int, draw.integers(0, 1 << 16, WORDS))) for site in PART.tiles if site[1]}


def looks_up(arch: Arch, contents: "Mapping[Site, tuple[int, ...]]") -> Program:
    """A program that looks the words of column 1 up in the memory below its IO tile."""
    arch = part(arch, 2)

    def select(kind: str, sink: str, source: str) -> "dict[str, int]":
        return {f"{sink}_sel": arch.interconnect.select(getattr(arch, kind), sink, source, "data")}

    config = {(1, 0): {"sb_data": select("io", "s0", "g2f"), "cb_data": select("io", "f2g", "s_in0")},
              (1, 1): {"core": {"mode": "buffer"}, "buffer": {"rom": 1}, "cb_data": select("mem", "in0", "n_in0"),
                       "sb_data": select("mem", "n0", "out0")}}
    if arch.power_domains:
        config = {site: {"power": {"on": 1}, **values} for site, values in config.items()}
    return Program(arch.fingerprint, STATIC, SOURCE, config, (), contents)


def looked_up(region: Region, meanwhile: "Callable[[], object]" = lambda: None) -> "list[int]":
    """The words that a region has for all addresses of its table, one after the other; what to do behind the start."""
    late = 12
    registers = {"load_control": 1, "load_start": 0, "load_extent0": WORDS - 1, "load_stride0": 2,
                 "store_control": 1 | 1 << 1, "store_start": ROMS.glb.bank_bytes, "store_limit": 256,
                 "store_extent0": WORDS + late - 1, "store_stride0": 2}
    region.write_memory(ROMS.glb.tile_bytes, np.arange(WORDS, dtype=np.uint16))
    for name, value in registers.items():
        region.write_register(name, value, 1)
    region.write_register("irq_enable", 0)
    region.write_register("control", START)
    meanwhile()
    while region.read_register("status") & 1:
        pass
    bank = ROMS.glb.tile_bytes + ROMS.glb.bank_bytes
    return [int(word) for word in region.read_memory(bank, WORDS + late)]


def follows(words: "list[int]", table: "tuple[int, ...]") -> bool:
    """Whether a table stands in words, as late as may be."""
    return any(words[first:first + len(table)] == [*table] for first in range(len(words) - len(table) + 1))


def test_memories_keep_what_they_hold_over_configurations_and_runs(machine: Machine) -> None:
    session, table = Session(machine, [2, 2]), filled(1)
    session.load(0, looks_up(ROMS, table))
    assert follows(looked_up(session.regions[0]), table[1, 1])
    nothing = Program(PART.fingerprint, STATIC, SOURCE, {}, ())
    for program in (nothing, looks_up(ROMS, {}), looks_up(ROMS, {(0, 1): (1, 2, 3, 4)})):
        session.load(0, program)
        changed = table | {site: (*words, *table[site][len(words):]) for site, words in program.contents.items()}
        assert session.save(0).contents == changed
    assert follows(looked_up(session.regions[0]), table[1, 1])


@pytest.mark.parametrize("arch", [ROMS, SWITCHED], ids=lambda arch: str(arch.name))
def test_a_program_has_its_words_again_after_another_had_its_memories_there_and_elsewhere(arch: Arch) -> None:
    table, other = filled(2), filled(3)
    with simulator.whole_machine(arch).start(check=True) as machine:
        session = Session(machine, [2, 2])
        session.load(0, looks_up(arch, table))
        assert follows(looked_up(session.regions[0]), table[1, 1])
        kept = session.save(0)
        assert kept.contents == (table if arch is ROMS else {(1, 1): table[1, 1]}), "what has no power holds nothing"
        assert decode(encode(kept, session.regions[0].arch), session.regions[0].arch).contents == kept.contents
        session.load(0, looks_up(arch, other))
        assert follows(looked_up(session.regions[0]), other[1, 1])
        # In the other region first; then there are both, and each has its own.
        session.load(1, kept)
        assert follows(looked_up(session.regions[1]), table[1, 1])
        assert session.save(1).contents == kept.contents
        assert session.save(0).contents[1, 1] == other[1, 1]
        session.load(0, kept)
        assert follows(looked_up(session.regions[0]), table[1, 1])
        assert session.save(0) == kept


def test_programs_have_their_words_again_from_the_banks_of_their_region_where_one_interrupts_the_other(
        machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host reads none of them, and gives their configuration no contents."""
    session, tables = Session(machine, [2, 2]), [filled(seed) for seed in (8, 9, 10)]
    view = session.regions[1]

    def kept(table: "Mapping[Site, tuple[int, ...]]") -> "InBanks":
        session.load(1, looks_up(ROMS, table))
        return session.keep(1)

    one, two = kept(tables[0]), kept(tables[1])
    with pytest.raises(UserError) as error:
        kept(tables[2])
    assert str(error.value) == ("machine 'roms, 2 columns': what memories hold takes 256 bytes of a GLB tile, which keeps 512, "
                                "where 512 are taken\n  try: describe it with glb.kept_bytes of 768 or more")
    assert follows(looked_up(view), tables[2][1, 1]), "the third one goes on"
    for each, table in ((two, tables[1]), (one, tables[0])):
        with monkeypatch.context() as patch:
            for access in ("read_configuration", "read_memory", "configure"):
                patch.setattr(type(view), access, None)
            session.load(1, each)
        assert follows(looked_up(view), table[1, 1])
        assert {site: tuple(held(view, site).tolist()) for site in table} == table
    for region in (1, 0):
        with pytest.raises(UserError) as error:
            session.load(region, one)
        assert str(error.value) == (
            f"session: the words are in the banks of no program of region {region}\n"
            "  try: restore what was kept there once and before the region is released, or load what `save` gives")
    assert session.save(1).contents == tables[0]


def test_only_memories_that_a_program_uses_are_kept_and_all_are_saved_in_as_many_rounds_as_have_room(machine: Machine) -> None:
    """Of four memories of the region, two in a column."""
    session, table = Session(machine, [2, 2]), filled(12)
    session.load(0, looks_up(ROMS, table))
    view, one = session.regions[0], looks_up(ROMS, {(1, 1): table[1, 1]})
    session.load(0, one)
    kept = [session.keep(0) for _ in range(4)]
    assert [each.at for each in kept] == [0, 128, 256, 384]
    with pytest.raises(UserError, match="takes 128 bytes of a GLB tile, which keeps 512, where 512 are taken"):
        session.keep(0)
    for least in (0, 256, 384):
        assert saved(view, one, least).contents == table, "also where there is room for one of a column"
    with pytest.raises(UserError, match="takes 128 bytes of a GLB tile, which keeps 512, where 392 are taken"):
        saved(view, one, 392)


def test_what_cannot_be_saved_in_the_banks_ends_with_an_error_and_the_region_goes_on(machine: Machine) -> None:
    """A column or a row that is not there, by registers that software would not write."""
    session, table = Session(machine, [2, 2]), filled(11)
    session.load(0, looks_up(ROMS, table))
    view = session.regions[0]
    commands = list(saves(looks_up(ROMS, table), view.arch))
    for strange in (1 << 24 | 1 << 16 | MEMORY_REGISTER, 9 << 16 | MEMORY_REGISTER):
        with pytest.raises(AssertionError, match="the configuration ended with status"):
            host.execute(view, [replace(each, value=strange) if getattr(each, "name", "") == "config_save" else each
                                for each in commands])
    assert {site: tuple(held(view, site).tolist()) for site in table} == table
    assert saved(view, looks_up(ROMS, table)).contents == table


def test_memories_of_a_run_that_stands_still_are_read_and_written_and_it_goes_on(machine: Machine) -> None:
    session, table = Session(machine, [2, 2]), filled(7)
    session.load(0, looks_up(ROMS, table))
    view, seen = session.regions[0], []
    looked_up(view)     # what an SRAM shows before the first run is not what it shows before others
    alone, cycles = looked_up(view), view.read_register("cycles")
    changed = dict(table)
    last = address(1, 1, MEMORY_REGISTER + WORDS // 2 - 1)

    def looks(change: bool = False) -> None:
        """Look twice at all memories: before the first word has been looked up, and after some."""
        for step in range(2):
            seen.append(view.read_register("store_words", 1))
            assert view.read_register("status") & 1
            assert {site: tuple(held(view, site).tolist()) for site in table} == changed
            if change and step:
                view.configure([(last, 0x1234_5678)])
                changed[1, 1] = (*table[1, 1][:-2], 0x5678, 0x1234)
                assert tuple(held(view, (1, 1)).tolist()) == changed[1, 1]
            resume(view)
            if step == 0:
                machine.wait(1)
                stall(view)
        machine.wait(200)

    for change in (False, True):
        stall(view)
        found = looked_up(view, lambda change=change: looks(change))
        assert follows(found, changed[1, 1]) and len(set(seen)) > 1
        assert 0 <= cycles - view.read_register("cycles") <= 2
        assert change or found == alone


def test_the_memory_of_a_run_that_goes_on_is_not_read() -> None:
    errors = []
    for arch in (ROMS, replace(ROMS, column_stall=False)):
        busy = type("Busy", (), {"arch": arch, "read_register": lambda self, name: name == "status"})()
        for device, site in ((busy, (1, 1)), (busy, (1, 0))):
            with pytest.raises(UserError) as error:
                held(device, site)
            errors.append(str(error.value))
    assert errors == [f"machine '{ROMS.name}': column 1 is in the middle of a run\n  try: stall it first",
                      f"machine '{ROMS.name}': tile (1, 0) has no memory\n  try: name a MEM tile, as (column, row)",
                      f"machine '{ROMS.name}': column 1 is in the middle of a run\n  try: wait for the end of the run",
                      f"machine '{ROMS.name}': tile (1, 0) has no memory\n  try: name a MEM tile, as (column, row)"]


def test_only_the_registers_of_a_memory_are_words_of_it(machine: Machine) -> None:
    session, table = Session(machine, [2, 2]), filled(4)
    session.load(0, looks_up(ROMS, table))
    view = session.regions[0]
    for n in range(WORDS // 2):
        low, high = table[0, 2][2 * n:2 * n + 2]
        assert view.read_configuration(address(0, 2, MEMORY_REGISTER + n)) == low | high << 16
    for x, y, register in ((0, 2, MEMORY_REGISTER + WORDS // 2), (1, 0, MEMORY_REGISTER), (0, 3, MEMORY_REGISTER),
                           (0, 2, STATUS_REGISTER - 1), (0, 2, MEMORY_REGISTER - 1)):
        assert view.read_configuration(address(x, y, register)) == 0, (x, y, register)
    rom = PART.config_map("mem").slots["buffer", "rom"]
    assert view.read_configuration(address(1, 1, rom.word)) >> rom.lsb & 1, "what is no memory is answered as ever"
    assert view.read_configuration(address(0, 2, MEMORY_REGISTER)) == table[0, 2][0] | table[0, 2][1] << 16


def test_levels_of_a_sparse_program_are_restored_word_for_word() -> None:
    # The machine of test_masks.py, so that it is built once.
    arch = replace(BENCH, columns=12, rows=5, regions=2, memory_readback=True, mem=replace(BENCH.mem, sram_lines=64))
    with simulator.whole_machine(arch).start() as machine:
        session = Session(machine, [6, 6])
        program = compile_einsum(load_kernel("vec_elemmul").einsum(), session.regions[0].arch).program

        def block(*words: int) -> np.ndarray:
            return np.array([len(words), *words], np.uint16)

        def level(*crds: int) -> np.ndarray:
            return np.concatenate((block(0, len(crds)), block(*crds)))

        given = {"b0": level(1, 3, 4, 8), "b_vals": block(5, 6, 7, 8), "c0": level(0, 3, 8), "c_vals": block(2, 3, 4)}

        def computed(region: int, words: "dict[str, np.ndarray]") -> "list[dict[str, list[int]]]":
            session.run(region, [words])
            return [{name: found.tolist() for name, found in each.items()} for one in session.wait(region)
                    for each in one.stored]

        session.load(0, program)
        first = computed(0, given)
        assert [6 * 3, 8 * 4] in [found[-2:] for found in first[0].values()], "the product"
        kept = session.save(0)
        held = {word for words in kept.contents.values() for word in words}
        assert {1, 3, 4, 8, 5, 6, 7} <= held, "levels stand in memories after the run"
        other = {"b0": level(9, 30), "b_vals": block(90, 91), "c0": level(9, 30), "c_vals": block(92, 93)}
        session.load(0, program)
        computed(0, other)
        assert session.save(0).contents != kept.contents, "another run had them"
        for region in (1, 0):
            session.load(region, kept)
            assert session.save(region) == kept
            assert computed(region, given) == first


def test_what_cannot_be_saved_or_restored_is_told(machine: Machine) -> None:
    session = Session(machine, [2])
    with pytest.raises(UserError) as error:
        session.save(0)
    assert str(error.value) == "session: region 0 has no program\n  try: load(0, ...) first"
    session.begin(0, lambda region: region.wait(100))
    with pytest.raises(UserError, match="region 0 is busy"):
        session.save(0)
    assert session.wait(0) == []
    session.load(0, looks_up(ROMS, {}))
    kept = session.save(0)
    with pytest.raises(UserError) as error:
        saved(machine, kept)
    assert str(error.value) == (f"machine 'roms': the program is for machine {PART.fingerprint:016x}, "
                                f"not {ROMS.fingerprint:016x}\n"
                                "  try: give the program that it is configured for")
    session.split([4])
    with pytest.raises(UserError, match="compile it for the `arch` of this region"):
        session.load(0, kept)
    silent = type("Silent", (), {"arch": replace(ROMS, memory_readback=False, glb=replace(ROMS.glb, kept_bytes=0))})()
    with pytest.raises(UserError) as error:
        saved(silent, kept)
    assert str(error.value) == ("machine 'roms': what memories hold cannot be read\n"
                                "  try: describe it with `memory_readback`, or begin anew with the program as it was compiled")


def test_memories_that_are_switched_on_by_the_host_are_not_saved_as_zeros() -> None:
    glb = replace(SWITCHED.glb, configuration_dma=False, kept_bytes=0)
    silent = type("Silent", (), {"arch": replace(SWITCHED, glb=glb)})()
    with pytest.raises(UserError) as error:
        saved(silent, looks_up(silent.arch, {}))
    assert str(error.value) == (f"machine '{SWITCHED.name}': memories of tiles that are switched on by the host show nothing "
                                "before a run\n  try: describe it with `glb.configuration_dma`")


def test_a_whole_machine_is_saved_and_restored_without_a_session(machine: Machine) -> None:
    program, other = (replace(looks_up(ROMS, filled(seed)), fingerprint=ROMS.fingerprint) for seed in (5, 6))
    host.execute(machine, prepare(program, ROMS))
    kept = saved(machine, program)
    host.execute(machine, prepare(other, ROMS))
    host.execute(machine, prepare(kept, ROMS))
    assert saved(machine, kept) == kept
    assert {site: kept.contents[site] for site in program.contents} == program.contents


@pytest.mark.parametrize("arch", [ROMS, replace(SWITCHED, feed_through=True)], ids=lambda arch: str(arch.name))
def test_the_verilog_of_a_machine_whose_memories_are_read_is_without_warnings(arch: Arch, tmp_path: Path) -> None:
    files = emit.emit(Sardonyx(arch), tmp_path)
    checks.lint(files, "sardonyx")
    checks.check_yosys(files, "sardonyx")
    checks.check_icarus(files, "sardonyx")
