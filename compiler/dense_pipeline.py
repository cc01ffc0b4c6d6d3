"""From a Halide pipeline to a program: the passes in order, a verifier after each, every stage kept for `--dump`.

    Pipeline -> lower -> WordGraph -> select -> PeGraph -> walk -> store -> StaticGraph -> place -> route -> align -> settle
    -> configure -> Program
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..hw.arch.cgra import Arch
from ..hw.arch.errors import UserError
from .backend.configure import configure
from .backend.encode import encode
from .backend.latency import latencies
from .backend.picture import picture
from .backend.place import Placement
from .backend.pnr import place_and_route
from .backend.route import Routing, Unroutable
from .backend.timing import Timing, timing
from .dense.front.lower import lower
from .dense.map import product as products
from .dense.map.grid import Walk, walk
from .dense.map.lanes import check_lanes
from .dense.map.product import Product
from .dense.map.storage import NET, StaticGraph, store, with_passes
from .dense.map.tiles import tiles
from .dense.select.select import selected
from .dense.time import align as alignment
from .dense.time import verify_controllers as controllers
from .dense.time.settle import settle
from .ir import dataflow, mapped
from .ir.dataflow import PeGraph, WordGraph
from .ir.mapped import LOAD, MappedGraph
from .ir.program import Binding, Program
from .lang.halide.pipeline import Pipeline
from .pipeline import check_resources, program_json, routing_text

# Placements tried until one can be evened out.
ATTEMPTS = 6


@dataclass(frozen=True)
class CompiledDense:
    """Every stage of a compilation; selection: what is known of the choice of PEs, in words."""

    arch: Arch
    title: str
    words: WordGraph | None
    pes: PeGraph
    static: StaticGraph
    graph: MappedGraph
    placement: Placement
    routing: Routing
    alignment: alignment.Alignment
    timing: Timing
    program: Program
    selection: str = ""

    @property
    def walk(self) -> Walk:
        return self.static.walk

    def dump(self, folder: Path) -> None:
        """Write every stage as text or JSON, the bitstream and the picture."""
        folder.mkdir(parents=True, exist_ok=True)
        stages = {
            "1_words.txt": dataflow.to_text(self.words) if self.words else "", "2_pes.txt": dataflow.pe_text(self.pes),
            "3_static.txt": self.static.graph.to_text(), "4_settled.txt": self.graph.to_text(),
            "5_placement.json": json.dumps({name: list(site) for name, site in self.placement.tiles.items()}, indent=1) + "\n",
            "6_routing.txt": routing_text(self.routing, self.arch), "7_times.txt": times_text(self.alignment),
            "app.bits": encode(self.program, self.arch), "program.json": program_json(self.program, self.arch),
            "array.svg": self.svg()}
        for name, text in stages.items():
            (folder / name).write_text(text)

    def svg(self) -> str:
        """The picture of the placed and routed array."""
        return picture(self.arch, self.graph, self.placement.tiles, self.routing, title=self.title)


def compile_halide(pipeline: Pipeline, arch: Arch, tile: Sequence[int], lanes: int = 1, seed: int = 0) -> CompiledDense:
    """Compile a pipeline for results of the shape `tile` (x first, in the dimensions of the grid); the same arguments give the
    same program.

    Raises UserError for what cannot be mapped, for what is short, for a channel that stays congested (an `Unroutable` carries
    the picture as `.picture`), or for wires that cannot be evened out.
    """
    return compile_words(lower(pipeline, streams=arch.glb_tiles), arch, tile, lanes, seed)


def compile_words(words: WordGraph, arch: Arch, tile: Sequence[int], lanes: int = 1, seed: int = 0) -> CompiledDense:
    """As `compile_halide`, from a graph of words on."""
    title = ", ".join(dict.fromkeys(stream.image for stream in words.outputs.values()))
    found = selected(words, arch.pe.ops)
    return replace(compile_pes(found.pes, arch, tile, lanes, seed, words, title), selection=found.text)


def compile_picture(words: WordGraph, arch: Arch, size: Sequence[int], lanes: int = 1, seed: int = 0,
                    asked: Mapping[str, int] | None = None) -> tuple[CompiledDense, tuple[int, ...]]:
    """As `compile_words`, in the tile of the fewest cycles for a picture of such a size, which is given as well.

    asked: sides of the tile by dimension, where the program says them. Tiles that wires cannot be evened out for give way to
    wider ones.
    """
    title = ", ".join(dict.fromkeys(stream.image for stream in words.outputs.values()))
    found, first = selected(words, arch.pe.ops), None
    for tile in tiles(found.pes, size, lanes, asked or {}, arch):
        try:
            return replace(compile_pes(found.pes, arch, tile, lanes, seed, words, title), selection=found.text), tile
        except alignment.Misaligned as failure:
            first = first or failure
    assert first is not None, "there is a tile, which was compiled or not"
    raise first


def compile_product(product: Product, arch: Arch, lanes: int, rows: int, seed: int = 0) -> CompiledDense:
    """Compile a matrix product for `lanes` columns and `rows` rows of the result at once; errors as of `compile_halide`."""
    steps = products.steps(product, product.products, arch)
    carries = steps * product.products < product.terms
    pes = products.graph(product, lanes, product.products, steps, carries, arch.pe.ops)
    name = f"{product.name}, {lanes} columns and {product.products} terms at once,"
    return compile_pes(pes, arch, (1, rows), seed=seed, name=name)


def compile_pes(pes: PeGraph, arch: Arch, tile: Sequence[int], lanes: int = 1, seed: int = 0, words: WordGraph | None = None,
                name: str = "program") -> CompiledDense:
    """As `compile_halide`, from a graph of PEs on; words: what it was selected from, for the dump."""
    title = f"{name} by tiles of {' x '.join(map(str, tile))}"
    dataflow.verify_pes(pes, arch.pe.ops)
    check_tile(pes, tile, lanes)
    check_tables(pes, arch)
    if not pes.inputs:
        raise UserError("the results are the same for all images, so there is nothing to compute on the array", name,
                        "compute them in the host program")
    check_lanes(pes, arch, tile, lanes)
    walked = walk(pes, tile, lanes)
    check_banks(walked, arch)
    static = store(walked, arch)
    check_resources(static.graph, arch)
    for attempt in range(ATTEMPTS):
        mapped.verify(static.graph, arch)
        try:
            placement, routing = place_and_route(static.graph, arch, seed=seed + attempt)
        except Unroutable as failure:
            failure.picture = picture(arch, static.graph, failure.tiles, failure.routing, title=title)
            raise
        latency = latencies(static.graph.nets, routing.trees, placement.tiles, arch)
        try:
            found = alignment.align(static, latency, arch)
            break
        except alignment.Misaligned as failure:
            misaligned = failure
            # What waits where was decided with an estimate of the wires. What cannot wait gets PEs to wait in; if there are
            # none left, take turns with what the wires are and longer ones; else only the places change.
            mean = max(1, round(sum(latency.values()) / len(latency)))
            relieved = [(with_passes(static, failure.waiting), NET)] if failure.waiting else []
            static = stored(*relieved, (walked, mean if attempt % 2 == 0 else NET + attempt), arch=arch) or static
    else:
        raise misaligned
    alignment.verify(static, found, latency, arch)
    settled = settle(static, found, arch)
    graph = settled.graph
    mapped.verify(graph, arch)
    config = configure(graph, arch, placement.tiles, routing.trees, static=True)
    controllers.verify(config, graph, placement.tiles, settled.meant, arch)
    bindings = tuple(Binding(stream.tensor, stream.level, stream.direction, placement.tiles[stream.block][0])
                     for stream in sorted(graph.streams, key=lambda stream: stream.direction != LOAD))
    names = {f"{x},{y}": name for name, (x, y) in sorted(placement.tiles.items(), key=lambda item: item[1])
             if graph.blocks[name].kind != "io"}
    tables = {placement.tiles[f"{node.op} {number}"]: node.table
              for number, node in enumerate(static.walk.graph.nodes) if node.op == "lookup"}
    source = {"expression": title, "names": names, "walk": walk_json(static.walk),
              "contents": {f"{x},{y}": len(table) for (x, y), table in tables.items()}}
    program = Program(arch.fingerprint, source, config, bindings, tables)
    return CompiledDense(arch, title, words, pes, static, graph, placement, routing, found,
                         timing(graph, graph.nets, routing.trees, arch), program)


def walk_json(each: Walk) -> dict[str, Any]:
    """What host code needs to know of the streams, as plain data."""
    return {"origin": list(each.grid.origin), "extents": list(each.grid.extents),
            "loads": {load.name: {key: list(value) if isinstance(value, tuple) else value
                                  for key, value in asdict(load.stream).items()} for load in each.loads},
            "stores": {store.name: {"counts": list(store.counts), "stride": list(store.stride), "first": list(store.first),
                                    "lane": store.lane, "lanes": store.lanes, "signed": store.stream.signed}
                       for store in each.stores}}


def times_text(times: alignment.Alignment) -> str:
    """When every stream starts, and how long operands wait."""
    lines = [f"{pin.block}.{pin.port} starts in cycle {start}" for pin, start in times.starts.items()]
    lines += [f"{sink.block}.{sink.port} waits {wait}" for sink, wait in times.waits.items() if wait]
    return "\n".join(lines) + "\n"


def check_tile(graph: PeGraph, tile: Sequence[int], lanes: int) -> None:
    """UserError for a tile or a number of lanes with which a graph cannot be computed."""
    dims = ", ".join(graph.dims)
    if len(tile) != len(graph.dims) or any(side < 1 for side in tile):
        raise UserError(f"a tile of {' x '.join(map(str, tile)) or 'no dimensions'} for results over {dims}", "",
                        f"give {len(graph.dims)} positive sizes, one for each of {dims}")
    if lanes < 1 or tile[0] % lanes:
        raise UserError(f"{tile[0]} columns of a tile do not divide into {lanes} lanes", "", "change the tile or unroll")
    for name, stream in graph.outputs.items():
        if lanes > 1 and stream.scale[0] > 1:
            raise UserError(f"one element of {name} is computed for {stream.scale[0]} columns of the grid, so {lanes} lanes "
                            "would compute what is not stored", name, "leave out unroll")


def stored(*options: tuple[Walk, int], arch: Arch) -> StaticGraph | None:
    """The first of several walks that fits a machine with so many cycles expected for a net."""
    for walked, net in options:
        try:
            found = store(walked, arch, net)
        except UserError:
            continue
        if all(each.needed <= each.has for each in mapped.graph_demands(found.graph, arch)):
            return found
    return None


def check_tables(graph: PeGraph, arch: Arch) -> None:
    """UserError for a table that no MEM tile holds."""
    largest = max((len(node.table) for node in graph.nodes if node.op == "lookup"), default=0)
    if largest > arch.mem.buffer_words:
        raise UserError(f"the program reads a table of {largest} entries at data, but a MEM tile of '{arch.name}' holds "
                        f"{arch.mem.buffer_words}", "", "limit the index with clamp, or compute the entries")


def check_banks(each: Walk, arch: Arch) -> None:
    """UserError for a machine or a tile whose streams do not fit the global buffer: loads take the first bank of a GLB tile,
    stores the last, because static streams cannot wait for each other."""
    glb = arch.glb
    if glb.banks < 2:
        raise UserError(f"the global buffer of '{arch.name}' has one bank a tile, but static streams need one for loads and "
                        "one for stores", "", "give it two banks")
    room = glb.bank_bytes // 2
    words = max(each.grid.points, *store_counts(each).values())
    if words > room:
        raise UserError(f"a stream takes {words} words a tile ({' x '.join(map(str, each.grid.extents))} points), but a bank "
                        f"of the global buffer of '{arch.name}' holds {room}", "", "use a smaller tile")


def store_counts(each: Walk) -> dict[str, int]:
    """Words that every store stream gives a tile."""
    return {store.name: math.prod(store.counts) for store in each.stores}
