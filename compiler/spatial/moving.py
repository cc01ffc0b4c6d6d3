"""Say which work of an elastic array a balance moves: a part of time, of some rows, or of some PEs of theirs.

    (k >= 4) & (j < 2)      # k is time, j space: of PEs with j < 2 all points from k = 4 on

Each of the conditions that have to hold is on time alone, or on indices of PEs. Those on time part the work: what moves is its
first part, or its last one, so that what stays is one part, too. Those on PEs are met or not by each of them, whatever they
compare. A row that takes work together has one answer.

Input:   a balance, the extents of the indices, which one is time and which are found by values, the places of PEs.
Output:  Moving.
Errors:  UserError for conditions that mix time and space, part no work or all of it, or leave a part on either side; that no PE
         meets; on an index within a row that works together; on one whose places are positions, not coordinates.
Source:  Stellar III-D, Listing 4.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ...hw.arch.elastic import MOST_EXTENT
from ...hw.arch.errors import UserError
from ..lang.balance import PE, ROW, Balance
from ..lang.sparsity import Compare, Condition, holds, indices_of
from .points import Point

# The place of its row, and the place in the row, () where all of it takes work together.
Spot = tuple[int, Point]


@dataclass(frozen=True)
class Moving:
    """Work that may move.

    Parameters
    ----------
    balance : Balance
    begin, end : int      Its coordinates of time; to the end of them all `MOST_EXTENT`.
    givers : frozenset    Of whom.
    """

    balance: Balance
    begin: int
    end: int
    givers: frozenset[Spot]

    @property
    def stays(self) -> tuple[int, int]:
        """The coordinates of time of what stays."""
        return (0, self.begin) if self.begin else (self.end, MOST_EXTENT)

    def __str__(self) -> str:
        return str(self.balance)


def spots(balance: Balance, space: Sequence[str], places: Sequence[Mapping[str, int]]) -> list[Spot]:
    """Of each PE, whose place is given, its row, and its place there where it takes work on its own."""
    if balance.index not in space:
        raise UserError(f"{balance.index} is no index of PEs", "balance", f"balance {' or '.join(space)}")
    beside = [index for index in space if index != balance.index] if balance.grain == PE else []
    return [(place[balance.index], tuple(place[index] for index in beside)) for place in places]


def moving(balance: Balance, extents: Mapping[str, int], time: str, found: Collection[str],
           places: Sequence[tuple[Spot, Mapping[str, int]]]) -> Moving:
    """What a balance moves.  found: the indices that values find.  places: of each PE, whose row and place it is, and where."""
    timed, placed = list[Condition](), list[Condition]()
    for each in balance.conditions:
        names = indices_of(each)
        if unknown := [name for name in names if name not in extents]:
            raise UserError(f"there is no index {unknown[0]}", str(balance), f"compare {', '.join(extents)}")
        if time in names and len(names) > 1:
            raise UserError(f"{each} is of {time}, which is time, and of others, so that each PE would part its work elsewhere",
                            str(balance), f"compare {time} with a number, as {time} >= {max(1, extents[time] // 2)}")
        (timed if time in names else placed).append(each)
    begin, end = _part(balance, timed, time, extents[time])
    for each in placed:
        for name in indices_of(each):
            if name in found:
                raise UserError(f"{name} is found by values: its places in space are positions, not coordinates", str(balance),
                                f"compare {' or '.join(other for other in extents if other not in found)}")
            if balance.grain == ROW and name != balance.index:
                raise UserError(f"all PEs of a row take work together, and {each} holds for some of them", str(balance),
                                'balance each PE on its own, with grain="pe"')
    givers = frozenset(spot for spot, place in places if all(holds(each, place) for each in placed))
    if not givers:
        raise UserError(f"no PE has places for which {' and '.join(map(str, placed))} holds", str(balance),
                        "leave conditions on indices of PEs out, or give another number")
    return Moving(balance, begin, end, givers)


def _part(balance: Balance, timed: Sequence[Condition], time: str, extent: int) -> tuple[int, int]:
    """Where what moves begins and ends along time."""
    half = max(1, extent // 2)
    if not timed:
        raise UserError(f"work is parted along {time}, which is time, and it has no condition on that", str(balance),
                        f"give one, as {time} >= {half}")
    moves = [at for at in range(extent) if all(holds(each, {time: at}) for each in timed)]
    if not 0 < len(moves) < extent:
        # Of one comparison as k >= n, or k < n, every such number helps.
        plain = len(timed) == 1 and isinstance(only := timed[0], Compare) and (only.sum.terms, only.relation) in (
            (((time, -1),), "<="), (((time, 1),), "<"))
        number = f"give a number 1..{extent - 1}" if plain else f"give a number, as {time} >= {half}"
        raise UserError(f"{time} is 0..{extent - 1}: of a row {'all work may' if moves else 'no work may'} move", str(balance),
                        number if extent > 1 else "leave it out")
    first, last = moves[0], moves[-1]
    if len(moves) != last - first + 1 or (first and last != extent - 1):
        raise UserError(f"{time} is 0..{extent - 1}, and what moves of it is neither its first part nor its last one, so that "
                        "what stays is in pieces", str(balance), f"give one number, as {time} >= {max(first, 1)}")
    return (first, MOST_EXTENT) if first else (0, last + 1)
