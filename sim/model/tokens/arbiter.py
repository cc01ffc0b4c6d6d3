"""Stream arbiter: whole blocks of several inputs, in turn, each behind the number of its copy.

    numbers 15, first 4, sections 1, block1 ``2 50 60``:      block ``1 5 2 50 60``
"""

from __future__ import annotations

from .process import Config, Either, Inputs, Outputs, Steps, idle
from .sections import move_block


def meaning(config: Config, i: Inputs, o: Outputs) -> Steps:
    """Config: sections, numbers (a bit an input), first."""
    inputs = {at: i[f"block{at}"] for at in range(4) if f"block{at}" in i}
    out, some, before = o["block"], Either(inputs.values()), 3
    while True:
        yield idle(some)
        before = next(at % 4 for at in range(before + 1, before + 5) if inputs.get(at % 4))
        own = int(config["numbers"]) >> before & 1
        for word in (1, config["first"] + before) if own else ():
            out(word)
            yield None
        yield from move_block(inputs[before], out, config["sections"] + 1 - own)
