"""The table of `bench.py`: lines that were measured take the place of those with the same name, and all others stay.

A line that stays although everything was measured, or of which a measurement says why it has none, says so in brackets behind
what was measured before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bench_row import Left, Row

HEAD = ("| what | measured | budget | |", "|---|---|---|---|")
NOWHERE = "no measurement has this line"
_KEPT = re.compile(r" \(kept: [^|]*\)$")


def merged(text: str, found: Sequence[Row | Left], everything: bool) -> str:
    """A table with what was measured. everything: lines that nothing was found for are told, too; AssertionError for two lines
    of one name."""
    lines = {_what(line): line for line in text.splitlines()[len(HEAD):]}
    names = [each.what for each in found]
    twice = {what for what in names if names.count(what) > 1}
    assert not twice and len(lines) == len(text.splitlines()) - len(HEAD), f"a line has a name of its own: {sorted(twice)}"
    order, before = [*lines], None
    for each in found:
        if each.what not in lines:
            # Beside those that it was measured with.
            order.insert(len(order) if before is None else order.index(before) + 1, each.what)
        before = each.what
        if isinstance(each, Row):
            lines[each.what] = each.line()
        else:
            lines[each.what] = _kept(lines.get(each.what, f"| {each.what} | not measured |  |  |"), each.why)
    for what in set(order) - set(names) if everything else ():
        lines[what] = _kept(lines[what], NOWHERE)
    return "\n".join((*HEAD, *(lines[what] for what in order)))


def _cells(line: str) -> list[str]:
    """What, measured, budget, whether it is met."""
    cells = line.removeprefix("| ").removesuffix(" |").split(" | ")
    assert line.startswith("| ") and len(cells) in (3, 4), f"a line has four cells: {line}"
    return cells


def _what(line: str) -> str:
    return _cells(line)[0]


def _kept(line: str, why: str) -> str:
    what, measured, *others = _cells(line)
    again = f"{_KEPT.sub('', measured)} (kept: {why})"
    return f"| {' | '.join((what, again, *others))} |"
