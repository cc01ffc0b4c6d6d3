"""The picture of a placed machine: which part of it stands where on the FPGA.

Input:   the netlist that nextpnr writes, in which each cell has its place (`NEXTPNR_BEL`, ``X12/Y34/SLICEA.LUT4_0``).
Output:  SVG, below 300 kB: a rectangle for each run of neighbours in which most cells are of the same part.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

_BEL = re.compile(r"X(\d+)/Y(\d+)/")
_TILE = re.compile(r"\bx(\d+)_y(\d+)\b")
_GLB = re.compile(r"\bglb(\d+)\b")
SCALE = 8
REST = "shell, bridge"
Place = tuple[int, int]


def part(cell: str) -> str:
    """The part of the machine that a cell belongs to, by its name."""
    if tile := _TILE.search(cell):
        return f"tile {tile[1]},{tile[2]}"
    return f"glb {glb[1]}" if (glb := _GLB.search(cell)) else REST


def places(netlist: Path) -> dict[Place, str]:
    """The part that has most cells at each place."""
    found: dict[Place, Counter[str]] = defaultdict(Counter)
    for module in json.loads(netlist.read_text())["modules"].values():
        for name, cell in module["cells"].items():
            if bel := _BEL.match(cell.get("attributes", {}).get("NEXTPNR_BEL", "")):
                found[int(bel[1]), int(bel[2])][part(name)] += 1
    return {place: parts.most_common(1)[0][0] for place, parts in found.items()}


def draw(found: Mapping[Place, str]) -> str:
    """The picture, with a legend."""
    names = sorted(set(found.values()))
    width, height = (max((place[axis] for place in found), default=0) + 1 for axis in (0, 1))
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SCALE * (width + 22)} {SCALE * height}" '
             'font-family="sans-serif" font-size="14">',
             f'<rect width="{SCALE * width}" height="{SCALE * height}" fill="#eee"/>']
    for number, name in enumerate(names):
        # Colours around the circle, neighbours in the list far apart and of two brightnesses.
        colour = f"hsl({number * 137 % 360},65%,{40 if number % 2 else 60}%)"
        path = "".join(f"M{SCALE * x} {SCALE * y}h{SCALE * run}v{SCALE}h-{SCALE * run}z" for x, y, run in _runs(found, name))
        lines.append(f'<path fill="{colour}" d="{path}"><title>{name}</title></path>')
        top = 12 + 24 * number
        lines.append(f'<rect x="{SCALE * (width + 2)}" y="{top}" width="16" height="16" fill="{colour}"/>'
                     f'<text x="{SCALE * (width + 5)}" y="{top + 13}">{name}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _runs(found: Mapping[Place, str], name: str) -> Iterator[tuple[int, int, int]]:
    """Where rows of neighbours of a part begin, and how long they are."""
    rows = sorted((y, x) for (x, y), each in found.items() if each == name)
    for y, group in groupby(rows, key=lambda each: each[0]):
        columns = [x for _, x in group]
        for _, run in groupby(enumerate(columns), key=lambda each: each[1] - each[0]):
            members = [x for _, x in run]
            yield members[0], y, len(members)
