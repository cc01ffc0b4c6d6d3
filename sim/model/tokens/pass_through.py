"""Pass-through: a FIFO. Where queues are bounded its depth adds to the queue in front of it."""

from __future__ import annotations

from .process import Config, Inputs, Outputs, Steps, idle


def meaning(config: Config, i: Inputs, o: Outputs) -> Steps:
    """Config: depth, in tokens; used by the network, not here."""
    tokens, out = i["i"], o["o"]
    while True:
        while not tokens:
            yield idle(tokens)
        out(tokens.popleft())
        yield None
