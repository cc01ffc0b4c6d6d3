"""Levels of any kinds behind each other give the fibers of a tensor, and an empty one for each that is not stored."""

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.hw.arch.chain import ChainedBank
from sardonyx.hw.arch.check import Misfits
from sardonyx.hw.arch.private_buffer import Level, Loop, PrivateBuffer
from sardonyx.hw.arch.token import DONE, MAYBE, stop
from sardonyx.hw.spatial.buffer.chain_bank import ChainBank
from sardonyx.hw.spatial.buffer.counted_level import CountedLevel
from sardonyx.hw.spatial.buffer.expander import Expander
from sardonyx.runtime.data.private_buffers import filled
from sardonyx.sim.model import private_buffer as model
from sardonyx.sim.rtl.bench import Bench

S0 = stop(0)
stalls = st.none() | st.integers(1, 1 << 30)
LETTERS = dict(zip("dcbl", ("dense", "compressed", "bitvector", "linked list")))
PAIRS = [above + last for above in "cbl" for last in "dcbl"]
# Shapes of one element, of primes, and of more than a word of bits.
SHAPES = {"": (5, 7), "d": (3, 2, 5), "one": (1, 1), "wide": (19, 35)}
LONGER = ["dcc", "ccd", "cdd", "ldc", "bcl", "cccc", "dcdd", "blcb"]


def bank(letters: str, shape: Sequence[int], sinks: int = 1, operations: int = 1, words: int = 64,
         **options: bool) -> ChainedBank:
    """Fibers go to as many sinks in turn, each of which takes those of one part of the tensor."""
    levels = tuple(Level(LETTERS[letter], extent) for letter, extent in zip(letters, shape, strict=True))
    fibers = prod(shape[:-1])
    loops = [Loop(fibers // sinks, 1, 0)] + ([Loop(sinks, fibers // sinks, 1)] if sinks > 1 else [])
    return ChainedBank(8, levels, words, 0, 0, tuple(loops), sinks, "fiber", True, 40, operations, 2, **options)


@cache
def bench(made: ChainedBank) -> Bench:
    return Bench(ChainBank(made, "chain"))


def tensors(shape: Sequence[int], count: int, seed: int) -> np.ndarray:
    """From all empty to dense, with empty fibers of every level, but with room in 64 words."""
    random = np.random.default_rng(seed)
    found = random.integers(-128, 128, (count, *shape))
    for axis in range(len(shape) + 1):
        found *= random.random((count, *shape[:axis], *[1] * (len(shape) - axis))) < random.random() * 1.6
    for each in found:
        places = np.flatnonzero(each)
        each.reshape(-1)[places[16:]] = 0
    return found


def check(made: ChainedBank, given_tensors: np.ndarray, stalls: "int | None") -> None:
    """Against NumPy: every fiber, in order, to its sink."""
    buffer = PrivateBuffer("B", tuple(range(len(made.levels))), 0, (made,), (tuple(f"s{n}" for n in range(made.sinks)),))
    fills = filled(buffer, np.repeat(given_tensors, made.operations, axis=0))
    found = bench(made).run({name: fills[f"B_{name}"] for name in made.streams}, stalls=stalls)
    assert not found.status["fault"] and not found.left
    wanted: list[list[int]] = [[] for _ in range(made.sinks)]
    for tensor in np.repeat(given_tensors, made.operations, axis=0):
        fibers = tensor.reshape(-1, tensor.shape[-1])
        each = len(fibers) // made.sinks
        for number, fiber in enumerate(fibers):
            whole = made.complete or (fiber.any() and made.kind == "dense" and not made.sifted)
            wanted[number // each] += [int(crd) << 8 | int(fiber[crd]) % 256 for crd in
                                       (range(len(fiber)) if whole else np.flatnonzero(fiber))] + [S0 << 8]
    assert [found.outputs[f"o{n}"] for n in range(made.sinks)] == wanted
    told = model.given(buffer, fills, made.operations * len(given_tensors))
    assert [[crd << 8 | value % 256 for crd, value in told[f"s{n}"]] for n in range(made.sinks)] == wanted


def many(cases: "Sequence[tuple[str, str]]", quick: "Sequence[tuple[str, str]]") -> list[Any]:
    """Cases, of which a few are quick: each is a model that is built."""
    return [case if case in quick else pytest.param(*case, marks=pytest.mark.slow) for case in cases]


@pytest.mark.parametrize("letters,shape", many([(letters, shape) for letters in PAIRS for shape in SHAPES],
                                               [("cc", ""), ("lb", "wide")]))
@settings(max_examples=12)
@given(count=st.integers(1, 5), seed=st.integers(0, 1 << 30), stalls=stalls)
def test_a_level_behind_any_other_gives_every_fiber(letters: str, shape: str, count: int, seed: int,
                                                    stalls: "int | None") -> None:
    extents = SHAPES[shape]
    made = bank("d" * (len(extents) - 2) + letters, extents, operations=2, words=1024)
    check(made, tensors(extents, count, seed), stalls)


@pytest.mark.parametrize("letters,way", many([(letters, way) for letters in LONGER for way in (
    ("sifted", "complete") if letters[-1] == "d" else ("",))], [("cdd", "complete")]))
@settings(max_examples=12)
@given(count=st.integers(1, 4), seed=st.integers(0, 1 << 30), stalls=stalls)
def test_longer_chains_give_every_fiber(letters: str, way: str, count: int, seed: int, stalls: "int | None") -> None:
    shape = (2, 3, 2, 5)[:len(letters)]
    check(bank(letters, shape, 2, words=128, **{way: True} if way else {}), tensors(shape, count, seed), stalls)


def test_the_next_tensor_is_filled_in_while_one_is_read() -> None:
    """Of full DCSR a cycle for each pair and end of a fiber, and a few for a tensor."""
    made, full = bank("cc", (5, 7)), np.ones((8, 5, 7), int)
    buffer = PrivateBuffer("B", (0, 1), 0, (made,), (("s0",),))
    fills = filled(buffer, full)
    found = bench(made).run({name: fills[f"B_{name}"] for name in made.streams})
    filling = 1 + 6 + 1 + 35
    assert found.cycles <= 8 * max(5 * (7 + 1) + 3, filling) + 60


@pytest.mark.parametrize("fills,said", [
    ({"level0": [2, 0, 2, 2, 3, 1], "level": [3, 0, 1, 2, 2, 0, 0], "values": [2, 7, 8]}, "coordinates that fall"),
    ({"level0": [2, 0, 2, 2, 1, 1], "level": [3, 0, 1, 2, 2, 0, 0], "values": [2, 7, 8]}, "one that is there twice"),
    ({"level0": [2, 0, 1, 1, 5], "level": [2, 0, 1, 1, 0], "values": [1, 7]}, "one beyond the extent"),
    ({"level0": [2, 0, 2, 2, 1, 3], "level": [2, 0, 1, 1, 0], "values": [1, 7]}, "more coordinates than fibers"),
])
def test_what_is_no_chain_is_a_fault(fills: "dict[str, list[int]]", said: str) -> None:
    assert bench(bank("cc", (5, 7))).run(fills).status["fault"], said


def test_an_expander_gives_a_fiber_for_each_coordinate() -> None:
    above = [1, 3, S0, S0, DONE]
    found = Bench(Expander(4, False)).run({"above": above, "crd_i": [5, 6, stop(1), 7, S0, DONE]})
    assert found.outputs["crd"] == [S0, 5, 6, S0, S0, 7, S0, S0, S0, S0, S0, DONE] and not found.status["fault"]
    found = Bench(Expander(2, True, 2)).run({"above": [1, S0, DONE], "crd_i": [0, 1, S0, DONE], "ref_i": [4, 5, S0, DONE]})
    assert found.outputs["crd"] == [0, 1, S0, 0, 1, S0, DONE]
    assert found.outputs["ref_o"] == [MAYBE, MAYBE, S0, 4, 5, S0, DONE]


def test_a_dense_level_counts_its_coordinates() -> None:
    found = Bench(CountedLevel(3)).run({"ref": [2, 0, DONE]})
    assert found.outputs["crd"] == [0, 1, 2, S0, 0, 1, 2, S0, DONE]
    assert found.outputs["ref_o"] == [6, 7, 8, S0, 0, 1, 2, S0, DONE]
    assert Bench(CountedLevel(3)).run({"ref": [21845, DONE]}).status["fault"]


@pytest.mark.parametrize("options,said", [
    ({"loops": (Loop(2, 1, 0),)}, "do not go over the 5 fibers of a tensor"),
    ({"first": 1}, "do not go over the 5 fibers of a tensor"),
    ({"sifted": True}, "of fibers that are compressed"),
    ({"whole": True}, "but no port asks for a fiber"),
    ({"levels": (Level("dense", 5), Level("compressed", 7))}, "has a level that is not dense above another one, or none"),
    ({"words": 1 << 14, "levels": (Level("bitvector", 1 << 14), Level("bitvector", 65)), "loops": (Loop(1 << 14, 1, 0),)},
     "level 1 has 81,920 words of bits"),
])
def test_a_chain_of_no_such_order_is_refused(options: "dict[str, object]", said: str) -> None:
    given_options = {name: getattr(bank("cc", (5, 7)), name) for name in
                     ("bits", "levels", "words", "first", "first_sink", "loops", "sinks", "form", "paired")}
    with pytest.raises(Misfits, match=said):
        ChainedBank(**given_options | options)      # type: ignore[arg-type]
