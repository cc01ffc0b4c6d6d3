"""Reducer: the sum of each innermost fiber, and all other stops one level lower.

    plain:  val ``1 2 S0 3 S1 D``            val_o ``3 3 S0 D``      every stop gives a sum; S0 is consumed
    guided: val ``1 2 S0 S1 S2 D``
            crd ``0 2 S0 S1 D``              val_o ``3 0 S0 S1 D``   every coordinate gives a sum

Guided, a stop Sn of crd goes with the S(n+1) of val that closed its last fiber, or that stands alone where the fiber
of crd is empty. Sums wrap at 16 bits, maybe counts as 0. n values take n + 1 cycles, a stop above S0 one more.
"""

from __future__ import annotations

from ....hw.arch.token import CONTROL, DATA_BITS, DONE, MAYBE, stop
from .process import Config, Inputs, Outputs, ProtocolError, Steps, idle

S0 = stop(0)
WORD = (1 << DATA_BITS) - 1


def meaning(config: Config, i: Inputs, o: Outputs) -> Steps:
    """Config: guided."""
    return (_guided if config.get("guided") else _plain)(i, o)


def _plain(i: Inputs, o: Outputs) -> Steps:
    val, val_o = i["val"], o["val_o"]
    while True:
        yield idle(val)
        total, summing = 0, False
        while True:
            while not val:
                yield val
            token = val.popleft()
            if token < CONTROL or token == MAYBE:
                total += token if token != MAYBE else 0
                summing = True
            elif token == DONE:
                break
            else:
                val_o(total & WORD)
                total, summing = 0, False
                if token > S0:
                    yield None
                    val_o(token - 1)
            yield None
        if summing:
            raise ProtocolError("reducer", "the last fiber has no stop", val=DONE)
        val_o(DONE)
        yield None


def _guided(i: Inputs, o: Outputs) -> Steps:
    val, crd, val_o = i["val"], i["crd"], o["val_o"]
    while True:
        yield idle(val)
        total, summing = 0, False
        while True:
            while not val:
                yield val
            token = val.popleft()
            if token < CONTROL or token == MAYBE:
                total += token if token != MAYBE else 0
                summing = True
                yield None
                continue
            while not crd:
                yield crd
            guide = crd.popleft()
            if token == DONE:
                break
            if guide < CONTROL or guide == MAYBE:
                val_o(total & WORD)
                total, summing = 0, False
                yield None
                if token == S0:
                    continue
                while not crd:
                    yield crd
                guide = crd.popleft()
            if summing or guide + 1 != token:
                raise ProtocolError("reducer", "the streams are out of step", val=token, crd=guide)
            val_o(guide)
            yield None
        if summing or guide != DONE:
            raise ProtocolError("reducer", "the streams are out of step", val=DONE, crd=guide)
        val_o(DONE)
        yield None
