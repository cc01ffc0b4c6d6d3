"""Which PEs of a balanced array may give work to others, and which may take it.

    PEs (1..3, 0..1) may give work, (0, 0..1) may take it

Input:   Elastic, Spatial.
Output:  Exchange.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ...hw.arch.elastic import Balance, Elastic
from ...hw.arch.spatial import Position, Spatial
from .elastic import pe_name


@dataclass(frozen=True)
class Exchange:
    """The PEs between which work may move, by their positions."""

    gives: frozenset[Position]
    takes: frozenset[Position]

    def of(self, position: Position) -> tuple[str, ...]:
        """What the PE there may do."""
        return tuple(what for what, places in (("gives", self.gives), ("takes", self.takes)) if position in places)

    def __str__(self) -> str:
        return f"PEs {spans(self.gives)} may give work, {spans(self.takes)} may take it"


def exchange(elastic: Elastic, spatial: Spatial) -> Exchange:
    """Between which PEs work may move."""
    positions = {pe_name(cell.position): cell.position for cell in spatial.cells}
    gives, takes = set[Position](), set[Position]()
    for unit in elastic.units:
        if not isinstance(unit.kind, Balance):
            continue
        # The PEs of a row give it their words.
        rows = [{positions[link.source[0]] for link in elastic.links
                 if link.sink[0] == unit.name and link.sink[1].startswith(f"p{row}_")} for row in range(len(unit.kind.takers))]
        for row, takers in enumerate(unit.kind.takers):
            others = [other for other in takers if other != row]
            gives |= rows[row] if others else set()
            takes |= {position for other in others for position in rows[other]}
    return Exchange(frozenset(gives), frozenset(takes))


def spans(positions: Collection[Position]) -> str:
    """Positions as text, those that are boxes as such: ``(0, 0..3), (1..2, 1)``."""
    return ", ".join(f"({', '.join(each)})" for each in _boxes(sorted(positions)))


def _boxes(positions: Sequence[Position]) -> list[list[str]]:
    """Of rising positions the boxes, each as the text of its sides."""
    if positions == [()]:
        return [[]]
    inner = {first: _boxes([rest for at, *rest_ in positions if at == first for rest in [tuple(rest_)]])
             for first in dict.fromkeys(at for at, *_ in positions)}
    found: list[list[str]] = []
    runs: list[list[int]] = []
    for first, boxes in inner.items():
        if runs and first == runs[-1][-1] + 1 and boxes == inner[runs[-1][-1]]:
            runs[-1].append(first)
        else:
            runs.append([first])
    for run in runs:
        side = f"{run[0]}..{run[-1]}" if len(run) > 1 else str(run[0])
        found += [[side, *box] for box in inner[run[0]]]
    return found
