from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import LEAST, SOURCE, copier

from sardonyx.compiler.backend import encode
from sardonyx.compiler.ir.program import ELASTIC, Program
from sardonyx.compiler.ir.transfer import Transfer
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.config import STATUS_FAULT, STATUS_OVERFLOW, STATUS_WALLED
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.presets import get
from sardonyx.hw.arch.soc import AT_WALL, MOVED_WINDOW, OVERFLOW, STORE_LIMIT
from sardonyx.runtime.batches import WATCHDOG_CYCLES, limit
from sardonyx.runtime.commands import Wait
from sardonyx.runtime.data.blocks import split_blocks
from sardonyx.runtime.faults import explain, show_status
from sardonyx.runtime.host import Outcome, execute, run
from sardonyx.runtime.registers import started
from sardonyx.runtime.works import CYCLES_PER_WORD, most_cycles
from sardonyx.sim.rtl import simulator
from sardonyx.sim.rtl.machine import Machine

ROOM = LEAST.glb.bank_bytes // 2
TINY = get("tiny")


@pytest.fixture
def machine() -> Iterator[Machine]:
    with copying() as running:
        yield running


def copying() -> Machine:
    """A machine for a copier."""
    return simulator.whole_machine(LEAST).start()


def block(*sections: "list[int]") -> np.ndarray:
    return np.array([word for section in sections for word in (len(section), *section)], np.uint16)


def copy(machine: Machine, blocks: "list[np.ndarray]", bound: int = 0, sections: int = 1) -> "list[Outcome]":
    """Copy a block per transaction; check that the words come back."""
    program = copier(LEAST, sections)
    load, store = program.loads[0].name, program.stores[0].name
    bounds = {store: bound or max(map(len, blocks))}
    outcomes = list(run(machine, program, [{load: each} for each in blocks], bounds))
    assert [each[store].tolist() for one in outcomes for each in one.stored] == [each.tolist() for each in blocks]
    assert [one.loaded for one in outcomes] == [sum(len(each[store]) for each in one.stored) for one in outcomes]
    return outcomes


SECTION = st.lists(st.integers(0, 0xFFFF), max_size=30)


@settings(max_examples=15)
@given(pairs=st.lists(st.tuples(SECTION, SECTION), min_size=1, max_size=30))
def test_every_transaction_gets_its_own_block_back(pairs: "list[tuple[list[int], list[int]]]") -> None:
    with copying() as machine:
        outcomes = copy(machine, [block(*pair) for pair in pairs], bound=62, sections=2)
        # Each store may take 62 words of its bank, or of half of it.
        assert len(outcomes) == (1 if len(pairs) <= ROOM // 62 else -(-len(pairs) // (ROOM // 2 // 62)))


def test_transactions_are_launched_together_as_far_as_a_bank_or_its_halves_hold_them(machine: Machine) -> None:
    quarter = block(list(range(ROOM // 4 - 1)))
    assert len(copy(machine, [quarter] * 4)) == 1
    assert len(copy(machine, [quarter] * 5)) == 3
    assert len(copy(machine, [block(list(range(ROOM - 1)))] * 2)) == 2
    # The most that a store may give counts, not what it gives.
    assert len(copy(machine, [block([1])] * 4, bound=ROOM // 2)) == 4


def test_blocks_that_share_a_place_do_not_meet_there(machine: Machine) -> None:
    """What takes more than half a bank is not written, and what it gives not read, while others compute."""
    large, small = (int(ROOM * part) for part in (0.7, 0.2))
    sizes = [large, large, small, large, *[small] * 9, large]
    blocks = [block(list(range(1000 * number, 1000 * number + size))) for number, size in enumerate(sizes)]
    copy(machine, blocks, bound=1 + large)
    copy(machine, blocks[4:13])


def test_transactions_are_launched_one_by_one_if_asked_for(machine: Machine) -> None:
    given = [{"a_vals": block([number])} for number in range(3)]
    outcomes = list(run(machine, copier(LEAST), given, {"b_vals": 2}, single=True))
    assert [[stored["b_vals"].tolist() for stored in each.stored] for each in outcomes] == [[[1, 0]], [[1, 1]], [[1, 2]]]
    assert len(list(run(machine, copier(LEAST), given, {"b_vals": 2}))) == 1


def test_every_launch_gives_its_cycles_when_it_is_done(machine: Machine) -> None:
    program = copier(LEAST)
    blocks = [{"a_vals": block(list(range(ROOM // 4 - 1)))}] * 5
    launched = [(len(each.stored), each.cycles) for each in run(machine, program, blocks, {"b_vals": ROOM // 4})]
    two, one = (next(run(machine, program, blocks[:n], {"b_vals": ROOM // 4})).cycles for n in (2, 1))
    assert launched == [(2, two), (2, two), (1, one)]


def test_transactions_are_asked_for_as_launches_need_them(machine: Machine) -> None:
    asked = []

    def blocks() -> "Iterator[dict[str, np.ndarray]]":
        for number in range(5):
            asked.append(number)
            yield {"a_vals": block(list(range(99)))}

    outcomes = run(machine, copier(LEAST), blocks(), {"b_vals": 100})
    assert asked == []
    next(outcomes)
    # Two fit, and the third says so. It is planned before what the first gave is read, and the fourth says that it is alone.
    assert asked == [0, 1, 2, 3]


def test_nothing_to_do_is_no_launch(machine: Machine) -> None:
    assert list(run(machine, copier(LEAST), [])) == []


def test_a_block_larger_than_a_bank_is_refused_with_its_name(machine: Machine) -> None:
    with pytest.raises(UserError) as error:
        copy(machine, [block(list(range(ROOM)))])
    assert str(error.value) == (f"a block of stream a_vals takes {ROOM + 1} words but a bank of the global buffer "
                                f"holds {ROOM}\n  try: use a smaller tile (--tile or tile=)")


def test_a_result_larger_than_its_bank_is_refused(machine: Machine) -> None:
    with pytest.raises(UserError) as error:
        explain(machine, copier(LEAST), 1 << STORE_LIMIT, True)
    assert str(error.value) == ("a result is larger than its part of the global buffer\n"
                                "  try: use a smaller tile (--tile or tile=)")


@dataclass
class Told:
    """What `explain` asks of a machine after an overflow in column 3: status words by place."""

    status: dict[tuple[int, int], int]
    arch: Arch = TINY

    def read_register(self, name: str) -> int:
        return {"overflow_column": 3}[name]

    def read_configuration(self, address: int) -> int:
        return self.status[address >> 24, address >> 16 & 0xFF]


def explained(status: "dict[tuple[int, int], int]", configurable: bool = True, event: int = OVERFLOW, mode: str = "level"
              ) -> str:
    names = {f"{x},{y}": f"at{x}{y}" for x, y in status}
    config = {site: {"core": {"mode": mode}} for site in status}
    program = Program(TINY.fingerprint, ELASTIC, SOURCE | {"names": names}, config, ())
    with pytest.raises((UserError, AssertionError)) as error:
        explain(Told(status), program, 1 << event, configurable)     # type: ignore[arg-type]
    return str(error.value)


FULL, FAULT = 1 << STATUS_OVERFLOW, 1 << STATUS_OVERFLOW | 1 << STATUS_FAULT


def test_a_fault_is_told_from_an_overflow_by_the_status_of_the_tile() -> None:
    overflow = f"a level overflowed its buffer of {TINY.mem.level_words} words in "
    assert explained({(3, 1): 5, (3, 2): FULL | 2, (2, 1): FULL}) == (
        overflow + "tile (3, 2), 'at32'\n  try: use a smaller tile (--tile or tile=)")
    assert explained({(3, 1): 5, (3, 2): FAULT | 2}) == "streams that do not belong together meet in tile (3, 2), 'at32'"
    assert explained({(3, 1): FULL, (3, 2): FAULT}) == "streams that do not belong together meet in tile (3, 2), 'at32'"


def test_the_overflow_of_an_accumulator_is_told_with_its_coordinates() -> None:
    assert explained({(3, 1): 5, (3, 2): FULL | 2}, mode="accumulator") == (
        "a coordinate of a sum reached 1024, or of a sum for two indices 32 or 32, in tile (3, 2), 'at32'\n"
        "  try: use a smaller tile (--tile or tile=)")


def test_where_no_tile_can_be_asked_those_of_the_column_are_named() -> None:
    unknown = {(3, 1): 0, (3, 2): 0, (2, 1): 0}
    assert explained(unknown, configurable=False) == (f"a level overflowed its buffer of {TINY.mem.level_words} words in "
                                                      "tile (3, 1), 'at31' or tile (3, 2), 'at32'\n"
                                                      "  try: use a smaller tile (--tile or tile=)")
    # A column of PEs has no level that could overflow.
    assert explained({(3, 0): 0}, configurable=False) == "streams that do not belong together meet in tile (3, 0), 'at30'"


def test_words_at_a_wall_are_told_with_the_tile_or_the_column() -> None:
    held = {site: 0 for site in TINY.tiles if site[0] == 3} | {(3, 2): 1 << STATUS_WALLED | 1}
    told = ("{}: words are led at a wall, into columns of another region\n"
            "  try: compile the program for the `arch` of the region (`session.regions[n].arch`)")
    assert explained(held, event=AT_WALL) == told.format("tile (3, 2)")
    assert explained({}, configurable=False, event=AT_WALL) == told.format("column 3")


@pytest.mark.parametrize("words,configurable,told", [
    # The section ends before the words do.
    ([1, *range(100)], True, "tile (0, 1) 'copy' holds tokens: inputs data0; waiting outputs res0"),
    ([1, *range(100)], False, "run it with engine rtl-full to see which tiles hold tokens"),
    # The words end before the section does.
    ([9, 1, 2], True, "no tile holds tokens: a block ended before the lengths in it said")])
def test_a_run_that_starves_says_who_waits_and_leaves_no_trace(machine: Machine, words: "list[int]", configurable: bool,
                                                              told: str) -> None:
    with pytest.raises(AssertionError) as error:
        machine.configure(encode.words(copier(LEAST), LEAST))
        list(run(machine, copier(LEAST), [{"a_vals": np.array(words, np.uint16)}], {"b_vals": 10}, configurable=configurable))
    assert str(error.value) == f"nothing moved for {WATCHDOG_CYCLES} cycles\n  {told}"
    copy(machine, [block([1, 2, 3])])


def test_a_run_that_moves_for_ever_is_stopped_and_says_where_it_moves(machine: Machine) -> None:
    program = copier(LEAST)
    # A load without an end, to an output that drops words because nothing reads it.
    dropping = {**program.config, (0, 1): {**program.config[0, 1], "sb_data": {}}}
    machine.configure(encode.words(replace(program, config=dropping), LEAST))
    for name, value in (("load_control", 1), ("load_start", 0), ("load_extent0", (1 << 24) - 1), ("load_stride0", 0)):
        machine.write_register(name, value, 0)
    with pytest.raises(AssertionError) as error:
        execute(machine, [*started(1, limit(3000)), Wait(100_000)], program)
    most = machine.read_register("cycle_limit")
    assert WATCHDOG_CYCLES < most < 2 * WATCHDOG_CYCLES and most % MOVED_WINDOW == 0
    assert str(error.value) == (f"the run did not end within {most} cycles, far more than its operands can take\n"
                                "  tokens still moved in columns 0, with tile (0, 1) 'copy'")
    copy(machine, [block([1, 2, 3])])


def test_a_limit_of_cycles_is_far_above_what_a_run_takes(machine: Machine) -> None:
    blocks = [block(list(range(ROOM // 4 - 1)))] * 4
    taken = sum(each.cycles for each in copy(machine, blocks))
    assert 8 * taken < sum(most_cycles(copier(LEAST), {"a_vals": len(each)}) for each in blocks)
    streams = [("a0", "load", 2), ("a_vals", "load", 1), ("b_vals", "load", 1), ("c_vals", "store", 1)]
    two = Program(LEAST.fingerprint, ELASTIC, SOURCE, {}, tuple(
        Transfer(name, way, column, 0, 0, 100, sections) for column, (name, way, sections) in enumerate(streams)))
    sizes = {"a0": 4, "a_vals": 3, "b_vals": 2}
    assert most_cycles(two, sizes) == CYCLES_PER_WORD * (5 + 4 + 3) ** 2


def test_what_others_left_in_the_registers_does_not_matter(machine: Machine) -> None:
    for tile in range(LEAST.glb_tiles):
        for name, value in (("load_control", 1), ("load_extent1", 3), ("load_stride1", 8), ("store_control", 1 | 2),
                            ("store_start", 6), ("store_limit", 5), ("store_sections", 3)):
            machine.write_register(name, value, tile)
    machine.write_register("irq_enable", 0)
    copy(machine, [block([1, 2, 3]), block([])])


def test_blocks_are_split_by_their_lengths() -> None:
    stored = np.array([2, 0, 3, 3, 7, 8, 9, 1, 0, 0], np.uint16)
    found = split_blocks(stored, "x0", 2, 2)
    assert [each.tolist() for each in found] == [[2, 0, 3, 3, 7, 8, 9], [1, 0, 0]]
    with pytest.raises(AssertionError, match="stream x_vals stored 10 words, its lengths say 3"):
        split_blocks(stored, "x_vals", 1, 1)


def test_a_status_word_is_told_in_names() -> None:
    tiny = get("tiny")
    names = [port.name for port in tiny.mem.ports]
    assert names[:2] == ["in0", "in1"]
    assert show_status(tiny, (3, 1), 0b11) == "inputs in0, in1"
    outs = 1 << len(tiny.mem.inputs("data")) + len(tiny.mem.inputs("bit"))
    assert show_status(tiny, (3, 1), FAULT) == "overflow; fault"
    assert show_status(tiny, (3, 1), outs | 1 << 31) == "waiting outputs out0; overflow"
    assert show_status(tiny, (3, 1), 0) == ""
