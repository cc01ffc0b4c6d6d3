"""Launches that begin with a portion of their words, in Verilog: the others come while they compute, and no word is another."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pytest
from machines import KERNELS, LEAST, copier

import sardonyx
from sardonyx.compiler.einsum import compile_fused
from sardonyx.compiler.lang.program import parse_program
from sardonyx.compiler.sparse.fuse import fuse
from sardonyx.compiler.sparse.fused_tiling import sharing, tile_fused
from sardonyx.compiler.sparse.lanes import lanes_of
from sardonyx.compiler.sparse.looked_up import looked_up
from sardonyx.runtime import host
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.runtime.session import Session
from sardonyx.sim.golden import einsum as golden
from sardonyx.sim.rtl import simulator
from sardonyx.tensors.values import random_tensor

PART = replace(LEAST, name="chained part", glb=replace(LEAST.glb, bank_bytes=16384))
QUEUES = replace(KERNELS, name="kernels with queues", glb=replace(KERNELS.glb, listed=False, queue=True))


def copied(given: "list[np.ndarray]", posts: bool, early: Collection[str] | None) -> tuple[int, int]:
    """Copy blocks, compared; cycles from start to done, and all."""
    with simulator.whole_machine(PART).start(posts=posts, check=True) as machine:
        found = list(host.run(machine, copier(PART), [{"a_vals": each} for each in given], {"b_vals": max(map(len, given))},
                              early=early))
        gave = [stored["b_vals"].tolist() for outcome in found for stored in outcome.stored]
        assert gave == [each.tolist() for each in given]
        assert machine.read_register("hold") == machine.read_register("queued") == 0
        return sum(outcome.cycles for outcome in found), machine.cycles


def block(size: int, seed: int) -> np.ndarray:
    return np.array([size, *np.random.default_rng(seed).integers(0, 1 << 16, size)], np.uint16)


@pytest.mark.parametrize("posts", [False, True])
@pytest.mark.parametrize("given", [[block(1999, 1)], [block(0, 1), block(1, 2), block(777, 3)],
                                   [block(900, seed) for seed in range(9)]], ids=["one", "several", "two launches"])
def test_blocks_in_two_descriptors_are_what_they_are_in_one(given, posts):
    (whole, all_whole), (run, all_) = (copied(given, posts, early) for early in (None, ()))
    assert all_ < all_whole and run >= whole, "what comes is beside what computes"


def test_a_host_that_waits_for_each_register_has_no_portion_lost() -> None:
    """The first portion has long been taken when the second one comes: the run is held open."""
    given = [block(1999, 1)]
    slow, _ = copied(given, False, ())
    fast, _ = copied(given, True, ())
    assert slow > fast


@pytest.mark.parametrize("size,density", [(61, 0.3), (61, 0.0), (24, 1.0)])
def test_fused_products_begin_before_the_matrix_is_there_and_are_those_of_numpy(size, density):
    program = parse_program("y(i) = A(i,j) * x(j); z(i) = A(i,j) * y(j)", "", {"A": "ds", "x": "d", "y": "d"})
    program = replace(program, statements=tuple(replace(each, locate="all") for each in program.statements))
    found = fuse(program.statements, program.formats)
    data = {"A": random_tensor((size, size), density, 1), "x": random_tensor((size,), 1.0, 2)}
    work = Work(tile_fused(found, data, QUEUES.mem.level_words), lanes_of(found))
    compiled = compile_fused(sharing(found, work.tiling), QUEUES)
    cycles = []
    for early in (None, looked_up(found)):
        with simulator.whole_machine(QUEUES).start(posts=True) as machine:
            stored = [each for outcome in host.run(machine, compiled.program, work.transactions(), work.bounds(), early=early)
                      for each in outcome.stored]
            cycles.append(machine.cycles)
        assert work.result(stored) == golden.evaluate_all(program.statements, data)["z"]
    assert cycles[1] < cycles[0] if density else cycles[1] == cycles[0]


def test_statements_begin_so_where_nobody_says_otherwise() -> None:
    random = np.random.default_rng(7)
    data = {"A": random.integers(-3, 4, (61, 61)) * (random.random((61, 61)) < 0.3), "x": random.integers(-3, 4, 61)}
    # x is dense and looked up: it is in the first portion.
    how = {"formats": {"A": "ds", "x": "d"}, "locate": "all", "order": "ij", "tile": 61, "engine": "rtl-full", "arch": QUEUES}
    early, late = (sardonyx.einsum("y(i) = A(i,j) * x(j)", **data, **how, without=without) for without in ((), "early"))
    assert np.array_equal(early.value, late.value) and np.array_equal(early.value, data["A"] @ data["x"])
    assert early.report["all_cycles"] < late.report["all_cycles"] and early.cycles >= late.cycles
    plain = sardonyx.einsum("y(i) = A(i,j) * x(j)", **data, **{**how, "arch": KERNELS})
    assert "all_cycles" not in plain.report, "it has no queues"


@pytest.mark.slow
def test_streams_that_are_taken_sooner_than_others_do_not_stand_until_the_watchdog() -> None:
    """Half of b is taken in 2,500 cycles, and half of c and d would come in 29,000."""
    machine = replace(QUEUES, name="kernels with long queues", glb=replace(QUEUES.glb, bank_bytes=1 << 17))
    random, at = np.random.default_rng(1), np.arange(58_000)
    b, c, d = (np.where((random.random(at.size) < 0.97) & ((at < 5000) == first), value, 0)
               for value, first in ((3, True), (4, False), (5, False)))
    found = sardonyx.einsum("x(i) = b(i) + c(i) + d(i)", b=b, c=c, d=d, tile=500, arch=machine, engine="rtl")
    dense = found.value.toarray() if hasattr(found.value, "toarray") else found.value
    assert np.array_equal(np.asarray(dense).reshape(-1), b + c + d)


def test_a_session_begins_a_launch_so_where_its_user_says_it() -> None:
    regions, given = replace(LEAST, name="three", columns=6, regions=3), block(200, 4)
    found = []
    for early in (None, ()):
        with simulator.whole_machine(regions).start(posts=True) as machine, Session(machine, [2, 2]) as session:
            session.load(1, copier(replace(LEAST, name="part")))
            began = machine.cycles
            session.run(1, [{"a_vals": given}], {"b_vals": 200}, early)
            outcome, = session.wait(1)
            found.append(machine.cycles - began)
            assert outcome.stored[0]["b_vals"].tolist() == given.tolist()
    assert found[1] < found[0]
