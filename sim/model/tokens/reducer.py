"""Reducer: the sum of each innermost fiber, or its maximum, and all other stops one level lower.

    plain:  val ``1 2 S0 3 S1 D``            val_o ``3 3 S0 D``      every stop gives a sum; S0 is consumed
    guided: val ``1 2 S0 S1 S2 D``
            crd ``0 2 S0 S1 D``              val_o ``3 0 S0 S1 D``   every coordinate gives a sum

Guided, a stop Sn of crd goes with the S(n+1) of val that closed its last fiber, or that stands alone where the fiber
of crd is empty. Sums wrap at 16 bits, maybe counts as 0. With op max a fiber gives its largest value, as signed, or 0 if that
is below and it has other than `extent` values: then it has a zero that is not stored, or nothing. n values take n + 1 cycles, a
stop above S0 one more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ....hw.arch.primitive import MAXIMUM
from ....hw.arch.token import CONTROL, DATA_BITS, DONE, MAYBE, stop
from .process import Config, Inputs, Outputs, ProtocolError, Steps, idle

S0 = stop(0)
WORD = (1 << DATA_BITS) - 1
SIGN = 1 << DATA_BITS - 1


def meaning(config: Config, i: Inputs, o: Outputs) -> Steps:
    """Config: guided, op, extent."""
    made = partial(_maximum, int(config.get("extent", 0))) if config.get("op") in (MAXIMUM, 1) else _sum
    return (_guided if config.get("guided") else _plain)(i, o, made)


def _sum(fiber: Sequence[int]) -> int:
    return sum(fiber) & WORD


def _maximum(extent: int, fiber: Sequence[int]) -> int:
    largest = max((value - ((value & SIGN) << 1) for value in fiber), default=0)
    return (largest if len(fiber) == extent else max(largest, 0)) & WORD


def _plain(i: Inputs, o: Outputs, made: Callable[[Sequence[int]], int]) -> Steps:
    val, val_o = i["val"], o["val_o"]
    while True:
        yield idle(val)
        fiber: list[int] = []
        while True:
            while not val:
                yield val
            token = val.popleft()
            if token < CONTROL or token == MAYBE:
                fiber.append(token if token != MAYBE else 0)
            elif token == DONE:
                break
            else:
                val_o(made(fiber))
                fiber.clear()
                if token > S0:
                    yield None
                    val_o(token - 1)
            yield None
        if fiber:
            raise ProtocolError("reducer", "the last fiber has no stop", val=DONE)
        val_o(DONE)
        yield None


def _guided(i: Inputs, o: Outputs, made: Callable[[Sequence[int]], int]) -> Steps:
    val, crd, val_o = i["val"], i["crd"], o["val_o"]
    while True:
        yield idle(val)
        fiber: list[int] = []
        while True:
            while not val:
                yield val
            token = val.popleft()
            if token < CONTROL or token == MAYBE:
                fiber.append(token if token != MAYBE else 0)
                yield None
                continue
            while not crd:
                yield crd
            guide = crd.popleft()
            if token == DONE:
                break
            if guide < CONTROL or guide == MAYBE:
                val_o(made(fiber))
                fiber.clear()
                yield None
                if token == S0:
                    continue
                while not crd:
                    yield crd
                guide = crd.popleft()
            if fiber or guide + 1 != token:
                raise ProtocolError("reducer", "the streams are out of step", val=token, crd=guide)
            val_o(guide)
            yield None
        if fiber or guide != DONE:
            raise ProtocolError("reducer", "the streams are out of step", val=DONE, crd=guide)
        val_o(DONE)
        yield None
