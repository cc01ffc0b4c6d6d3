"""What the schedule of a program asks of the array: sides of the tiles, and lanes.

A result is computed in tiles, one after the other; a tile is walked x first, with so many columns at once as there are lanes.
The loops of the output are taken as far as they say such a walk:

    tile(x, y, xo, yo, xi, yi, 64, 32).unroll(xi, 2)                  tiles of 64 x 32, 2 lanes
    tile(x, y, xo, yo, xi, yi, 64, 32).split(xi, s, xi, 16).unroll(s) tiles of 64 x 32, 4 lanes
    split(y, yo, yi, 16)                                              tiles of 16 rows
    unroll(x, 4)                                                      4 lanes

The first split of a dimension gives the side of a tile, unless its inner loop is unrolled (lanes) or vectorized. Loops over
tiles may stand in any order and be fused: that changes when a tile is computed, on which nothing depends.

Where and how intermediate Funcs are computed and stored (compute_root, compute_at, store_at, ..) changes nothing: each of their
values is computed once for every point of a tile, and kept in register files and delay lines for as long as it is read.

Needs:   Pipeline, the dimensions of its grid.
Gives:   Plan.
Errors:  UserError for loops of the output that are no such walk, naming the Func and the loops.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sardonyx.hw.arch.errors import UserError

from ...lang.halide.pipeline import Func, Pipeline, Split

# Loops of a CPU that leave a step to the one around them.
INSIDE_A_STEP = ("unrolled", "vectorized")


@dataclass(frozen=True)
class Plan:
    """What a program asks for.

    Parameters
    ----------
    sides : mapping       Dimension -> side of a tile; without what the program leaves open.
    lanes : int | None    Columns at once; None if the program leaves it open.
    unused : tuple        What else it says of loops and storage, in words.
    """

    sides: Mapping[str, int] = field(default_factory=dict)
    lanes: int | None = None
    unused: tuple[str, ...] = ()


def plan(pipeline: Pipeline, dims: Sequence[str], *, tile: bool = True, lanes: bool = True, taken: str = "") -> Plan:
    """What the first output of a pipeline asks for.

    dims: the dimensions of the grid, x first; others are planes or reductions, which are computed at once. taken: a reduction
    variable whose splits are taken by `unrolled`.
    tile, lanes: whether the sides and the lanes are taken from the program; what is not cannot be refused either.
    """
    func = pipeline.funcs[pipeline.outputs[0]]
    sides: dict[str, tuple[int, str]] = {}
    most: tuple[int, str] | None = None
    unused: dict[str, None] = {}
    for stage, schedule in _stages(func):
        nest = _Nest(func, stage, schedule, dims, strict=tile)
        if tile:
            nest.check_walk()
            for dim, side in nest.sides.items():
                sides[dim] = _agreed(func, f"tiles of {{}} along {dim}", sides.get(dim), (side, stage))
        if lanes and (count := nest.lanes()):
            most = _agreed(func, "{} lanes", most, (count, stage))
        unused |= dict.fromkeys(nest.unused(taken))
    for each in pipeline.funcs.values():
        if each is not func and any(_scheduled(each, schedule) for _, schedule in _stages(each)):
            unused[f"loops of {each.name}"] = None
        unused |= dict.fromkeys(f"{directive} of {each.name}" for directive in _names(each.schedule, "others"))
    return Plan({dim: side for dim, (side, _) in sides.items()}, most[0] if most else None, tuple(unused))


def unrolled(func: Func, stage: str, schedule: Mapping[str, Any], dim: str, extent: int) -> int:
    """How many neighbours in a dimension, or in a reduction variable, of so many elements one definition computes at once.

    Raises UserError for an unrolled loop that does not go over neighbours.
    """
    return _Nest(func, stage, schedule, (dim,), strict=False, extents={dim: extent}).lanes() or 1


def said(found: Plan, dims: Sequence[str], tile: Sequence[int], lanes: int, given: tuple[bool, bool]) -> str:
    """Where the sides of a tile and the lanes come from: for the report. given: whether arguments say tile and lanes."""
    taken = [dim for dim in dims if dim in found.sides]
    partly = "" if len(taken) == len(dims) else f" along {', '.join(taken)}"
    parts = [(f"tile {' x '.join(map(str, tile))}", _source(given[0], bool(taken), partly)),
             (f"{lanes} lane{'s' if lanes > 1 else ''}", _source(given[1], found.lanes is not None))]
    (one, source), (other, behind) = parts
    text = f"{one} and {other} {source}" if source == behind else f"{one} {source}, {other} {behind}"
    return text + (f"; not used: {', '.join(found.unused)}" if found.unused else "")


def _source(given: bool, taken: bool, partly: str = "") -> str:
    if given:
        return "from the arguments"
    return f"from the program{partly}" if taken else "by default"


def _agreed(func: Func, what: str, old: tuple[int, str] | None, new: tuple[int, str]) -> tuple[int, str]:
    """The number that two definitions of a Func both ask for."""
    if old is not None and old[0] != new[0]:
        raise UserError(f"the {old[1]} asks for {what.format(old[0])}, {new[1]} for {new[0]}", f"Func {func.name}",
                        "schedule both alike, or give tile and unroll as arguments")
    return old or new


def _stages(func: Func) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The definitions of a Func by name, with their schedules."""
    if "loops" in func.schedule:
        yield "pure definition", func.schedule
    updates: Any = func.schedule.get("updates", ())
    for at, each in enumerate(updates):
        yield f"update {at}", each


def _names(schedule: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(schedule.get(key, ()))


def _scheduled(func: Func, schedule: Mapping[str, Any]) -> bool:
    """Whether a program says anything of the loops of a definition."""
    pure = [name for name in schedule["loops"] if name in func.args]
    return bool(schedule["splits"] or schedule.get("kinds") or pure != [name for name in func.args if name in pure])


@dataclass(frozen=True)
class _Loop:
    """A loop over every `step`-th element of a dimension; None: over what no number says. `tiles`: from tile to tile."""

    name: str
    dim: str
    step: int | None = 1
    extent: int | None = None
    tiles: bool = False


class _Nest:
    """The loops of one definition, innermost first, with what they run over."""

    def __init__(self, func: Func, stage: str, schedule: Mapping[str, Any], dims: Sequence[str], strict: bool,
                 extents: Mapping[str, int] | None = None) -> None:
        """strict: whether splits have to be such that they give sides of tiles. extents: of dimensions, beside the bounds."""
        self.func, self.stage, self.dims, self.strict = func, stage, tuple(dims), strict
        self.kinds: Mapping[str, str] = schedule.get("kinds", {})
        self._known = {name: extent for name, (_, extent) in func.bounds.items()} | dict(extents or {})
        # A loop inside a split that is unrolled is a step of a walk, or else the whole width of a tile.
        self._build(schedule, INSIDE_A_STEP)
        if not self._is_walk():
            self._build(schedule, ())
            if not self._is_walk():
                self._build(schedule, INSIDE_A_STEP)

    def _build(self, schedule: Mapping[str, Any], steps: tuple[str, ...]) -> None:
        """The loops after all splits; loops of the kinds `steps` are no sides of tiles."""
        self.sides: dict[str, int] = {}
        self.other_splits: list[str] = []
        self._open = {name: _Loop(name, name, extent=self._known.get(name))
                      for name in dict.fromkeys((*self.func.args, *self.dims))}
        for split in schedule["splits"]:
            self._split(split, steps)
        self.loops = [self._open.get(name, _Loop(name, name)) for name in schedule["loops"]]
        self.grid = [loop for loop in self.loops if loop.dim in self.dims]

    def _is_walk(self) -> bool:
        """Whether the loops inside a tile walk it x first."""
        inside = [loop for loop in self.grid if not loop.tiles]
        return inside == sorted(inside, key=lambda loop: (self.dims.index(loop.dim), loop.step or 0))

    def _split(self, split: Split, steps: tuple[str, ...]) -> None:
        if split.kind == "fuse":
            fused = [self._open.pop(name, _Loop(name, name)) for name in (split.inner, split.outer)]
            walked = [loop for loop in fused if loop.dim in self.dims]
            if not all(loop.tiles for loop in walked) and self.strict:
                raise self._refused(f"the loops {split.inner} and {split.outer} are fused, but inside a tile the array walks "
                                    f"{self._order()}", "fuse loops over tiles only")
            self._open[split.old] = replace((walked or fused)[0], name=split.old, step=None, extent=None)
            return
        whole = self._open.pop(split.old, _Loop(split.old, split.old))
        if split.kind == "rename":
            self._open[split.outer] = replace(whole, name=split.outer)
            return
        if whole.dim not in self.dims:
            self.other_splits.append(split.old)
        elif split.factor is None and self.strict:
            raise self._refused(f"{split.old} is split by what is no constant", "split it by a number")
        step = whole.step * split.factor if whole.step is not None and split.factor is not None else None
        extent = -(-whole.extent // split.factor) if whole.extent is not None and split.factor else None
        first = whole.dim in self.dims and not whole.tiles and whole.dim not in self.sides \
            and self.kinds.get(split.inner) not in steps
        if first and step is not None:
            self.sides[whole.dim] = step
        self._open[split.inner] = replace(whole, name=split.inner, extent=split.factor)
        self._open[split.outer] = _Loop(split.outer, whole.dim, step, extent, whole.tiles or first)

    def check_walk(self) -> None:
        """UserError unless the loops inside a tile walk it x first, and loops over tiles run around them."""
        inside = [loop for loop in self.grid if not loop.tiles]
        if not self._is_walk():
            raise self._refused(f"the loops of a tile are {', '.join(loop.name for loop in inside)} from the innermost on, but "
                                f"the array walks {self._order()}", "reorder them")
        for at, loop in enumerate(self.grid):
            around = next((each for each in self.grid[at:] if not each.tiles and each.dim in self.sides), None)
            if loop.tiles and around is not None:
                raise self._refused(f"{loop.name} runs from tile to tile inside {around.name}, which runs inside a tile",
                                    "reorder them")

    @property
    def _unrolled(self) -> list[_Loop]:
        """The loops of the grid that are unrolled, those of the smallest steps first."""
        unrolled = [loop for loop in self.grid if self.kinds.get(loop.name) == "unrolled"]
        return sorted(unrolled, key=lambda loop: loop.step or 0)

    @property
    def stripe(self) -> int:
        """Columns of each stripe, where what is unrolled are stripes that make up a tile; 1 where it is neighbours."""
        x, unrolled = self.dims[0], self._unrolled
        first = next((loop.step for loop in unrolled if loop.dim == x and not loop.tiles), None) or 1
        return first if first * math.prod(loop.extent or 0 for loop in unrolled) == self.sides.get(x) else 1

    def lanes(self) -> int | None:
        """How many columns at once the program unrolls; None if it unrolls nothing of the grid."""
        unrolled = self._unrolled
        x, lanes, stripe = self.dims[0], 1, self.stripe
        for loop in unrolled:
            if loop.dim != x:
                raise self._refused(f"{loop.name} is unrolled, but lanes are neighbours in {x}", f"unroll {x}, or bound "
                                    f"{loop.dim} and unroll it as a whole: then each of its elements is a result of its own")
            if loop.tiles:
                raise self._refused(f"{loop.name} is unrolled, but tiles are computed one after the other",
                                    f"unroll the innermost loop of {x}")
            if loop.extent is None:
                raise self._refused(f"{loop.name} is unrolled, but how often is no constant", f"unroll({x}, 2) makes 2 lanes")
            if loop.step != stripe * lanes:
                raise self._refused(f"{loop.name} is unrolled in steps of {loop.step or 'no constant'}, but lanes are "
                                    "neighbours, or stripes of a whole tile", f"unroll the innermost loop of {x}")
            lanes *= loop.extent
        return lanes if unrolled else None

    def unused(self, taken: str) -> Iterator[str]:
        """What the nest says that has no meaning here; splits of `taken` have one."""
        yield from (f"{kind} {name}" for name, kind in self.kinds.items() if kind != "unrolled")
        yield from (f"split {name}" for name in self.other_splits if name != taken)

    def _order(self) -> str:
        return ", then ".join(self.dims)

    def _refused(self, what: str, fix: str) -> UserError:
        return UserError(what, f"Func {self.func.name}, {self.stage}", f"{fix}, or give tile and unroll as arguments")
