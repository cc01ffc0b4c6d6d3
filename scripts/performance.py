"""The tables of docs/performance.md that scripts write, each between two comments of its name."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
COLUMNS = 128   # Of prose.

Found = TypeVar("Found")


def read_table(name: str, page: Path = PAGE) -> str:
    """The text that stands in the place of the table; AssertionError if the page has no place of this name."""
    return _parted(name, page)[1]


def write_table(name: str, text: str, page: Path = PAGE) -> None:
    """Put a text in the place of the table; AssertionError if the page has no place of this name."""
    head, _, tail = _parted(name, page)
    page.write_text(f"{head}\n{text}\n{tail}")


def _parted(name: str, page: Path) -> tuple[str, str, str]:
    """The page up to the table, the table, and the page from its end on."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, begins, rest = page.read_text().partition(begin)
    text, ends, tail = rest.partition(end)
    assert begins and ends, f"{page} has no '{begin}' with '{end}' behind it"
    return f"{head}{begin}", text.strip("\n"), f"{end}{tail}"


def table_of_kernels(name: str, measure: Callable[[Sequence[str]], Iterable[Found]], table: Callable[[Sequence[Found]], str],
                     summary: Callable[[Sequence[Found]], str], kernels: Sequence[str]) -> None:
    """Measure the kernels of the command line, or all, and print a table and what they come to in words, in lines of at most
    COLUMNS; of all kernels that is the table of the page."""
    found = list[Found]()
    for each in measure(sys.argv[1:] or kernels):
        print(each, file=sys.stderr, flush=True)
        found.append(each)
    text = f"{table(found)}\n\n{textwrap.fill(f'{summary(found)}.', COLUMNS)}"
    print(text)
    if not sys.argv[1:]:
        write_table(name, text)
