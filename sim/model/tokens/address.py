"""Output address: a number in front of each block of a copy, up to three streams of blocks with the same numbers.

    used 3, values 2, number ``1 5``, block0 ``0 1 7``, block1 ``1 9``:      block0_o ``1 5 0 1 7``, block1_o ``1 5 1 9``
"""

from __future__ import annotations

from .process import Config, Either, Inputs, Outputs, Steps, idle
from .sections import move_block


def meaning(config: Config, i: Inputs, o: Outputs) -> Steps:
    """Config: used, values (a bit a stream each)."""
    numbers, outs = i["number"], [o[f"block{at}_o"] for at in range(3)]
    inputs = {at: i[f"block{at}"] for at in range(3) if f"block{at}" in i}
    while True:
        yield idle(numbers)
        words = [numbers.popleft()]
        yield None
        while not numbers:
            yield numbers
        words.append(numbers.popleft())
        left = {at: block for at, block in inputs.items() if int(config["used"]) >> at & 1}
        while left:
            some = Either(left.values())
            while not some:
                yield some
            at = next(at for at, blocks in left.items() if blocks)
            yield None
            for word in words:
                outs[at](word)
                yield None
            yield from move_block(left.pop(at), outs[at], 1 if int(config["values"]) >> at & 1 else 2)
