"""From a mapped graph to a program: the stages that every program goes through, a verifier after each.

    MappedGraph -> balance -> place and route -> configure -> Program     elastic: PEs even paths out before, and again where
                                                                          routes are longer than was expected
    MappedGraph -> place and route -> retime -> configure -> Program      static: start cycles even them out afterwards

What a front end does before (`einsum.py`, `halide.py`) ends in the stage ``map``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..hw.arch.cgra import Arch
from ..hw.arch.config import differing
from ..hw.arch.errors import Lacking, TooSmall
from ..hw.arch.presets import PRESETS
from ..hw.arch.primitive import ACCUMULATOR, LEVEL, LOCATE, MAXIMUM, PRIMITIVES, REDUCER, SCATTER
from .backend.configure import configure
from .backend.encode import encode
from .backend.picture import picture
from .backend.place import Chains, Placement
from .backend.pnr import place_and_route
from .backend.route import Routing, Unroutable
from .backend.timing import Timing, timing
from .ir import mapped
from .ir.mapped import LOAD, MappedGraph, Stream
from .ir.program import ELASTIC, STATIC, Config, Program, Site
from .ir.transfer import WORD_BYTES, Transfer, held_words, transfers

MAP, BALANCE, PLACE_AND_ROUTE, RETIME, CONFIGURE, PROGRAM = \
    "map", "balance", "place and route", "retime", "configure", "program"
# By the mode of the program.
FINISH: Mapping[str, tuple[str, ...]] = {
    ELASTIC: (MAP, BALANCE, PLACE_AND_ROUTE, CONFIGURE, PROGRAM),
    STATIC: (MAP, PLACE_AND_ROUTE, RETIME, CONFIGURE, PROGRAM)}

# Placements that are tried with streams in chains of n GLB tiles.
CHAINED_ATTEMPTS = 6

# Called with the name of every stage that begins.
Tell = Callable[[str], None]


def silent(stage: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Routed:
    """Where blocks are, and how their nets go."""

    placement: Placement
    routing: Routing


@dataclass(frozen=True)
class Fitted:
    """A graph that is even as it is routed.

    contents: block -> 16-bit words that stand in its memory.
    """

    graph: MappedGraph
    routed: Routed
    contents: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


# A graph and the number of an attempt, which decides the places.
Route = Callable[[MappedGraph, int], Routed]


@dataclass(frozen=True)
class Compiled:
    """A program and the stages that all programs have."""

    arch: Arch
    title: str
    graph: MappedGraph
    placement: Placement
    routing: Routing
    timing: Timing
    program: Program

    def stages(self) -> dict[str, str]:
        """Every stage as text or JSON by its name, in order."""
        places = {name: list(site) for name, site in self.placement.tiles.items()}
        return {"placement.json": json.dumps(places, indent=1) + "\n", "routing.txt": routing_text(self.routing, self.arch)}

    def files(self) -> dict[str, str]:
        """Every stage, the bitstream and the picture, by the name of the file for it; stages are numbered."""
        names = list(dict.fromkeys(name.partition(".")[0] for name in self.stages()))
        return {**{f"{1 + names.index(name.partition('.')[0])}_{name}": text for name, text in self.stages().items()},
                "app.bits": encode(self.program, self.arch), "program.json": program_json(self.program, self.arch),
                "array.svg": self.svg()}

    def svg(self) -> str:
        """The picture of the placed and routed array."""
        return picture(self.arch, self.graph, self.placement.tiles, self.routing, title=self.title)

    @property
    def tiles(self) -> dict[str, int]:
        """Tiles in use by kind, those that only hold tokens left out. A load and a store may be in one IO tile."""
        used = {self.placement.tiles[name]: block.kind for name, block in self.graph.blocks.items() if not block.slack}
        return {kind: [*used.values()].count(kind) for kind in ("pe", "mem", "io")}


def finish(graph: MappedGraph, arch: Arch, mode: str, title: str, fit: Callable[[Route], Fitted], *, seed: int = 0,
           source: Mapping[str, Any] | None = None, tell: Tell = silent, words: Mapping[str, int] | None = None) -> Compiled:
    """The program of a mapped graph; the same arguments give the same program.

    fit: evens out the paths of the graph, with routes that it asks for. source: more of the program's text. words: of a
    transaction of each stream at most, by name, where the graph does not know them; by default what level buffers hold.

    Raises UserError naming the resource that is short, needed and available, or the channel that stays congested; an
    `Unroutable` carries the picture as `.picture`.
    """
    check_resources(graph, arch)
    mapped.verify(graph, arch)

    def route(each: MappedGraph, attempt: int) -> Routed:
        mapped.verify(each, arch)
        tell(PLACE_AND_ROUTE)
        try:
            first = Routed(*place_and_route(each, arch, seed=seed + attempt))
            if (taken := fill(first, each, arch, words or {})) <= 1:
                return first
        except Unroutable as failure:
            failure.picture = picture(arch, each, failure.tiles, failure.routing, title=title)
            if arch.avoid:
                failure.fix += f", or avoid fewer tiles than {arch.avoid.text()}"
            raise
        for other in _chained(each, arch, seed + attempt, words or {}):
            if (more := fill(other, each, arch, words or {})) < taken:
                first, taken = other, more
            if taken <= 1:
                break
        # What is too long may be held in fewer words than it has; else the plan says so.
        return first

    fitted = fit(route)
    final, tiles, routes = fitted.graph, fitted.routed.placement.tiles, fitted.routed.routing.trees
    mapped.verify(final, arch)
    tell(CONFIGURE)
    config = configure(final, arch, tiles, routes, static=mode == STATIC)
    tell(PROGRAM)
    names = {f"{x},{y}": name for name, (x, y) in sorted(tiles.items(), key=lambda item: item[1])
             if final.blocks[name].kind != "io"}
    contents = {tiles[block]: words for block, words in fitted.contents.items()}
    sizes = {f"{x},{y}": len(words) for (x, y), words in contents.items()}
    text = {"expression": title, **(source or {}), "names": names, **({"contents": sizes} if sizes else {})}
    program = Program(arch.fingerprint, mode, text, config, _placed(final, tiles, arch), contents)
    return Compiled(arch, title, final, fitted.routed.placement, fitted.routed.routing,
                    timing(final, final.nets, routes, arch), program)


def _chained(graph: MappedGraph, arch: Arch, seed: int, words: Mapping[str, int]) -> Iterator[Routed]:
    """Placements with streams in chains of two GLB tiles, of three, and so on, several of each: where a load and a store have
    one chain, each has half of it. Where there are too few chains for all, those that are too long for a tile have them."""
    loads, stores = ([each for each in graph.streams if (each.direction == LOAD) == loaded] for loaded in (True, False))
    streams = max(len(loads), len(stores))
    long = [[each.block for each in some if _words(each, arch, words) > arch.glb.room_bytes // WORD_BYTES]
            for some in (loads, stores)]
    for length in range(2, arch.glb.ring + 1):
        chains = Chains(length)
        if len(chains.begins(arch)) < streams:
            count = (len(arch.stream_tiles) - streams) // (length - 1)
            chains = Chains(length, count, tuple(block for some in long for block in some))
            begins = len(chains.begins(arch))
            if not 0 < max(map(len, long)) <= begins or begins + len(chains.alone(arch)) < streams:
                continue
        for other in range(CHAINED_ATTEMPTS):
            with suppress(Unroutable):      # as others may not be
                yield Routed(*place_and_route(graph, arch, seed=seed + other, chained=chains))


def _placed(graph: MappedGraph, tiles: Mapping[str, Site], arch: Arch) -> tuple[Transfer, ...]:
    """The streams of a graph whose blocks have these places, loads first."""
    streams = sorted(graph.streams, key=lambda stream: stream.direction != LOAD)
    return transfers([(stream, tiles[stream.block][0]) for stream in streams], arch)


def fill(routed: Routed, graph: MappedGraph, arch: Arch, words: Mapping[str, int]) -> float:
    """The share of its room that the words of a stream take, of the fullest one; 0 where all have the same room anyway."""
    if arch.glb.ring == 1:
        return 0
    return max(_words(each, arch, words) / each.room for each in _placed(graph, routed.placement.tiles, arch))


def _words(each: Stream | Transfer, arch: Arch, words: Mapping[str, int]) -> int:
    """Words of a transaction of a stream at most."""
    return words.get(each.name, held_words(each, arch)) if each.sections else each.count


def check_resources(graph: MappedGraph, arch: Arch) -> None:
    """Lacking naming every resource of which the program needs more than the machine has."""
    primitives = {block.primitive for block in graph.blocks.values() if block.primitive}
    missing = sorted(primitives - mapped.primitives_of(arch))
    if missing:
        known = mapped.having(missing, arch)
        fix = ("choose a machine with sparse primitives" if LEVEL.name in missing
               else "put the loops of the result outermost, or choose a machine that has it" if missing == [ACCUMULATOR.name]
               else f"{known}, or store the result compressed, or in loop order" if missing == [SCATTER.name] else known)
        raise Lacking(f"the program needs primitives that '{arch.name}' does not have: {', '.join(missing)}", "", fix)
    if not arch.mem.locate and any(block.config.get("output") == LOCATE for block in graph.blocks.values()):
        raise Lacking(f"the program locates coordinates in dense levels, which the MEM tiles of '{arch.name}' cannot", "",
                      "locate in outermost levels only (--locate outermost), or set mem.locate in the machine's description")
    if not arch.pe.reduce_max and any(block.config.get("op") == MAXIMUM for block in graph.blocks.values()
                                      if block.primitive == REDUCER.name):
        raise Lacking(f"the program takes maxima of fibers, which the reducers of '{arch.name}' cannot", "",
                      f"use {', '.join(each.name for each in PRESETS.values() if each.pe.reduce_max)}, or set pe.reduce_max in "
                      "the machine's description")
    mapped.check_operations({block.operation.name for block in graph.blocks.values() if block.operation}, arch.pe.ops)
    check_demands(mapped.graph_demands(graph, arch), arch)


def check_demands(needs: Sequence[mapped.Demand], arch: Arch) -> None:
    """TooSmall naming those that are more than the machine has."""
    short = [f"{needed} {what}, has {has}" for what, needed, has in needs if needed > has]
    if not short:
        return
    what, fix = f"the program is too large for '{arch.name}'", mapped.larger(needs, arch)
    if arch.avoid:
        cut_off = len(arch.tiles) - len(arch.usable) - len(arch.avoid.tiles)
        what += f" without {arch.avoid.text()}" + (f" and {cut_off} tiles that these cut off" if cut_off else "")
        fix = mapped.avoiding_less(needs, arch)
    raise TooSmall(f"{what}: it needs " + "; ".join(short), "", f"{fix}, or compute the expression in parts")


def routing_text(routing: Routing, arch: Arch) -> str:
    """Every net and the nodes of its tree."""
    lines = []
    for name, tree in routing.trees.items():
        lines.append(f"net {name}")
        for node, driver in tree.items():
            a, b = arch.graph.nodes[driver], arch.graph.nodes[node]
            lines.append(f"  ({a.x}, {a.y}) {a.name} -> ({b.x}, {b.y}) {b.name}")
    return "\n".join(lines) + "\n"


def program_json(program: Program, arch: Arch) -> str:
    """A program as JSON for people: only what differs from zero."""
    return json.dumps({
        "fingerprint": f"{program.fingerprint:016x}", "source": program.source,
        "streams": [{"name": b.name, "direction": b.direction, "column": b.column} for b in program.transfers],
        "tiles": {f"{x},{y}": used(arch, (x, y), sets) for (x, y), sets in program.config.items()}}, indent=1) + "\n"


def used(arch: Arch, site: Site, sets: Config) -> dict[str, dict[str, int | str | bool]]:
    """The fields of a tile's configuration that matter: not 0, and not of a primitive that is not active."""
    space, active = arch.config_map(arch.tiles[site].kind), sets.get("core", {}).get("mode")
    found = {name: differing(space.sets[name], fields) for name, fields in sets.items()
             if name not in PRIMITIVES or name == active}
    return {name: fields for name, fields in found.items() if fields}
