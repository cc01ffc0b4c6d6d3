"""Commands of firmware laid into pages: as much of them, and of what they note, as the processor's memory holds at a time.

    lines     MARK    SET(..)    SET(..)    WAIT(1u)                            words 1, 2, 2, 1; notes 1, 0, 0, 2
    page      { FOLLOWED_BY(1u), MARK, REGISTERS(2u), SET(..), SET(..), WAIT(1u), NEXT }

The system DMA brings a page while the processor executes the one before, and takes what each has noted to a place of its own
(`c/firmware.c`), so that memory outside alone bounds the number of commands. Each region has a queue of pages of its own.

Input:   `Line`s of each queue, the bytes of a page.
Output:  the C text, and where each note is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

from ..hw.arch.system import System

# The DMA brings so many bytes in less time than their commands take.
MOST_BYTES = 2048
# Every command has room in so many.
LEAST_BYTES = 32
# The pages of a queue have two of so many parts of its share of the processor's memory, and notes one of so many of a page.
RAM_PARTS, NOTE_PARTS = 16, 4
# Words of a page beside its commands: which page follows, and NEXT or END.
FRAME_WORDS = 2


@dataclass(frozen=True)
class Line:
    """A command: its text, how many words it has, and how many it notes; sets: it stands behind a REGISTERS.

    A comment has no words.
    """

    text: str
    words: int = 1
    notes: int = 0
    sets: bool = False


def page_bytes(system: System, queues: int = 1) -> int:
    """The size of a page where so many queues are served; its parts, for notes too, are multiples of 8."""
    return max(LEAST_BYTES, min(MOST_BYTES, system.ram_bytes // (RAM_PARTS * queues) // LEAST_BYTES * LEAST_BYTES))


def note_bytes(page: int) -> int:
    """The size of what is noted in a page of so many bytes."""
    return page // NOTE_PARTS


def paged(lines: Iterable[Line], size: int) -> Iterator[list[Line]]:
    """Lines in pages of so many bytes, as many in each as it has room for."""
    page: list[Line] = []
    words = notes = 0
    for line in lines:
        opens = line.sets and not (page and page[-1].sets)      # its REGISTERS is one more word
        if 4 * (FRAME_WORDS + words + line.words + opens) > size or 4 * (notes + line.notes) > note_bytes(size):
            yield page
            page, words, notes, opens = [], 0, 0, line.sets
        page.append(line)
        words, notes = words + line.words + opens, notes + line.notes
    yield page


class Pages:
    """The pages of all queues. The first one of queue q has number q; the others stand behind these, queue by queue.

    Parameters
    ----------
    queues : sequence      Lines of each.
    size : int             Bytes of a page.
    """

    def __init__(self, queues: Sequence[Iterable[Line]], size: int) -> None:
        self._queues = [list(paged(lines, size)) for lines in queues]
        self._size, self.queues = size, len(self._queues)
        numbers = iter(range(len(self._queues), self.count))
        self._numbers = [[number, *islice(numbers, len(pages) - 1)] for number, pages in enumerate(self._queues)]

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(map(len, self._queues))

    def notes(self, queue: int) -> list[int]:
        """Of every note of a queue, which word behind the head of a report it is."""
        words = note_bytes(self._size) // 4
        return [words * number + note for number, page in zip(self._numbers[queue], self._queues[queue], strict=True)
                for note in range(sum(line.notes for line in page))]

    def text(self) -> str:
        """All as C."""
        shown = {number: _page(page, following) for numbers, pages in zip(self._numbers, self._queues, strict=True)
                 for number, page, following in zip(numbers, pages, [*numbers[1:], None], strict=True)}
        return ('#include "firmware.h"\n\nconst uint32_t commands[][PAGE_WORDS] = {\n'
                + ", ".join(shown[number] for number in sorted(shown)) + "\n};\n")


def _page(page: Sequence[Line], following: int | None) -> str:
    lines = [f"    FOLLOWED_BY({following or 0}u),"]
    for sets, group in groupby(page, lambda line: line.sets):
        some = [line.text for line in group]
        lines += [f"    REGISTERS({len(some)}u),"] * sets + some
    return "\n".join(["{", *lines, "    END" if following is None else "    NEXT", "}"])
