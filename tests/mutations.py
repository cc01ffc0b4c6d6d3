"""Damaged files: bytes flipped, cut out, repeated and put in, for tests that a reader gives a value or a `UserError`."""

import contextlib
import random
from collections.abc import Callable

from sardonyx.hw.arch.errors import UserError

TOKENS = (b"0", b"-1", b"1e9", b"9" * 30, b"9" * 5000, b"nan", b"\0", b"\n", b" ", b"\xff", b"[" * 3000, b"{", b"}", b"'", b'"',
          b",", b"=", b"%", b"2147483648", b"18446744073709551616", b"-2147483648", b"true", b"null", b"\xff\xff\xff\x7f",
          b"\0\0\0\x40")


def damaged(content: bytes, seed: int) -> bytes:
    """The content after one to four changes."""
    choose, data = random.Random(seed), bytearray(content)
    for _ in range(choose.choice((1, 1, 2, 4))):
        at, kind = choose.randrange(len(data) + 1), choose.randrange(7)
        length = choose.choice((1, 2, 4, 8, 30, 300))
        if kind == 0 and at < len(data):
            data[at] ^= 1 << choose.randrange(8)
        elif kind == 1 and at < len(data):
            data[at] = choose.randrange(256)
        elif kind == 2:
            del data[at:at + length]
        elif kind == 3:
            del data[at:]
        elif kind == 4:
            data[at:at] = data[at:at + length] * choose.choice((1, 2, 50))
        elif kind == 5:
            data[at:at] = choose.choice(TOKENS)
        else:
            data[at:at + length] = choose.choice(TOKENS)
    return bytes(data)


def try_to_read(read: Callable[[bytes], object], content: bytes, seed: int,
                damage: Callable[[bytes, int], bytes] = damaged) -> bool:
    """Whether a damaged file is read; anything but a value and a `UserError` of sane length goes to the test."""
    with contextlib.suppress(UserError):
        try:
            read(damage(content, seed))
            return True
        except UserError as error:
            assert len(str(error)) < 7000, "an error is read by people"
            raise
    return False


def overwritten(content: bytes, seed: int) -> bytes:
    """The content with one to four changes that move nothing: for files of offsets, where a shift damages all."""
    choose, data = random.Random(seed), bytearray(content)
    for _ in range(choose.choice((1, 1, 2, 4))):
        at, kind = choose.randrange(len(data)), choose.randrange(5)
        word = at & ~3
        if kind == 0:
            data[at] ^= 1 << choose.randrange(8)
        elif kind == 1:
            data[at] = choose.randrange(256)
        elif kind == 2:
            data[word:word + 4] = choose.choice((0, 1, 2, 1 << 10, 1 << 20, 1 << 30, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)
                                                ).to_bytes(4, "little")
        elif kind == 3:
            other = choose.randrange(len(data)) & ~3
            data[word:word + 4] = data[other:other + 4]
        else:
            data[at:at + 8] = choose.randbytes(8)
    return bytes(data[:len(content)])
