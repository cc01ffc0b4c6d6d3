"""Joiner: the coordinates that two fibers share, or that either has, with the references that belong to them.

    crd0 ``0 2 5 S0 D`` ref0 ``7 8 9 S0 D``     intersect: crd ``2 S0 D``, ref0_o ``8 S0 D``, ref1_o ``3 S0 D``
    crd1 ``2 6 S0 D``   ref1 ``3 4 S0 D``       union: crd ``0 2 5 6 S0 D``, ref0_o ``7 8 9 N S0 D``, ...

Stops are equal on both sides and leave once. One comparison per cycle, whether or not it gives a token.
"""

from __future__ import annotations

from typing import Any

from ...hw.arch.token import CONTROL, DONE, MAYBE
from .process import Config, Inputs, Outputs, ProtocolError, Steps, idle


class _Unused:
    """A reference stream that is not connected: there is always a token, and it does not matter."""

    def __getitem__(self, at: int) -> int:
        return MAYBE

    def popleft(self) -> int:
        return MAYBE


def meaning(config: Config, i: Inputs, o: Outputs) -> Steps:
    """Config: op (intersect or union), use_ref0, use_ref1 (whether references come along)."""
    unites = config.get("op", "intersect") == "union"
    use0, use1 = bool(config.get("use_ref0")), bool(config.get("use_ref1"))
    crd0, crd1 = i["crd0"], i["crd1"]
    ref0: Any = i["ref0"] if use0 else _Unused()
    ref1: Any = i["ref1"] if use1 else _Unused()
    crd = o["crd"]
    ref0_o = o["ref0_o"] if use0 else _ignore
    ref1_o = o["ref1_o"] if use1 else _ignore
    while True:
        yield idle(crd0)
        token = 0
        while token != DONE:
            while not crd0:
                yield crd0
            while not crd1:
                yield crd1
            while not ref0:
                yield ref0
            while not ref1:
                yield ref1
            token0, token1 = crd0[0], crd1[0]
            # Controls are above all data, so the smaller token is the side that is behind.
            if token0 == token1:
                token = crd0.popleft()
                crd1.popleft()
                if token >= CONTROL and (token == MAYBE or (use0 and ref0[0] != token)
                                         or (use1 and ref1[0] != token)):
                    raise _out_of_step(token0, token1, ref0[0], ref1[0])
                crd(token)
                ref0_o(ref0.popleft())
                ref1_o(ref1.popleft())
            elif token0 < token1:
                if token0 >= CONTROL:
                    raise _out_of_step(token0, token1, ref0[0], ref1[0])
                crd0.popleft()
                ref = ref0.popleft()
                if unites:
                    crd(token0)
                    ref0_o(ref)
                    ref1_o(MAYBE)
            else:
                if token1 >= CONTROL:
                    raise _out_of_step(token0, token1, ref0[0], ref1[0])
                crd1.popleft()
                ref = ref1.popleft()
                if unites:
                    crd(token1)
                    ref0_o(MAYBE)
                    ref1_o(ref)
            yield None


def _ignore(token: int) -> None:
    pass


def _out_of_step(crd0: int, crd1: int, ref0: int, ref1: int) -> ProtocolError:
    return ProtocolError("joiner", "the sides are out of step", crd0=crd0, crd1=crd1, ref0=ref0, ref1=ref1)
