"""The bridge between bytes and buses: every request, stalls everywhere, and bytes that arrive wrong."""

import random
import struct

import pytest
from bridged import LINES, PATIENCE, REGISTERS, Slaves, converse
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.boards.protocol import HEADER, Code, Status, checked, request

PAIR, VALUE = struct.Struct("<II"), struct.Struct("<I")


def answer(code: Code, payload: bytes = b"", status: int = 0) -> bytes:
    return checked(bytes([code]) + payload + bytes([status]))


def write(*pairs: tuple[int, int]) -> bytes:
    return request(Code.WRITE, len(pairs), 0, b"".join(PAIR.pack(*pair) for pair in pairs))


REFUSED = answer(Code.REFUSED, status=Status.HEADER)


@pytest.mark.parametrize("seed", range(3))
def test_registers_are_written_in_order_and_read(seed: int) -> None:
    slaves = Slaves()
    pairs = [(4 * n % REGISTERS, 0x01020304 * (n + 1) & 0xFFFFFFFF) for n in range(9)]
    found = converse([write(*pairs), request(Code.READ, 3, 8)], slaves, seed)
    assert slaves.written == [("register", *pair) for pair in pairs]
    assert found == answer(Code.WRITE) + answer(Code.READ, b"".join(VALUE.pack(pairs[n][1]) for n in (2, 3, 4)))


@pytest.mark.parametrize("seed", range(3))
def test_memory_is_stored_and_loaded(seed: int) -> None:
    slaves, data = Slaves(), random.Random(seed).randbytes(40)
    found = converse([request(Code.STORE, 5, 16, data), request(Code.LOAD, 2, 32)], slaves, seed)
    assert slaves.lines == {16 + 8 * n: int.from_bytes(data[8 * n:8 * n + 8], "little") for n in range(5)}
    assert found == answer(Code.STORE) + answer(Code.LOAD, data[16:32])


def test_nothing_to_write_or_read_is_answered() -> None:
    found = converse([request(code, 0, 0) for code in (Code.WRITE, Code.READ, Code.STORE, Code.LOAD)], Slaves())
    assert found == b"".join(map(answer, (Code.WRITE, Code.READ, Code.STORE, Code.LOAD)))


@pytest.mark.parametrize("after,limit,came", [(150, 5000, 1), (None, 30, 0), (0, 0, 1)])
def test_a_wait_ends_with_the_interrupt_or_the_limit(after: int | None, limit: int, came: int) -> None:
    assert converse([request(Code.WAIT, 0, limit)], Slaves(), irq_after=after) == answer(Code.WAIT, bytes([came]))


def test_an_access_beyond_the_end_shows_in_the_status_and_the_rest_is_done() -> None:
    slaves = Slaves()
    found = converse([write((REGISTERS, 1), (1 << 16, 2), (0, 3)), request(Code.READ, 2, 0xFFFFFFFC),
                      request(Code.STORE, 1, LINES, bytes(8)), request(Code.LOAD, 1, 1 << 20)], slaves)
    assert slaves.written == [("register", 0, 3)]
    # After the highest address comes the lowest.
    assert found == (answer(Code.WRITE, status=Status.BUS) + answer(Code.READ, bytes(4) + VALUE.pack(3), Status.BUS)
                     + answer(Code.STORE, status=Status.BUS) + answer(Code.LOAD, bytes(8), Status.BUS))


def test_a_wrong_header_is_refused_after_a_quiet_line_and_what_follows_it_is_passed_over() -> None:
    slaves, wrong = Slaves(), bytearray(write((0, 1)))
    wrong[1] ^= 0x80
    assert converse([bytes(wrong), write((4, 2)), 2 * PATIENCE, write((8, 3))], slaves) == REFUSED + answer(Code.WRITE)
    assert slaves.written == [("register", 8, 3)]


def test_an_unknown_code_is_refused() -> None:
    assert converse([checked(HEADER.pack(0x21, 0, 0))], Slaves()) == REFUSED
    assert converse([request(Code.REFUSED, 0, 0)], Slaves()) == REFUSED


def test_a_wrong_payload_shows_in_the_status() -> None:
    wrong = bytearray(write((0, 1)))
    wrong[-1] ^= 1
    assert converse([bytes(wrong), request(Code.READ, 1, 0)], Slaves()) == \
        answer(Code.WRITE, status=Status.PAYLOAD) + answer(Code.READ, VALUE.pack(1))


@pytest.mark.parametrize("kept", [1, 8, 9, 12, 17, 18])
def test_a_request_that_ends_early_is_dropped_and_the_next_one_done(kept: int) -> None:
    slaves = Slaves()
    assert converse([write((0, 1))[:kept], 2 * PATIENCE, write((4, 2))], slaves) == answer(Code.WRITE)
    assert slaves.written[-1] == ("register", 4, 2)


def harmed(data: st.DataObject) -> bytes:
    """A request of which a byte is wrong, lost or doubled, or just noise."""
    sent = bytearray(data.draw(st.sampled_from([
        write((4, 5), (8, 6)), request(Code.READ, 2, 4), request(Code.STORE, 2, 8, bytes(range(16))), request(Code.LOAD, 1, 8),
        request(Code.WAIT, 0, 20)])))
    at = data.draw(st.integers(0, len(sent) - 1))
    match data.draw(st.sampled_from(["flip", "lose", "double", "noise"])):
        case "flip":
            sent[at] ^= 1 << data.draw(st.integers(0, 7))
        case "lose":
            del sent[at]
        case "double":
            sent.insert(at, sent[at])
        case _:
            sent = bytearray(data.draw(st.binary(max_size=30)))
    return bytes(sent)


@settings(max_examples=4)
@given(st.data())
def test_whatever_was_sent_the_next_request_after_a_pause_is_done(data: st.DataObject) -> None:
    """Several in one simulation, which takes longer to make than to run."""
    good = request(Code.READ, 1, 12), answer(Code.READ, VALUE.pack(0x12345678))
    sent = [part for _ in range(8) for part in (harmed(data), 3 * PATIENCE, good[0], 3 * PATIENCE)]
    found = converse(sent, Slaves({12: 0x12345678}), data.draw(st.integers(0, 9)))
    assert found.count(good[1]) == 8 and found.endswith(good[1])
