"""Commands become C, and what firmware leaves in memory outside is what its program gives."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from machines import LEAST, copier
from riscv import FOUND, each_compiler, needs_compiler

import sardonyx
import sardonyx.halide
from sardonyx import together
from sardonyx.apps.dense import gaussian
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.soc import AT_WALL, CONFIGURED, OVERFLOW, STORE_LIMIT, WATCHDOG
from sardonyx.hw.arch.system import System
from sardonyx.hw.tables import header
from sardonyx.picture_job import Wanted
from sardonyx.runtime import order, toolchain
from sardonyx.runtime.faults import stopped
from sardonyx.runtime.firmware import Firmware, Job, firmware
from sardonyx.sim import system

ARCH = replace(LEAST, system=System(processor=True, ram_bytes=16384, serial_cycles=4))
PROGRAM = copier(LEAST)
LOAD, STORE = PROGRAM.loads[0].name, PROGRAM.stores[0].name
ROOM = LEAST.glb.bank_bytes // 2
TIGHT = replace(ARCH, system=replace(ARCH.system, ram_bytes=4096))
MEMORY = 1 << 20
NOTED = 50


def block(*words: int) -> np.ndarray:
    return np.array([len(words), *words], np.uint16)


def job(*blocks: np.ndarray, name: str = "copy") -> Job:
    return Job(name, PROGRAM, [{LOAD: each} for each in blocks], {STORE: max(map(len, blocks))})


def written(*jobs: Job, arch: Arch = ARCH) -> Firmware:
    return firmware(jobs, arch, MEMORY)


def lines(made: Firmware, pattern: str) -> list[str]:
    return [line for line in made.commands.splitlines() if re.search(pattern, line)]


def test_operands_lie_behind_the_memory_of_the_processor_and_nowhere_twice() -> None:
    made = written(job(block(1, 2, 3), block(4)))
    spans = sorted((address, address + len(content)) for address, content in made.content)
    assert spans[0][0] >= ARCH.system.ram_bytes
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    assert spans[-1] == (made.report, made.report + 4 * made.layout.words), "of a report nothing is there before"


def test_a_register_that_holds_a_value_is_not_written_again() -> None:
    large = block(*range(ROOM - 10))
    made = written(job(large, large, large))
    assert len([mark for mark in made.layout.marks if mark.what == "start"]) == 3
    for name, count in (("WATCHDOG_LIMIT", 1), ("IRQ_STATUS", 5), ("SARDONYX_CONTROL", 3)):
        assert len(lines(made, name)) == count, name


def test_what_the_machine_clears_itself_is_written_each_time() -> None:
    assert LEAST.glb.queue
    large = block(*range(ROOM - 10))
    made = written(job(large, large))
    assert len(lines(made, r"GLB\(0\) \+ SARDONYX_GLB_LOAD_CONTROL, 0x[1-9]")) == 2


@pytest.mark.parametrize("queue, asked_early", [(False, False), (True, False), (True, True)])
def test_nothing_starts_before_its_words_are_there_and_those_before_are_gone(queue: bool, asked_early: bool,
                                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "LEAST_CYCLES", 0 if asked_early else 1 << 20)
    arch = replace(ARCH, glb=replace(ARCH.glb, queue=queue, bank_bytes=16384))
    blocks = [{LOAD: block(*range(2000))}] * 7
    text = written(Job("copy", copier(arch), blocks, {STORE: 2001}), arch=arch).commands
    held: dict[str, int] = {}
    asked: dict[str, list[int]] = {"BROUGHT": [], "TAKEN": []}
    gone, starts = dict.fromkeys(asked, 0), 0
    for line in map(str.strip, text.splitlines()):
        if found := re.match(r"SET\(SARDONYX_(GLB\(\d\) \+ \w+|\w+), (0x\w+)u\)", line):
            held[found[1]] = int(found[2], 16)
        elif found := re.match(r"SET_BRING\(0x\w+u, (0x\w+)u", line):
            asked["BROUGHT"].append(int(found[1], 16))
        elif found := re.match(r"(?:TAKE_COUNTED\(0u|TAKE_MEANWHILE.*STREAM\(1u), (0x\w+)u", line):
            asked["TAKEN"].append(int(found[1], 16))
        elif found := re.match(r"(BROUGHT|TAKEN)(?:_BUT\((\d)u\))?,", line):
            gone[found[1]] = max(gone[found[1]], len(asked[found[1]]) - int(found[2] or 0))
        if not re.match(r"SET\(SARDONYX_CONTROL, 0x[15]u|.*LOAD_CONTROL, 0x9u", line):
            continue
        starts += 1
        load = held["GLB(0) + SARDONYX_GLB_LOAD_START"]
        store = arch.glb.tile_bytes + held["GLB(1) + SARDONYX_GLB_STORE_START"]
        assert load in asked["BROUGHT"][starts - 1:gone["BROUGHT"]], "its words are there"
        assert store not in asked["TAKEN"][gone["TAKEN"]:], "those that it writes over are gone"
    assert starts == (7 if queue else 4) and (text.count("BROUGHT_BUT") >= 1) == queue


@pytest.mark.parametrize("bank_bytes, early, few", [(LEAST.glb.bank_bytes, True, True), (LEAST.glb.bank_bytes, True, False),
                                                    (64, False, True)])
def test_words_of_the_first_launch_come_with_the_configuration_unless_they_have_its_place(
        bank_bytes: int, early: bool, few: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In small banks words of the configuration do not fit into their last part, and are where a program has its first. Where
    they are few it starts with the configuration, for which nothing else waits."""
    monkeypatch.setattr(order, "LEAST_CYCLES", 1000 if few else 0)
    arch = replace(ARCH, glb=replace(ARCH.glb, bank_bytes=bank_bytes))
    text = written(Job("copy", copier(arch), [{LOAD: block(1, 2)}], {STORE: 3}), arch=arch).commands
    before, control, after = re.split(r"SARDONYX_CONTROL, (0x[45]u)", text)
    counts = [part.count("SET_BRING(") for part in (before, after)]
    assert counts == ([3, 0] if early else [2, 1]), "two GLB tiles have columns that are configured"
    assert control == ("0x5u" if early and few else "0x4u")
    assert ("BROUGHT_BUT(1u)" in before) == (early and not few)


def test_the_name_of_a_program_ends_no_comment() -> None:
    assert "*/ evil" not in written(job(block(1), name="*/ evil \\\n")).commands


def test_programs_that_need_more_memory_are_refused() -> None:
    with pytest.raises(UserError, match="memory outside: these programs need more than its 20000 bytes"):
        firmware([job(*[block(*range(ROOM - 10))] * 20)], ARCH, 20_000)


def test_a_machine_whose_host_writes_its_configuration_is_refused() -> None:
    plain = replace(ARCH, glb=replace(ARCH.glb, configuration_dma=False))
    with pytest.raises(UserError, match="firmware configures by DMAs"):
        firmware([Job("copy", copier(plain), [], {})], plain, MEMORY)


@pytest.mark.parametrize("status, says", [(1 << OVERFLOW, "a level overflowed"), (1 << STORE_LIMIT, "larger than its part"),
                                          (1 << AT_WALL, "words are led at a wall")])
def test_a_machine_that_stops_for_its_data_is_a_mistake_of_the_user(status: int, says: str) -> None:
    reason = stopped(status)
    assert isinstance(reason, UserError) and says in reason.what


def test_any_other_end_is_ours() -> None:
    reason = stopped(1 << WATCHDOG, "region 2")
    assert isinstance(reason, AssertionError) and str(reason) == "the firmware stopped at status 0x8 of region 2"


def test_without_a_compiler_it_is_said_what_brings_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'sardonyx\[soc\]'"):
        toolchain.tools()


def silent(stage: str) -> None:
    pass


def run(*blocks: np.ndarray, arch: Arch = ARCH, periods: "tuple[int, int]" = (1, 1), latency: int = 50) -> system.Ran:
    """Copy blocks, twice as two jobs, and compare them."""
    found: tuple[list[list[int]], ...] = ([], [])
    ran = system.run_jobs([job(*blocks), job(*blocks[::-1])],
                          [lambda stored, each=each: each.append(stored[STORE].tolist()) for each in found], arch, silent,
                          periods=periods, latency=latency)
    expected = [each.tolist() for each in blocks]
    assert found == (expected, expected[::-1])
    return ran


@needs_compiler
@pytest.mark.parametrize("blocks", [
    pytest.param([block()], id="nothing"), pytest.param([block(7)], id="a word"),
    pytest.param([block(*range(each)) for each in (3, 0, 31, 1, 97)], id="of several sizes"),
    pytest.param([block(*range(ROOM - 10))] * 4, id="whole banks"),
    pytest.param([block(*range(ROOM // 3))] * 9, id="halves in turn")])
def test_words_are_those_of_the_programs(blocks: list[np.ndarray]) -> None:
    ran = run(*blocks)
    assert ran.line.startswith("done in ")
    for number in (0, 1):
        (begun, configured), = ran.spans(number, "configure")
        launched = ran.spans(number, "start")
        assert begun < configured <= launched[0][0]
        assert all(before[1] < after[0] for before, after in itertools.pairwise(launched))
        assert launched[-1][1] <= ran.left(number) < ran.cycles
        # Times are those at which the processor comes to note them.
        assert 0 < ran.machine_cycles(number) < sum(end - start + NOTED for start, end in launched)


@needs_compiler
@pytest.mark.parametrize("queue", [False, True])
def test_the_first_launch_begins_with_the_end_of_its_configuration(queue: bool) -> None:
    """Its words are there, and the processor has told the machine to."""
    arch = replace(ARCH, glb=replace(ARCH.glb, queue=queue))
    blocks = [block(*range(200))] * 4
    found: list[dict[str, np.ndarray]] = []
    ran = system.run_jobs([Job("copy", copier(arch), [{LOAD: each} for each in blocks], {STORE: 201})], [found.append], arch,
                          silent)
    assert [each[STORE].tolist() for each in found] == [each.tolist() for each in blocks]
    (_, configured), (first, *_) = ran.spans(0, "configure")[0], ran.spans(0, "start")
    assert configured == first[0] < first[1]


@needs_compiler
def test_words_go_while_they_are_stored() -> None:
    """Also those of launches that others follow: what is left at the end of the run is a small part of the last one's."""
    arch = replace(ARCH, glb=replace(ARCH.glb, bank_bytes=16384), system=replace(ARCH.system, ram_bytes=65536))
    blocks = [block(*range(first, first + 3000 + first)) for first in range(3)]
    found: list[list[int]] = []
    ran = system.run_jobs([Job("copy", copier(arch), [{LOAD: each} for each in blocks], {STORE: 3003})],
                          [lambda stored: found.append(stored[STORE].tolist())], arch, silent)
    assert found == [each.tolist() for each in blocks]
    assert len(ran.firmware.launches[0]) == 3 and ran.firmware.streams == 1
    spans = ran.spans(0, "start")
    assert ran.left(0) - spans[-1][1] < 250, "all words of it take 750"
    for begun, ended in spans:
        went = sum(min(end, ended) - max(first, begun) for first, end in ran.taken if first < ended and end > begun)
        assert went > 500


@needs_compiler
@pytest.mark.parametrize("short", [0, 1, 2])
def test_a_launch_of_a_run_that_is_stopped_ends_its_job_and_no_other(short: int) -> None:
    """Its block says that it is longer than it is; it is the first one, one in the middle, the last one."""
    arch = replace(ARCH, glb=replace(ARCH.glb, bank_bytes=16384), system=replace(ARCH.system, ram_bytes=65536))
    blocks = [block(*range(3000)) for _ in range(3)]
    wrong = [np.array([5000, *each[1:]], np.uint16) if number == short else each for number, each in enumerate(blocks)]
    found: list[list[int]] = []
    ran = system.run_jobs([Job(name, copier(arch), [{LOAD: each} for each in given], {STORE: 3001})
                           for name, given in (("short", wrong), ("whole", blocks))],
                          [lambda stored: found.append([]), lambda stored: found.append(stored[STORE].tolist())], arch, silent)
    assert ran.stopped(0) is not None and ran.stopped(1) is None
    assert found == [each.tolist() for each in blocks]


@needs_compiler
@pytest.mark.parametrize("periods", [(1, 1), (97, 50), (50, 97), (3, 1), (1, 30)], ids=str)
def test_words_are_the_same_with_two_clocks_and_the_machine_takes_as_many_of_its_cycles(periods: "tuple[int, int]") -> None:
    """Interrupts, registers and transfers cross; the limit of cycles knows of a slow machine."""
    blocks = [block(*range(ROOM // 3))] * 9
    own = replace(ARCH, system=replace(ARCH.system, own_clock=True))
    one, two = run(*blocks), run(*blocks, arch=own, periods=periods)
    for number in (0, 1):
        assert one.machine_cycles(number) == two.machine_cycles(number)


@each_compiler
def test_every_compiler_makes_firmware_that_runs(compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "tools", lambda: FOUND[compiler])
    run(block(1, 2, 3))


@needs_compiler
@pytest.mark.parametrize("latency", [1, 50, 3000])
def test_more_commands_run_than_the_memory_of_the_processor_holds(latency: int) -> None:
    """And more is noted; also where a page takes longer to come than its commands."""
    ran = run(*[block(*range(number, number + ROOM // 3)) for number in range(150)], arch=TIGHT, latency=latency)
    commands, notes = ran.firmware.commands.count("FOLLOWED_BY") * ran.firmware.page_bytes, 4 * ran.firmware.layout.words
    assert commands > 2 * TIGHT.system.ram_bytes and notes > TIGHT.system.ram_bytes // 2
    for number in (0, 1):
        spans = [ran.spans(number, "configure")[0], *ran.spans(number, "start")]
        assert len(spans) > 50 and all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
        assert all(0 < end - start < 5000 + 2 * latency for start, end in spans)


@needs_compiler
def test_cycles_are_those_of_a_larger_memory() -> None:
    """The machine's; pages of another size only end elsewhere."""
    blocks = [block(*range(ROOM // 3))] * 20
    small, large = run(*blocks, arch=TIGHT), run(*blocks)
    assert small.firmware.page_bytes < large.firmware.page_bytes
    for number in (0, 1):
        assert small.machine_cycles(number) == large.machine_cycles(number)


@needs_compiler
def test_a_program_that_stops_is_told_with_what_was_noted_before() -> None:
    short = [{LOAD: each} for each in [block(1)] * 300 + [np.array([5, 1], np.uint16)]]
    status = 1 << CONFIGURED | 1 << WATCHDOG
    ran = system.run_jobs([Job("short", PROGRAM, short, {STORE: 40})], [lambda stored: None], TIGHT, silent)
    assert not ran.report.ended and ran.line.startswith("stopped after")
    assert str(ran.stopped(0)) == f"the firmware stopped at status {status:#x} of the machine"
    with pytest.raises(AssertionError, match=f"stopped at status {status:#x} of the machine"):
        ran.check()
    # That of the launch that was stopped, too.
    assert len(ran.spans(0, "start")) == len(ran.firmware.launches[0]) > 5 and ran.left(0) == 0


@needs_compiler
def test_firmware_that_does_not_fit_is_refused() -> None:
    made = replace(written(job(block(1)), arch=TIGHT), page_bytes=2048)
    with pytest.raises(UserError) as error:
        toolchain.compiled(made, TIGHT, header(TIGHT))
    assert str(error.value) == ("machine 'least': the firmware does not fit into 4096 bytes of the processor's memory\n"
                                "  try: give it more system.ram_bytes, or fewer regions")


@needs_compiler
def test_a_kernel_runs_from_memory_outside() -> None:
    report = sardonyx.kernel("spmspm", size=11, density=0.3, engine="rtl-system").report
    assert report["cycles"] > 0 and report["words_checked"] > 0
    assert report["simulator"] == "tile library: all 72 tiles, and a processor"


@needs_compiler
@pytest.mark.parametrize("tile, lying", [((200, 100), 4 * 204 * 102), ((400, 50), 4 * 404 * 52)], ids=["by rows", "at once"])
def test_parts_of_an_image_come_from_memory_outside_as_they_lie(tile: "tuple[int, int]", lying: int) -> None:
    """Every element is compared."""
    photo = np.random.default_rng(0).integers(0, 256, (202, 402), dtype=np.uint8)
    report = sardonyx.halide.run(gaussian.build(), inputs={"photo": photo}, tile=tile, engine="rtl-system").report
    assert (report["launches"], report["words_in"]) == (4, f"{lying:,} as they lie in images, 0 arranged")
    assert report["words_out"] == f"{400 * 200:,} as they lie in images, 0 tile by tile"


@needs_compiler
def test_parts_of_a_result_go_to_their_places_outside_wherever_in_a_line_they_begin() -> None:
    """In rows, each with a part of a line that belongs to the tiles beside it: launches begin at columns 0, 150 and 300."""
    photo = np.random.default_rng(0).integers(0, 256, (202, 402), dtype=np.uint8)
    report = sardonyx.halide.run(gaussian.build(), inputs={"photo": photo}, engine="rtl-system", tile=(50, 200)).report
    assert report["launches"] == 3
    assert report["words_out"] == f"{(156 + 156 + 100) * 200:,} as they lie in images, 0 tile by tile"


@needs_compiler
@pytest.mark.parametrize("width, tile, lanes, queue", [(2, (2, 9), 2, False), (3, (3, 9), 3, False), (12, (6, 9), 2, True),
                                                       (37, (40, 5), 4, True), (90, (22, 40), 2, False)])
def test_stripes_are_put_together_outside_by_nobody(width: int, tile: "tuple[int, int]", lanes: int, queue: bool) -> None:
    """Of a column, whose line has those of other stripes, to some that begin anywhere in a line. Every element is compared."""
    arch = together.demo_arch() if queue else replace(presets.get("small"), system=together.DEMO_SYSTEM)
    photo = np.random.default_rng(width).integers(0, 256, (42, width + 2), dtype=np.uint8)
    report = sardonyx.halide.run(gaussian.build(), inputs={"photo": photo}, tile=tile, unroll=lanes, arch=arch,
                                 engine="rtl-system").report
    assert report["words_in"].endswith("images, 0 arranged") and report["words_out"].endswith("images, 0 tile by tile")


@needs_compiler
def test_rows_of_lanes_come_and_go_as_fast_as_their_words() -> None:
    """Two lanes, each of which has 100 columns of a tile; an operation of the system DMA for all rows of one."""
    photo = np.random.default_rng(0).integers(0, 256, (402, 402), dtype=np.uint8)
    picture = sardonyx.halide.prepared(gaussian.build(), {"photo": photo}, None, {}, silent)
    arch = replace(presets.get("small"), system=together.DEMO_SYSTEM)
    blur = picture.job(Wanted(picture.size, (200, 400), 2, arch, 0), silent)
    ran, _ = together.run({"blur": blur}, arch)
    commands = ran.firmware.commands
    # A command for both lanes, of each of two launches.
    assert (commands.count("TAKE_ROWS("), commands.count("TAKE(")) == (2, 0)
    beats = 402 * 104 // 4
    spans = [end - start for start, end in ran.brought if end - start > beats // 2]
    assert spans and all(span < 2 * beats * 1.05 for span in spans)
