"""A memory behind an AXI4 bus in cocotb, as unruly as AXI4 allows, and a judge of its master.

Every channel stalls at random. Identities are answered in any order, words of their reads between each other; those of one
identity in order. What a burst may not be is an assertion: that of `axi_model.Address.legal_on`, one whose offer changes or is
withdrawn, whose words are too many, or whose last one is not marked.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from axi_model import OKAY, SLVERR, Address
from cocotb.triggers import RisingEdge

ADDRESS = ("id", "addr", "len", "size", "burst")


class Memory:
    """Bytes from address 0 on; beyond, every answer is an error and nothing is written.

    most : int      Bursts of each direction that were under way at once.
    """

    def __init__(self, dut: Any, content: np.ndarray, seed: int, rate: float = 0.3, prefix: str = "m_axi_") -> None:
        self.dut, self.content, self._prefix = dut, content, prefix
        self._bytes = len(self._of("wstrb"))        # of a word of the bus
        self._draw, self._rate = random.Random(seed), rate
        self.reads: list[list[Any]] = []        # an address, and its next beat
        self.writes: list[Address] = []
        self.words: list[tuple[int, ...]] = []
        self.answers: list[tuple[int, int]] = []
        self.taken: dict[str, list[Address]] = {"ar": [], "aw": []}
        self.most = {"ar": 0, "aw": 0}
        self._beat, self._failed = 0, False
        self._waits: dict[str, tuple[int, ...]] = {}
        for name in ("arready", "awready", "wready", "rvalid", "bvalid"):
            self._of(name).value = 0

    def _of(self, name: str) -> Any:
        return getattr(self.dut, self._prefix + name)

    def _runs(self) -> bool:
        return self._draw.random() >= self._rate

    async def run(self) -> None:
        """For ever."""
        read = answer = None
        while True:
            await RisingEdge(self.dut.clk)
            for channel in ("ar", "aw"):
                if fields := self._offered(channel, ADDRESS):
                    self._asked(channel, Address(*fields))
            if fields := self._offered("w", ("data", "strb", "last")):
                self.words.append(fields)
            # Words may come before their address.
            while self.words and self.writes:
                self._write(*self.words.pop(0))
            if read and int(self._of("rready").value):
                read[1] += 1
                if read[1] > read[0].len:
                    self.reads.remove(read)
                read = None
            if answer and int(self._of("bready").value):
                self.answers.remove(answer)
                answer = None
            read, answer = read or self._read(), answer or self._answer()
            for name in ("ar", "aw", "w"):
                self._of(f"{name}ready").value = int(self._runs())

    def _offered(self, channel: str, names: tuple[str, ...]) -> tuple[int, ...] | None:
        """What is taken in this cycle."""
        valid, ready = (int(self._of(channel + name).value) for name in ("valid", "ready"))
        fields = tuple(int(self._of(channel + name).value) for name in names) if valid else ()
        before = self._waits.pop(channel, None)
        assert before is None or before == fields, f"{channel} was {before} and is {fields}"
        if valid and not ready:
            self._waits[channel] = fields
        return fields if valid and ready else None

    def _asked(self, channel: str, address: Address) -> None:
        assert address.legal_on(self._bytes) and 1 << address.size == self._bytes, address
        self.taken[channel].append(address)
        if channel == "ar":
            self.reads.append([address, 0])
        else:
            self.writes.append(address)
        self.most["ar"], self.most["aw"] = (max(self.most["ar"], len(self.reads)),
                                            max(self.most["aw"], len(self.writes) + len(self.answers)))

    def _write(self, word: int, strobe: int, last: int) -> None:
        address = self.writes[0]
        at = address.beats()[self._beat]
        assert last == (self._beat == address.len), f"beat {self._beat} of {address} is {'' if last else 'not '}the last"
        if at + self._bytes <= len(self.content):
            for lane in range(self._bytes):
                if strobe >> lane & 1:
                    self.content[at + lane] = word >> 8 * lane & 0xFF
        else:
            self._failed = True
        self._beat += 1
        if last:
            self.answers.append((address.id, SLVERR if self._failed else OKAY))
            self.writes.pop(0)
            self._beat, self._failed = 0, False

    def _read(self) -> Any:
        first = {each[0].id: each for each in reversed(self.reads)}
        chosen = self._draw.choice([*first.values()]) if first and self._runs() else None
        self._of("rvalid").value = int(chosen is not None)
        if chosen:
            address, beat = chosen
            at = address.beats()[beat]
            there = at + self._bytes <= len(self.content)
            self._of("rid").value = address.id
            self._of("rdata").value = int.from_bytes(self.content[at:at + self._bytes].tobytes(), "little") if there else 0
            self._of("rresp").value = OKAY if there else SLVERR
            self._of("rlast").value = int(beat == address.len)
        return chosen

    def _answer(self) -> Any:
        first = {each[0]: each for each in reversed(self.answers)}
        chosen = self._draw.choice([*first.values()]) if first and self._runs() else None
        self._of("bvalid").value = int(chosen is not None)
        if chosen:
            self._of("bid").value, self._of("bresp").value = chosen
        return chosen
