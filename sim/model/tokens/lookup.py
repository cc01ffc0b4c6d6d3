"""Lookup: the values that references name.

    values 5 6 7, ref ``2 N S0 0 S1 D``     crd ``7 0 S0 5 S1 D``

One token per cycle. The output is named as in the hardware, where values leave on the port of coordinates.
"""

from __future__ import annotations

from collections import deque

from ....hw.arch.token import CONTROL, DONE, MAYBE
from .process import Config, Inputs, Outputs, ProtocolError, Queue, Steps, idle


def meaning(config: Config, i: Inputs, o: Outputs) -> Steps:
    """Config: root (look up position 0 once, without `ref`)."""
    root = bool(config.get("root"))
    levels, val = i["level"], o["crd"]
    ref: Queue = deque() if root else i["ref"]
    while True:
        yield idle(levels)
        values = levels[0].crd
        if root:
            ref.extend((0, DONE))
        token = 0
        while token != DONE:
            while not ref:
                yield ref
            token = ref.popleft()
            if token < CONTROL:
                if token >= len(values):
                    raise ProtocolError("lookup", f"there are {len(values)} values", ref=token)
                val(values[token])
            else:
                if token == DONE:
                    levels.popleft()
                val(0 if token == MAYBE else token)
            yield None
