"""Level scanner: the coordinates and positions of the fibers that references name.

    segments 0 2 2 3, coordinates 4 7 9, ref ``0 1 S0 2 N S1 D``
    crd ``4 7 S0 S1 9 S0 S2 D``     ref_o ``0 1 S0 S1 2 S0 S2 D``

A fiber is closed by what follows its reference: a stop Sk, which closes it as S(k+1), anything else as S0. One
token per cycle; the references are looked ahead, so empty fibers cost their stops only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from ....hw.arch.token import CONTROL, DATA_BITS, DONE, MAYBE, stop
from .level import Level
from .process import Config, Inputs, Outputs, ProtocolError, Queue, Steps, idle

S0 = stop(0)
WORD = (1 << DATA_BITS) - 1


def meaning(config: Config, i: Inputs, o: Outputs) -> Steps:
    """Config: root (scan fiber 0 once, without `ref`), dense (count to the extent)."""
    root = bool(config.get("root"))
    fiber = _counted if config.get("dense") else _stored
    levels, crd, ref_o = i["level"], o["crd"], o["ref_o"]
    ref: Queue = deque() if root else i["ref"]
    while True:
        yield idle(levels)
        level: Level = levels[0]
        if root:
            ref.extend((0, DONE))
        while True:
            while not ref:
                yield ref
            token = ref.popleft()
            if token == DONE:
                break
            if token < CONTROL or token == MAYBE:
                if token < CONTROL:
                    for coordinate, position in fiber(level, token):
                        crd(coordinate)
                        ref_o(position)
                        yield None
                while not ref:
                    yield ref
                follows = ref[0]
                closes = follows >= CONTROL and follows != DONE and follows != MAYBE
                token = _raised(ref.popleft()) if closes else S0
            else:
                token = _raised(token)
            crd(token)
            ref_o(token)
            yield None
        levels.popleft()
        crd(DONE)
        ref_o(DONE)
        yield None


def _stored(level: Level, ref: int) -> Iterable[tuple[int, int]]:
    """Coordinates and positions of a fiber."""
    seg, crd = level
    if ref + 1 >= len(seg):
        raise ProtocolError("scanner", f"the level has {max(len(seg) - 1, 0)} fibers", ref=ref)
    first, last = seg[ref], seg[ref + 1]
    assert first <= last <= len(crd), "the writer refuses other segments"
    return zip(crd[first:last], range(first, last))


def _counted(level: Level, ref: int) -> Iterable[tuple[int, int]]:
    """The same of a dense level; positions wrap at 16 bits."""
    if len(level.seg) < 2:
        raise ProtocolError("scanner", "a dense level has no extent", ref=ref)
    extent = level.seg[1]
    return ((coordinate, ref * extent + coordinate & WORD) for coordinate in range(extent))


def _raised(token: int) -> int:
    """The stop one level higher."""
    if token + 1 == DONE:
        raise ProtocolError("scanner", "no stop is higher", ref=token)
    return token + 1
