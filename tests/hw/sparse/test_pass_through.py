import dataclasses

import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In
from fibers import run, seeds
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.tile import PE, TileSpec
from sardonyx.hw.arch.token import CONTROL, DONE, TOKEN
from sardonyx.hw.emit import macro
from sardonyx.hw.sparse.pass_through import PassThrough
from sardonyx.sim.rtl.bench import Bench


@given(tokens=st.lists(st.integers(0, 2 * CONTROL - 1), max_size=50), seed=seeds)
def test_every_token_passes_in_order(tokens: list[int], seed: int | None) -> None:
    tokens = [*tokens, DONE]
    result = run("pass_through", {}, {"i": tokens}, seed)
    assert result.outputs["o"] == tokens
    if seed is None:
        # One cycle in the FIFO at the input, one in the pass-through.
        assert result.cycles == len(tokens) + 2


class Closed(wiring.Component):
    """A pass-through whose output nobody takes."""

    module_name = "closed"

    def __init__(self, spec: TileSpec) -> None:
        self.spec = spec
        super().__init__({"i": In(stream.Signature(TOKEN))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.pass_through = pass_through = macro(PassThrough(self.spec))
        wiring.connect(m, wiring.flipped(self.i), pass_through.i)
        return m


@pytest.mark.parametrize("depth", [2, 3, 16, 256])
def test_it_holds_as_many_tokens_as_the_tile_says(depth: int) -> None:
    result = Bench(Closed(dataclasses.replace(PE, pass_depth=depth))).run({"i": range(depth + 10)})
    assert len(result.stamps["i"]) == depth
