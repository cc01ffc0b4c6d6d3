"""ALU: one operation on up to three 16-bit and three 1-bit operands, each a stream or a constant.

    a ``1 2 S0 D``, b ``3 N S0 D``, op adc      res ``4 2 S0 D``, p (condition eq) ``0 0``

Data and maybe, which counts as 0, are operands; equal stops pass, done passes. 1-bit streams carry data only and are
read only with data. One result per cycle; nothing is kept between two tokens. `hw/arch/op.py` says what an operation means.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ....hw.arch.op import BY_NAME, OPS, WORD, Op, predicate
from ....hw.arch.token import CONTROL, MAYBE
from .process import Config, Give, Inputs, Outputs, ProtocolError, Queue, Steps, idle

WORDS, BITS = ("a", "b", "c"), ("d", "e", "f")
UNUSED = Op("unused", len(OPS), "", "a code without an operation", lambda a, b, c, d, signed: a & 0)
NOTHING: Queue = deque()    # An ALU without stream operands is silent.


def meaning(config: Config, i: Inputs, o: Outputs) -> Steps:
    """Config: as in the description of the primitive; op is a code, of an operation or unused, or a name."""
    code = config.get("op", 0)
    operation = BY_NAME[code] if isinstance(code, str) else OPS[code] if code < len(OPS) else UNUSED
    used = [name for name in (*WORDS, *BITS) if config.get(f"stream_{name}")]
    words = [(at, i[name]) for at, name in enumerate(WORDS) if name in used]
    bits = [(at, i[name]) for at, name in enumerate(BITS, len(WORDS)) if name in used]
    operands = [int(config.get(f"const_{name}", 0)) for name in (*WORDS, *BITS)]
    p = _condition(operation, config, o["p"]) if "p" in o else None
    signed = bool(config.get("signed"))
    if len(words) == 2 and not bits and p is None:
        return _two(operation, signed, operands, words, o["res"])
    return _any(operation, signed, operands, words, bits, o["res"], p)


def _two(operation: Op, signed: bool, operands: list[int], words: list[tuple[int, Queue]], res: Give) -> Steps:
    """The usual case, for speed."""
    (at0, left), (at1, right) = words
    apply, d = operation.meaning, operands[3]
    while True:
        while not left:
            yield idle(left)
        while not right:
            yield right
        token0, token1 = left[0], right[0]
        if token0 == token1 >= CONTROL and token0 != MAYBE:
            res(token0)
        else:
            if token0 >= CONTROL or token1 >= CONTROL:
                token0, token1 = _data(words, token0, token1)
            operands[at0], operands[at1] = token0, token1
            res(apply(operands[0], operands[1], operands[2], d, signed) % WORD)
        left.popleft()
        right.popleft()
        yield None


def _any(operation: Op, signed: bool, operands: list[int], words: list[tuple[int, Queue]],
         bits: list[tuple[int, Queue]], res: Give, p: Callable[[list[int]], None] | None) -> Steps:
    first = (*words, *bits, (0, NOTHING))[0][1]
    while True:
        while not first:
            yield idle(first)
        for _, queue in words:
            while not queue:
                yield queue
        tokens = [queue[0] for _, queue in words]
        if words and tokens[0] >= CONTROL and tokens[0] != MAYBE and tokens.count(tokens[0]) == len(tokens):
            res(tokens[0])
        else:
            for (at, _), operand in zip(words, _data(words, *tokens), strict=True):
                operands[at] = operand
            for at, queue in bits:
                while not queue:
                    yield queue
                operands[at] = queue.popleft()
            res(operation.meaning(operands[0], operands[1], operands[2], operands[3], signed) % WORD)
            if p is not None:
                p(operands)
        for _, queue in words:
            queue.popleft()
        yield None


def _data(words: list[tuple[int, Queue]], *tokens: int) -> list[int]:
    """Tokens as operands."""
    if any(token >= CONTROL and token != MAYBE for token in tokens):
        raise ProtocolError("alu", "the operands are out of step",
                            **{WORDS[at]: token for (at, _), token in zip(words, tokens, strict=True)})
    return [0 if token == MAYBE else token for token in tokens]


def _condition(operation: Op, config: Config, p: Give) -> Callable[[list[int]], None]:
    cond, lut, signed = int(config.get("cond", 0)), int(config.get("lut", 0)), bool(config.get("signed"))

    def give(operands: list[int]) -> None:
        a, b, c, d, e, f = operands
        p(predicate(operation, cond, lut, a, b, c, d, e, f, signed))
    return give
