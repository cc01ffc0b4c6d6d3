"""Pass-through: a FIFO. Where queues are bounded its depth adds to the queue in front of it."""

from __future__ import annotations

from ...hw.arch.token import DONE
from .process import Config, Inputs, Outputs, Steps, idle


def meaning(config: Config, i: Inputs, o: Outputs) -> Steps:
    """Config: depth, in tokens; used by the network, not here."""
    tokens, out = i["i"], o["o"]
    while True:
        yield idle(tokens)
        token = 0
        while token != DONE:
            while not tokens:
                yield tokens
            token = tokens.popleft()
            out(token)
            yield None
