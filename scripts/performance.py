"""The tables of docs/performance.md that scripts write, each between two comments of its name."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"


def write_table(name: str, text: str, page: Path = PAGE) -> None:
    """Put a text in the place of the table; AssertionError if the page has no place of this name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, begins, rest = page.read_text().partition(begin)
    _, ends, tail = rest.partition(end)
    assert begins and ends, f"{page} has no '{begin}' with '{end}' behind it"
    page.write_text(f"{head}{begin}\n{text}\n{end}{tail}")
