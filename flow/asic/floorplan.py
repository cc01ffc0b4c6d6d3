"""A floorplan of a machine as a picture: tiles in rows and columns, the global buffer and the shell on top, to scale.

Standard cells fill half of their place, as the configurations for the flow say (`constraints`), SRAMs all of it. Rows are as
high as a square PE tile; what stands on the array is as wide as it.

Input:   Arch; um2 of cells, with latches as the configurations make them, and of SRAMs by component, as the table of areas in
         docs/silicon.md has them.
Output:  SVG; the same input gives the same bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...hw.arch.cgra import Arch
from ...hw.arch.config import config_segment
from .constraints import CORE_UTILIZATION

_ROW = re.compile(r"^\| (\w+) \| \d+ \| \d+ \| (\d+) \| \d+ \| (\d+|-) \|", re.M)
WIDTH, MARGIN = 900, 30     # of the picture
COLORS = {"pe": "#cfe3f7", "mem": "#f9d9b0", "io": "#d8d8d8", "glb": "#d5ecd0", "shell": "#f2c9d1"}
SHELL = ("controller", "axi_data", "axi_lite")


@dataclass(frozen=True)
class Area:
    """um2 of cells and of SRAMs."""

    cells: float
    sram: float

    @property
    def placed(self) -> float:
        return self.cells * 100 / CORE_UTILIZATION + self.sram


@dataclass(frozen=True)
class Floorplan:
    """Sizes in um.

    Parameters
    ----------
    row : float                   Height of a row of tiles, and width of a PE tile.
    columns : tuple of float      Width of each column.
    io, glb : float               Height of the row of IO tiles, and of the tiles of the global buffer.
    shell : float                 Width of the shell, which is as high as a row.
    """

    row: float
    columns: tuple[float, ...]
    io: float
    glb: float
    shell: float


def areas(document: str) -> dict[str, Area]:
    """The areas in the table of a document; odd and even tiles of a kind as their mean."""
    text = document.partition("<!-- areas: begin -->")[2].partition("<!-- areas: end -->")[0]
    found = {name: Area(float(cells), 0.0 if sram == "-" else float(sram)) for name, cells, sram in _ROW.findall(text)}
    for kind in ("pe", "mem", "io"):
        odd, even = found.pop(f"{kind}_odd"), found.pop(f"{kind}_even")
        found[kind] = Area((odd.cells + even.cells) / 2, (odd.sram + even.sram) / 2)
    return found


def floorplan(arch: Arch, found: Mapping[str, Area]) -> Floorplan:
    """How large everything is."""
    row = math.sqrt(found["pe"].placed)
    columns = tuple(found[arch.tiles[x, 1].kind].placed / row for x in range(arch.columns))
    width = sum(columns)
    return Floorplan(row, columns, arch.columns * found["io"].placed / width, arch.glb_tiles * found["glb"].placed / width,
                     sum(found[name].placed for name in SHELL) / row)


def svg(arch: Arch, found: Mapping[str, Area]) -> str:
    """The picture of it."""
    plan = floorplan(arch, found)
    width, height = sum(plan.columns), plan.row * (arch.rows + 1) + plan.glb + plan.io
    scale = (WIDTH - 2 * MARGIN) / width
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height * scale + 3 * MARGIN:.0f}" '
             'font-family="sans-serif" font-size="11">',
             '<defs><marker id="end" markerWidth="6" markerHeight="6" refX="4" refY="3" orient="auto">'
             '<path d="M0,0 L6,3 L0,6 z" fill="#b03030"/></marker></defs>',
             f'<g transform="translate({MARGIN},{MARGIN / 2:.0f})">', *_parts(arch, plan, scale), "</g>",
             _text(MARGIN, height * scale + 1.5 * MARGIN,
                   f"{arch.name}: {width:.0f} x {height:.0f} um in ASAP7, cells at {CORE_UTILIZATION} %, SRAMs estimated; "
                   f"PE tile {plan.row:.0f} x {plan.row:.0f} um"),
             _text(MARGIN, height * scale + 2.1 * MARGIN,
                   "red lines: clock, reset and configuration, along the top, then down the columns; dashed: registers of the "
                   "configuration channel"), "</svg>"]
    return "\n".join(lines) + "\n"


def _parts(arch: Arch, plan: Floorplan, scale: float) -> Iterator[str]:
    """Blocks from the north to the south, and the ways of what all share."""
    edges = [sum(plan.columns[:x]) for x in range(arch.columns + 1)]
    top = plan.row
    yield _block(0, 0, plan.shell, plan.row, "shell", scale)
    yield _text(plan.shell * scale + 6, plan.row * scale / 2 + 4, f"shell (red), GLB tiles of {arch.glb.tile_bytes >> 10} KB "
                "(green), a row of IO tiles (grey), PE tiles (blue), MEM tiles (orange)")
    for tile in range(arch.glb_tiles):
        left, right = (edges[arch.glb.columns_per_tile * each] for each in (tile, tile + 1))
        yield _block(left, top, right - left, plan.glb, "glb", scale)
    rows = top + plan.glb + plan.io
    yield _block(0, rows - plan.io, edges[-1], plan.io, "io", scale)
    for x, size in enumerate(plan.columns):
        yield _block(edges[x], rows, size, plan.row * arch.rows, arch.tiles[x, 1].kind, scale)
    between = "".join(f"M0,{(rows + plan.row * y) * scale:.1f} h{edges[-1] * scale:.1f} " for y in range(1, arch.rows))
    yield f'<path d="{between.strip()}" stroke="#888" stroke-width="0.5"/>'
    cuts = [y for y in range(2, arch.rows + 1)
            if config_segment(y, arch.config_rows) != config_segment(y - 1, arch.config_rows)]
    if cuts:
        dashes = "".join(f"M0,{(rows + plan.row * (y - 1)) * scale:.1f} h{edges[-1] * scale:.1f} " for y in cuts)
        yield f'<path d="{dashes.strip()}" stroke="#b03030" stroke-dasharray="4 3"/>'
    middle, way = (plan.row + plan.glb + plan.io / 2) * scale, plan.row * (arch.rows - 0.4) * scale
    yield f'<path d="M0,{middle:.1f} h{edges[-1] * scale:.1f}" stroke="#b03030" stroke-width="1.5"/>'
    for x, size in enumerate(plan.columns):
        yield (f'<path d="M{(edges[x] + size / 2) * scale:.1f},{middle:.1f} v{way:.1f}" stroke="#b03030" stroke-width="0.7" '
               'marker-end="url(#end)"/>')


def _block(x: float, y: float, width: float, height: float, kind: str, scale: float) -> str:
    return (f'<rect x="{x * scale:.1f}" y="{y * scale:.1f}" width="{width * scale:.1f}" height="{height * scale:.1f}" '
            f'fill="{COLORS[kind]}" stroke="#555" stroke-width="0.7"/>')


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}">{text}</text>'
