"""The host side of the line: what it sends and takes, and what it says when bytes do not arrive as they were sent."""

import struct
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.boards import device as devices
from sardonyx.boards.device import SerialDevice, connect, open_port
from sardonyx.boards.protocol import CHECK, HEADER, HEADER_BYTES, Code, Status, checked, is_intact
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.soc import CONFIG_BUSY, CONTROLLER, offsets

FPGA, TINY = presets.get("fpga"), presets.get("tiny")
AT = offsets(CONTROLLER)


class Board:
    """A line to a board that holds registers and memory, with a hand on the bytes of either direction."""

    def __init__(self, fingerprint: int = FPGA.fingerprint, up: Callable[[bytes], bytes] = bytes,
                 down: Callable[[bytes], bytes] = bytes) -> None:
        self.registers = {AT["fingerprint_high"]: fingerprint >> 32, AT["fingerprint_low"]: fingerprint & 0xFFFFFFFF}
        self.memory: dict[int, bytes] = {}
        self.configuration: dict[int, int] = {}
        self.waits: list[int] = []
        self._up, self._down, self._waiting = up, down, b""

    def write(self, data: bytes) -> None:
        self._waiting += self._down(self._answer(self._up(data)))

    def read(self, size: int = 1) -> bytes:
        found, self._waiting = self._waiting[:size], self._waiting[size:]
        return found

    def _answer(self, data: bytes) -> bytes:
        head, payload = data[:HEADER_BYTES], data[HEADER_BYTES:]
        if len(head) < HEADER_BYTES:
            return b""
        if not is_intact(head):
            return checked(bytes([Code.REFUSED, Status.HEADER]))
        code, count, address = HEADER.unpack(head[:HEADER.size])
        wanted = 8 * count + CHECK.size if code in (Code.WRITE, Code.STORE) and count else 0
        if len(payload) < wanted:
            return b""
        payload = payload[:wanted]      # what follows would be the next request
        status, found = 0 if is_intact(payload) else Status.PAYLOAD, b""
        if code == Code.WRITE:
            for register, value in struct.iter_unpack("<II", payload[:8 * count]):
                self.registers[register] = value
                if register == AT["config_write"]:
                    self.configuration[self.registers[AT["config_address"]]] = value
                if register == AT["config_read"]:
                    self.registers[AT["config_data"]] = self.configuration.get(self.registers[AT["config_address"]], 0)
        elif code == Code.READ:
            found = struct.pack("<I", self.registers.get(address, 0))
        elif code == Code.STORE:
            self.memory |= {address + 8 * n: payload[8 * n:8 * n + 8] for n in range(count)}
        elif code == Code.LOAD:
            found = b"".join(self.memory.get(address + 8 * n, bytes(8)) for n in range(count))
        else:
            self.waits.append(address)
            found = bytes([sum(self.waits) > 15_000_000])
        return checked(bytes([code]) + found + bytes([status]))


def test_registers_memory_and_configuration() -> None:
    board = Board()
    device = connect(FPGA, board)
    device.write_register("cycle_limit", -1)
    device.write_register("load_start", 5, 2)
    assert board.registers[AT["cycle_limit"]] == 0xFFFFFFFF and board.registers[0x1200 + 4] == 5
    assert device.read_register("load_start", 2) == 5
    words = [(0x01020000 + n, n * n) for n in range(700)]
    device.configure(words)
    assert board.configuration == dict(words)
    assert device.read_configuration(0x01020003) == 9 and device.read_configuration(1) == 0
    data = np.arange(5001, dtype=np.uint16)
    device.write_memory(1 << 15, data)
    assert device.read_memory(1 << 15, 5001).tolist() == data.tolist()
    assert device.read_memory((1 << 15) + 10000, 4).tolist() == [5000, 0, 0, 0]
    assert len(device.read_memory(0, 0)) == 0


def test_a_long_wait_is_asked_for_in_parts() -> None:
    board = Board()
    assert connect(FPGA, board).wait(50_000_000) is True and board.waits == [10_000_000, 10_000_000]
    board = Board()
    assert connect(FPGA, board).wait(10_000_007) is False and board.waits == [10_000_000, 7]


@pytest.mark.parametrize("board,text", [
    (Board(TINY.fingerprint),
     f"p: the board has machine {TINY.fingerprint:016x}, not 'fpga', which is {FPGA.fingerprint:016x}\n"
     "  try: name the description it was built from (--arch), or program it with the bitstream of this one"),
    (Board(down=lambda data: b""),
     "p: the board does not answer\n"
     "  try: program it with the bitstream of `sardonyx board build`, and name the port it is at"),
    (Board(down=lambda data: data[:-3]), "p: the answer of the board stopped after 5 of 8 bytes\n"
                                         f"  try: {devices.DAMAGED}"),
    (Board(down=lambda data: bytes([data[0], data[1] ^ 1]) + data[2:]), "p: the answer of the board arrived damaged\n"
                                                                       f"  try: {devices.DAMAGED}"),
    (Board(up=lambda data: bytes([data[0] ^ 1]) + data[1:]), "p: a request arrived damaged at the board\n"
                                                             f"  try: {devices.DAMAGED}"),
])
def test_what_goes_wrong_is_said(board: Board, text: str) -> None:
    with pytest.raises(UserError) as error:
        connect(FPGA, board, "p")
    assert str(error.value) == text


def test_a_line_that_breaks_is_said() -> None:
    class Broken(Board):
        def write(self, data: bytes) -> None:
            raise OSError("Input/output error")

    with pytest.raises(UserError) as error:
        connect(FPGA, Broken(), "p")
    assert str(error.value) == "p: the line broke: input/output error\n  try: plug the board in again"


def test_a_machine_that_stays_busy_with_a_read_is_said() -> None:
    board = Board()
    board.registers[AT["status"]] = 1 << CONFIG_BUSY
    with pytest.raises(UserError) as error:
        connect(FPGA, board).read_configuration(0x10002)
    assert str(error.value) == ("address 0x00010002: the machine does not answer a read of its configuration\n"
                                "  try: reset it, or program the board again")


def test_a_port_that_is_none_is_said() -> None:
    pytest.importorskip("serial")
    with pytest.raises(UserError) as error:
        open_port("/nowhere", 1_000_000)
    assert str(error.value).startswith("/nowhere: the port cannot be opened: ") and str(error.value).endswith(
        "\n  try: name the serial port of the board, as /dev/ttyUSB0 or COM3, and close other programs that use it")


def harm(data: st.DataObject, sent: bytes) -> bytes:
    """Bytes of which one is flipped in a bit, lost, doubled or one too many."""
    at, kind = data.draw(st.integers(0, len(sent) - 1)), data.draw(st.sampled_from(["flip", "lose", "double", "cut"]))
    if kind == "flip":
        return sent[:at] + bytes([sent[at] ^ 1 << data.draw(st.integers(0, 7))]) + sent[at + 1:]
    return sent[:at] + {"lose": sent[at + 1:], "double": sent[at:at + 1] + sent[at:], "cut": b""}[kind]


@settings(max_examples=300)
@given(data=st.data(), at=st.integers(0, 5), is_up=st.booleans())
def test_harmed_bytes_give_an_error_or_the_right_words(data: st.DataObject, at: int, is_up: bool) -> None:
    count = 0

    def touch(sent: bytes) -> bytes:
        nonlocal count
        count += 1
        return harm(data, sent) if count - 1 == at and sent else sent

    board = Board(up=touch) if is_up else Board(down=touch)
    words = np.array([3, 1, 4, 1, 5], np.uint16)
    try:
        device = SerialDevice(FPGA, board)
        device.write_memory(64, words)
        device.write_register("watchdog_limit", 77)
        device.configure([(5, 6)])
        found = (device.read_memory(64, 5).tolist(), device.read_register("watchdog_limit"), board.configuration)
    except UserError:
        return
    assert found == (words.tolist(), 77, {5: 6})
