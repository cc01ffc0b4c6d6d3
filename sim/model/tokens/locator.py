"""Locator: the references of coordinates in a dense level, by arithmetic.

    extent 5, ref ``1 1 S0 2 N S1 D``
              at  ``4 0 S0 3 1 S1 D``     ref_o ``9 5 S0 13 N S1 D``

References and coordinates are in step: a coordinate, or the same stop, for each token. One token per cycle.
"""

from __future__ import annotations

from ....hw.arch.token import CONTROL, DATA_BITS, DONE, MAYBE
from .process import Config, Inputs, Outputs, ProtocolError, Steps, idle

WORD = (1 << DATA_BITS) - 1


def meaning(config: Config, i: Inputs, o: Outputs) -> Steps:
    """The level is dense; references wrap at 16 bits."""
    levels, ref, at, ref_o = i["level"], i["ref"], i["at"], o["ref_o"]
    while True:
        yield idle(levels)
        if len(levels[0].seg) < 2:
            raise ProtocolError("locator", "a dense level has no extent")
        extent = levels[0].seg[1]
        token = 0
        while token != DONE:
            while not ref:
                yield ref
            while not at:
                yield at
            token, coordinate = ref.popleft(), at.popleft()
            structure = token >= CONTROL and token != MAYBE
            if not (coordinate == token if structure else coordinate < CONTROL):
                raise ProtocolError("locator", "the streams are out of step", ref=token, at=coordinate)
            if token < CONTROL:
                if coordinate >= extent:
                    raise ProtocolError("locator", f"the extent of the level is {extent}", at=coordinate)
                ref_o(token * extent + coordinate & WORD)
            else:
                if token == DONE:
                    levels.popleft()
                ref_o(token)
            yield None
