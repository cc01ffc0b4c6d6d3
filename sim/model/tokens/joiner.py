"""Joiner: the coordinates that two fibers share, or that either has, with the references that belong to them.

    crd0 ``0 2 5 S0 D`` ref0 ``7 8 9 S0 D``     intersect: crd ``2 S0 D``, ref0_o ``8 S0 D``, ref1_o ``3 S0 D``
    crd1 ``2 6 S0 D``   ref1 ``3 4 S0 D``       union: crd ``0 2 5 6 S0 D``, ref0_o ``7 8 9 N S0 D``, ...

Stops are equal on both sides and leave once. One comparison per cycle, whether or not it gives a token.
"""

from __future__ import annotations

from typing import Any

from ....hw.arch.token import CONTROL, DONE, MAYBE
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
            head0, head1 = ref0[0], ref1[0]
            # Controls are above all data, so the smaller token is of the side that is behind.
            takes0, takes1 = token0 <= token1, token1 <= token0
            token = token0 if takes0 else token1
            if token >= CONTROL:
                if token0 != token1 or token == MAYBE or (use0 and head0 != token) or (use1 and head1 != token):
                    raise _out_of_step(token0, token1, head0, head1)
            elif ((takes0 and head0 >= CONTROL and head0 != MAYBE)
                  or (takes1 and head1 >= CONTROL and head1 != MAYBE)):
                raise _out_of_step(token0, token1, head0, head1)
            if takes0:
                crd0.popleft()
                ref0.popleft()
            if takes1:
                crd1.popleft()
                ref1.popleft()
            if unites or takes0 is takes1:
                crd(token)
                ref0_o(head0 if takes0 else MAYBE)
                ref1_o(head1 if takes1 else MAYBE)
            yield None


def _ignore(token: int) -> None:
    pass


def _out_of_step(crd0: int, crd1: int, ref0: int, ref1: int) -> ProtocolError:
    return ProtocolError("joiner", "the sides are out of step", crd0=crd0, crd1=crd1, ref0=ref0, ref1=ref1)
