from graphs import every_way
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.token import DONE, MAYBE, stop


@given(st.lists(st.integers(0, 0xFFFF) | st.sampled_from([DONE, MAYBE, stop(0), stop(3)]), min_size=1))
def test_gives_what_it_takes(tokens: list[int]) -> None:
    assert every_way("pass_through", {}, {"i": tokens}, {"o": tokens}) == len(tokens) + 1
