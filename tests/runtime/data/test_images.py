"""Configuration words as the DMAs of GLB tiles read them."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.glb import Glb
from sardonyx.runtime.data.images import images

ARCH = Arch("imaged", 6, 3, glb=Glb(columns_per_tile=2, bank_bytes=1024))
WRITES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 0xFF_FFFF), st.integers(0, 0xFFFF_FFFF)), max_size=40)


@given(writes=WRITES)
def test_every_tile_has_the_writes_of_its_columns_in_order(writes: "list[tuple[int, int, int]]") -> None:
    rounds = [*images([(x << 24 | rest, word) for x, rest, word in writes], ARCH)]
    assert len(rounds) == bool(writes)
    found = {tile: lines.tolist() for each in rounds for tile, lines in each.items()}
    expected = {tile: [x % 2 << 56 | rest << 32 | word for x, rest, word in writes if x // 2 == tile] for tile in range(3)}
    assert found == {tile: lines for tile, lines in expected.items() if lines}


@given(writes=WRITES)
def test_a_round_fits_the_memory_and_rounds_go_on_where_the_one_before_ended(writes: "list[tuple[int, int, int]]") -> None:
    small = replace(ARCH, glb=replace(ARCH.glb, bank_bytes=16, banks=2))
    every = [(x << 24 | rest, word) for x, rest, word in writes]
    whole = next(images(every, ARCH), {})
    rounds = [*images(every, small)]
    assert all(0 < len(lines) <= 4 for each in rounds for lines in each.values())
    for tile, lines in whole.items():
        assert [line for each in rounds for line in each.get(tile, [])] == lines.tolist()
