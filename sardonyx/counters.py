"""The performance counters of a run as they stand in a report, and as people read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .compiler.graph import CompiledGraph
from .compiler.halide import CompiledDense
from .hw.arch.counters import EVENTS, Counts
from .sim.engines import Run


def report(compiled: CompiledGraph | CompiledDense, run: Run) -> list[dict[str, object]]:
    """The part `counters` of a report: for each tile that a block of the program has, its place, the block, what it is set to,
    and the events that were counted by their names. An IO tile may have a load and a store, which are counted together."""
    blocks: dict[tuple[int, int], list[str]] = {}
    for block, site in compiled.placement.tiles.items():
        blocks.setdefault(site, []).append(block)
    found = []
    for site in sorted(blocks, key=lambda site: site[::-1]):
        kind = compiled.arch.tiles[site].kind
        mode = kind if kind == "io" else str(compiled.program.config[site]["core"]["mode"])
        found.append({"tile": f"{site[0]},{site[1]}", "block": ", ".join(blocks[site]), "primitive": mode,
                      **{event: getattr(run.counts.get(site, Counts()), event) for event in EVENTS}})
    return found


def text(found: Sequence[Mapping[str, Any]]) -> str:
    """The table of a report's part `counters`."""
    rows = [("tile", "block", "primitive", *EVENTS)]
    rows += [(each["tile"], each["block"], each["primitive"], *(f"{each[event]:,}" for event in EVENTS)) for each in found]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) if at < 3 else cell.rjust(width)
                       for at, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip() for row in rows]
    return "\n".join([*lines, "", "busy, starved and blocked: cycles from the first token of a launch to its last"])
