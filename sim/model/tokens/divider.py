"""Divider: quotients of integers in two's complement, rounded down; a / 0 is 0.

    a ``7 65529 S0 7 5 S1 D``, b ``2 2 S0 0 N S1 D``     res ``3 65532 S0 0 0 S1 D``

Equal stops and done pass; maybe counts as 0. A quotient takes `QUOTIENT_CYCLES`, or one if either operand is 0.
"""

from __future__ import annotations

from ....hw.arch.op import INT16, WORD
from ....hw.arch.primitive import QUOTIENT_CYCLES
from ....hw.arch.token import CONTROL, MAYBE
from .process import Config, Inputs, Outputs, ProtocolError, Queue, Steps, idle


def meaning(config: Config, i: Inputs, o: Outputs) -> Steps:
    """Config: stream_a, stream_b, constant."""
    streams: list[tuple[str, Queue]] = [(port, i[port]) for port in ("a", "b") if config.get(f"stream_{port}")]
    constant = int(config.get("constant", 0)) % WORD
    res = o["res"]
    if not streams:
        return
    first = streams[0][1]
    while True:
        while not first:
            yield idle(first)
        for _, queue in streams[1:]:
            while not queue:
                yield queue
        tokens = {port: queue.popleft() for port, queue in streams}
        controls = [token for token in tokens.values() if token >= CONTROL and token != MAYBE]
        if controls:
            if len(controls) < len(tokens) or len({*controls}) > 1:
                raise ProtocolError("divider", "the operands are out of step", **tokens)
            res(controls[0])
            yield None
            continue
        a, b = (INT16.integer(0 if token == MAYBE else token, True) for token in
                (tokens.get("a", constant), tokens.get("b", constant)))
        if a and b:
            for _ in range(QUOTIENT_CYCLES - 1):
                yield None
        res(a // b % WORD if b else 0)
        yield None
