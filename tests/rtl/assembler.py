"""RISC-V by hand: the few instructions that tests of a processor's surroundings need, as words."""

from __future__ import annotations

from collections.abc import Iterable

A, B, C = 10, 11, 12     # registers


def _immediate(value: int, low: int, bits: int) -> int:
    return (value & (1 << bits) - 1) << low


def li(register: int, value: int) -> list[int]:
    """Any 32-bit value."""
    high = (value + 0x800) & 0xFFFFF000
    return [high | register << 7 | 0x37, _immediate(value - high, 20, 12) | register << 15 | register << 7 | 0x13]


def lw(register: int, base: int) -> list[int]:
    return [base << 15 | 2 << 12 | register << 7 | 0x03]


def sw(register: int, base: int) -> list[int]:
    return [register << 20 | base << 15 | 2 << 12 | 0x23]


def bnez_back(register: int, words: int) -> list[int]:
    """Go so many words back if a register is not 0."""
    offset = -4 * words
    return [_immediate(offset >> 12, 31, 1) | _immediate(offset >> 5, 25, 6) | register << 15 | 1 << 12
            | _immediate(offset >> 1, 8, 4) | _immediate(offset >> 11, 7, 1) | 0x63]


EBREAK = [0x0010_0073]


def store(address: int, value: int) -> list[int]:
    """Write a word."""
    return [*li(A, address), *li(B, value), *sw(B, A)]


def copy(source: int, destination: int) -> list[int]:
    """Read a word and write it elsewhere."""
    return [*li(A, source), *lw(B, A), *li(A, destination), *sw(B, A)]


def wait_for_zero(address: int) -> list[int]:
    """Read a word until it is 0."""
    return [*li(A, address), *lw(B, A), *bnez_back(B, 1)]


def image(*pieces: Iterable[int]) -> bytes:
    """The bytes of a program that ends."""
    words = [word for piece in (*pieces, EBREAK) for word in piece]
    return b"".join(word.to_bytes(4, "little") for word in words)
