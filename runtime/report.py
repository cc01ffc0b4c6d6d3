"""What firmware leaves in memory outside beside results: how it ended, and what it noted, page by page of its commands.

    word 0        ended, status, faults, region of `c/firmware.h`
    REPORT_HEAD   notes of page 0, in the order of its commands; those of page 1, so many words of a page's notes further; ...

Input:   32-bit words, and which of them are what.
Output:  `Report`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Words before the notes.
REPORT_HEAD = 4


@dataclass(frozen=True)
class Mark:
    """An event whose time the processor notes.

    Parameters
    ----------
    job : int        Which job.
    what : str       ``configure``, ``configured``, ``start`` or ``end`` of a launch, ``left``: all words are outside.
    launch : int     Which of its launches.
    """

    job: int
    what: str
    launch: int = 0


@dataclass(frozen=True)
class Layout:
    """Where in a report is what.

    Parameters
    ----------
    words : int                 Of the report, 32 bits each.
    marks : tuple of Mark       Those of a job in the order of time.
    times : tuple of int        Of every mark, the word with its time.
    cycles : tuple              Of every mark, the word with the cycles of the machine's run that ended there, None without one.
    counts : tuple of int       Of every count, its word.
    """

    words: int
    marks: tuple[Mark, ...]
    times: tuple[int, ...]
    cycles: tuple[int | None, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Report:
    """What the processor has noted.

    Parameters
    ----------
    ended : bool        Every command was done.
    status : int        Of the machine, where one was not.
    faults : int        Of the host.
    region : int        Whose status it is.
    times : tuple       Of every mark, cycles since reset.
    cycles : tuple      Of every mark, cycles that the machine counted for what ended there; 0 where nothing did.
    counts : tuple      Words that streams have stored.
    """

    ended: bool
    status: int
    faults: int
    region: int
    times: tuple[int, ...]
    cycles: tuple[int, ...]
    counts: tuple[int, ...]


def read_report(layout: Layout, words: np.ndarray) -> Report:
    """What the 32-bit words of a report say."""
    assert len(words) == layout.words, "a report has the size that its firmware gives it"
    found = words.tolist()
    return Report(bool(found[0]), found[1], found[2], found[3], tuple(found[at] for at in layout.times),
                  tuple(0 if at is None else found[at] for at in layout.cycles), tuple(found[at] for at in layout.counts))
