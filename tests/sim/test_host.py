from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import LEAST, copier

from sardonyx.compiler.backend.encode import words
from sardonyx.compiler.ir.program import Binding
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.presets import get
from sardonyx.hw.arch.soc import STORE_LIMIT
from sardonyx.sim.host import WATCHDOG_CYCLES, Outcome, explain, run, show_status, split_blocks
from sardonyx.sim.rtl.folding import machine_model
from sardonyx.sim.rtl.machine import Machine

ROOM = LEAST.glb.bank_bytes // 2


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
    assert show_status(tiny, (3, 1), outs | 1 << 31) == "waiting outputs out0; overflow"
    assert show_status(tiny, (3, 1), 0) == ""
