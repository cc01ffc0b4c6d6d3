"""Level writer: collects a level, or values, from a token stream or from the words of a block.

    stream ``4 7 S0 S0 9 S1 D``       segments 0 2 2 3, coordinates 4 7 9
    block  ``4 0 2 2 3  3 4 7 9``     the same
    values stream ``5 S0 6 S1 D``     values 5 6

One word or token per cycle. A maybe is written as 0. Segments do not fall, and none is beyond the coordinates.
"""

from __future__ import annotations

from itertools import pairwise

from ....hw.arch.token import CONTROL, DONE, MAYBE
from .level import Level
from .process import Config, Inputs, Outputs, ProtocolError, Steps, idle


def meaning(config: Config, i: Inputs, o: Outputs) -> Steps:
    """Config: input (stream or block), values, words (most words of segments, and again of coordinates)."""
    return (_stream if config.get("input", "block") == "stream" else _block)(config, i, o)


def _stream(config: Config, i: Inputs, o: Outputs) -> Steps:
    wr, level = i["wr"], o["level"]
    values = bool(config.get("values"))
    while True:
        seg, crd = ([] if values else [0]), list[int]()
        yield idle(wr)
        while True:
            while not wr:
                yield wr
            token = wr.popleft()
            if token < CONTROL:
                crd.append(token)
            elif token == DONE:
                break
            elif token == MAYBE:
                crd.append(0)
            elif not values:
                seg.append(len(crd))
            yield None
        level(_checked(config, seg, crd))
        yield None


def _block(config: Config, i: Inputs, o: Outputs) -> Steps:
    block, level = i["block"], o["level"]
    sections = 1 if config.get("values") else 2
    while True:
        arrays: list[list[int]] = []
        yield idle(block)
        for section in range(sections):
            array: list[int] = []
            while not block:
                yield block
            size = _word(block.popleft())
            for _ in range(size):
                yield None
                while not block:
                    yield block
                array.append(_word(block.popleft()))
            arrays.append(array)
            if section < sections - 1:
                yield None
        seg, crd = arrays[0] if sections == 2 else [], arrays[-1]
        if not config.get("dense"):     # then they are 0 and the extent
            _check_segments(seg, len(crd))
        level(_checked(config, seg, crd))
        yield None


def _word(token: int) -> int:
    if token >= CONTROL:
        raise ProtocolError("writer", "a block has no control tokens", block=token)
    return token


def _check_segments(seg: list[int], coordinates: int) -> None:
    for first, last in pairwise(seg):
        if first > last:
            raise ProtocolError("writer", f"segments fall from {first} to {last}")
    if seg and seg[-1] > coordinates:
        raise ProtocolError("writer", f"segments reach {seg[-1]} of {coordinates} coordinates")


def _checked(config: Config, seg: list[int], crd: list[int]) -> Level:
    most, needed = config.get("words", 0), max(len(seg), len(crd))
    if most and needed > most:
        raise ProtocolError("writer", f"a level needs {needed} words but its buffer holds {most}")
    return Level(seg, crd)
