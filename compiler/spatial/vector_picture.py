"""Draw an array whose elements meet in vectors as SVG: its PEs, fibers at its rows and columns, and banks of sums.

Input:   Vectored.
Output:  SVG text; the same arguments give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ...hw.arch.vectored import Side, Vectored
from .picture import STYLE
from .sums import times

PITCH, SIZE, LEFT, TOP, LEAST = 92, 60, 150, 150, 480
BLUE, GREEN, RED, PALE = "#3b5bdb", "#2b8a3e", "#c92a2a", "#dbe4ff"


def vector_picture(made: Vectored, title: str = "") -> str:
    """The picture as SVG text."""
    kind = made.kind
    inside = max(LEAST, PITCH * kind.right)
    under = TOP + PITCH * kind.left
    width, height = LEFT + inside + 30, under + 210
    facts = (f"{kind.left * kind.right} PEs, each with one element of either fiber in a step; "
             f"a step for each vector of {made.left.tensor.name} with each of {made.right.tensor.name}")
    width = max(width, 40 + 6 * len(facts))
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<title>{escape(title or kind.name)}</title><style>{STYLE}</style>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="20" y="34" class="title">{escape(title or kind.name)}</text>',
        f'<text x="20" y="56" class="quiet">{escape(facts)}</text>',
        *_sides(made), *_pes(made), *_banks(made, inside, under)]) + "\n</svg>\n"


def _sides(made: Vectored) -> Iterator[str]:
    """The buffer above the columns, and the fiber that comes to the rows, each with a wire through its PEs."""
    kind = made.kind
    across, down = PITCH * kind.right - (PITCH - SIZE), PITCH * kind.left - (PITCH - SIZE)
    yield _box(LEFT, TOP - 66, across, 30, "#ebfbee", GREEN)
    yield _text(LEFT + 8, TOP - 46, f"{kind.stored} vectors, {times(kind.fibers)}", "span")
    yield _text(LEFT, TOP - 74, _named(made.right), "")
    for column in range(kind.right):
        at = LEFT + PITCH * column + SIZE // 2
        yield _line(at, TOP - 36, at, TOP + PITCH * (kind.left - 1), GREEN)
    yield _text(20, TOP + down // 2 - 18, made.left.tensor.name, "")
    yield _text(20, TOP + down // 2, f"along {', '.join(made.left.along)}", "quiet")
    for row in range(kind.left):
        at = TOP + PITCH * row + SIZE // 2
        yield _line(LEFT - 40, at, LEFT + PITCH * (kind.right - 1), at, BLUE)


def _named(side: Side) -> str:
    return f"{side.tensor.name} along {', '.join(side.along)}"


def _pes(made: Vectored) -> Iterator[str]:
    kind = made.kind
    for row in range(kind.left):
        for column in range(kind.right):
            x, y = LEFT + PITCH * column, TOP + PITCH * row
            yield _box(x, y, SIZE, SIZE, PALE, BLUE)
            yield _text(x + SIZE // 2, y + SIZE // 2 + 4, f"{row}, {column}", "mid")


def _banks(made: Vectored, inside: int, under: int) -> Iterator[str]:
    """The crossbar below the PEs, and the banks behind it."""
    kind = made.kind
    for column in range(kind.right):
        at = LEFT + PITCH * column + SIZE // 2
        yield _line(at, under - (PITCH - SIZE), at, under + 4, RED)
    yield _box(LEFT, under + 4, inside, 34, "#fff5f5", RED)
    yield _text(LEFT + 8, under + 26, f"crossbar, behind {kind.lanes} FIFOs of {kind.depth} for each PE", "span")
    wide = inside / kind.banks
    for bank in range(kind.banks):
        x = LEFT + wide * bank
        yield _line(x + wide / 2, under + 38, x + wide / 2, under + 60, RED)
        yield _box(x + 1, under + 60, max(wide - 2, 2), 44, "#f8f9fa", "#868e96")
    where = f"{kind.banks} banks of {kind.words} sums, twice; place p is in bank p modulo {kind.banks}"
    yield _text(LEFT, under + 124, f"{made.result.name}: {where}", "")
    shape = " x ".join(map(str, made.result.shape))
    parts = f"{made.most} of {made.part} at once" if made.part else "all at once"
    yield _text(LEFT, under + 146, f"{shape} elements, {parts}", "quiet")


def _box(x: float, y: float, width: float, height: float, fill: str, stroke: str) -> str:
    return (f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{min(8, width / 4):g}" fill="{fill}" '
            f'stroke="{stroke}"/>')


def _line(x0: float, y0: float, x1: float, y1: float, stroke: str) -> str:
    return f'<path class="wire" stroke="{stroke}" d="M{x0:g} {y0:g}L{x1:g} {y1:g}"/>'


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(text)}</text>'
