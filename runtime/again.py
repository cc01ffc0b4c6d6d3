"""What commands say again: such words are in the processor's memory once, from the start, and pages of commands are shorter.

    REGISTERS(4u) a b c d    ...    REGISTERS(6u) a b c d e f         lists: a b c d
                                                                      AGAIN(4u, 0u)    ...    AGAIN(4u, 0u) REGISTERS(2u) e f
    BRING_ROWS(0u) x, ROWS(..)    ...    BRING_ROWS(0u) y, ROWS(..)   lists: ROWS(..)
                                                                      BRING_ROWS(1u) x    ...    BRING_ROWS(1u) y

Launches take their places in turn, so registers come again every few launches, and their transfers differ in where they begin.

Input:   `Line`s of jobs, bytes of the processor's memory that such lists may take.
Output:  lines that do the same, and the text of the lists.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from .lines import line
from .pages import Line
from .row_lines import ROWS_WORDS

# A list of fewer registers is hardly longer than what asks for it.
LEAST_PAIRS = 4
# Where a list of registers begins, in pairs, is said in so few bits (c/firmware.h).
PLACES = 1 << 11
WORD_BYTES = 4

# Some lines: registers that are set together, or any other one.
Run = tuple[Line, ...]


def kept(jobs: Sequence[Sequence[Line]], room: int) -> tuple[list[list[Line]], list[str]]:
    """Lines of jobs without what comes again, and these lists, which take so many bytes at most."""
    runs = [list(_runs(lines)) for lines in jobs]
    often = Counter(found for lines in runs for run in lines if (found := _list(run)))
    places: dict[str, int] = {}
    used = 0
    # Those that save most have places first; all have an even number of words.
    for (text, words), count in sorted(often.items(), key=lambda each: -(each[1] - 1) * each[0][1]):
        if count > 1 and WORD_BYTES * (used + words) <= room and used + words <= 2 * PLACES:
            places[text] = used
            used += words
    return [[each for run in lines for each in _short(run, places)] for lines in runs], list(places)


def _list(run: Run) -> tuple[str, int] | None:
    """The text of what a run may say again, and its words."""
    first = run[0]
    if first.shape:
        return f"{first.shape},", first.words - ROWS_WORDS
    if _repeats(first) and len(run) >= LEAST_PAIRS:
        return "\n".join(each.text for each in run), 2 * len(run)
    return None


def _short(run: Run, places: dict[str, int]) -> Sequence[Line]:
    """A run that asks for its list, if that has a place."""
    found = _list(run)
    if found is None or found[0] not in places:
        return run
    place, first = places[found[0]], run[0]
    if not first.shape:
        return [line(f"AGAIN({len(run)}u, {place // 2}u)")]
    text = first.text.removesuffix(f" {first.shape},").replace("_ROWS(0u)", f"_ROWS({place + 1}u)", 1)
    return [replace(first, text=text, words=ROWS_WORDS, shape="")]


def _runs(lines: Sequence[Line]) -> Iterator[Run]:
    """Lines, registers of the global buffer together: what counts the runs and cycles of a controller differs each time."""
    run: list[Line] = []
    for each in lines:
        if run and not (_repeats(each) and _repeats(run[-1])):
            yield tuple(run)
            run = []
        run.append(each)
    if run:
        yield tuple(run)


def _repeats(each: Line) -> bool:
    """Whether a line sets a register of a GLB tile, in a list that asks for no transfers."""
    return bool(each.behind) and not (each.brings or each.takes) and "SARDONYX_GLB(" in each.text
