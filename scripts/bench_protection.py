"""Rows of `bench.py` about boundary protection: what it takes of a tile, and of the delay of a hop, in a cell library.

The same measurements are tables of docs/silicon.md, which `make silicon LIBERTY=folder ARGS=domains` writes beside others.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench_row import Given, Left, Row

from sardonyx.flow.asic.library import FAMILIES, find_library
from sardonyx.flow.asic.synthesis import Registers
from sardonyx.flow.asic.timing import find_sta
from sardonyx.flow.asic.variants import DOMAINS, compare, hops
from sardonyx.hw.arch.errors import UserError

AREA = "boundary protection on `onyx` in ASAP7, area of a tile, enables as multiplexers; clock gates and latches: PE, MEM"
HOP = "the same, delay of a hop, of fields of `Timing`: picoseconds with; more than without"
MOST_AREA, MOST_PS = 0.01, 30


def protection(given: Given) -> Iterator[Row | Left]:
    """Tiles with power domains against those without, by Yosys and OpenSTA."""
    if given.liberty is None:
        yield from (Left(each, "needs LIBERTY=folder") for each in (AREA, HOP))
        return
    library = find_library(given.liberty, FAMILIES[0].name)
    with tempfile.TemporaryDirectory() as folder:
        pairs = [each for each in DOMAINS if each.name.startswith("domains_")]
        more = [[compare(each, library, Path(folder), way) for each in pairs] for way in (Registers.ENABLES, Registers.LATCHES)]
        grown = [each.after / each.before - 1 for of_way in more for each in of_way]
        yield Row(AREA, "; ".join(", ".join(f"{each.after / each.before - 1:+.1%}" for each in of_way) for of_way in more),
                  "<= +1 %", max(grown) <= MOST_AREA, "< +1 %", max(grown) / MOST_AREA)
        try:
            find_sta()
        except UserError as error:
            yield Left(HOP, error.what)
            return
        found = hops(library, Path(folder))
        walled = found["power domains"]
        added = {field: walled[field] - ps for field, ps in found["onyx"].items()}
        yield Row(HOP, ", ".join(f"`{field}` {walled[field]:.0f}, {ps:+.0f}" for field, ps in added.items()),
                  f"<= {MOST_PS} ps more", max(added.values()) <= MOST_PS, "30 ps in 16 nm", max(added.values()) / MOST_PS)
