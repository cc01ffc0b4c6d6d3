"""What firmware leaves in memory outside beside results: how it ended, and what it noted, page by page of its commands.

    word 0        ended, faults of `c/firmware.h`
    word 2        of job 0, what became of it and the status of the machine if it was stopped; of job 1; ...
    head(jobs)    notes of page 0, in the order of its commands; those of page 1, so many words of a page's notes further; ...

Input:   32-bit words, and which of them are what.
Output:  `Report`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Bits of what became of a job, as in `c/firmware.h`.
BEGUN, DONE, STOPPED, REGION_LSB = 1, 2, 4, 8


def head(jobs: int) -> int:
    """Words of a report before the notes."""
    return 2 + 2 * max(1, jobs)


@dataclass(frozen=True)
class Mark:
    """An event whose time the processor notes.

    Parameters
    ----------
    job : int        Which job.
    what : str       ``configure``, ``streams``: its words are on their way to their tiles, ``configured``, ``start`` or ``end``
                     of a launch, ``left``: all words are outside; where it resumes ``restore``, ``restored``, where it keeps
                     its memories ``saved``.
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
    jobs : int                  Of how many jobs it tells.
    marks : tuple of Mark       Those of a job in the order of time.
    times : tuple of int        Of every mark, the word with its time.
    cycles : tuple              Of every mark, the word with the cycles of what ended there, a run or words on their way, None
                                without one.
    counts : tuple of int       Of every count, its word.
    """

    words: int
    jobs: int
    marks: tuple[Mark, ...]
    times: tuple[int, ...]
    cycles: tuple[int | None, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Fate:
    """What became of a job.

    Parameters
    ----------
    region : int     In which region it began; None: it did not.
    done : bool      All of its commands were done.
    status : int     Of the region, where it stopped the job; None: it did not.
    """

    region: int | None
    done: bool
    status: int | None


@dataclass(frozen=True)
class Report:
    """What the processor has noted.

    Parameters
    ----------
    ended : bool        Every command of every job was done.
    faults : int        Of the host.
    jobs : tuple        Of every job its fate.
    times : tuple       Of every mark, cycles since reset.
    cycles : tuple      Of every mark, cycles that the machine counted for what ended there; 0 where nothing did.
    counts : tuple      Words that streams have stored.
    """

    ended: bool
    faults: int
    jobs: tuple[Fate, ...]
    times: tuple[int, ...]
    cycles: tuple[int, ...]
    counts: tuple[int, ...]


def read_report(layout: Layout, words: np.ndarray) -> Report:
    """What the 32-bit words of a report say."""
    assert len(words) == layout.words, "a report has the size that its firmware gives it"
    found = words.tolist()
    jobs = tuple(_fate(*found[2 + 2 * job:4 + 2 * job]) for job in range(layout.jobs))
    return Report(bool(found[0]), found[1], jobs, tuple(found[at] for at in layout.times),
                  tuple(0 if at is None else found[at] for at in layout.cycles), tuple(found[at] for at in layout.counts))


def _fate(state: int, status: int) -> Fate:
    """What two words say of a job."""
    return Fate(state >> REGION_LSB if state & BEGUN else None, bool(state & DONE), status if state & STOPPED else None)
