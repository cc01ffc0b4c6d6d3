"""When parts of a system were at work, drawn: rows of spans over cycles, as text and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

Span = tuple[int, int]

# Of the text, letters; of the picture, in units of its view box.
LETTERS = 72
LABEL, WIDTH, STEP, BAR = 150, 1000, 26, 16


@dataclass(frozen=True)
class Row:
    """A part and the spans in which it was at work: first cycle, and the first one after it."""

    name: str
    spans: tuple[Span, ...]


def text(rows: Sequence[Row], cycles: int) -> str:
    """Rows of letters, each for as many cycles: ``#`` at work in most of them, ``-`` in some, ``.`` in none."""
    width = max(len(row.name) for row in rows)
    lines = [f"{row.name:{width}} {''.join(_letter(row, cycles, place) for place in range(LETTERS))}" for row in rows]
    return "\n".join([*lines, f"{'':{width}} 0{f'{cycles:,} cycles':>{LETTERS - 1}}"])


def _letter(row: Row, cycles: int, place: int) -> str:
    first, end = place * cycles // LETTERS, (place + 1) * cycles // LETTERS
    used = sum(max(0, min(end, stop) - max(first, start)) for start, stop in row.spans)
    return "#" if 2 * used > end - first else "-" if used else "."


def picture(rows: Sequence[Row], cycles: int) -> str:
    """The same as SVG; every span says its cycles where one points to it."""
    height = STEP * (len(rows) + 1) + 10
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LABEL + WIDTH + 20} {height}" font-family="sans-serif" '
             'font-size="13">', f'<rect width="{LABEL + WIDTH + 20}" height="{height}" fill="#fff"/>']
    for number, row in enumerate(rows):
        top = 10 + STEP * number
        lines.append(f'<text x="{LABEL - 10}" y="{top + 13}" text-anchor="end">{escape(row.name)}</text>'
                     f'<rect x="{LABEL}" y="{top}" width="{WIDTH}" height="{BAR}" fill="#eee"/>')
        for start, stop in row.spans:
            wide = max(0.5, WIDTH * (stop - start) / cycles)
            lines.append(f'<rect x="{LABEL + WIDTH * start / cycles:.2f}" y="{top}" width="{wide:.2f}" height="{BAR}" '
                         f'fill="hsl({number * 67 % 360},60%,45%)"><title>{start:,} to {stop:,}</title></rect>')
    top = 10 + STEP * len(rows)
    marks = ((0, "0", "start"), (cycles / 2, f"{cycles // 2:,}", "middle"), (cycles, f"{cycles:,} cycles", "end"))
    lines += [f'<text x="{LABEL + WIDTH * at / cycles:.0f}" y="{top + 13}" text-anchor="{anchor}">{name}</text>'
              for at, name, anchor in marks]
    return "\n".join([*lines, "</svg>", ""])
