"""Place blocks on tiles by simulated annealing.

Input:   kinds {block: kind}, nets between blocks, slots (places on tiles); legal tiles of restricted blocks.
Output:  Placement: {block: (x, y)} in tile coordinates, origin north-west; one block a slot or group.
Errors:  UserError when blocks outnumber slots or groups of their kind, or restrictions contradict each other.
Cost:    10 x blocks^(4/3) moves at each of about 110 temperatures: 0.13 s for 205 blocks on 16 x 16.
Source:  Betz and Rose, VPR, 1997 (cooling and window); Onyx JSSC IV-E.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...hw.arch.cgra import Arch
from ...hw.arch.errors import UserError
from ..ir.mapped import LOAD, STORE, MappedGraph, Net
from ..ir.program import Site
from .native import library

STREAM = "stream"


@dataclass(frozen=True)
class Slot:
    """Room for one block on a tile.

    Parameters
    ----------
    x, y : int      The tile; one slot of a kind a tile.
    kind : str      Kind of block: ``pe``, ``mem``, ``load`` or ``store``, or ``stream`` for either.
    group : int     Slots of one kind and group >= 0 take one block together; -1: a slot of its own.
    """

    x: int
    y: int
    kind: str
    group: int = -1


@dataclass(frozen=True)
class Placement:
    """Where every block is, and how the annealer got there.

    Parameters
    ----------
    tiles : mapping      Block -> (x, y), in the order of the blocks given.
    cost : int           Sum over nets of (half perimeter of the bounding box) ^ exponent.
    moves, rounds : int  Moves tried, temperatures.
    """

    tiles: Mapping[str, Site]
    cost: int
    moves: int
    rounds: int


@dataclass(frozen=True)
class Chains:
    """How GLB tiles are left to streams, so that these have room behind them.

    Parameters
    ----------
    length : int            1..8, `Glb.ring` at most: GLB tiles of a chain, of which only the first one has streams.
    count : int | None      So many of them in the west, each tile behind has streams; None: all, those left over have none.
    blocks : tuple          IO blocks that are to begin one, where there are others.
    """

    length: int = 1
    count: int | None = None
    blocks: tuple[str, ...] = ()

    def begins(self, arch: Arch) -> tuple[int, ...]:
        """The first tiles of chains."""
        found = [tile for tile in arch.stream_tiles if tile % self.length == 0 and tile + self.length <= arch.glb_tiles
                 and not any(tile <= avoided < tile + self.length for avoided in arch.avoid.glb)]
        return tuple(found[:self.count])

    def alone(self, arch: Arch) -> tuple[int, ...]:
        """Tiles beside them that have streams."""
        taken = {tile + behind for tile in self.begins(arch) for behind in range(self.length)}
        return () if self.count is None else tuple(tile for tile in arch.stream_tiles if tile not in taken)


WHOLE = Chains()


def slots_of(arch: Arch, chained: Chains = WHOLE, apart: bool = False) -> tuple[Slot, ...]:
    """All slots of the tiles that programs may use: an IO tile can load and store, a GLB tile has one stream each way.

    apart: a GLB tile has one stream of either way.
    """
    width = arch.glb.columns_per_tile
    begins = {*chained.begins(arch), *chained.alone(arch)}
    slots = []
    for (x, y), tile in arch.usable.items():
        if tile.kind == "io":
            if x // width in begins:
                slots += [Slot(x, y, direction, x // width) for direction in ([STREAM] if apart else [LOAD, STORE])]
        else:
            slots.append(Slot(x, y, tile.kind))
    return tuple(slots)


def slot_kinds(graph: MappedGraph, apart: bool = False) -> dict[str, str]:
    """The kind of slot of every block of a graph: io blocks need one for the direction of their stream.

    apart: see `slots_of`.
    """
    direction = {stream.block: STREAM if apart else stream.direction for stream in graph.streams}
    return {name: direction.get(name, block.kind) for name, block in graph.blocks.items()}


def place(kinds: Mapping[str, str], nets: Iterable[Net], slots: Sequence[Slot], *,
          allowed: Mapping[str, Collection[Site]] | None = None, seed: int = 0, exponent: int = 1,
          effort: int = 10) -> Placement:
    """Place every block of `kinds`; the same arguments give the same placement.

    allowed : mapping    Legal tiles of restricted blocks; a single tile fixes a block.
    exponent : int       1..8; above 1, long nets weigh more: shorter worst case, more wire in all.
    effort : int         Moves per temperature in units of blocks^(4/3), >= 1.
    """
    assert 1 <= exponent <= 8, "9 overflows 64 bits on the largest array"
    assert effort >= 1, "the annealer needs moves"
    blocks = {name: i for i, name in enumerate(kinds)}
    codes = {kind: i for i, kind in enumerate(dict.fromkeys(slot.kind for slot in slots))}
    groups: dict[tuple[str, int, int], int] = {}
    group = [groups.setdefault((s.kind, s.group, -1) if s.group >= 0 else (s.kind, -1, i), len(groups))
             for i, s in enumerate(slots)]
    legal = _legal(kinds, slots, allowed or {})
    start = _first_placement(kinds, slots, group, legal)

    members = [[blocks[name] for name in dict.fromkeys((net.source.block, *(pin.block for pin in net.sinks)))]
               for net in nets]
    members = [each for each in members if len(each) > 1]
    site_of = ints(start)
    report = np.zeros(3, np.int64)
    allow_ptr, allow = rows_of([sorted(legal.get(name, ())) for name in kinds])
    net_ptr, net_block = rows_of(members)
    rounds = library().sardonyx_place(
        len(blocks), len(slots), len(members), ints([codes[kind] for kind in kinds.values()]),
        ints([codes[s.kind] for s in slots]), ints([s.x for s in slots]), ints([s.y for s in slots]),
        ints(group), allow_ptr, allow, net_ptr, net_block, seed, exponent, effort, site_of, report)
    tiles = {name: (slots[s].x, slots[s].y) for name, s in zip(kinds, site_of.tolist(), strict=True)}
    return Placement(tiles, int(report[1]), int(report[2]), rounds)


def _legal(kinds: Mapping[str, str], slots: Sequence[Slot],
           allowed: Mapping[str, Collection[Site]]) -> dict[str, list[int]]:
    """Slots of every restricted block."""
    at = {(s.kind, s.x, s.y): i for i, s in enumerate(slots)}
    assert len(at) == len(slots), "a tile has one slot of a kind"
    legal = {}
    for name, sites in allowed.items():
        keys = [(kinds[name], x, y) for x, y in dict.fromkeys(sites)]
        legal[name] = [at[key] for key in keys if key in at]
        if not legal[name]:
            raise UserError(f"block '{name}' is restricted to tiles without a {kinds[name]} slot: "
                            f"{some([str(site) for site in sites])}", "",
                            f"allow it a tile that takes a {kinds[name]} block")
    return legal


def _first_placement(kinds: Mapping[str, str], slots: Sequence[Slot], group: list[int],
                     legal: Mapping[str, list[int]]) -> list[int]:
    """Any legal placement: restricted blocks by bipartite matching with groups, the others in order."""
    rooms: dict[str, dict[int, int]] = defaultdict(dict)  # kind -> group -> its first slot
    for i, slot in enumerate(slots):
        rooms[slot.kind].setdefault(group[i], i)
    counts = Counter(kinds.values())
    short = [kind for kind in counts if counts[kind] > len(rooms[kind])]
    if short:
        what = ", ".join(f"{counts[kind]} {kind} blocks but {len(rooms[kind])} slots" for kind in short)
        raise UserError(f"the program does not fit on the array: {what}", "",
                        "use a larger machine, a smaller unrolling factor, or split the expression")
    holder: dict[int, tuple[str, int]] = {}  # group -> block, slot

    def seat(name: str, seen: set[int]) -> bool:
        for slot in legal[name]:
            if group[slot] in seen:
                continue
            seen.add(group[slot])
            if group[slot] not in holder or seat(holder[group[slot]][0], seen):
                holder[group[slot]] = name, slot
                return True
        return False

    for name in legal:
        if not seat(name, set()):
            sites = sorted({(slots[s].x, slots[s].y) for s in legal[name]})
            raise UserError(f"block '{name}' may only sit on {some([str(site) for site in sites])}, "
                            "which other restricted blocks need", "", "allow it more tiles")
    chosen = dict(holder.values())
    free = {kind: iter([slot for g, slot in room.items() if g not in holder]) for kind, room in rooms.items()}
    return [chosen[name] if name in chosen else next(free[kind]) for name, kind in kinds.items()]


def some(names: list[str], limit: int = 6) -> str:
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def ints(values: Sequence[int]) -> np.ndarray:
    return np.array(values, np.int32)


def rows_of(rows: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Compressed sparse row form: pointers and the concatenation."""
    pointer = np.zeros(len(rows) + 1, np.int32)
    np.cumsum([len(row) for row in rows], out=pointer[1:])
    return pointer, ints([value for row in rows for value in row])
