"""Level scanner: the coordinates and positions of the fibers that references name.

    segments 0 2 2 3, coordinates 4 7 9, ref ``0 1 S0 2 N S1 D``
    crd ``4 7 S0 S1 9 S0 S2 D``     ref_o ``0 1 S0 S1 2 S0 S2 D``

A fiber is closed by what follows its reference: a stop Sk, which closes it as S(k+1), anything else as S0. One
token per cycle; the references are looked ahead, so empty fibers cost their stops only.
"""

from __future__ import annotations

from collections import deque

from ...hw.arch.token import CONTROL, DONE, MAYBE, stop
from .level import Level
from .process import Config, Inputs, Outputs, ProtocolError, Queue, Steps, idle

S0 = stop(0)


def meaning(config: Config, i: Inputs, o: Outputs) -> Steps:
    """Config: root (scan fiber 0 once, without `ref`), dense (count to the extent)."""
    root, dense = bool(config.get("root")), bool(config.get("dense"))
    levels, crd, ref_o = i["level"], o["crd"], o["ref_o"]
    ref: Queue = deque() if root else i["ref"]
    while True:
        yield idle(levels)
        level: Level = levels[0]
        entries = range(level.seg[1]) if dense else level.crd
        if root:
            ref.extend((0, DONE))
        while True:
            while not ref:
                yield ref
            token = ref.popleft()
            if token < CONTROL:
                first, last = _bounds(level, token, dense)
                base = first if dense else 0
                for position in range(first, last):
                    crd(entries[position - base])
                    ref_o(position)
                    yield None
            elif token == DONE:
                break
            if token < CONTROL or token == MAYBE:
                while not ref:
                    yield ref
                follows = ref[0]
                token = S0
                if follows >= CONTROL and follows != DONE and follows != MAYBE:
                    token = ref.popleft() + 1
            else:
                token += 1
            crd(token)
            ref_o(token)
            yield None
        levels.popleft()
        crd(DONE)
        ref_o(DONE)
        yield None


def _bounds(level: Level, ref: int, dense: bool) -> tuple[int, int]:
    if dense:
        return ref * level.seg[1], (ref + 1) * level.seg[1]
    if ref + 1 >= len(level.seg):
        raise ProtocolError("scanner", f"the level has {max(len(level.seg) - 1, 0)} fibers", ref=ref)
    return level.seg[ref], level.seg[ref + 1]
