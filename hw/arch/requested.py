"""What the constant request of a bank of a private buffer asks for in an operation, step by step."""

from __future__ import annotations

from collections.abc import Iterator

from .private_buffer import Bank


def requested(bank: Bank) -> Iterator[tuple[int, int]]:
    """Addresses, or numbers of fibers, and where each goes; a dense fiber once."""
    if bank.table:
        yield from (step for run in bank.table for step in run.steps)
        return
    places = [(bank.first, bank.first_sink)]
    for loop in reversed(bank.across):
        places = [(place + n * loop.stride, sink + n * loop.hop) for place, sink in places for n in range(loop.extent)]
    yield from places
