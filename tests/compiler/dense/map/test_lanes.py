"""As many lanes compile as the limit says, one more is refused, and the limit names what ends them."""

from dataclasses import replace

import pytest
from halide_programs import load
from stencils import BLUR, plane, stencil

from sardonyx.apps.dense import gaussian, harris, pointwise, unsharp
from sardonyx.compiler.dense.front.lower import lower
from sardonyx.compiler.dense.map.lanes import Limit, fitted, limit
from sardonyx.compiler.dense.select.select import select
from sardonyx.compiler.halide import compile_pes
from sardonyx.compiler.ir.pe_graph import PeGraph
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError

TINY, SMALL, ONYX = (presets.get(name) for name in ("tiny", "small", "onyx"))


def program(name: str, arch: Arch) -> PeGraph:
    builds = {"pointwise": pointwise.build, "gaussian": gaussian.build, "unsharp": unsharp.build}
    return select(lower(load(builds[name]())), arch.pe.ops) if name in builds else stencil({(0, y): 1 + y for y in range(7)})


@pytest.mark.parametrize(("name", "arch", "lanes", "why"), [
    ("pointwise", TINY, 4, "MEM tiles (5 lanes need 5 or more, 'tiny' has 4), GLB tiles (5 lanes need 5 load streams and "
     "5 store streams, 'tiny' has 4 with one of each)"),
    ("pointwise", SMALL, 8, "GLB tiles (9 lanes need 9 load streams and 9 store streams, 'small' has 8 with one of each)"),
    ("gaussian", TINY, 1, "PE tiles (2 lanes need 16 or more, 'tiny' has 12)"),
    ("gaussian", SMALL, 6, "PE tiles (7 lanes need 56 or more, 'small' has 48)"),
    ("seven rows", SMALL, 4, "MEM tiles (5 lanes need 20 or more, 'small' has 16)")])
def test_lanes_compile_up_to_the_limit(name: str, arch: Arch, lanes: int, why: str) -> None:
    graph = program(name, arch)
    columns = 40 * lanes * (lanes + 1)
    assert limit(graph, arch, (columns, 8)) == Limit(lanes, why)
    assert len(compile_pes(graph, arch, (columns, 8), lanes).walk.stores) == lanes
    with pytest.raises(UserError) as error:
        compile_pes(graph, arch, (columns, 8), lanes + 1)
    assert str(error.value) == f"{lanes + 1} lanes do not fit: {why}\n  try: unroll by {lanes} at most, or use a larger machine"


def test_streams_end_what_pes_would_not() -> None:
    assert limit(program("unsharp", ONYX), ONYX, (64, 64)) == Limit(
        5, "GLB tiles (6 lanes need 18 load streams and 18 store streams, 'onyx' has 16 with one of each)")


def test_short_rows_let_operands_wait_in_pes_instead() -> None:
    graph = program("gaussian", SMALL)
    assert limit(graph, SMALL, (84, 8)) == Limit(5, "PE tiles (6 lanes need 49 or more, 'small' has 48)")


def test_far_too_many_lanes_are_refused_with_the_same_limit() -> None:
    with pytest.raises(UserError) as error:
        compile_pes(BLUR, SMALL, (64, 4), 64)
    assert error.value.what.startswith("64 lanes do not fit: PE tiles (64 lanes need 576 or more, 'small' has 48)")
    assert error.value.fix == "unroll by 5 at most, or use a larger machine"


def test_what_does_not_fit_on_one_lane_has_no_limit_to_name() -> None:
    assert limit(BLUR, replace(TINY, mem_every=0), (8, 8)).lanes == 0
    with pytest.raises(UserError) as error:
        compile_pes(program("unsharp", TINY), TINY, (8, 8), 2)
    assert error.value.fix == "use a larger machine: not even one lane fits"


def test_results_at_every_second_point_have_as_many_lanes() -> None:
    half = replace(BLUR, outputs={"out": replace(plane("out"), scale=(2, 2))})
    assert limit(half, SMALL, (8, 8)) == Limit(5, "PE tiles (6 lanes need 54 or more, 'small' has 48)")


def test_wide_tiles_may_have_more_lanes() -> None:
    """Six lanes of ten columns keep twelve words a row where register files would have eight."""
    graph = program("gaussian", SMALL)
    assert limit(graph, SMALL, (60, 8)).lanes == 5 and limit(graph, SMALL, (120, 8)).lanes == 6
    assert fitted(graph, SMALL, (120, 8), 6).lanes == 6


def test_corners_have_seven_lanes() -> None:
    graph = select(lower(load(harris.build())), ONYX.pe.ops)
    assert fitted(graph, ONYX, (252, 30), 7).lanes == limit(graph, ONYX, (252, 30)).lanes == 7
