"""Arrays in step take in engine `tokens` the cycles of their Verilog, whatever is computed, where and when."""

import dataclasses

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from recurrence_draws import programs, transforms
from statement_arrays import designs

from sardonyx import designs as named
from sardonyx import spatial as sp
from sardonyx.hw.arch.errors import UserError


@st.composite
def in_step(draw: st.DrawFn) -> sp.Design:
    """An array of random recurrences, or of a random statement whose skips no values decide."""
    if draw(st.booleans()):
        _, design = draw(designs())
    else:
        program = draw(programs())
        design = sp.Design(program.functionality, draw(transforms(program)), program.bounds, clock_gate=draw(st.booleans()))
    try:
        assume(design.elastic is None and design.random(1))
    except UserError:
        assume(False)
    return design


@pytest.mark.parametrize("examples", [2, pytest.param(40, marks=pytest.mark.slow)])
def test_random_arrays_in_step_take_the_cycles_of_their_verilog(examples: int) -> None:
    @settings(max_examples=examples, suppress_health_check=[*HealthCheck])
    @given(design=in_step(), operations=st.integers(1, 4), seed=st.integers(0, 1 << 30))
    def holds(design: sp.Design, operations: int, seed: int) -> None:
        given = design.random(operations, seed)
        try:
            found = design.run("tokens", **given).cycles
        except UserError as refused:
            assert refused.fix
            assume(False)
        assert found is not None and found == design.run("rtl", **given).cycles
    holds()


@settings(max_examples=20)
@given(lengths=st.lists(st.integers(1, 5), min_size=1, max_size=9))
def test_operations_that_end_early_take_the_cycles_of_their_verilog(lengths: "list[int]") -> None:
    # Its weights go down chains of three, which takes longer than an operation of one or two steps.
    array = dataclasses.replace(named.design("matmul_weight_stationary"), bounds={"i": 5, "j": 2, "k": 3}, short=True)
    given = array.random(len(lengths))
    tokens, rtl = (array.run(engine, lengths=lengths, **given).cycles for engine in ("tokens", "rtl"))
    assert tokens is not None and tokens == rtl
