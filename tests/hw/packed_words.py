"""What packed configuration means, byte by byte: the golden model of who packs it and of who unpacks it."""

from collections.abc import Iterable

Write = tuple[int, int, int, int]
"""Column, row, register, data."""


def unpacked(packed: Iterable[int]) -> "list[Write]":
    """The writes of packed bytes."""
    left, found = list(packed), []
    column = register = 0
    row = 254
    while left:
        step, low = divmod(left.pop(0), 16)
        if step:
            size = low.bit_count()
            if size > len(left):
                break
            data = sum(left.pop(0) << 8 * byte for byte in range(4) if low >> byte & 1)
            row = (row + step) % 256
            found.append((column, row, register, data))
        elif low == 15:
            if len(left) < 4:
                break
            register, row, column = left.pop(0) + 256 * left.pop(0), left.pop(0), left.pop(0)
        elif low == 14:
            row = (row + 15) % 256
        elif low == 13:
            column, register, row = (column + 1) % 256, 0, 254
        elif low:
            register, row = (register + low) % 65536, 254
    return found


def lines(packed: bytes) -> "list[int]":
    """Packed bytes as lines of eight, the last one filled up with zeros."""
    return [int.from_bytes(packed[begin:begin + 8], "little") for begin in range(0, len(packed), 8)]
