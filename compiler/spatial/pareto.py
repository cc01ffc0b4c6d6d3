"""Plot the arrays of a search as SVG: estimated area against time, those that no other one beats in colour.

Output:  SVG text; the same search gives the same bytes.
"""

from __future__ import annotations

from html import escape
from math import ceil, floor, log10

from .search import Found, Search

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 520, 80, 60, 30, 56
STYLE = """
text { font-family: Inter, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif; fill: #1f2430; font-size: 12px; }
.quiet { fill: #868e96; } .mid { text-anchor: middle; } .end { text-anchor: end; } .title { font-size: 18px; font-weight: 600; }
"""


def pareto(search: Search) -> str:
    """The plot."""
    across = _Axis([each.time for each in search.found], LEFT, WIDTH - RIGHT)
    up = _Axis([float(each.gates) for each in search.found], HEIGHT - BOTTOM, TOP)
    best = set(map(id, search.best))

    def dot(each: Found) -> str:
        numbers = f"{each.transform}: {each.gates:,} gates, {each.steps} steps, {each.pes} PEs"
        label = "; ".join([numbers, *map(str, each.skips)])
        colour, size = ("#e8590c", 6) if id(each) in best else ("#adb5bd", 3)
        return (f'<circle cx="{across.at(each.time):.1f}" cy="{up.at(each.gates):.1f}" r="{size}" fill="{colour}">'
                f"<title>{escape(label)}</title></circle>")

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">',
             f"<title>arrays by area and time</title><style>{STYLE}</style>",
             '<rect width="100%" height="100%" fill="#ffffff"/>',
             f'<text x="{LEFT}" y="30" class="title">{len(search.found):,} arrays, estimated</text>',
             f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 14}" class="end quiet">time of an operation, in delays of a gate</text>',
             f'<text x="{LEFT}" y="50" class="quiet">area, in gates</text>']
    for tick in across.ticks:
        parts.append(f'<path d="M{across.at(tick):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#e9ecef"/>'
                     f'<text x="{across.at(tick):.1f}" y="{HEIGHT - BOTTOM + 18}" class="mid quiet">{tick:,.0f}</text>')
    for tick in up.ticks:
        parts.append(f'<path d="M{LEFT} {up.at(tick):.1f}H{WIDTH - RIGHT}" stroke="#e9ecef"/>'
                     f'<text x="{LEFT - 8}" y="{up.at(tick) + 4:.1f}" class="end quiet">{tick:,.0f}</text>')
    parts += [dot(each) for each in search.found if id(each) not in best]
    for at, each in enumerate(search.best):
        parts.append(dot(each))
        # Names stay clear of each other where dots are close.
        parts.append(f'<text x="{across.at(each.time) + 10:.1f}" y="{up.at(each.gates) - 6 - 3 * (at % 2):.1f}">'
                     f"{escape(str(each.transform))}</text>")
    return "\n".join([*parts, "</svg>", ""])


class _Axis:
    """A logarithmic axis over some numbers, from one place to another."""

    def __init__(self, numbers: list[float], begin: int, end: int) -> None:
        self._low, self._high = log10(min(numbers) * 0.9), log10(max(numbers) * 1.1)
        self._begin, self._end = begin, end
        decades = range(floor(self._low), ceil(self._high) + 1)
        self.ticks = [step * 10.0**decade for decade in decades for step in (1, 2, 5)
                      if self._low <= log10(step * 10.0**decade) <= self._high]

    def at(self, number: float) -> float:
        return self._begin + (log10(number) - self._low) / (self._high - self._low) * (self._end - self._begin)
