"""Dispatcher: numbers of copies that may have another block, in turn.

    copies 3, ahead 1, done0 ``1 S0``, done1 ``D``:      number ``0 1 1``, log ``1 0 1 1 1 1``
"""

from __future__ import annotations

from collections import deque

from ....hw.arch.token import DONE
from .process import Config, Either, Inputs, Outputs, Steps, idle


def meaning(config: Config, i: Inputs, o: Outputs) -> Steps:
    """Config: copies (a bit an input), first, ahead."""
    inputs = {at: i[f"done{at}"] for at in range(4) if f"done{at}" in i}
    copies = [at for at in range(4) if int(config["copies"]) >> at & 1]
    number, log, has, before, some = o["number"], o["log"], dict.fromkeys(copies, 0), 3, Either(inputs.values())
    yield idle(deque((0,)))     # It begins by itself.
    while True:
        for at in copies:
            queue = inputs.get(at, ())
            while queue and (has[at] or queue[0] != DONE):
                has[at] -= queue.popleft() == DONE
        free = [at % 4 for at in range(before + 1, before + 5)
                if (has[at % 4] < config["ahead"] if at % 4 in has else inputs.get(at % 4))]
        if not free:
            yield idle(some)
            continue
        before = free[0]
        log(1)
        yield None
        given = config["first"] + before if before in has else inputs[before].popleft()
        log(given)
        number(given)
        has |= {before: has[before] + 1} if before in has else {}
        yield None
