"""Accumulator: adds up values at their coordinates over the fibers of a summed index around them.

    crd ``0 3 S0 3 S1 1 S0 S2 D``     crd_o ``0 3 S0 1 S1 D``
    val ``5 6 S0 7 S1 4 S0 S2 D``     val_o ``5 13 S0 4 S1 D``

    use_outer: the coordinates of the level above, too
    outer ``0 2 S0 2 S1 D``           outer_o ``0 2 S0 D``
    crd   ``1 S0 3 S1 4 S2 D``        crd_o   ``1 S0 3 4 S1 D``
    val   ``5 S0 6 S1 7 S2 D``        val_o   ``5 S0 6 7 S1 D``

Sums leave in the order of their coordinates, those of 0 do not, and sums wrap at 16 bits; maybe counts as 0. A value takes 1
cycle at the line of the one before, else 2; the first sum comes 4 cycles after the stop, and a line takes 2 at least.
"""

from __future__ import annotations

from itertools import groupby

from ....hw.arch.tile import MEM
from ....hw.arch.token import CONTROL, DATA_BITS, DONE, MAYBE, stop
from .process import Config, Give, Inputs, Outputs, ProtocolError, Queue, Steps, idle

S0, S1 = stop(0), stop(1)
WORD = (1 << DATA_BITS) - 1
Place = tuple[int, int]


def meaning(config: Config, i: Inputs, o: Outputs) -> Steps:
    """Config: use_outer; `edges` (coordinates of outer, if used, and of crd that there are words for), if limited, and `lanes`
    (words of a line, for the cycles)."""
    two, lanes = bool(config.get("use_outer")), int(config.get("lanes", MEM.sram_lanes))
    crd, val, outer = i["crd"], i["val"], i["outer"] if two else Queue()
    crd_o, val_o, outer_o = o["crd_o"], o["val_o"], o["outer_o"] if two else _nowhere
    queues = (crd, val, outer) if two else (crd, val)
    while True:
        yield idle(crd)
        sums: dict[Place, int] = {}
        line: Place | None = None
        closed, token = False, 0        # closed: the coordinate of outer is taken, the stop of its fiber is not
        while token != DONE:
            for queue in queues:
                while not queue:
                    yield queue
            token, value, above = crd[0], val[0], outer[0] if two else 0
            open_fiber = two and above < CONTROL and not closed
            if token < CONTROL and (value < CONTROL or value == MAYBE) and (open_fiber or not two):
                _check(config, above, token)
                sums[above, token] = sums.get((above, token), 0) + (value if value != MAYBE else 0)
                if line not in (None, (above, token // lanes)):
                    yield None
                line = above, token // lanes
                taken: tuple[Queue, ...] = (crd, val)
            elif token != value or not S0 <= token <= DONE or (token == DONE and (sums or closed)):
                raise ProtocolError("accumulator", "the streams are out of step", outer=above, crd=token, val=value)
            elif open_fiber and token != DONE:
                closed = token > S0
                taken = (outer,) if closed else queues
            elif two and above != (DONE if token == DONE else token - 1):
                raise ProtocolError("accumulator", "the streams are out of step", outer=above, crd=token, val=value)
            else:
                if (S1 if two else S0) < token < DONE:
                    yield from _give(sums, lanes, outer_o if two else None, crd_o, val_o)
                    sums, line = {}, None
                    _all(token - 1, token - 2, outer_o, crd_o, val_o)
                elif token == DONE:
                    _all(DONE, DONE, outer_o, crd_o, val_o)
                closed, taken = False, queues
            for queue in taken:
                queue.popleft()
            yield None


def _nowhere(token: int) -> None:
    """An output that is not connected."""


def _check(config: Config, *place: int) -> None:
    edges = config.get("edges")
    if edges and any(at >= edge for at, edge in zip(place[-len(edges):], edges, strict=True)):
        raise ProtocolError("accumulator", f"coordinates reach {place[-len(edges):]} but there are words for {edges}")


def _all(token: int, above: int, outer_o: Give, crd_o: Give, val_o: Give) -> None:
    outer_o(above)
    crd_o(token)
    val_o(token)


def _give(sums: dict[Place, int], lanes: int, outer_o: Give | None, crd_o: Give, val_o: Give) -> Steps:
    """The sums that are not 0, line by line."""
    opened: int | None = None
    for _ in range(3 if sums else 1):
        yield None
    for (above, _), line in groupby(sorted(sums), lambda place: (place[0], place[1] // lanes)):
        found = [(crd, total) for _, crd in line if (total := sums[above, crd] & WORD)]
        if found and outer_o and above != opened:
            outer_o(above)
            if opened is not None:
                crd_o(S0)
                val_o(S0)
            opened = above
            yield None
        for crd, total in found:
            crd_o(crd)
            val_o(total)
            yield None
        if len(found) < 2:
            yield None
