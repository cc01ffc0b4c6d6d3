"""Repeater: each reference once for every coordinate of the fiber that belongs to it.

    ref ``7 8 S0 D``     crd ``0 1 S0 4 S1 D``: ref_o ``7 7 S0 8 S1 D``
                         crd ``S0 4 S1 D``:     ref_o ``S0 8 S1 D``, a fiber without coordinates drops its reference
    ref ``S0 8 S1 D``    crd ``S1 4 S2 D``:     ref_o ``S1 8 S2 D``, a stop of ref may stand alone

A stop of crd ends the turn of one reference; a stop Sn above S0 takes the stop S(n-1) of ref too. One token of crd
per cycle; the references are looked ahead.
"""

from __future__ import annotations

from collections import deque

from ....hw.arch.token import CONTROL, DONE, MAYBE, stop
from .process import Config, Inputs, Outputs, ProtocolError, Queue, Steps, idle

S0 = stop(0)


def meaning(config: Config, i: Inputs, o: Outputs) -> Steps:
    """Config: root (the references are ``0 D`` in each transaction, without `ref`)."""
    root = bool(config.get("root"))
    crd, ref_o = i["crd"], o["ref_o"]
    ref: Queue = deque() if root else i["ref"]
    while True:
        yield idle(crd)
        if root:
            ref.extend((0, DONE))
        held = -1       # the reference whose turn it is
        while True:
            while not crd:
                yield crd
            token = crd[0]
            if held < 0:
                while not ref:
                    yield ref
                head = ref[0]
                if head < CONTROL or head == MAYBE:
                    held = ref.popleft()
                elif token <= S0 or token == MAYBE:
                    raise ProtocolError("repeater", "a coordinate or fiber has no reference", ref=head, crd=token)
            if token < CONTROL or token == MAYBE:
                ref_o(held)
            elif token == DONE:
                break
            else:
                if token > S0:
                    while not ref:
                        yield ref
                    if ref[0] != token - 1:
                        raise ProtocolError("repeater", "the stops do not fit", ref=ref[0], crd=token)
                    ref.popleft()
                held = -1
                ref_o(token)
            crd.popleft()
            yield None
        if held >= 0 or ref[0] != DONE:
            raise ProtocolError("repeater", "references are left over", ref=held if held >= 0 else ref[0], crd=DONE)
        crd.popleft()
        ref.popleft()
        ref_o(DONE)
        yield None
