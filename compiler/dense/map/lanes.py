"""How many lanes of a program fit a machine, and what ends them.

Every lane takes PE tiles, MEM tiles, and load and store streams of the global buffer. PEs through which operands wait, and
delay lines, depend on the length of a row and are counted as `store` makes them. Whether nets can be routed is not asked here.

Needs:   PeGraph, sizes of the machine, the tile.
Gives:   Limit, the walk of a tile.
Cost:    one `store` for every number of lanes that is tried: 10 ms for a 3 x 3 stencil, 2 s for 7 lanes of 50 PEs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from ....hw.arch.cgra import Arch
from ....hw.arch.errors import UserError
from ...ir.mapped import Demand, demands, graph_demands
from ...ir.pe_graph import PeGraph
from .grid import Walk, walk
from .product import Product, joins, sums_pes
from .product import steps as product_steps
from .storage import Overfull, store


@dataclass(frozen=True)
class Limit:
    """The most lanes that fit, 0 if not even one does; and what one more would be short of."""

    lanes: int
    why: str


def limit(pes: PeGraph, arch: Arch, tile: Sequence[int]) -> Limit:
    """The limit of a program on tiles of such a size, whose columns are rounded up to a multiple of the lanes."""
    lanes = min(each.has // each.needed for each in _least(pes, arch, 1) if each.needed)
    why = _shortage(pes, arch, tile, lanes + 1)
    while lanes and (short := _shortage(pes, arch, tile, lanes)):
        lanes, why = lanes - 1, short
    return Limit(lanes, why)


def product_limit(product: Product, arch: Arch) -> Limit:
    """The most columns of a matrix product that fit."""
    steps, terms = product_steps(product, 1, arch), product.products
    carries = steps * terms < product.terms

    def short(lanes: int) -> list[Demand]:
        streams = 1 if joins(lanes, steps) else lanes
        needs = demands(lanes * terms + sums_pes(lanes, steps, carries), streams, terms + streams * carries, streams, arch)
        return [each for each in needs if each.needed > each.has]

    lanes = next(lanes for lanes in count() if short(lanes + 1))
    return Limit(lanes, _text(short(lanes + 1), arch, lanes + 1))


def fitted(pes: PeGraph, arch: Arch, tile: Sequence[int], lanes: int) -> Walk:
    """The walk of a tile in so many lanes.

    UserError for more lanes than fit, naming what is short and how many would fit. One lane is not looked at.
    """
    walked = walk(pes, tile, lanes)
    if lanes > 1 and (short := _short(pes, arch, lanes, walked)):
        most = limit(pes, arch, tile).lanes
        raise UserError(f"{lanes} lanes do not fit: {short}", "", f"unroll by {most} at most, or use a larger machine" if most
                        else "use a larger machine: not even one lane fits")
    return walked


def _shortage(pes: PeGraph, arch: Arch, tile: Sequence[int], lanes: int) -> str:
    """What so many lanes are short of, in words; empty if they fit."""
    return _short(pes, arch, lanes, walk(pes, (-(-tile[0] // lanes) * lanes, *tile[1:]), lanes))


def _short(pes: PeGraph, arch: Arch, lanes: int, walked: Walk) -> str:
    """What so many lanes are short of in a walk, in words; empty if they fit."""
    found = _least(pes, arch, lanes)
    if not any(each.needed > each.has for each in found):
        try:
            found = graph_demands(store(walked, arch, most=found[0].has).graph, arch)
        except Overfull as more:
            found = (Demand(found[0].what, more.pes, found[0].has), *found[1:])
        except UserError as error:
            return error.what
    return _text([each for each in found if each.needed > each.has], arch, lanes)


def _least(pes: PeGraph, arch: Arch, lanes: int) -> tuple[Demand, ...]:
    """What so many lanes need at least: nodes and streams; every store takes the flag of a MEM tile."""
    ops = [node.op for node in pes.nodes]
    loads, tables, stores = ops.count("input"), ops.count("lookup"), len(pes.results)
    return demands(lanes * (len(ops) - loads - tables), lanes * max(tables, stores), lanes * loads, lanes * stores, arch)


def _text(short: Sequence[Demand], arch: Arch, lanes: int) -> str:
    tiles = [f"{each.what} ({lanes} lanes need {each.needed} or more, '{arch.name}' has {each.has})"
             for each in short if each.what.endswith("tiles")]
    streams = [each for each in short if each.what.endswith("streams")]
    if streams:
        tiles.append(f"GLB tiles ({lanes} lanes need {' and '.join(f'{each.needed} {each.what}' for each in streams)}, "
                     f"'{arch.name}' has {streams[0].has} with one of each)")
    return ", ".join(tiles)
