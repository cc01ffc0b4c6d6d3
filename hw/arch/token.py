"""Tokens: the 17-bit words that travel on every stream.

Bit 16 tells control from data. A data token carries 16 bits: a coordinate, a reference or a value. A control
token says in bits 9:8 what it is: 0 a stop (its level in 7:0), 1 done, 2 maybe. All other bits are 0.

    data 5      0x00005        stop level 1 (S1)   0x10001
    done (D)    0x10100        maybe (N)           0x10200

Source: Onyx JSSC III-A (stop, done and maybe tokens); the widths are those of the public Onyx hardware.
"""

from __future__ import annotations

from collections.abc import Iterable

from amaranth.lib import data

from .errors import UserError

DATA_BITS = 16
TOKEN = data.StructLayout({"data": DATA_BITS, "control": 1})
TOKEN_BITS = DATA_BITS + 1

CONTROL = 1 << DATA_BITS
DONE = CONTROL | 0x100
MAYBE = CONTROL | 0x200
STOP_LEVELS = 256

# What bits 9:8 of a control token say.
KIND_STOP, KIND_DONE, KIND_MAYBE = 0, 1, 2


def stop(level: int) -> int:
    """The stop token of a level, 0..255."""
    assert 0 <= level < STOP_LEVELS, f"stop level {level} does not fit a token"
    return CONTROL | level


def is_control(token: int) -> bool:
    """Whether a token is a stop, done or maybe."""
    return token >= CONTROL


def is_stop(token: int) -> bool:
    """Whether a token is a stop of any level."""
    return CONTROL <= token < CONTROL + STOP_LEVELS


def stop_level(token: int) -> int:
    """The level of a stop token."""
    assert is_stop(token), f"{token:#x} is not a stop"
    return token - CONTROL


def show(token: int) -> str:
    """A token as people write it: ``5``, ``S0``, ``D``, ``N``."""
    if not is_control(token):
        return str(token)
    if is_stop(token):
        return f"S{stop_level(token)}"
    return {DONE: "D", MAYBE: "N"}.get(token, f"?{token:#x}")


def parse(text: str | int) -> int:
    """A token from its written form; integers -32768..65535 are data (negative ones in two's complement).

    Raises UserError for anything else.
    """
    if isinstance(text, str) and text in ("D", "N"):
        return DONE if text == "D" else MAYBE
    if isinstance(text, str) and text[:1] == "S" and text[1:].isdigit() and int(text[1:]) < STOP_LEVELS:
        return stop(int(text[1:]))
    try:
        value = int(text)
    except ValueError:
        value = CONTROL
    if not -(CONTROL // 2) <= value < CONTROL:
        raise UserError(f"'{text}' is not a token", fix="write an integer -32768..65535, S0..S255, D or N")
    return value % CONTROL


def parse_stream(text: str | Iterable[str | int]) -> list[int]:
    """A stream from its written form, such as ``"1 2 S0 3 S1 D"`` or a list of the same words."""
    return [parse(word) for word in (text.split() if isinstance(text, str) else text)]


def show_stream(tokens: Iterable[int]) -> str:
    """A stream as people write it."""
    return " ".join(show(token) for token in tokens)
