"""Tokens: encodings, written form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch import token
from sardonyx.hw.arch.errors import UserError


def test_encodings_are_those_of_the_public_hardware():
    assert (token.stop(0), token.stop(1), token.DONE, token.MAYBE) == (0x10000, 0x10001, 0x10100, 0x10200)


@given(st.lists(st.one_of(st.integers(0, 0xFFFF), st.sampled_from([token.DONE, token.MAYBE]),
                          st.integers(0, 255).map(token.stop))))
def test_written_form_reads_back(tokens):
    assert token.parse_stream(token.show_stream(tokens)) == tokens


def test_negative_values_are_twos_complement():
    assert token.parse(-1) == 0xFFFF


@pytest.mark.parametrize("text", ["S256", "x", "65536", "-32769", "S"])
def test_what_is_no_token_is_refused(text):
    with pytest.raises(UserError) as error:
        token.parse(text)
    assert str(error.value) == f"'{text}' is not a token\n  try: write an integer -32768..65535, S0..S255, D or N"
