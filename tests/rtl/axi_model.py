"""What AXI4 says of bursts, in bytes: addresses of beats, what a slave may answer, and what a memory holds then.

Source: Arm IHI 0022, A3.4.1 for addresses, A5 for order.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest

OKAY, SLVERR = 0, 2
FIXED, INCR, WRAP = range(3)
PAGE = 4096
BUS_BYTES = 8


@dataclass(frozen=True)
class Address:
    """What an address channel says of a burst."""

    id: int
    addr: int
    len: int
    size: int = 3
    burst: int = INCR

    @property
    def legal(self) -> bool:
        return self.legal_on(BUS_BYTES)

    def legal_on(self, bus_bytes: int) -> bool:
        """Whether AXI4 allows it on a bus of such words."""
        bytes_, beats = 1 << self.size, self.len + 1
        if bytes_ > bus_bytes or self.burst > WRAP:
            return False
        if self.burst == FIXED:
            return beats <= 16
        if self.burst == WRAP:
            return beats in (2, 4, 8, 16) and self.addr % bytes_ == 0
        aligned = self.addr // bytes_ * bytes_
        return self.addr // PAGE == (aligned + bytes_ * beats - 1) // PAGE

    def beats(self) -> list[int]:
        """The address of every beat of a legal burst."""
        bytes_, count = 1 << self.size, self.len + 1
        if self.burst == FIXED:
            return [self.addr] * count
        aligned = self.addr // bytes_ * bytes_
        addresses = [self.addr, *(aligned + bytes_ * beat for beat in range(1, count))]
        if self.burst == INCR:
            return addresses
        boundary = self.addr // (bytes_ * count) * bytes_ * count
        return [boundary + (address - boundary) % (bytes_ * count) for address in addresses]

    def served(self, memory_bytes: int) -> bool:
        return self.legal and max(self.beats()) // BUS_BYTES * BUS_BYTES < memory_bytes

    def lanes(self, beat: int) -> range:
        """The bytes of the bus that a beat uses."""
        bytes_, address = 1 << self.size, self.beats()[beat]
        return range(address % BUS_BYTES, address // bytes_ * bytes_ % BUS_BYTES + bytes_)


def any_burst(draw: random.Random, memory_bytes: int, legal: float = 0.9, most: int = 256) -> Address:
    """A burst that a master might ask for, of at most so many beats: that part of them is legal, many begin near the end of the
    memory or of a page, and some beyond the memory."""
    wanted = draw.random() < legal
    while True:
        size, kind = (draw.choice((0, 1, 2, 3, 3)), draw.choice((FIXED, INCR, INCR, WRAP))) if wanted else (
            draw.choice((3, draw.randrange(8))), draw.randrange(4))
        beats = draw.choice((1, 2, 4, 8, 16, draw.randrange(1, 33), draw.randrange(1, 257) if draw.random() < 0.2 else 3))
        end = draw.choice((memory_bytes, PAGE * draw.randrange(1, memory_bytes // PAGE + 2)))
        addr = draw.choices((draw.randrange(memory_bytes), end - draw.randrange(1, beats + 8 << 3), draw.getrandbits(32)),
                            (6, 3, 1))[0]
        if draw.random() < 0.7 or (wanted and kind == WRAP):
            addr = addr >> size << size
        if addr < 0 or beats > most:
            continue
        found = Address(draw.randrange(16), addr, beats - 1, size, kind)
        if found.legal == wanted:
            return found


@dataclass(frozen=True)
class Transfer:
    """What was given on a channel, by the bus's own names without the channel's, and in which cycle."""

    cycle: int
    fields: Mapping[str, int]


@dataclass(frozen=True)
class Write:
    """A write of 64-bit words: strobes by beat, when each came, and when the answer left."""

    address: Address
    words: Sequence[int]
    strobes: Sequence[int]
    came: Sequence[int]
    answered: float


class History:
    """All values that every byte of a memory had, and has in the end, by what was written in that order."""

    def __init__(self, before: bytes, writes: Sequence[Write]) -> None:
        self.memory = bytearray(before)
        self._changes: dict[int, list[tuple[int, float, int]]] = {}
        self._before = before
        for write in writes:
            if not write.address.served(len(before)):
                continue
            for at, word, strobe, came in zip(write.address.beats(), write.words, write.strobes, write.came):
                for lane in range(BUS_BYTES):
                    if strobe >> lane & 1:
                        byte = at // BUS_BYTES * BUS_BYTES + lane
                        self.memory[byte] = word >> 8 * lane & 0xFF
                        self._changes.setdefault(byte, []).append((came, write.answered, self.memory[byte]))

    def possible(self, byte: int, asked: int, left: int) -> set[int]:
        """What a read may find that was asked for in one cycle and answered in another: what was there when it was asked
        for, or what was on its way meanwhile."""
        settled, found = self._before[byte], set()
        for came, answered, value in self._changes.get(byte, ()):
            if answered < asked:
                settled = value
            elif came < left:
                found.add(value)
        return found | {settled}


def judge(transfers: Mapping[str, Sequence[Transfer]], before: bytes, others: Sequence[Write] = (),
          cut: bool = False) -> History:
    """Every answer of a slave is as AXI4 says, in the order of the addresses, and every byte one that may be read.

    before: what the memory held.  others: what was written past the bus.  cut: bursts may lack what a reset took from them.
    """
    words, writes = iter(transfers["w"]), []
    for asked, answer in zip_longest(transfers["aw"], transfers["b"]):
        address = Address(**asked.fields)
        beats = list(islice(words, address.len + 1))
        assert cut or (answer and len(beats) == address.len + 1), f"{address} is not answered"
        if answer:
            response = OKAY if address.served(len(before)) else SLVERR
            assert answer.fields == {"id": address.id, "resp": response}, f"{answer} to {address}"
        writes.append(Write(address, *([beat.fields[name] for beat in beats] for name in ("data", "strb")),
                            [beat.cycle for beat in beats], answer.cycle if answer else math.inf))
    history = History(before, [*writes, *others])
    found = iter(transfers["r"])
    for asked in transfers["ar"]:
        address = Address(**asked.fields)
        served, beats = address.served(len(before)), list(islice(found, address.len + 1))
        assert cut or len(beats) == address.len + 1, f"{address} is not answered"
        for number, beat in enumerate(beats):
            word = beat.fields["data"]
            assert beat.fields == {"id": address.id, "resp": OKAY if served else SLVERR, "last": int(number == address.len),
                                   "data": word}, f"beat {number} of {address} is {beat}"
            at = address.beats()[number] // BUS_BYTES * BUS_BYTES if served else 0
            for lane in address.lanes(number) if served else ():
                possible = history.possible(at + lane, asked.cycle, beat.cycle)
                assert word >> 8 * lane & 0xFF in possible, (
                    f"byte {at + lane:#x} in beat {number} of {address} is none of {possible}: {beat}")
    assert next(found, None) is None, "more beats than were asked for"
    return history
