"""Packed configuration words mean what they are made of, and are few bytes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from packed_words import Write, unpacked

from sardonyx.runtime.data.packed import packed

SPARSE = st.integers(0, 0xFFFF_FFFF) | st.integers(0, 255).flatmap(lambda byte: st.sampled_from([byte, byte << 8, byte << 24]))
# Places as programs have them, one behind the other, and any others.
NEAR = st.tuples(st.integers(0, 2), st.integers(0, 20) | st.just(255), st.integers(0, 40), SPARSE)
FAR = st.tuples(st.integers(0, 255), st.integers(0, 255), st.integers(0, 0xFFFF), SPARSE)


def words(writes: "list[Write]") -> np.ndarray:
    return np.array([column << 56 | row << 48 | register << 32 | data for column, row, register, data in writes], "<u8")


@given(writes=st.lists(NEAR | FAR, max_size=30))
def test_unpacked_they_are_the_same_writes_in_the_same_order(writes: "list[Write]") -> None:
    found = packed(words(writes))
    assert unpacked(found.tobytes()) == writes
    # A place and a write of four bytes at most.
    assert len(found) <= -(-10 * len(writes) // 8)


def test_a_column_of_words_of_a_byte_takes_two_bytes_each() -> None:
    writes = [(0, row, 3, 5 << 8) for row in range(1, 17)]
    assert packed(words(writes)).tobytes()[:5] == bytes([3, 0x32, 5, 0x12, 5])
    assert len(packed(words(writes))) == 5


def test_no_words_are_no_lines() -> None:
    assert packed(words([])).tolist() == []
