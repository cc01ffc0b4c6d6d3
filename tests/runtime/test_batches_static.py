"""How many tiles of a picture are in one launch, where they are many and small, and how much is tried for that."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from dma_model import program_of
from stencils import BLUR, stencil

from sardonyx.compiler.dense.map.grid import walk
from sardonyx.compiler.ir.pe_graph import PeGraph
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.runtime import batches
from sardonyx.runtime.data.frames import Frames
from sardonyx.runtime.plan import Launch, launches, loops_of_transactions

SMALL = presets.get("small")


def planned(shape: "tuple[int, int]", tile: "tuple[int, int]", arch: Arch = SMALL, graph: PeGraph = BLUR,
            chained: bool = False) -> "list[Launch]":
    walked = walk(graph, tile)
    frames = Frames(walked, {"photo": np.zeros((shape[1] + 2, shape[0] + 2), np.uint16)}, shape, tile)
    return list(launches(program_of(walked, arch), arch, frames.transactions(loops_of_transactions(arch.glb)), chained=chained))


def counted(monkeypatch: pytest.MonkeyPatch, name: str, weight: "Callable[..., int]") -> "list[int]":
    """What calls of a function of `batches` weigh."""
    found, function = list[int](), getattr(batches, name)

    def calls(*args: object) -> object:
        found.append(weight(*args))
        return function(*args)

    monkeypatch.setattr(batches, name, calls)
    return found


def test_few_launches_are_tried_where_many_tiles_have_room_and_few_of_them_in_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A half of a bank holds 256 words, a word a tile, and 64 lines."""
    tight = replace(SMALL, glb=replace(SMALL.glb, bank_bytes=1024))
    tries = counted(monkeypatch, "landed", lambda parts, most, room: 1)
    found = planned((1, 640), (1, 1), tight, stencil({(0, 0): 1}))
    assert [each.transactions for each in found] == [64] * 10 and not any(each.arranged or each.tiled for each in found)
    assert sum(tries) <= 10 * (len(found) + 1)


def test_rows_that_are_short_and_many_are_not_all_looked_at_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = counted(monkeypatch, "beside", len)
    found = planned((48, 96), (2, 2))
    assert [each.transactions for each in found] == [48] * 24
    # All of them, for whole banks, and then no more than twice a launch.
    assert sum(looked) <= 48 * 24 + 2 * 48 * 24


def test_tiles_that_the_store_cannot_walk_together_are_not_alone_in_launches_for_that() -> None:
    """A launch of a run takes a loop of the store DMA, also one of a single tile, which could go as it lies else."""
    arch = replace(SMALL, glb=replace(SMALL.glb, queue=True, store_loops=2))
    found = planned((30, 21), (10, 7), arch, chained=True)
    assert [each.transactions for each in found] == [1, 2, 3, 2, 1] and all(each.joins for each in found[1:])
