"""The performance counters of a run as they stand in a report, and as people read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .compiler.graph import CompiledGraph
from .compiler.halide import CompiledDense
from .compiler.ir.program import STATIC
from .hw.arch.counters import EVENTS, Counts
from .sim.engines import Run

Site = tuple[int, int]


def report(compiled: CompiledGraph | CompiledDense, run: Run) -> list[dict[str, object]]:
    """The part `counters` of a report: for each tile that a block of the program has, its place, the block, what it is set to,
    and the events that were counted by their names. An IO tile may have a load and a store, which are counted together.

    Streams of a static program but those of loads move a word in every cycle, so that counters of tiles leave them out. What
    they do follows from the cycles from start to done and from the words that were stored; loads and stores are apart.
    """
    counted, blocks = dict(run.counts), dict[tuple[Site, str], list[str]]()
    static = compiled.program.mode == STATIC
    of_static = _static(compiled, run.cycles or 0) if static else {}
    stores = _stores(compiled, run) if static else {}
    for block, site in compiled.placement.tiles.items():
        blocks.setdefault((site, block if block in stores else ""), []).append(block)
    found = []
    for site, store in sorted(blocks, key=lambda each: (each[0][::-1], each[1])):
        kind = compiled.arch.tiles[site].kind
        mode = kind if kind == "io" else str(compiled.program.config[site]["core"]["mode"])
        counts = stores[store] if store else of_static.get(site, counted.get(site, Counts()))
        found.append({"tile": f"{site[0]},{site[1]}", "block": ", ".join(blocks[site, store]), "primitive": mode,
                      **{event: getattr(counts, event) for event in EVENTS}})
    return found


def _static(compiled: CompiledGraph | CompiledDense, cycles: int) -> dict[Site, Counts]:
    """The events of the tiles of a static program that are no links: words at as many ports as nets lead to."""
    ports = dict.fromkeys(pin for net in compiled.graph.nets for pin in (net.source, *net.sinks))
    used = Counter(compiled.placement.tiles[pin.block] for pin in ports if compiled.graph.blocks[pin.block].primitive)
    return {site: Counts(cycles * count, cycles) for site, count in used.items()}


def _stores(compiled: CompiledGraph | CompiledDense, run: Run) -> dict[str, Counts]:
    """The events of the stores of a static program by their blocks: their words, which nothing holds up, and the other
    cycles."""
    counts = {each.name: each.count for each in compiled.program.stores}
    times = (run.placed + run.tiled) // sum(counts.values())
    words = {stream.block: times * counts[stream.name] for stream in compiled.graph.streams if stream.name in counts}
    return {block: Counts(count, count, max(0, (run.cycles or 0) - count)) for block, count in words.items()}


def text(found: Sequence[Mapping[str, Any]]) -> str:
    """The table of a report's part `counters`."""
    rows = [("tile", "block", "primitive", *EVENTS)]
    rows += [(each["tile"], each["block"], each["primitive"], *(f"{each[event]:,}" for event in EVENTS)) for each in found]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) if at < 3 else cell.rjust(width)
                       for at, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip() for row in rows]
    return "\n".join([*lines, "", "busy, starved and blocked: cycles from the first token of a launch to its last; of what is "
                      "static, from start to done"])
