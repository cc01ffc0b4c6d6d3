"""Engines: runs add up, differences are named, progress counts, and a program's mode decides what it means."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from collect import ran
from stencils import BLUR

from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.halide import compile_pes
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.hw.arch import presets
from sardonyx.runtime.data.frames import Frames
from sardonyx.sim import engines
from sardonyx.sim.engines import Run, differences
from sardonyx.sim.expected import expected
from sardonyx.sim.model.tokens import fabric
from sardonyx.tensor_job import TensorJob
from sardonyx.tensors import values as tensors

SMALL = presets.get("small")


def product(edge: int) -> TensorJob:
    einsum = parse("X(i,j) = B(i,k) * C(k,j)")
    data = {name: tensors.random_tensor((9, 9), 0.4, seed) for seed, name in enumerate("BC")}
    from sardonyx.runtime.data.sub_tiles import Work
    return TensorJob(compile_einsum(einsum, SMALL), data, Work(tile(einsum, data, SMALL.mem.level_words, edge)))


def test_runs_add_up() -> None:
    assert Run() + Run() == Run()
    both = Run(7, 1, 10, "a library", 0.5, 0.25, 100) + Run(5, 2, 3, "", 0.25, 0.5, 11)
    assert both == Run(12, 3, 13, "a library", 0.75, 0.75, 111)
    assert (Run() + Run(5)).cycles == 5


def test_differences_are_counted_and_named() -> None:
    right = [{"X0": np.array([1, 2], np.uint16)}, {"X0": np.array([3], np.uint16)}]
    assert differences(right, right) == (3, [])
    wrong = [right[0], {"X0": np.array([4], np.uint16)}]
    assert differences(wrong, right, 5) == (3, ["block X0 of sub-tile 6 is [4], should be [3]"])


def test_elastic_and_static_programs_run_on_the_same_engines() -> None:
    job = product(4)
    for engine in (engines.TOKENS, engines.FABRIC):
        stored, _ = ran(engine, job.compiled, job)
        assert differences(stored, expected(job.work))[1] == []
    compiled = compile_pes(BLUR, SMALL, (6, 4))
    frames = Frames(compiled.walk, {"photo": np.arange(99, dtype=np.uint8).reshape(9, 11)}, (9, 7), (6, 4))
    first, second = (frames.picture(ran(engine, compiled, frames)[0]) for engine in (engines.TOKENS, engines.FABRIC))
    assert np.array_equal(first, second)


def test_progress_says_what_is_done_with_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    job, told = product(4), list[str]()
    monkeypatch.setattr(engines, "PATIENCE_S", 1e9)
    engines.run(engines.FABRIC, job.compiled, job, job.take, told.append)
    count = len(job)
    assert count > 2
    assert told == [f"running {count} sub-tiles on the decoded bitstream",
                    *(f"running {count} sub-tiles on the decoded bitstream, {done} done" for done in range(1, count + 1))]


def test_of_two_programs_that_are_prepared_at_once_one_is_said_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    program, said, waits, begun = product(4).compiled.program, list[str](), threading.Event(), threading.Event()

    def whole_machine(*_: object) -> str:
        begun.set()
        assert waits.wait(10)
        return "built"

    def other(stage: str) -> None:
        said.append(stage)
        waits.set()

    monkeypatch.setattr(engines.simulator, "whole_machine", whole_machine)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(engines.simulator_of, program, SMALL, True, 0, progress=lambda _: None)
        assert begun.wait(10)
        second = pool.submit(engines.simulator_of, program, SMALL, True, 0, progress=other)
        assert [first.result(), second.result()] == ["built", "built"]
    assert said == ["waiting for the Verilog of another program", "preparing the Verilog of 'small'"]


def test_progress_of_long_work_says_how_long_the_rest_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    job, told = product(4), list[str]()
    monkeypatch.setattr(engines, "PATIENCE_S", -1.0)
    engines.run(engines.TOKENS, job.compiled, job, job.take, told.append)
    assert all(re.search(r", \d+ done, about \d+ s left$", each) for each in told[1:-1]) and told[-1].endswith(" done")


def test_long_work_on_tokens_is_run_in_chunks_with_the_same_words(monkeypatch) -> None:
    job = product(2)
    transactions = list(job.transactions(1))
    assert len(transactions) > 20
    whole = list(fabric.run_graph(job.compiled.graph, transactions))
    monkeypatch.setattr(fabric, "CHUNK", 7)
    chunks = fabric.run_graph(job.compiled.graph, iter(transactions))
    assert differences(chunks, whole)[1] == []


def test_a_wrong_word_is_a_fault_of_the_job() -> None:
    job = product(9)
    blocks = next(expected(job.work))
    blocks["X_vals"] = blocks["X_vals"].copy()
    blocks["X_vals"][1] ^= 1
    job.take(blocks)
    try:
        job.check()
    except AssertionError as fault:
        assert str(fault).startswith("1 blocks differ from NumPy: block X_vals of sub-tile 0 is [")
    else:
        raise AssertionError("a wrong word is noticed")
