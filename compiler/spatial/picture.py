"""Draw a spatial array as SVG: its PEs with the steps in which they work, their wires and ports.

PEs are darker the later they begin, so that wavefronts show. A wire has the colour of its variable and a dot for each
register; a ring at a PE is a value that stays there. An array of one axis is a row; of three axes, planes beside each other.

Input:   Spatial, the ways of its variables.
Output:  SVG text; the same arguments give the same bytes.
"""

from __future__ import annotations

import colorsys
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from ...hw.arch.spatial import Cell, Port, Position, Spatial
from .exchange import Exchange
from .report import STAYS, Way

PITCH, SIZE, MARGIN, TOP = 116, 64, 70, 96
STYLE = """
text { font-family: Inter, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif; fill: #1f2430; font-size: 13px; }
.quiet { fill: #868e96; font-size: 11px; } .span { font-size: 11px; } .mid { text-anchor: middle; } .title { font-size: 20px;
font-weight: 600; } .wire { fill: none; stroke-width: 2; } .port { stroke: #868e96; stroke-width: 1.5; fill: none; }
"""


def picture(spatial: Spatial, ways: Sequence[Way], title: str = "", notes: Sequence[str] = (), waits: bool = False,
            moves: Exchange | None = None) -> str:
    """The picture as SVG text; `notes` are lines below it. With `waits` PEs wait for coordinates, and have no steps; with
    `moves` it says at each whether it may give work to others, or take it."""
    places = _places(spatial)
    colours = {name: _colour(at, len(spatial.variables)) for at, (name, _) in enumerate(spatial.variables)}
    right, bottom = (max(place[axis] for place in places.values()) + SIZE + MARGIN for axis in (0, 1))
    legend = list(_legend(ways, colours, bottom + 10))
    legend += [f'<text x="20" y="{bottom + 10 + 22 * (len(ways) + at)}" class="quiet">{escape(note)}</text>'
               for at, note in enumerate(notes)]
    when = ("wait for coordinates: no step is known in advance" if waits
            else f"{spatial.steps} steps for an operation, the next one {spatial.interval} later")
    facts = f"{len(spatial.cells)} PEs  ·  {when}  ·  in a PE: its place{'' if waits else ' and its steps'}" + \
        (", and whether it may give work, or take it" if moves else "")
    width = max(right, 560, *(30 + 6 * len(line) for line in (facts, *notes)))
    height = bottom + 24 + 22 * (len(ways) + len(notes))
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<title>{escape(title or spatial.name)}</title><style>{STYLE}</style>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="20" y="34" class="title">{escape(title or spatial.name)}</text>',
        f'<text x="20" y="56" class="quiet">{escape(facts)}</text>',
        *_wires(spatial, places, colours), *_ports(spatial, places),
        *(_pe(cell, places[cell.position], 0 if waits else spatial.steps, moves) for cell in spatial.cells),
        *legend]) + "\n</svg>\n"


def _places(spatial: Spatial) -> dict[Position, tuple[int, int]]:
    """The upper left corner of every PE: the last axis to the right, the one before down, further ones beside each other."""
    positions = [cell.position for cell in spatial.cells]
    low = [min(axis) for axis in zip(*positions)]
    spans = [max(axis) - least + 1 for axis, least in zip(zip(*positions), low)]
    found = {}
    for position in positions:
        *planes, row, column = (0, *(at - least for at, least in zip(position, low)))
        plane = 0
        for at, span in zip(planes[1:], spans):
            plane = plane * span + at
        found[position] = (MARGIN + PITCH * (column + plane * (spans[-1] + 1)), TOP + MARGIN // 2 + PITCH * row)
    return found


def _pe(cell: Cell, at: tuple[int, int], steps: int, moves: Exchange | None) -> str:
    """steps: of an operation; 0 where none is known in advance."""
    x, y = at
    first, last = (min(cell.steps), max(cell.steps)) if steps else (0, 0)
    red, green, blue = colorsys.hls_to_rgb(0.61, 0.94 - 0.34 * first / max(steps - 1, 1), 0.75)
    fill = f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"
    place = ", ".join(map(str, cell.position))
    span = str(first) if first == last else f"{first}–{last}"
    below = span if steps else "/".join(moves.of(cell.position)) if moves else ""
    below = f'<text x="{x + SIZE // 2}" y="{y + 48}" class="mid span">{below}</text>' if below else ""
    return (f'<rect x="{x}" y="{y}" width="{SIZE}" height="{SIZE}" rx="8" fill="{fill}" stroke="#3b5bdb"/>'
            f'<text x="{x + SIZE // 2}" y="{y + (28 if below else 36)}" class="mid">{place}</text>{below}')


def _wires(spatial: Spatial, places: Mapping[Position, tuple[int, int]], colours: Mapping[str, str]) -> Iterator[str]:
    names = list(colours)
    for source, sink, variable, delay in spatial.wires:
        (x0, y0), (x1, y1) = places[source], places[sink]
        # Wires of different variables beside each other.
        shift = 9 * (names.index(variable) - (len(names) - 1) / 2)
        if source == sink:
            yield (f'<circle cx="{x0 + SIZE / 2 + shift:g}" cy="{y0 - 5}" r="5" class="wire" stroke="{colours[variable]}">'
                   f"<title>{escape(variable)} stays for {delay}</title></circle>")
            continue
        length = max(abs(x1 - x0), abs(y1 - y0))
        dx, dy = (x1 - x0) / length, (y1 - y0) / length
        ax, ay = x0 + SIZE / 2 + dx * SIZE / 2 - dy * shift, y0 + SIZE / 2 + dy * SIZE / 2 + dx * shift
        bx, by = x1 + SIZE / 2 - dx * (SIZE / 2 + 7) - dy * shift, y1 + SIZE / 2 - dy * (SIZE / 2 + 7) + dx * shift
        yield (f'<path class="wire" stroke="{colours[variable]}" d="M{ax:.1f} {ay:.1f}L{bx:.1f} {by:.1f}"/>'
               f'<path fill="{colours[variable]}" d="M{bx + 7 * dx:.1f} {by + 7 * dy:.1f}L{bx - 4 * dy:.1f} {by + 4 * dx:.1f}'
               f'L{bx + 4 * dy:.1f} {by - 4 * dx:.1f}Z"/>')
        for nth in range(min(delay, 4)):
            along = (nth + 1) / (min(delay, 4) + 1)
            yield (f'<circle cx="{ax + (bx - ax) * along:.1f}" cy="{ay + (by - ay) * along:.1f}" r="3.2" '
                   f'fill="{colours[variable]}"/>')


def _ports(spatial: Spatial, places: Mapping[Position, tuple[int, int]]) -> Iterator[str]:
    taken: dict[tuple[Position, bool], list[Port]] = {}
    for ports, enters in ((spatial.inputs, True), (spatial.outputs, False)):
        for port in ports:
            taken.setdefault((port.position, enters), []).append(port)
    for (position, enters), here in taken.items():
        x, y = places[position]
        names = escape(", ".join(dict.fromkeys(port.tensor for port in here)))
        left, down = x - 2, y + SIZE - 8
        if enters:
            yield (f'<path class="port" d="M{left - 14} {down + 18}L{left + 6} {down}"/>'
                   f'<text x="{left - 16}" y="{down + 28}" class="quiet mid">{names}</text>')
        else:
            # A line lower than the inputs of the PE to the right, whose names come close.
            right = x + SIZE - 4
            yield (f'<path class="port" d="M{right} {down}L{right + 22} {down + 30}"/>'
                   f'<text x="{right + 22}" y="{down + 41}" class="quiet mid">{names}</text>')


def _legend(ways: Sequence[Way], colours: Mapping[str, str], top: int) -> Iterator[str]:
    for at, way in enumerate(ways):
        y = top + 22 * at
        ring = way.kind == STAYS
        yield (f'<circle cx="30" cy="{y - 4}" r="5" fill="{"none" if ring else colours[way.variable]}" '
               f'stroke="{colours[way.variable]}" stroke-width="2"/>'
               f'<text x="44" y="{y}">{escape(way.variable)} {escape(str(way))}</text>')


def _colour(at: int, count: int) -> str:
    red, green, blue = colorsys.hls_to_rgb(at / max(count, 1), 0.42, 0.75)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"
