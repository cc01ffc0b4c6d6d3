"""Dropper: removes the coordinates of fibers that turned out empty, or of values that turned out zero.

    coordinate: outer ``0 1 2 3 S0 D``           outer_o ``0 1 3 S0 D``
                inner ``1 S0 1 S0 S0 1 S1 D``    inner_o ``1 S0 1 S0 1 S1 D``
    value:      outer ``0 2 S0 1 S1 D``          outer_o ``2 S0 S1 D``
                inner ``0 5 S0 0 S1 D``          inner_o ``5 S0 S1 D``

Form coordinate: runs of inner stops merge to the highest, leading ones vanish; a stop Sn above S0 goes with the stop
S(n-1) of outer, as in the guided reducer. Form value: in lockstep, stops stay. One inner token per cycle.
"""

from __future__ import annotations

from ....hw.arch.token import CONTROL, DONE, MAYBE, stop
from .process import Config, Inputs, Outputs, ProtocolError, Steps, idle

S0 = stop(0)
NONE = -1


def meaning(config: Config, i: Inputs, o: Outputs) -> Steps:
    """Config: form (coordinate or value)."""
    return (_zeros if config.get("form", "coordinate") == "value" else _empty)(i, o)


def _zeros(i: Inputs, o: Outputs) -> Steps:
    outer, inner, outer_o, inner_o = i["outer"], i["inner"], o["outer_o"], o["inner_o"]
    while True:
        yield idle(inner)
        crd = 0
        while crd != DONE:
            while not outer:
                yield outer
            while not inner:
                yield inner
            crd, val = outer.popleft(), inner.popleft()
            if crd < CONTROL:
                if val >= CONTROL and val != MAYBE:
                    raise ProtocolError("dropper", "the streams are out of step", outer=crd, inner=val)
                if val and val != MAYBE:
                    outer_o(crd)
                    inner_o(val)
            elif crd != val or crd == MAYBE:
                raise ProtocolError("dropper", "the streams are out of step", outer=crd, inner=val)
            else:
                outer_o(crd)
                inner_o(crd)
            yield None


def _empty(i: Inputs, o: Outputs) -> Steps:
    outer, inner, outer_o, inner_o = i["outer"], i["inner"], o["outer_o"], o["inner_o"]
    ahead = NONE            # the inner token that leaves next; a stop waits there for those it merges with
    while True:
        opened = False      # the coordinate of this inner fiber has left
        started = False     # there was data in this transaction
        if ahead != NONE and not inner:
            inner_o(ahead)
            ahead = NONE
            yield None
        yield idle(inner)
        token = 0
        while token != DONE:
            if not inner and ahead != NONE and not S0 <= ahead < DONE:
                inner_o(ahead)
                ahead = NONE
                yield None
            while not inner:
                yield inner
            token = inner[0]
            if opened and token < CONTROL:
                inner.popleft()
            else:
                while not outer:
                    yield outer
                head = outer[0]
                named = not opened and (head < CONTROL or head == MAYBE)
                if token < CONTROL or token == MAYBE:
                    if not opened:
                        if not named:
                            raise _out_of_step(head, token)
                        outer_o(outer.popleft())
                    opened = started = True
                elif token == DONE:
                    if opened or head != DONE:
                        raise _out_of_step(head, token)
                    outer_o(outer.popleft())
                else:
                    if named:
                        outer.popleft()
                    elif not opened and token == S0:
                        raise _out_of_step(head, token)
                    if token > S0:
                        while not outer:
                            yield outer
                        if outer[0] + 1 != token:
                            raise _out_of_step(outer[0], token)
                        outer_o(outer.popleft())
                    opened = False
                inner.popleft()
            if S0 <= token < DONE and (not started or S0 <= ahead < DONE):
                # Leading, or merged with the stop before.
                if started:
                    ahead = max(ahead, token)
                elif ahead != NONE:
                    inner_o(ahead)
                    ahead = NONE
            elif ahead == NONE and not S0 <= token < DONE:
                inner_o(token)
            else:
                if ahead != NONE:
                    inner_o(ahead)
                ahead = token
            yield None


def _out_of_step(outer: int, inner: int) -> ProtocolError:
    return ProtocolError("dropper", "the streams are out of step", outer=outer, inner=inner)
