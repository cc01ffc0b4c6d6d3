"""Dense writer: collects values at their positions of dense fibers, of `extent` words each; what is missing is 0.

    extent 4    at ``2 0 S0 S0 3 S1 D``, val ``5 6 S0 7 S1 D``    values 6 0 5 0  0 0 0 0  0 0 0 7
    below 1     at ``2 S0 0 S1 3 S2 D``, val ``5 6 7 D``          values 6 0 5 0  0 0 0 7
    whole       at ``3 S0 1 S1 D``, val ``7 S0 8 S1 D``           values 0 8 0 7

Each stop of `at` but those below `below` ends a fiber, or, with whole, done alone. Stops of `val` mean nothing.
A value a cycle.
"""

from __future__ import annotations

from ....hw.arch.token import CONTROL, DONE, MAYBE, stop_level
from .level import Level
from .process import Config, Inputs, Outputs, ProtocolError, Steps, idle


def meaning(config: Config, i: Inputs, o: Outputs) -> Steps:
    """Config: extent, whole, below, words."""
    at, val, level = i["at"], i["val"], o["level"]
    extent, whole, most = int(config.get("extent", 0)), bool(config.get("whole")), int(config.get("words", 0))
    below = int(config.get("below", 0))
    while True:
        array = [0] * (extent * whole)
        base = 0
        yield idle(at)
        while True:
            while not at:
                yield at
            token = at.popleft()
            if CONTROL <= token < DONE:
                if not whole and stop_level(token) >= below:
                    array += [0] * (base + extent - len(array))
                    base += extent
                yield None
                continue
            while not val or CONTROL <= val[0] < DONE:
                if val:
                    val.popleft()
                    yield None
                else:
                    yield val
            value = val.popleft()
            if token >= CONTROL or value == DONE:
                break
            if token >= extent:
                raise ProtocolError("scatter", f"a position of fibers of {extent} words", at=token)
            array += [0] * (base + extent - len(array))
            array[base + token] = 0 if value == MAYBE else value
            yield None
        if token != value or token != DONE:
            raise ProtocolError("scatter", "the streams end apart", at=token, val=value)
        if most and len(array) > most:
            raise ProtocolError("scatter", f"an array needs {len(array)} words but its buffer holds {most}")
        if len(array) > base and not whole:
            raise ProtocolError("scatter", "the last fiber has no stop", at=DONE)
        level(Level([], array))
        yield None
