"""Choose the tile in which a picture is computed, where neither arguments nor the program say it: the one of the fewest cycles.

A picture takes, with `points` those of the grid of a tile, its margin included:

    cycles = tiles * (points + START + HOP * longest way through the PEs)

and those of its words on the way from and to memory outside, four a cycle and direction, in which nothing computes: all in one
launch, those of the first and of the last launch where tiles take half of a bank or less (`runtime/plan.py`), and those of
every launch where they take more. With `Glb.queue` a launch is few tiles, and follows the one before as soon as its words are
there: then a picture takes no less than its words, brought or taken beside what computes.

Every tile takes as long as a whole one, also where it reaches beyond the picture, so the sides tried are those that divide the
picture into 2, 3, 4, .. alike. Wide tiles have few margins, but a row that is kept takes a MEM tile or more; so what does not
fit a machine is left out, after all streams have fitted a bank of the global buffer, images as they lie in memory. 506 x 506
corners of harris take 1.06 cycles a pixel in 6 tiles of 253 x 169, 1.24 in 64 of 64 x 64.

An enlarged image has each word at several points; where a tile, or a stripe of it, begins between them no loops walk it. So the
sides of parts are multiples of how often a word comes. And tiles come first whose words have room in rows of lines wherever
they have any: else they would have to be arranged, one behind the other.

Rows of a few points are hard to route where many of them are kept: words wait for too long for a register file and not long
enough for a MEM tile. Wider tiles, beyond the picture, stand behind the others for such programs.

Measured on onyx, from start to done beside the points: 4 cycles for pointwise (1 PE on the longest way), 10 for box (3), 13 for
gaussian (5), 22 for cascade (10), 50 for harris (21), 44 for unsharp (21).

Needs:   PeGraph, the picture in the dimensions of the grid, sizes of the machine.
Gives:   Tiles, the best first.
Cost:    3 ms a tile that is tried, `TRIED` of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from ....hw.arch.cgra import Arch
from ....hw.arch.errors import UserError
from ....hw.arch.glb import LANES
from ...ir.mapped import graph_demands
from ...ir.pe_graph import PeGraph
from ...ir.transfer import PLACES, WORD_BYTES
from .grid import Walk, walk
from .storage import Overfull, store

Tile = tuple[int, ...]

# Cycles of a launch beside those of its points: on the way in and out, and from PE to PE.
START, HOP = 4, 3
# 16-bit words in a beat of the bus.
WORDS_A_BEAT = 4
# Cycles from the words of a launch to its start, where these are waited for, and those of its commands (docs/soc.md).
TURN = 100
# Parts into which a side is divided at most, tiles of the fewest cycles that are mapped to see whether they fit.
PARTS, TRIED = 32, 12
# Of the heights of lower tiles each so manieth is tried.
LOWER = 3
# Columns of tiles that are wider than a picture.
WIDER = (48, 64, 96)
# Sides of a tile in the first two dimensions if none that was tried fits; what is short is said when it is compiled.
PLAIN = (64, 64)


def tiles(pes: PeGraph, size: Sequence[int], lanes: int, asked: Mapping[str, int], arch: Arch) -> Iterator[Tile]:
    """Tiles for a picture of such a size, the first one that of the fewest cycles, others wider and wider.

    asked: sides that the program says, by dimension.
    """
    if lanes < 1 or len(size) != len(pes.dims):
        # Refused by the compiler, with its reason.
        yield tuple(asked.get(dim, side) for dim, side in zip(pes.dims, size, strict=False))
        return
    whole = (_up(size[0], lanes), *size[1:])
    tile = _best(pes, whole, lanes, asked, arch)
    if not tile:
        plain = (max(lanes, PLAIN[0] - PLAIN[0] % lanes), *PLAIN[1:], *whole[len(PLAIN):])
        yield tuple(min(asked.get(dim, side), all_) for dim, side, all_ in zip(pes.dims, plain, whole, strict=False))
        return
    yield tile
    if pes.dims[0] not in asked:
        for columns in WIDER:
            wider = (_up(columns, lanes), *tile[1:])
            if wider[0] > tile[0] and _walked(pes, whole, wider, lanes, arch) and _fits(pes, wider, lanes, arch):
                yield wider


def cycles(pes: PeGraph, walked: Walk, size: Sequence[int], tile: Sequence[int]) -> int:
    """Cycles that a picture takes in tiles of such a walk."""
    count = math.prod(-(-side // part) for side, part in zip(size, tile, strict=True))
    return count * (walked.grid.points + START + HOP * _longest(pes))


def transfers(walked: Walk, size: Sequence[int], tile: Sequence[int], arch: Arch, computes: int = 0) -> int:
    """Cycles in which words of a picture are brought or taken and nothing computes, where all tiles compute so many."""
    count = math.prod(-(-side // part) for side, part in zip(size, tile, strict=True))
    stored = [math.prod(each.counts) for each in walked.stores]
    brought, taken = len(walked.loads) * walked.grid.points // WORDS_A_BEAT, sum(stored) // WORDS_A_BEAT
    bank, most = arch.glb.room_bytes // WORD_BYTES, max(walked.grid.points, *stored)
    rows = max((lines for _, lines in _loaded(walked, tile[0] >= size[0])), default=0)
    if arch.glb.queue and PLACES * max(rows, *stored) <= bank:
        return brought + taken + max(0, count * (len(walked.loads) * rows // WORDS_A_BEAT + TURN) - computes)
    if most * count > bank and (each := bank // 2 // most):
        last = count % each or each
        return each * brought + last * taken
    return count * (brought + taken)


# Of a stream the words of a lane of a tile in the global buffer: without what fills lines, and in rows of lines.
_Room = tuple[int, int]


def _loaded(walked: Walk, whole: bool) -> Iterator[_Room]:
    """Of each load stream that is over an image.

    whole: rows of a lane alone are those of the image, and begin at lines; else they begin where the width says.
    """
    moved = walked.stores[0].counts[0] * walked.stores[0].stride[0]
    for stream in (load.stream for load in walked.loads if not load.stream.pattern):
        # From one element that is read to the next one.
        steps = [scale // divide if scale and scale % divide == 0 else 1
                 for scale, divide in zip(stream.scale, stream.divide, strict=True)]
        ends = [[(scale * point + shift) // divide // step for point in (first, first + extent - 1)]
                for scale, shift, divide, step, first, extent in zip(stream.scale, stream.shift, stream.divide, steps,
                                                                     walked.grid.origin, walked.grid.extents, strict=True)]
        columns, *rest = sides = [last - first + 1 for first, last in ends]
        lead = LANES - math.gcd(LANES, moved * stream.scale[0] // stream.divide[0] // steps[0])
        yield math.prod(map(min, sides, walked.grid.extents)), _row(walked, whole, columns, lead) * math.prod(rest)


def _stored(walked: Walk, whole: bool) -> Iterator[_Room]:
    """Of each store stream; whole: as of `_loaded`."""
    for columns, *rest in (each.counts for each in walked.stores):
        lead = LANES - 1 if columns % LANES else 0
        yield columns * math.prod(rest), _row(walked, whole, columns, lead) * math.prod(rest)


def _rooms(walked: Walk, whole: bool) -> tuple[_Room, ...]:
    """Of all streams; whole: as of `_loaded`."""
    return *_loaded(walked, whole), *_stored(walked, whole)


def _row(walked: Walk, whole: bool, columns: int, lead: int) -> int:
    """Words of lines in which columns are that may begin so many words behind the first one of a line."""
    return _up(columns if whole and walked.lanes == 1 else columns + lead, LANES)


def _best(pes: PeGraph, size: Sequence[int], lanes: int, asked: Mapping[str, int], arch: Arch) -> Tile | None:
    """Of the tiles that fit a machine the one of the fewest cycles; None if none that is tried fits."""
    return next((tile for tile in _ranked(pes, size, lanes, asked, arch) if _fits(pes, tile, lanes, arch)), None)


def _ranked(pes: PeGraph, size: Sequence[int], lanes: int, asked: Mapping[str, int], arch: Arch) -> list[Tile]:
    """Tiles whose streams fit a bank, those that lie in lines first, of these the fewest cycles, of those the widest."""
    found: list[Tile] = []
    blocks = [math.lcm(*(stream.divide[dim] for stream in pes.inputs.values())) for dim in range(len(pes.dims))]
    # Of a tile alone, too, stripes begin with elements.
    for columns in _sides(size[0], asked.get(pes.dims[0]), lanes, blocks[0], lanes * blocks[0] if lanes > 1 else 1):
        if len(size) == 1:
            found.append((columns,))
            continue
        rest = tuple(min(asked.get(dim, side), side) for dim, side in zip(pes.dims[2:], size[2:], strict=True))
        rows = _sides(size[1], asked.get(pes.dims[1]), 1, blocks[1], 1)
        # Lower tiles than the highest ones that fit have more margins, but may reach less beyond the picture. And those of
        # which two fit; and, where launches are few tiles, lower ones still.
        tall = [(columns, side, *rest) for side in rows]
        high, half = (next((at for at, tile in enumerate(tall) if _walked(pes, size, tile, lanes, arch, times)), len(rows))
                      for times in (1, 2))
        some = (*rows[high:high + 3], *rows[half:half + 3], *(rows[half + 3::LOWER] if arch.glb.queue else ()))
        found += [(columns, side, *rest) for side in dict.fromkeys(some)]
    costs: dict[Tile, tuple[bool, int]] = {}
    for tile in found:
        if walked := _walked(pes, size, tile, lanes, arch):
            computes = cycles(pes, walked, size, tile)
            costs[tile] = (not _lies(walked, tile[0] >= size[0], arch),
                           computes + transfers(walked, size, tile, arch, computes))
    return sorted(costs, key=lambda each: (costs[each], [-side for side in each]))[:TRIED]


def _sides(size: int, asked: int | None, lanes: int, block: int, alone: int) -> list[int]:
    """Sides that divide a dimension into alike parts, the longest first, several ones of whole blocks, one alone a multiple of
    `alone`; or the one that is asked for."""
    if asked is not None:
        return [min(asked, size)]
    step = lanes * block
    return sorted({_up(size, alone), *(_up(-(-size // parts), step) for parts in range(2, PARTS + 1))}, reverse=True)


def _up(side: int, step: int) -> int:
    """The side, rounded up to a multiple of a step."""
    return -(-side // step) * step


def _walked(pes: PeGraph, size: Sequence[int], tile: Tile, lanes: int, arch: Arch, times: int = 1) -> Walk | None:
    """The walk of a tile whose streams fit a bank of the global buffer so many times and whose sides can be counted."""
    if tile[0] % lanes or max(tile) > 1 << arch.mem.extent_bits:
        return None
    walked = walk(pes, tile, lanes)
    words = max(walked.grid.points, *(lines for _, lines in _rooms(walked, tile[0] >= size[0])))
    return walked if times * words <= arch.glb.room_bytes // WORD_BYTES else None


def _lies(walked: Walk, whole: bool, arch: Arch) -> bool:
    """Whether the streams of a tile have room in rows of lines wherever they have any, so that nobody arranges their words."""
    bank = arch.glb.room_bytes // WORD_BYTES
    rooms = [bank // parts // LANES * LANES for parts in (1, 2, *[PLACES] * arch.glb.queue)]
    return not any(words <= room < lines for words, lines in _rooms(walked, whole) for room in rooms)


def _fits(pes: PeGraph, tile: Tile, lanes: int, arch: Arch) -> bool:
    """Whether a machine has the tiles and streams that a tile takes."""
    most = sum(each.kind == "pe" for each in arch.usable.values())
    try:
        static = store(walk(pes, tile, lanes), arch, most=most)
        return all(each.needed <= each.has for each in graph_demands(static.graph, arch))
    except (UserError, Overfull):
        return False


def _longest(pes: PeGraph) -> int:
    """PEs on the longest way from an input to a result."""
    depth: list[int] = []
    for node in pes.nodes:
        depth.append(max((depth[ref.node] for _, ref in node.refs()), default=0) + (node.op != "input"))
    return max(depth, default=0)
