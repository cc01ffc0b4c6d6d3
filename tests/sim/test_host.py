from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import LEAST, SOURCE, copier

from sardonyx.compiler.backend.encode import words
from sardonyx.compiler.ir.program import Binding, Program
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.config import STATUS_FAULT, STATUS_OVERFLOW
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.presets import get
from sardonyx.hw.arch.soc import MOVED_WINDOW, OVERFLOW, STORE_LIMIT
from sardonyx.runtime.data.load_loops import Reads
from sardonyx.sim.host import (
    CYCLES_PER_WORD,
    WATCHDOG_CYCLES,
    Outcome,
    clear,
    explain,
    load,
    most_cycles,
    run,
    show_status,
    split_blocks,
    start,
)
from sardonyx.sim.rtl.folding import machine_model
from sardonyx.sim.rtl.machine import Machine

ROOM = LEAST.glb.bank_bytes // 2
TINY = get("tiny")


@pytest.fixture(scope="module")
def executable() -> str:
    return str(machine_model(LEAST).executable)


@pytest.fixture
def machine(executable: str) -> Iterator[Machine]:
    with copying(executable) as running:
        yield running


def copying(executable: str, sections: int = 1) -> Machine:
    """A machine configured as a copier."""
    running = Machine(LEAST, executable)        # type: ignore[arg-type]
    running.configure(words(copier(LEAST, sections), LEAST))
    return running


def block(*sections: "list[int]") -> np.ndarray:
    return np.array([word for section in sections for word in (len(section), *section)], np.uint16)


def copy(machine: Machine, blocks: "list[np.ndarray]", bound: int = 0, sections: int = 1) -> Outcome:
    """Copy a block per transaction; check that the words come back."""
    program = copier(LEAST, sections)
    load, store = program.loads[0].name, program.stores[0].name
    bounds = {store: bound or max(map(len, blocks))}
    outcome = run(machine, program, [{load: each} for each in blocks], bounds)
    assert [each[store].tolist() for each in outcome.blocks] == [each.tolist() for each in blocks]
    return outcome


SECTION = st.lists(st.integers(0, 0xFFFF), max_size=30)


@settings(max_examples=15)
@given(pairs=st.lists(st.tuples(SECTION, SECTION), min_size=1, max_size=30))
def test_every_transaction_gets_its_own_block_back(executable: str, pairs: "list[tuple[list[int], list[int]]]") -> None:
    with copying(executable, sections=2) as machine:
        outcome = copy(machine, [block(*pair) for pair in pairs], bound=62, sections=2)
        # Each store may take 62 words of its bank.
        assert outcome.launches == -(-len(pairs) // (ROOM // 62))


def test_transactions_are_launched_together_as_far_as_a_bank_holds_them(machine: Machine) -> None:
    quarter = block(list(range(ROOM // 4 - 1)))
    assert copy(machine, [quarter] * 4).launches == 1
    assert copy(machine, [quarter] * 5).launches == 2
    assert copy(machine, [block(list(range(ROOM - 1)))] * 2).launches == 2
    # The most that a store may give counts, not what it gives.
    assert copy(machine, [block([1])] * 4, bound=ROOM // 2).launches == 2


def test_cycles_are_those_of_all_launches_and_progress_is_told(machine: Machine) -> None:
    program, told = copier(LEAST), []
    blocks = [{"a_vals": block(list(range(99)))}] * 5
    both = run(machine, program, blocks, {"b_vals": 100}, progress=lambda done, work: told.append((done, work)))
    assert (both.launches, told) == (3, [(2, 5), (4, 5), (5, 5)])
    single = [run(machine, program, blocks[:n], {"b_vals": 100}).cycles for n in (2, 1)]
    assert both.cycles == 2 * single[0] + single[1]


def test_nothing_to_do_is_no_launch(machine: Machine) -> None:
    assert run(machine, copier(LEAST), []) == Outcome([], 0, 0)


def test_a_block_larger_than_a_bank_is_refused_with_its_name(machine: Machine) -> None:
    with pytest.raises(UserError) as error:
        copy(machine, [block(list(range(ROOM)))])
    assert str(error.value) == (f"a block of stream a_vals takes {ROOM + 1} words but a bank of the global buffer "
                                f"holds {ROOM}\n  try: use a smaller tile")


def test_a_result_larger_than_its_bank_is_refused(machine: Machine) -> None:
    with pytest.raises(UserError) as error:
        explain(machine, copier(LEAST), 1 << STORE_LIMIT, True)
    assert str(error.value) == "a result is larger than its bank of the global buffer\n  try: use a smaller tile"


@dataclass
class Told:
    """What `explain` asks of a machine after an overflow in column 3: status words by place."""

    status: dict[tuple[int, int], int]
    arch: Arch = TINY

    def read_register(self, name: str) -> int:
        return {"overflow_column": 3}[name]

    def read_configuration(self, address: int) -> int:
        return self.status[address >> 24, address >> 16 & 0xFF]


def explained(status: "dict[tuple[int, int], int]", configurable: bool = True) -> str:
    names = {f"{x},{y}": f"at{x}{y}" for x, y in status}
    program = Program(TINY.fingerprint, SOURCE | {"names": names}, {}, ())
    with pytest.raises((UserError, AssertionError)) as error:
        explain(Told(status), program, 1 << OVERFLOW, configurable)     # type: ignore[arg-type]
    return str(error.value)


FULL, FAULT = 1 << STATUS_OVERFLOW, 1 << STATUS_OVERFLOW | 1 << STATUS_FAULT


def test_a_fault_is_told_from_an_overflow_by_the_status_of_the_tile() -> None:
    overflow = f"a level overflowed its buffer of {TINY.mem.level_words} words in "
    assert explained({(3, 1): 5, (3, 2): FULL | 2, (2, 1): FULL}) == overflow + "tile (3, 2), 'at32'\n  try: use a smaller tile"
    assert explained({(3, 1): 5, (3, 2): FAULT | 2}) == "streams that do not belong together meet in tile (3, 2), 'at32'"
    assert explained({(3, 1): FULL, (3, 2): FAULT}) == "streams that do not belong together meet in tile (3, 2), 'at32'"


def test_where_no_tile_can_be_asked_those_of_the_column_are_named() -> None:
    unknown = {(3, 1): 0, (3, 2): 0, (2, 1): 0}
    assert explained(unknown, configurable=False) == (f"a level overflowed its buffer of {TINY.mem.level_words} words in "
                                                      "tile (3, 1), 'at31' or tile (3, 2), 'at32'\n  try: use a smaller tile")
    # A column of PEs has no level that could overflow.
    assert explained({(3, 0): 0}, configurable=False) == "streams that do not belong together meet in tile (3, 0), 'at30'"


@pytest.mark.parametrize("words,configurable,told", [
    # The section ends before the words do.
    ([1, *range(100)], True, "tile (0, 1) 'copy' holds tokens: inputs data0; waiting outputs res0"),
    ([1, *range(100)], False, "run it with engine rtl-full to see which tiles hold tokens"),
    # The words end before the section does.
    ([9, 1, 2], True, "no tile holds tokens: a block ended before the lengths in it said")])
def test_a_run_that_starves_says_who_waits_and_leaves_no_trace(machine: Machine, words: "list[int]", configurable: bool,
                                                              told: str) -> None:
    with pytest.raises(AssertionError) as error:
        run(machine, copier(LEAST), [{"a_vals": np.array(words, np.uint16)}], {"b_vals": 10}, configurable=configurable)
    assert str(error.value) == f"nothing moved for {WATCHDOG_CYCLES} cycles\n  {told}"
    copy(machine, [block([1, 2, 3])])


def test_a_run_that_moves_for_ever_is_stopped_and_says_where_it_moves(machine: Machine) -> None:
    program = copier(LEAST)
    # A load without an end, to an output that drops words because nothing reads it.
    dropping = {**program.config, (0, 1): {**program.config[0, 1], "sb_data": {}}}
    machine.configure(words(replace(program, config=dropping), LEAST))
    clear(machine)
    load(machine, program.loads[0], Reads(np.arange(4, dtype=np.uint16), ((4, 1), (1 << 24, 0))))
    with pytest.raises(AssertionError) as error:
        start(machine, program, True, 3000)
    limit = machine.read_register("cycle_limit")
    assert WATCHDOG_CYCLES < limit < 2 * WATCHDOG_CYCLES and limit % MOVED_WINDOW == 0
    assert str(error.value) == (f"the run did not end within {limit} cycles, far more than its operands can take\n"
                                "  tokens still moved in columns 0, with tile (0, 1) 'copy'")
    machine.configure(words(program, LEAST))
    copy(machine, [block([1, 2, 3])])


def test_a_limit_of_cycles_is_far_above_what_a_run_takes(machine: Machine) -> None:
    blocks = [block(list(range(ROOM // 4 - 1)))] * 4
    assert 8 * copy(machine, blocks).cycles < most_cycles(copier(LEAST), [{"a_vals": each} for each in blocks])
    two = Program(LEAST.fingerprint, SOURCE, {}, (Binding("a", 0, "load", 0), Binding("a", -1, "load", 1),
                                                 Binding("b", -1, "load", 2), Binding("c", -1, "store", 3)))
    sizes = {"a0": np.zeros(4), "a_vals": np.zeros(3), "b_vals": np.zeros(2)}
    assert most_cycles(two, [sizes, sizes]) == 2 * CYCLES_PER_WORD * (5 + 4 + 3) ** 2


def test_what_others_left_in_the_registers_does_not_matter(machine: Machine) -> None:
    for tile in range(LEAST.glb_tiles):
        for name, value in (("load_control", 1), ("load_extent1", 3), ("load_stride1", 8), ("store_control", 1 | 2),
                            ("store_start", 6), ("store_limit", 5), ("store_sections", 3)):
            machine.write_register(name, value, tile)
    machine.write_register("irq_enable", 0)
    copy(machine, [block([1, 2, 3]), block([])])


def test_blocks_are_split_by_their_lengths() -> None:
    stored = np.array([2, 0, 3, 3, 7, 8, 9, 1, 0, 0], np.uint16)
    found = split_blocks(stored, Binding("x", 0, "store", 0), 2)
    assert [each.tolist() for each in found] == [[2, 0, 3, 3, 7, 8, 9], [1, 0, 0]]
    with pytest.raises(AssertionError, match="stream x_vals stored 10 words, its lengths say 3"):
        split_blocks(stored, Binding("x", -1, "store", 0), 1)


def test_a_status_word_is_told_in_names() -> None:
    tiny = get("tiny")
    names = [port.name for port in tiny.mem.ports]
    assert names[:2] == ["in0", "in1"]
    assert show_status(tiny, (3, 1), 0b11) == "inputs in0, in1"
    outs = 1 << len(tiny.mem.inputs("data")) + len(tiny.mem.inputs("bit"))
    assert show_status(tiny, (3, 1), FAULT) == "overflow; fault"
    assert show_status(tiny, (3, 1), outs | 1 << 31) == "waiting outputs out0; overflow"
    assert show_status(tiny, (3, 1), 0) == ""
