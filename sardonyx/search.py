"""Search of transforms: `sp.search`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import arguments
from .compiler.lang.recurrence import Recurrences
from .compiler.lang.sparsity import Skip
from .compiler.spatial.pareto import pareto
from .compiler.spatial.search import DENSITY, Found
from .compiler.spatial.search import search as try_transforms
from .compiler.spatial.unroll import unroll
from .concerns import EXTENT, NOT_GIVEN
from .dump import beside
from .hw.arch.errors import UserError
from .outcome import Outcome, silent


@dataclass(frozen=True)
class Searched(Outcome):
    """What a search found: the transforms that no other one beats in estimated area and time, the fastest first."""

    best: tuple[Found, ...] = ()


def search(functionality: Recurrences, bounds: Mapping[str, int] = NOT_GIVEN, picture: str | Path | None = None,
           progress: Callable[[str], None] = silent, sparsity: Sequence[Skip] = (), density: float = DENSITY) -> Searched:
    """Try transforms of some functionality, and list those that give the smallest and the fastest arrays.

    bounds: the extent of every index, best small: other bounds seldom change the order; by default 4 of each. picture: a file
    for a plot of all of them. sparsity: up to 4 skips, each of which an array may have or not. density: how much of operands
    is not 0, above 0 to 1, for the time of arrays whose indices are found by values.
    """
    if not isinstance(functionality, Recurrences):
        raise UserError(f"it is {arguments.said(functionality)}, which is no Recurrences", "functionality",
                        "use sp.functionality(...)")
    if not isinstance(bounds, Mapping):
        raise UserError(f"it is {arguments.said(bounds)}, which is no Mapping", "bounds",
                        "give the extent of every index, as {'i': 4}")
    extents = dict.fromkeys(functionality.indices, EXTENT) if bounds is NOT_GIVEN else bounds
    if not isinstance(sparsity, Sequence) or not all(isinstance(each, Skip) for each in sparsity):
        raise UserError(f"it is {arguments.said(sparsity)}, which is no list of skips", "sparsity",
                        "use [sp.skip(j, where=B(k, j) == 0)]")
    if not isinstance(density, int | float) or not 0 < density <= 1:
        raise UserError(f"it is {arguments.said(density)}", "density", "give a number above 0, up to 1")
    file = None if picture is None else beside(picture, "picture", ".svg")      # Before the search, which takes longer.
    found = try_transforms(unroll(functionality, extents),
                           lambda at, count: progress(f"trying transforms, {at:,} of {count:,} done"), sparsity, density)
    if file is not None:
        folder, name = file
        folder.write({name: pareto(found)})
    skipped = {each: [" and ".join(dict.fromkeys(index for skip in each.skips for index in skip.indices)) or "-"]
               if sparsity else [] for each in found.best}
    heads = ("gates", "path", "steps", "interval", "PEs", "transform", *(["skipped"] if sparsity else []), "on their way")
    rows = [heads]
    rows += [(f"{each.gates:,}", f"{each.path:.0f}", str(each.steps), str(each.interval), str(each.pes), str(each.transform),
              *skipped[each], "; ".join(f"{way.variable} {way}" for way in each.ways)) for each in found.best]
    widths = [max(len(row[at]) for row in rows) for at in range(len(heads) - 1)]
    lines = ["  ".join([*(f"{text:>{wide}}" for text, wide in zip(row, widths)), row[-1]]) for row in rows]
    more = f", {found.left:,} more were not tried" if found.left else ""
    tried = "arrays" if sparsity else "transforms"
    lines.append(f"{len(found.found):,} of {found.tried:,} {tried} fit{more}")
    best = [{"transform": each.transform.rows, "skips": list(map(str, each.skips)), "gates": each.gates,
             "path": round(each.path, 1), "steps": each.steps, "interval": each.interval, "pes": each.pes}
            for each in found.best]
    return Searched({"best": best, "fit": len(found.found), "tried": found.tried, "not_tried": found.left}, "\n".join(lines),
                    found.best)
