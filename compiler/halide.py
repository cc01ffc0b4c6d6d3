"""From a Halide pipeline to a program.

    Pipeline -> lower -> WordGraph -> select -> PeGraph -> walk -> map -> StaticGraph -> place and route -> retime -> configure
    -> Program
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..hw.arch.cgra import Arch
from ..hw.arch.errors import UserError
from .backend.latency import latencies
from .dense.front.lower import lower
from .dense.map import product as products
from .dense.map.delay_lines import StaticGraph
from .dense.map.grid import Walk
from .dense.map.lanes import fitted
from .dense.map.product import Product
from .dense.map.storage import store
from .dense.map.tiles import tiles
from .dense.map.weights import Weights
from .dense.select.select import selected
from .dense.time import verify_controllers as controllers
from .dense.time.align import Alignment, Misaligned
from .dense.time.retime import Retimed, retime
from .ir import dataflow, mapped, pe_graph
from .ir.dataflow import WordGraph
from .ir.mapped import LOAD, STORE, MappedGraph, Pin
from .ir.pe_graph import PeGraph
from .ir.program import STATIC
from .ir.transfer import region
from .lang.halide.pipeline import Pipeline
from .pipeline import FINISH, MAP, RETIME, Compiled, Fitted, Route, Routed, Tell, check_demands, finish, silent

LOWER, SELECT, WALK = "lower", "select", "walk"
STAGES = (LOWER, SELECT, WALK, *FINISH[STATIC])
FILES = ("1_words.txt", "2_pes.txt", "3_static.txt", "4_settled.txt", "5_placement.json", "6_routing.txt", "7_times.txt",
         "app.bits", "program.json", "array.svg")


@dataclass(frozen=True)
class CompiledDense(Compiled):
    """Every stage of a compilation; selection: what is known of the choice of PEs, in words."""

    words: WordGraph | None
    pes: PeGraph
    static: StaticGraph
    alignment: Alignment
    selection: str = ""

    @property
    def walk(self) -> Walk:
        return self.static.walk

    def stages(self) -> dict[str, str]:
        return {"words.txt": dataflow.to_text(self.words) if self.words else "", "pes.txt": pe_graph.pe_text(self.pes),
                "static.txt": self.static.graph.to_text(), "settled.txt": self.graph.to_text(), **super().stages(),
                "times.txt": times_text(self.alignment)}


def compile_halide(pipeline: Pipeline, arch: Arch, tile: Sequence[int], lanes: int = 1, seed: int = 0,
                   tell: Tell = silent) -> CompiledDense:
    """Compile a pipeline for results of the shape `tile` (x first, in the dimensions of the grid); the same arguments give the
    same program.

    Raises UserError for what cannot be mapped, for wires that cannot be evened out, and as `finish` does.
    """
    tell(LOWER)
    return compile_words(lower(pipeline, streams=len(arch.stream_tiles)), arch, tile, lanes, seed, tell)


def compile_words(words: WordGraph, arch: Arch, tile: Sequence[int], lanes: int = 1, seed: int = 0,
                  tell: Tell = silent) -> CompiledDense:
    """As `compile_halide`, from a graph of words on."""
    tell(SELECT)
    found = selected(words, arch.pe.ops)
    return replace(compile_pes(found.pes, arch, tile, lanes, seed, words, _title(words), tell), selection=found.text)


def compile_picture(words: WordGraph, arch: Arch, size: Sequence[int], lanes: int = 1, seed: int = 0,
                    asked: Mapping[str, int] | None = None, tell: Tell = silent) -> tuple[CompiledDense, tuple[int, ...]]:
    """As `compile_words`, in the tile of the fewest cycles for a picture of such a size, which is given as well.

    asked: sides of the tile by dimension, where the program says them. Tiles that wires cannot be evened out for give way to
    wider ones.
    """
    tell(SELECT)
    found, first = selected(words, arch.pe.ops), None
    for tile in tiles(found.pes, size, lanes, asked or {}, arch):
        try:
            compiled = compile_pes(found.pes, arch, tile, lanes, seed, words, _title(words), tell)
            return replace(compiled, selection=found.text), tile
        except Misaligned as failure:
            first = first or failure
    assert first is not None, "there is a tile, which was compiled or not"
    raise first


def _title(words: WordGraph) -> str:
    """The outputs of a graph."""
    return ", ".join(dict.fromkeys(stream.image for stream in words.outputs.values()))


def compile_product(product: Product, arch: Arch, weights: Weights, rows: int, seed: int = 0, tell: Tell = silent
                    ) -> CompiledDense:
    """Compile a matrix product for columns whose weights come in such a way, and `rows` rows of the result at once; errors as
    of `compile_halide`."""
    carries = weights.steps * product.products < product.terms
    pes = products.graph(product, weights, product.products, carries, arch.pe.ops)
    name = f"{product.name}, {weights.lanes} columns and {product.products} terms at once,"
    columns = weights.lanes if products.joins(weights.lanes, weights.steps) else 1
    return compile_pes(pes, arch, (columns, rows), seed=seed, name=name, tell=tell)


def compile_pes(pes: PeGraph, arch: Arch, tile: Sequence[int], lanes: int = 1, seed: int = 0, words: WordGraph | None = None,
                name: str = "program", tell: Tell = silent) -> CompiledDense:
    """As `compile_halide`, from a graph of PEs on; words: what it was selected from, for the dump."""
    mapped.check_operations(pe_graph.operations(pes), arch.pe.ops)
    pe_graph.verify_pes(pes, arch.pe.ops)
    check_tile(pes, tile, lanes)
    check_tables(pes, arch)
    if not pes.inputs:
        raise UserError("the results are the same for all images, so there is nothing to compute on the array", name,
                        "compute them in the host program")
    tell(WALK)
    walked = fitted(pes, arch, tile, lanes)
    check_banks(walked, arch)
    # Before storage is estimated, which takes longer than the square of so many PEs.
    check_demands(mapped.demands(sum(node.op not in ("input", "lookup") for node in walked.graph.nodes), 0, 0, 0, arch), arch)
    tell(MAP)
    static = store(walked, arch)
    retimed: Retimed[Routed] | None = None

    def fit(route: Route) -> Fitted:
        def timed(graph: MappedGraph, attempt: int) -> tuple[Routed, Mapping[Pin, int]]:
            routed = route(graph, attempt)
            return routed, latencies(graph.nets, routed.routing.trees, routed.placement.tiles, arch)

        nonlocal retimed
        retimed = retime(walked, static, arch, timed, lambda: tell(RETIME))
        tables = {f"{node.op} {number}": node.table
                  for number, node in enumerate(retimed.static.walk.graph.nodes) if node.op == "lookup"}
        return Fitted(retimed.settled.graph, retimed.routes, tables)

    title = f"{name} by tiles of {' x '.join(map(str, tile))}"
    found = finish(static.graph, arch, STATIC, title, fit, seed=seed, tell=tell)
    assert retimed is not None, "a program is finished with what fits"
    controllers.verify(found.program.config, found.graph, found.placement.tiles, retimed.settled.meant, arch)
    return CompiledDense(**vars(found), words=words, pes=pes, static=retimed.static, alignment=retimed.alignment)


def times_text(times: Alignment) -> str:
    """When every stream starts, and how long operands wait."""
    lines = [f"{pin.block}.{pin.port} starts in cycle {start}" for pin, start in times.starts.items()]
    lines += [f"{sink.block}.{sink.port} waits {wait}" for sink, wait in times.waits.items() if wait]
    return "\n".join(lines) + "\n"


def check_tile(graph: PeGraph, tile: Sequence[int], lanes: int) -> None:
    """UserError for a tile or lanes with which a graph cannot be computed."""
    dims = ", ".join(graph.dims)
    if len(tile) != len(graph.dims) or any(side < 1 for side in tile):
        raise UserError(f"a tile of {' x '.join(map(str, tile)) or 'no dimensions'} for results over {dims}", "",
                        f"give {len(graph.dims)} positive sizes, one for each of {dims}")
    if lanes < 1 or tile[0] % lanes:
        raise UserError(f"{tile[0]} columns of a tile do not divide into {lanes} lanes", "", "change the tile or unroll")


def check_tables(graph: PeGraph, arch: Arch) -> None:
    """UserError for a table that no MEM tile holds."""
    largest = max((len(node.table) for node in graph.nodes if node.op == "lookup"), default=0)
    if largest > arch.mem.buffer_words:
        raise UserError(f"the program reads a table of {largest} entries at data, but a MEM tile of '{arch.name}' holds "
                        f"{arch.mem.buffer_words}", "", "limit the index with clamp, or compute the entries")


def check_banks(each: Walk, arch: Arch) -> None:
    """UserError for a machine or a tile whose streams do not fit the global buffer: static streams cannot wait for each other,
    so loads and stores have banks of their own."""
    load, store = (region(direction, arch.glb) for direction in (LOAD, STORE))
    if load.bank == store.bank:
        raise UserError(f"the global buffer of '{arch.name}' has one bank a tile, but static streams need one for loads and "
                        "one for stores", "", "give it two banks")
    # Which streams are in chains is known when they are placed; a plan tells what does not fit there.
    room, tiles = region(LOAD, arch.glb, arch.glb.ring, alone=True).room, arch.glb.ring
    if each.words > room:
        place = "a bank" if tiles == 1 else f"a chain of {tiles} tiles"
        raise UserError(f"a stream takes {each.words} words a tile ({' x '.join(map(str, each.grid.extents))} points), but "
                        f"{place} of the global buffer of '{arch.name}' holds {room}", "",
                        "use a smaller tile (--tile or tile=)")
