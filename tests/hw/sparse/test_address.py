from collections.abc import Sequence

import numpy as np
from blocks import Block, blocks, joined, written
from fibers import seeds
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.primitive import PRIMITIVES
from sardonyx.sim.model.tokens.network import Network
from sardonyx.sim.rtl.bench import Result, primitive_bench, run_primitive

STREAMS = range(3)


@st.composite
def tiles(draw: st.DrawFn) -> "tuple[int, int, list[int], list[list[Block]]]":
    """Streams that are used, those of values, numbers of sub-tiles, and their blocks stream by stream."""
    used, values = draw(st.integers(1, 7)), draw(st.integers(0, 7))
    numbers = draw(st.lists(st.integers(0, 0xFFFF), max_size=5))
    each = [draw(st.lists(blocks(1 if values >> at & 1 else 2), min_size=len(numbers), max_size=len(numbers)))
            if used >> at & 1 else [] for at in STREAMS]
    return used, values, numbers, each


def given_words(numbers: Sequence[int], each: "Sequence[Sequence[Block]]") -> dict[str, list[int]]:
    return {"number": joined((1, number) for number in numbers),
            **{f"block{at}": joined(map(written, each[at])) for at in STREAMS}}


def run(config: dict[str, int], words: dict[str, list[int]], seed: int | None = None) -> Result:
    """The Verilog; it takes all words."""
    result = primitive_bench("address").run(words, PRIMITIVES["address"].config.encode(**config), seed)
    assert not result.left
    return result


def test_the_example() -> None:
    found = run_primitive("address", {"used": 3, "values": 2}, {"number": "1 5", "block0": "0 1 7", "block1": "1 9",
                                                                "block2": ""})[0]
    assert found == {"block0_o": "1 5 0 1 7", "block1_o": "1 5 1 9", "block2_o": ""}


@given(given=tiles(), seed=seeds)
def test_each_block_leaves_behind_the_number_of_its_sub_tile(given, seed: int | None) -> None:
    used, values, numbers, each = given
    words, config = given_words(numbers, each), {"used": used, "values": values}
    should = {f"block{at}_o": joined((1, number, *written(block)) for number, block in zip(numbers, each[at], strict=False))
              for at in STREAMS}
    assert run(config, words, seed).outputs == should
    ports = [("address", f"block{at}_o") for at in STREAMS]
    found = Network({"address": ("address", config)}, ()).run({("address", port): some for port, some in words.items()}, ports)
    assert {port: tokens for (_, port), tokens in found.outputs.items()} == should


def test_a_stream_that_waits_does_not_keep_another_from_its_number() -> None:
    """Blocks of stream 1 leave though none of stream 0 has come."""
    result = primitive_bench("address").run({"number": [1, 8], "block0": [], "block1": [1, 9], "block2": []},
                                            PRIMITIVES["address"].config.encode(used=3, values=2))
    assert result.outputs["block1_o"] == [1, 8, 1, 9] and result.outputs["block0_o"] == []


def test_a_word_a_cycle_leaves_and_one_passes_in_front_of_each_block() -> None:
    result = run({"used": 5, "values": 7}, given_words([3, 4], [[((5, 6),)] * 2, [], [((7,),)] * 2]))
    first = [0, 1, 2, 3, 4]
    tile = sorted([*result.stamps["block0_o"], *result.stamps["block2_o"]])
    assert (np.array(tile[:9]) - tile[0]).tolist() == [*first, 6, 7, 8, 9]
    assert tile[9] - tile[8] == 4
