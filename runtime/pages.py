"""Commands of firmware laid into pages: as much of them, and of what they note, as the processor's memory holds at a time.

    lines     MARK    SET(..)    SET(..)    WAIT(1u)                            words 1, 2, 2, 1; notes 1, 0, 0, 2
    page      { FOLLOWED_BY(1u), MARK, REGISTERS(2u), SET(..), SET(..), WAIT(1u), NEXT }

The system DMA brings a page while the processor executes the one before, and takes what each has noted to a place of its own
(`c/firmware.c`), so that memory outside alone bounds the number of commands. Pages follow each other in chains, each with the
jobs that run one after the other in a region. A job begins a page, so that a chain can go on there when the one before was
stopped: by a chain that leads back to it.

Input:   `Line`s of each job of each chain, the bytes of a page.
Output:  the C text, and where each note is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

from ..hw.arch.system import System

# The DMA brings so many bytes in less time than their commands take.
MOST_BYTES = 2048
# Every command has room in so many: the longest one asks for four transfers of rows. Notes are moved in words of 8 bytes.
LEAST_BYTES, STEP_BYTES = 64, 32
# The pages of a region have two of so many parts of its share of the processor's memory, and notes one of so many of a page.
RAM_PARTS, NOTE_PARTS = 16, 4
# Words of a page beside its commands: which page follows, and NEXT or END.
FRAME_WORDS = 2


@dataclass(frozen=True)
class Line:
    """A command: its text, how many words it has, and how many it notes; behind: what it stands behind with others, such as
    REGISTERS; then its words are pairs, and brings, takes: so many transfers of each way they ask for.

    shape: of transfers of rows what is not where the first one is, in the last words of the text.
    A comment has no words. leads: so many words come behind it in its page, with one note at most, for between pages the
    processor has other things to do.
    """

    text: str
    words: int = 1
    notes: int = 0
    behind: str = ""
    brings: int = 0
    takes: int = 0
    leads: int = 0
    shape: str = ""


def page_bytes(system: System, regions: int = 1) -> int:
    """The size of a page where so many regions are served; its parts, for notes too, are multiples of 8."""
    return max(LEAST_BYTES, min(MOST_BYTES, system.ram_bytes // (RAM_PARTS * regions) // STEP_BYTES * STEP_BYTES))


def note_bytes(page: int) -> int:
    """The size of what is noted in a page of so many bytes."""
    return page // NOTE_PARTS


def fits(size: int, words: int, notes: int) -> bool:
    """Whether a page of so many bytes has room for so many words of commands, and they for what they note."""
    return 4 * (FRAME_WORDS + words) <= size and 4 * notes <= note_bytes(size)


def paged(lines: Iterable[Line], size: int) -> Iterator[list[Line]]:
    """Lines in pages of so many bytes, as many in each as it has room for."""
    page: list[Line] = []
    words = notes = 0
    for line in lines:
        opens = bool(line.behind) and (not page or page[-1].behind != line.behind)      # what it stands behind is one more word
        if not fits(size, words + line.words + opens + line.leads, notes + line.notes + bool(line.leads)):
            yield page
            page, words, notes, opens = [], 0, 0, bool(line.behind)
        page.append(line)
        words, notes = words + line.words + opens, notes + line.notes
    yield page


@dataclass(frozen=True)
class Chain:
    """Commands that are executed one after the other.

    Parameters
    ----------
    jobs : sequence       Lines of each job.
    leads : tuple         Where it goes on behind its end: chain and job; none where all is done.
    """

    jobs: Sequence[Sequence[Line]]
    leads: tuple[int, int] | None = None


class Pages:
    """The pages of all chains. The first one of chain c has number c; the others stand behind these, chain by chain.

    Parameters
    ----------
    chains : sequence      Each with its jobs, of which each begins a page.
    size : int             Bytes of a page.
    """

    def __init__(self, chains: Sequence[Chain], size: int) -> None:
        self._chains, self._size = chains, size
        jobs = [[list(paged(lines, size)) for lines in each.jobs or [[]]] for each in chains]
        self._pages = [[page for pages in each for page in pages] for each in jobs]
        self._begins = [[sum(map(len, each[:job])) for job in range(len(each))] for each in jobs]
        numbers = iter(range(len(chains), self.count))
        self._numbers = [[number, *islice(numbers, len(pages) - 1)] for number, pages in enumerate(self._pages)]

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(map(len, self._pages))

    def begins(self, chain: int, job: int) -> int:
        """The first page of a job of a chain."""
        return self._numbers[chain][self._begins[chain][job]]

    def notes(self, chain: int) -> list[int]:
        """Of every note of a chain, which word behind the head of a report it is."""
        words = note_bytes(self._size) // 4
        return [words * number + note for number, page in zip(self._numbers[chain], self._pages[chain], strict=True)
                for note in range(sum(line.notes for line in page))]

    def text(self) -> str:
        """All as C."""
        shown = {number: _page(page, following)
                 for chain, numbers, pages in zip(self._chains, self._numbers, self._pages, strict=True)
                 for number, page, following in zip(numbers, pages, [*numbers[1:], chain.leads and self.begins(*chain.leads)],
                                                    strict=True)}
        return ('#include "firmware.h"\n\nconst uint32_t commands[][PAGE_WORDS] = {\n'
                + ", ".join(shown[number] for number in sorted(shown)) + "\n};\n")


def _page(page: Sequence[Line], following: int | None) -> str:
    lines = [f"    FOLLOWED_BY({following or 0}u),"]
    for behind, group in groupby(page, lambda line: line.behind):
        some = list(group)
        pairs, brings, takes = (sum(getattr(line, name) for line in some) for name in ("words", "brings", "takes"))
        moves = f", {brings}u, {takes}u" if brings or takes else ""
        head = f"    {behind}{'_AND_MOVES' * bool(moves)}({pairs // 2}u{moves}),"
        lines += [head] * bool(behind) + [line.text for line in some]
    return "\n".join(["{", *lines, "    END" if following is None else "    NEXT", "}"])
