"""The stages that are told are those that are declared, so that what the documents draw of them is what happens."""

from stencils import BLUR

from sardonyx.apps.dense import gaussian
from sardonyx.compiler import einsum, halide
from sardonyx.compiler.lang.kernel import load_kernel
from sardonyx.compiler.pipeline import FINISH, PLACE_AND_ROUTE, RETIME
from sardonyx.hw.arch import presets

SMALL = presets.get("small")


def test_a_statement_goes_through_its_stages_in_order() -> None:
    told: list[str] = []
    found = einsum.compile_einsum(load_kernel("spmspm").einsum(), SMALL, tell=told.append)
    assert tuple(told) == einsum.STAGES
    assert einsum.STAGES[-len(FINISH[found.program.mode]):] == FINISH[found.program.mode]


def test_a_halide_program_goes_through_its_stages_in_order() -> None:
    from halide_programs import load
    told: list[str] = []
    found = halide.compile_halide(load(gaussian.build()), SMALL, (30, 20), tell=told.append)
    assert tuple(told) == halide.STAGES
    assert halide.STAGES[-len(FINISH[found.program.mode]):] == FINISH[found.program.mode]


def test_a_graph_of_pes_begins_where_it_is_walked() -> None:
    told: list[str] = []
    halide.compile_pes(BLUR, SMALL, (6, 4), tell=told.append)
    assert tuple(told) == halide.STAGES[halide.STAGES.index(halide.WALK):]


def test_another_placement_is_told_too() -> None:
    """Operands of short rows do not fit the first placement of every seed."""
    from halide_programs import load

    from sardonyx.apps.dense import cascade
    for seed in range(4):
        told: list[str] = []
        halide.compile_halide(load(cascade.build()), SMALL, (11, 9), seed=seed, tell=told.append)
        attempts = told.count(RETIME)
        assert told[5 - 1:-2] == [PLACE_AND_ROUTE, RETIME] * attempts
