"""Part the fibers that PEs give where work moves: what stays leaves by one port, what may move by another one.

Of each result `C_0` has the coordinates that stay, and `C_0_moves` the others; mergers are there twice. So nothing is merged
that was not merged before, and a result gives two pairs a cycle.

Mergers take the fibers of all rows at once, and rows do one item after the other. So there is room for a whole fiber behind
each PE, for either side, and an item is begun when all those of the operation before are (`Balance` of `hw.spatial.array`).
Then no array stands still. Let n be the oldest operation of which not all has left its ports.

* If one of its items is not begun, none of the next one is. What those of n give that are begun has room, so that their rows
  become free. Nothing keeps the others from being begun, and their fibers come: who gives to several ports gives one fiber
  after the other, those of earlier operations first, which are begun by now.
* If all are, each has in front of it in its row only items that were begun before it, of n, which have room, as it has itself.
  All fibers of n come to their ends, mergers have them, and n leaves, in whichever order its ports are emptied.

With room for two fibers, and items that are two operations apart, arrays of 2 and 4 rows took 0 to 3 % fewer cycles for work of
2:1 and 4:1, and up to 8 % fewer for rows of random lengths, for twice as much of what is most of their area.

Input:   Elastic, the rows of its PEs, what may move.
Output:  the mergers, links and ports behind PEs.
Errors:  UserError for results whose rows are found in PEs, and fibers too long to have room.
Source:  Stellar III-D, Listing 3 and Fig. 6, whose results are register files that are searched; IV-B.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...hw.arch.elastic import MOST_DEPTH, Border, Elastic, Link, Unit, Worker
from ...hw.arch.errors import UserError
from .moving import Moving

MOVES = "_moves"


@dataclass(frozen=True)
class Parted:
    """What is behind PEs.

    Parameters
    ----------
    units : tuple      Mergers of what may move, beside those that there are.
    links : tuple      From all mergers.
    outputs : tuple    Ports, for what stays, and what may move.
    depths : tuple     Entries behind a PE for either.
    """

    units: tuple[Unit, ...]
    links: tuple[Link, ...]
    outputs: tuple[Border, ...]
    depths: tuple[int, int]

    def links_to(self, balance: str, end: str, sink: tuple[str, str]) -> tuple[Link, Link]:
        """The links from a balance to what a PE had as its sink, and to that of what may move."""
        stays, moves = self.depths
        return Link((balance, f"c{end}"), sink, stays), Link((balance, f"d{end}"), _moved(sink), moves)


def parted(elastic: Elastic, rows: Mapping[str, object], moving: Moving) -> Parted:
    """The results of an array in two parts. rows: has each of its PEs."""
    if row := next((unit.kind.row for unit in elastic.units if isinstance(unit.kind, Worker) and unit.kind.row), ""):
        index = next(port.crd for port in elastic.inputs if port.crd)
        raise UserError(f"{index} of the result is found in PEs: fibers have its coordinate beside them, from {row}",
                        str(moving), f"leave out the skip of {index}, or the balance")
    extent = dict(elastic.indices)[elastic.time]
    # An entry more for the end of a fiber.
    depths = tuple(min(extent, end) - begin + 1 for begin, end in (moving.stays, (moving.begin, moving.end)))
    if max(depths) > MOST_DEPTH:
        most, time = MOST_DEPTH - 1, elastic.time
        raise UserError(f"behind each PE there is room for its fiber, of up to {max(depths) - 1:,} coordinates", str(moving),
                        f"give conditions that part {time} into {most:,} coordinates or fewer" if extent <= 2 * most else
                        f"leave it out, or give bounds with {2 * most:,} {time} or fewer, {most:,} of which may move")
    names = {unit.name for unit in elastic.units if unit.name not in rows}
    mergers = [unit for unit in elastic.units if unit.name in names]
    links = [link for link in elastic.links if link.source[0] in names]
    begin, end = moving.stays
    outputs = [(replace(port, begin=begin, end=end),
                replace(port, name=port.name + MOVES, begin=moving.begin, end=moving.end)) for port in elastic.outputs]
    return Parted(tuple(replace(unit, name=unit.name + MOVES) for unit in mergers),
                  (*links, *(Link(_moved(link.source), _moved(link.sink), link.depth) for link in links)),
                  tuple(port for both in outputs for port in both), (depths[0], depths[1]))


def _moved(end: tuple[str, str]) -> tuple[str, str]:
    """An end of a link, on the side of what may move."""
    unit, port = end
    return (unit + MOVES, port) if unit else ("", port + MOVES)
