"""Commands in pages: in order, with room for all, and no page is left half empty."""

import itertools
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machines import LEAST
from riscv import needs_compiler

from sardonyx.hw.arch.system import WAITING, System
from sardonyx.hw.tables import header
from sardonyx.runtime.firmware import firmware
from sardonyx.runtime.pages import LEAST_BYTES, Chain, Line, Pages, note_bytes, page_bytes, paged
from sardonyx.runtime.report import Layout, head, read_report
from sardonyx.runtime.row_lines import RowLines
from sardonyx.runtime.rows import Rows
from sardonyx.runtime.toolchain import compiled
from sardonyx.sim.rtl.system import SimulatedSystem

TIGHT = replace(LEAST, system=System(processor=True, ram_bytes=4096, serial_cycles=4))

SET = Line("    SET(a, 1u),", 2, behind="REGISTERS")
GLB = Line("    SET(b, 1u),", 2, behind="GLB_REGISTERS")
WAIT = Line("    WAIT(1u),", 1, notes=2)
REMARK = Line("    /* here */", 0)
LEADS = Line("    TAKE(0u, 0u, 8u),", 4, leads=2)
LINES = st.lists(st.sampled_from([SET, GLB, WAIT, REMARK, Line("    MARK,", notes=1), Line("    BRING(0u, 0u, 8u),", 4)]),
                 max_size=200)


def words_of(page: "list[Line]") -> int:
    """As the text has them, in front of each run of registers their number."""
    shown = Pages([Chain([page])], 4096).text()
    return sum(line.words for line in page) + shown.count("REGISTERS(") + len(re.findall("FOLLOWED_BY|END", shown))


@pytest.mark.parametrize("ram, queues, size", [
    (4096, 1, 256), (16384, 1, 1024), (65536, 1, 2048), (1 << 20, 1, 2048), (65536, 2, 2048), (16384, 3, 320), (8192, 5, 96),
    (4096, 16, 64)])
def test_a_page_is_a_part_of_the_memory_and_no_longer_than_brings_something(ram: int, queues: int, size: int) -> None:
    assert page_bytes(System(processor=True, ram_bytes=ram), queues) == size
    assert size % 8 == 0 == note_bytes(size) % 8 and size >= LEAST_BYTES


@pytest.mark.parametrize("brings", [True, False])
def test_the_smallest_page_has_room_for_every_transfer(brings: bool) -> None:
    """As many alike as have room to wait are one command."""
    rows, lines = RowLines(), [Line("    JOB(0u, 0u),", 2)]
    for at in range(WAITING):
        rows.add(lines, brings, Rows(3, 8, 0, 16, 0, 8), (16, 8), 64 * at, 1024 * at)
    alone = Line("    SET_BRING(0u, 0u, 8u),", 6, behind="REGISTERS", brings=1)
    assert [len(page) for page in paged([*lines, alone], LEAST_BYTES)] == [1, 1, 1]
    assert all(4 * words_of([each]) <= LEAST_BYTES for each in (*lines, alone))


@given(lines=LINES, size=st.sampled_from([32, 64, 256]))
def test_pages_hold_all_in_order_and_as_much_as_has_room(lines: "list[Line]", size: int) -> None:
    pages = list(paged(lines, size))
    assert [line for page in pages for line in page] == lines
    for number, page in enumerate(pages):
        notes = sum(line.notes for line in page)
        assert 4 * words_of(page) <= size and 4 * notes <= note_bytes(size)
        if number + 1 < len(pages):
            after = pages[number + 1][0]
            assert 4 * words_of([*page, after]) > size or 4 * (notes + after.notes) > note_bytes(size)


@given(lines=LINES, size=st.sampled_from([64, 256]))
def test_what_a_line_leads_is_in_its_page(lines: "list[Line]", size: int) -> None:
    mark, done = Line("    MARK,", notes=1), Line("    JOB_DONE,")
    pages = list(paged([*lines, LEADS, mark, done], size))
    assert pages[-1][-3:] == [LEADS, mark, done]


def test_pages_as_c() -> None:
    assert Pages([Chain([[REMARK, SET, SET, GLB, WAIT, SET, WAIT, WAIT]])], 72).text() == """#include "firmware.h"

const uint32_t commands[][PAGE_WORDS] = {
{
    FOLLOWED_BY(1u),
    /* here */
    REGISTERS(2u),
    SET(a, 1u),
    SET(a, 1u),
    GLB_REGISTERS(1u),
    SET(b, 1u),
    WAIT(1u),
    REGISTERS(1u),
    SET(a, 1u),
    WAIT(1u),
    NEXT
}, {
    FOLLOWED_BY(0u),
    WAIT(1u),
    END
}
};
"""


def test_every_chain_begins_with_the_page_of_its_number_and_goes_on_behind_those_of_all() -> None:
    lines = [Line(f"    {name},", notes=1) for name in "ABCDEFGHI"]
    pages = Pages([Chain([lines[:5]]), Chain([]), Chain([lines[5:]])], 32)
    shown = re.findall(r"FOLLOWED_BY\((\d)u\),((?:\n    [A-I],)*)\n    (NEXT|END)", pages.text())
    assert [(int(after), "".join(filter(str.isalpha, names)), end) for after, names, end in shown] == [
        (3, "AB", "NEXT"), (0, "", "END"), (5, "FG", "NEXT"), (4, "CD", "NEXT"), (0, "E", "END"), (0, "HI", "END")]
    assert pages.count == 6
    assert [pages.notes(chain) for chain in range(3)] == [[0, 1, 6, 7, 8], [], [4, 5, 10, 11]]


def test_every_job_begins_a_page_where_a_chain_may_lead() -> None:
    lines = [Line(f"    {name},", notes=1) for name in "ABCDEFG"]
    pages = Pages([Chain([lines[:1], lines[1:4], lines[4:5]]), Chain([[Line("    F,")]], (0, 1)), Chain([[]], (0, 2))], 32)
    shown = re.findall(r"FOLLOWED_BY\((\d)u\),((?:\n    [A-I],)*)\n    (NEXT|END)", pages.text())
    assert [(int(after), "".join(filter(str.isalpha, names)), end) for after, names, end in shown] == [
        (3, "A", "NEXT"), (3, "F", "NEXT"), (5, "", "NEXT"), (4, "BC", "NEXT"), (5, "D", "NEXT"), (0, "E", "END")]
    assert [pages.begins(0, job) for job in range(3)] == [0, 3, 5]
    assert pages.notes(0) == [0, 6, 7, 8, 10]


@needs_compiler
@pytest.mark.parametrize("latency", [1, 3000])
def test_no_page_begins_before_it_has_come(latency: int) -> None:
    """Of commands that wait for nothing else, and each of which notes something."""
    nothing, size = firmware([], TIGHT, 65536), page_bytes(TIGHT.system)
    pages = Pages([Chain([[Line("    MARK,", notes=1)] * 500])], size)
    words = head(0) + note_bytes(size) // 4 * pages.count
    layout = Layout(words, 0, (), tuple(head(0) + note for note in pages.notes(0)), (), ())
    made = replace(nothing, commands=pages.text(), report=nothing.place + size * pages.count, layout=layout)
    with SimulatedSystem(TIGHT, 65536, latency) as system:
        image = compiled(made, TIGHT, header(TIGHT))
        system.write(0, image.memory)
        system.write(made.place, image.pages)
        assert system.run(500_000) is not None
        found = read_report(layout, system.read(made.report, 2 * words).view("<u4"))
    assert found.ended and found.faults == 0
    assert len(found.times) == 500 and all(before < after for before, after in itertools.pairwise(found.times))
