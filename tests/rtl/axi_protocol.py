"""A checker of the rules of AXI4 and AXI4-Lite, cycle by cycle: what is offered stands, and bursts and answers belong together.

Source: Arm IHI 0022, A3.1 to A3.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from axi_model import Transfer
from cocotb.triggers import RisingEdge

ADDRESS = ("id", "addr", "len", "size", "burst")
AXI4 = {"aw": ADDRESS, "w": ("data", "strb", "last"), "b": ("id", "resp"), "ar": ADDRESS, "r": ("id", "data", "resp", "last")}
AXI4_LITE = {"aw": ("addr",), "w": ("data", "strb"), "b": ("resp",), "ar": ("addr",), "r": ("data", "resp")}


class Protocol:
    """Watches a bus whose answers come in the order of addresses. On AXI4-Lite every burst has one beat.

    Attributes
    ----------
    transfers : {str: list}     What was given on each channel since the last reset.
    before_reset : {str: list}  The same, between that reset and the one before.
    violations : list of str    Of which rule, and in which cycle.
    """

    def __init__(self) -> None:
        self.cycle = 0
        self.violations: list[str] = []
        self.transfers: dict[str, list[Transfer]] = {}
        self._begin(False)

    def _begin(self, was_reset: bool) -> None:
        self.before_reset, self.transfers = self.transfers, {channel: [] for channel in AXI4}
        self._waits: dict[str, Mapping[str, int]] = {}
        # Beats of the bursts that have ended, and of the one that has not.
        self._beats: dict[str, list[int]] = {"w": [0], "r": [0]}
        self._judged = 0
        self._was_reset = was_reset

    def step(self, offers: Mapping[str, tuple[bool, Mapping[str, int]]], reset: bool = False) -> None:
        """A cycle: what is offered on channels, and whether it is taken; the others offer nothing."""
        for channel, fields in () if reset else self._waits.items():
            if channel not in offers:
                self._broken(f"{channel}valid is retracted")
            elif offers[channel][1] != fields:
                self._broken(f"{channel} changes while it waits")
        if self._was_reset and {"b", "r"} & {*offers}:
            self._broken("an answer is offered after a reset")
        if "b" in offers:
            self._written(offers["b"][1])
        if "r" in offers:
            self._read(offers["r"][1])
        for channel, (taken, fields) in offers.items():
            if taken:
                self._give(channel, fields)
        self._waits = {channel: fields for channel, (taken, fields) in offers.items() if not taken}
        self._was_reset = False
        if reset:
            self._begin(True)
        self.cycle += 1

    def finish(self) -> None:
        """Nothing is left to be answered or taken."""
        for channel, answers, asked in (("b", len(self.transfers["b"]), "aw"), ("r", len(self._beats["r"]) - 1, "ar")):
            if answers != len(self.transfers[asked]):
                self._broken(f"{len(self.transfers[asked])} bursts of {asked} have {answers} answers on {channel}")
        if self._waits or self._beats["w"][-1]:
            self._broken("a burst has not ended")

    def _give(self, channel: str, fields: Mapping[str, int]) -> None:
        self.transfers[channel].append(Transfer(self.cycle, fields))
        if beats := self._beats.get(channel):
            beats[-1] += 1
            if fields.get("last", 1):
                beats.append(0)
        asked, ended = self.transfers["aw"], len(self._beats["w"]) - 1
        while self._judged < min(len(asked), ended):
            if self._beats["w"][self._judged] != asked[self._judged].fields.get("len", 0) + 1:
                self._broken("wlast is not at the last beat")
            self._judged += 1
        if len(asked) > ended and self._beats["w"][ended] > asked[ended].fields.get("len", 0):
            self._broken("a burst goes on after its last beat")

    def _written(self, answer: Mapping[str, int]) -> None:
        number = len(self.transfers["b"])
        if number >= min(len(self.transfers["aw"]), len(self._beats["w"]) - 1):
            self._broken("an answer comes before the last beat and its address")
        elif answer.get("id") != self.transfers["aw"][number].fields.get("id"):
            self._broken("an answer has another identity than its burst")

    def _read(self, beat: Mapping[str, int]) -> None:
        number = len(self._beats["r"]) - 1
        if number >= len(self.transfers["ar"]):
            self._broken("a word comes before its address")
            return
        asked = self.transfers["ar"][number].fields
        if beat.get("id") != asked.get("id"):
            self._broken("a word has another identity than its burst")
        if beat.get("last", 1) != int(self._beats["r"][-1] == asked.get("len", 0)):
            self._broken("rlast is not at the last beat")

    def _broken(self, rule: str) -> None:
        self.violations.append(f"{rule}, cycle {self.cycle}")


async def watch(dut: Any, prefix: str, protocol: Protocol) -> None:
    """Show a bus of a simulation to a checker, until it finds something; `prefix` is ``s_axi`` or ``s_axil``."""
    channels = AXI4 if prefix == "s_axi" else AXI4_LITE
    signals = {channel: tuple(getattr(dut, f"{prefix}_{channel}{name}") for name in ("valid", "ready", *fields))
               for channel, fields in channels.items()}
    while True:
        await RisingEdge(dut.clk)
        offers = {}
        for channel, (valid, ready, *fields) in signals.items():
            if int(valid.value):
                # What nobody wrote is unknown in Icarus.
                values = [int(field.value) if field.value.is_resolvable else -1 for field in fields]
                offers[channel] = bool(int(ready.value)), dict(zip(channels[channel], values, strict=True))
        protocol.step(offers, bool(int(dut.rst.value)))
        assert not protocol.violations, f"{prefix}: {protocol.violations}"
