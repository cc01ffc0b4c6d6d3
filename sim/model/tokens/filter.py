"""Stream filter: each block of a link to the output whose copies have its number.

    first1 1, first2 2, sections 1, block ``2 1 70 0 2 50 60``:      block0 ``2 50 60``, block2 ``1 70``
"""

from __future__ import annotations

from .process import Config, Inputs, Outputs, Steps, idle
from .sections import move_block

# Numbers may be given for blocks that do not come.
SPARE = ("number",)


def meaning(config: Config, i: Inputs, o: Outputs) -> Steps:
    """Config: sections, given, keep (a bit an output), first1, first2."""
    block, outs = i["block"], [o[f"block{at}"] for at in range(3)]
    numbers = i["number"] if config["given"] else block
    while True:
        yield idle(block)
        while not numbers:
            yield numbers
        number = numbers.popleft()
        at = 0 if number < config["first1"] else 1 if number < config["first2"] else 2
        if int(config["keep"]) >> at & 1:
            outs[at](number)
        yield None
        yield from move_block(block, outs[at], config["sections"])
