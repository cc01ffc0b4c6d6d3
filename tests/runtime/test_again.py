"""What commands say again is in the processor's memory once: the same commands come out, of fewer words."""

import re

from hypothesis import given
from hypothesis import strategies as st

from sardonyx.runtime.again import WORD_BYTES, kept
from sardonyx.runtime.lines import line
from sardonyx.runtime.pages import Line, paged
from sardonyx.runtime.row_lines import RowLines, waits
from sardonyx.runtime.rows import Rows

SHAPES = ("ROWS(1u, 3u, 0x8u, 0x10u, 0x8u)", "ROWS(2u, 3u, 0x8u, 0x10u, 0x8u), BESIDE(0x4u, 0x2u)")


def register(number: int, value: int) -> Line:
    return line(f"SET(SARDONYX_GLB({number}) + SARDONYX_GLB_LOAD_START, {value:#x}u)", 2, behind="REGISTERS")


SET = st.builds(register, st.integers(0, 2), st.integers(0, 1))
LISTS = st.lists(SET, min_size=1, max_size=6)
ALONE = st.sampled_from([line("MARK", notes=1), line("SET(SARDONYX_RUNS, 0x1u)", 2, behind="REGISTERS"), line("/* here */", 0),
                         line("SET_BRING(0u, 0u, 8u)", 6, behind="REGISTERS", brings=1)])
ROWS = st.builds(lambda at, shape: line(f"BRING_ROWS(0u), TO_GLB({at:#x}u, 0x0u), {shape}", 7 + 2 * shape.count("BESIDE"),
                                        shape=shape), st.integers(0, 3), st.sampled_from(SHAPES))
JOBS = st.lists(st.lists(LISTS | ALONE.map(lambda each: [each]) | ROWS.map(lambda each: [each]), max_size=12).map(
    lambda parts: [each for part in parts for each in part]), min_size=1, max_size=3)


def words_of(lists: "list[str]") -> "list[str]":
    """The words of lists, as C has them: a register has two."""
    found = []
    for text in lists:
        for register_text in re.findall(r"SET\(.*?\)u?,|SET\([^,]*, 0x\wu\)", text):
            found += [register_text.rstrip(","), ""]
        if text.startswith("ROWS"):
            found += [text] + [""] * (3 + 2 * text.count("BESIDE"))
    return found


def said(lines: "list[Line]", lists: "list[str]") -> "list[str]":
    """What lines do, one by one, those that ask for a list in its words."""
    memory, found = words_of(lists), []
    for each in lines:
        text = each.text.strip().rstrip(",")
        if again := re.fullmatch(r"AGAIN\((\d+)u, (\d+)u\)", text):
            count, place = map(int, again.groups())
            found += memory[2 * place:2 * (place + count):2]
        elif shaped := re.fullmatch(r"BRING_ROWS\(([1-9]\d*)u\), (TO_GLB\(.*?\))", text):
            found.append(f"BRING_ROWS(0u), {shaped[2]}, {memory[int(shaped[1]) - 1].rstrip(',')}")
        else:
            found.append(text)
    return found


@given(jobs=JOBS, room=st.integers(0, 200))
def test_lines_do_the_same_whatever_has_room(jobs: "list[list[Line]]", room: int) -> None:
    shorter, lists = kept(jobs, room)
    assert len(words_of(lists)) * WORD_BYTES <= room
    for before, after in zip(jobs, shorter, strict=True):
        assert said(after, lists) == said(before, [])
        assert sum(each.notes for each in after) == sum(each.notes for each in before)
    assert all(sum(each.words for each in after) <= sum(each.words for each in before)
               for before, after in zip(jobs, shorter, strict=True))


def test_what_comes_twice_is_said_once_and_what_comes_once_stays() -> None:
    often, seldom = [register(tile, 7) for tile in range(4)], [register(tile, tile) for tile in range(4)]
    runs = line("SET(SARDONYX_RUNS, 0x1u)", 2, behind="REGISTERS")
    (lines,), lists = kept([[*often, runs, *seldom, runs, *often]], 1024)
    assert [each.text.strip() for each in lines[:1] + lines[-1:]] == ["AGAIN(4u, 0u),"] * 2
    assert lists == ["\n".join(each.text for each in often)] and lines[2:6] == seldom
    page, = paged(lines, 256)
    assert page == lines


def test_nothing_is_kept_without_room() -> None:
    lines = [register(tile, 7) for tile in range(4)]
    assert kept([lines, lines], 31) == ([lines, lines], [])


def test_transfers_of_rows_that_are_alike_are_one_command_of_four_at_most() -> None:
    rows, lines = RowLines(), [line("MARK")]
    for at in range(5):
        rows.add(lines, True, Rows(3, 8, 0, 16, 0, 8), (16, 8), 64 * at, 1024 * at)
    rows.add(lines, True, Rows(4, 8, 0, 16, 0, 8), (16, 8), 0, 0)
    lines.append(line("MARK"))
    rows.add(lines, True, Rows(4, 8, 0, 16, 0, 8), (16, 8), 0, 0)
    counts = [int(re.findall(r"ROWS\((\d)u, ", each.text)[0]) for each in lines if "BRING" in each.text]
    assert counts == [4, 1, 1, 1]
    assert "TO_GLB(0x0u, 0x0u), ROWS(4u, 3u, 0x8u, 0x10u, 0x8u), BESIDE(0x40u, 0x400u)" in lines[1].text
    assert [each.words for each in lines] == [1, 13, 7, 7, 1, 7]


def test_tiles_that_are_to_store_as_many_words_are_waited_for_by_a_command_of_four_at_most() -> None:
    assert list(waits([(0, 8), (3, 12), (2, 8)])) == [
        "WAIT_STORED(8u), STORED(0u, 0u) | STORED(2u, 1u)", "WAIT_STORED(12u), STORED(3u, 0u)"]
    assert [each.count("STORED(") for each in waits([(tile, 8) for tile in range(6)])] == [5, 3]
