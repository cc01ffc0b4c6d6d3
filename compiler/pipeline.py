"""From a statement to a program: the passes in order, a verifier after each, every stage kept for `--dump`.

    Einsum -> lower -> SamGraph -> map_graph -> MappedGraph -> balance -> place -> route -> configure -> Program
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ..hw.arch.cgra import Arch
from ..hw.arch.config import differing
from ..hw.arch.errors import UserError
from ..hw.arch.primitive import LEVEL, PRIMITIVES
from .backend.configure import configure
from .backend.encode import encode
from .backend.picture import picture
from .backend.place import Placement
from .backend.pnr import place_and_route
from .backend.route import Routing, Unroutable
from .backend.timing import Timing, timing
from .ir import mapped
from .ir.mapped import MappedGraph, Stream
from .ir.program import Binding, Config, Program, Site
from .ir.sam import SamGraph
from .lang.einsum import Einsum
from .sparse.balance import balance
from .sparse.blocks import map_graph
from .sparse.lower import lower


@dataclass(frozen=True)
class Compiled:
    """Every stage of a compilation."""

    arch: Arch
    einsum: Einsum
    sam: SamGraph
    unbalanced: MappedGraph
    graph: MappedGraph
    placement: Placement
    routing: Routing
    timing: Timing
    program: Program

    def dump(self, folder: Path) -> None:
        """Write every stage as text or JSON, the bitstream and the picture."""
        folder.mkdir(parents=True, exist_ok=True)
        stages = {
            "1_sam.txt": self.sam.to_text(), "1_sam.json": self.sam.to_json(), "2_mapped.txt": self.unbalanced.to_text(),
            "3_balanced.txt": self.graph.to_text(),
            "4_placement.json": json.dumps({name: list(site) for name, site in self.placement.tiles.items()}, indent=1) + "\n",
            "5_routing.txt": routing_text(self.routing, self.arch), "app.bits": encode(self.program, self.arch),
            "program.json": program_json(self.program, self.arch), "array.svg": self.svg()}
        for name, text in stages.items():
            (folder / name).write_text(text)

    def svg(self) -> str:
        """The picture of the placed and routed array."""
        return picture(self.arch, self.graph, self.placement.tiles, self.routing, title=self.einsum.text)


def compile_einsum(einsum: Einsum, arch: Arch, seed: int = 0) -> Compiled:
    """Compile a statement for a machine; the same arguments give the same program.

    Raises UserError naming the resource that is short, needed and available, or the channel that stays congested; an
    `Unroutable` carries the picture as `.picture`.
    """
    sam = lower(einsum)
    unbalanced = map_graph(sam)
    check_resources(unbalanced, arch)
    mapped.verify(unbalanced, arch)
    graph = balance(unbalanced, arch)
    mapped.verify(graph, arch)
    try:
        placement, routing = place_and_route(graph, arch, seed=seed)
    except Unroutable as failure:
        failure.picture = picture(arch, graph, failure.tiles, failure.routing, title=einsum.text)
        raise
    config = configure(graph, arch, placement.tiles, routing.trees)
    source = {
        "expression": einsum.text, "order": list(einsum.order),
        "formats": {access.slot: str(access.format) for access in (einsum.result, *einsum.operands)},
        "names": {f"{x},{y}": name for name, (x, y) in sorted(placement.tiles.items(), key=lambda item: item[1])
                  if graph.blocks[name].kind != "io"}}
    bindings = tuple(bind(stream, placement.tiles[stream.block][0]) for stream in graph.streams)
    program = Program(arch.fingerprint, source, config, bindings)
    return Compiled(arch, einsum, sam, unbalanced, graph, placement, routing,
                    timing(graph, graph.nets, routing.trees, arch), program)


def bind(stream: Stream, column: int) -> Binding:
    """The binding of a stream whose io block sits in a column."""
    return Binding(stream.tensor, stream.level, stream.direction, column)


def check_resources(graph: MappedGraph, arch: Arch) -> None:
    """UserError naming every resource of which the program needs more than the machine has."""
    short = [f"{needed} {what}, has {has}" for what, needed, has in mapped.graph_demands(graph, arch) if needed > has]
    primitives = {block.primitive for block in graph.blocks.values() if block.primitive}
    missing = sorted(primitives - {p.name for tile in (arch.pe, arch.mem) for p in tile.primitives})
    if missing:
        fix = "choose a machine with sparse primitives" if LEVEL.name in missing else "add them to the machine's description"
        raise UserError(f"the program needs primitives that '{arch.name}' does not have: {', '.join(missing)}", "", fix)
    if short:
        raise UserError(f"the program is too large for '{arch.name}': it needs " + "; ".join(short), "",
                        f"{mapped.larger(mapped.graph_demands(graph, arch), arch)}, or compute the expression in parts")


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
        "streams": [{"name": b.name, "direction": b.direction, "column": b.column} for b in program.bindings],
        "tiles": {f"{x},{y}": used(arch, (x, y), sets) for (x, y), sets in program.config.items()}}, indent=1) + "\n"


def used(arch: Arch, site: Site, sets: Config) -> dict[str, dict[str, int | str | bool]]:
    """The fields of a tile's configuration that matter: not 0, and not of a primitive that is not active."""
    space, active = arch.config_map(arch.tiles[site].kind), sets.get("core", {}).get("mode")
    found = {name: differing(space.sets[name], fields) for name, fields in sets.items()
             if name not in PRIMITIVES or name == active}
    return {name: fields for name, fields in found.items() if fields}
