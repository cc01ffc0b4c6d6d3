"""Schedules of Halide programs as tiles and lanes: what each directive gives, and what is refused; nothing is left unsaid."""

from collections.abc import Callable

import halide as hl
import pytest
from halide_programs import C, X, Y, image, load, name_of

from sardonyx.compiler.dense.front.directives import Plan, plan, said
from sardonyx.compiler.halide import compile_halide
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError

XO, YO, XI, YI, T, U, V, W = (hl.Var(name) for name in ("xo", "yo", "xi", "yi", "t", "u", "v", "w"))
Schedule = Callable[[hl.Func], object]


def sums(schedule: Schedule) -> hl.Func:
    photo, func = image("photo", "uint8"), hl.Func("sums")
    func[X, Y] = photo[X, Y] + photo[X + 1, Y]
    schedule(func)
    return func


def planned(schedule: Schedule, *, tile: bool = True, lanes: bool = True, **parameters: int) -> Plan:
    return plan(load(sums(schedule), **parameters), ("x", "y"), tile=tile, lanes=lanes)


def refused(schedule: Schedule, **parameters: int) -> str:
    func = sums(schedule)
    with pytest.raises(UserError) as error:
        plan(load(func, **parameters), ("x", "y"))
    return str(error.value).replace(name_of(func), "sums")


def tiled(func: hl.Func) -> hl.Func:
    return func.tile(X, Y, XO, YO, XI, YI, 64, 32)


WIDE = {"x": 64, "y": 32}


@pytest.mark.parametrize(("schedule", "expected"), [
    pytest.param(lambda f: None, Plan(), id="nothing"),
    pytest.param(tiled, Plan(WIDE), id="tile"),
    pytest.param(lambda f: f.tile(X, Y, XI, YI, 64, 32), Plan(WIDE), id="tile with its outer names kept"),
    pytest.param(lambda f: f.split(Y, YO, YI, 16), Plan({"y": 16}), id="split of rows"),
    pytest.param(lambda f: f.split(X, XO, XI, 16), Plan({"x": 16}), id="split of columns"),
    pytest.param(lambda f: f.split(X, XO, XI, 16, hl.TailStrategy.GuardWithIf), Plan({"x": 16}), id="tail"),
    pytest.param(lambda f: f.rename(X, U).split(U, XO, XI, 16), Plan({"x": 16}), id="rename"),
    pytest.param(lambda f: f.unroll(X, 4), Plan(lanes=4), id="unroll"),
    pytest.param(lambda f: f.split(X, XO, XI, 4).unroll(XI), Plan(lanes=4), id="unroll a split loop"),
    pytest.param(lambda f: tiled(f).unroll(XI, 2), Plan(WIDE, 2), id="tile and unroll"),
    pytest.param(lambda f: f.tile(X, Y, XI, YI, 6, 32).unroll(XI), Plan({"x": 6, "y": 32}, 6),
                 id="a tile as wide as its lanes"),
    pytest.param(lambda f: f.tile(X, Y, XI, YI, 8, 32).vectorize(XI), Plan({"x": 8, "y": 32}, None, ("vectorized x.xi",)),
                 id="a tile as wide as a vector"),
    pytest.param(lambda f: f.unroll(X, 2).tile(X, Y, XO, YO, XI, YI, 32, 32), Plan(WIDE, 2), id="unroll, then tile"),
    pytest.param(lambda f: tiled(f).unroll(XI, 2).unroll(XI, 3), Plan(WIDE, 6), id="unroll twice"),
    pytest.param(lambda f: tiled(f).split(XI, U, V, 8), Plan(WIDE), id="split inside a tile, in order"),
    pytest.param(lambda f: tiled(f).split(XI, U, V, 16).unroll(U), Plan(WIDE, 4), id="stripes"),
    pytest.param(lambda f: tiled(f).split(XI, U, V, 8).split(U, T, U, 4).unroll(U).unroll(T), Plan(WIDE, 8),
                 id="stripes in two loops"),
    pytest.param(lambda f: tiled(f).split(XI, U, V, 64).unroll(U), Plan(WIDE, 1), id="one stripe"),
    pytest.param(lambda f: tiled(f).tile(XO, YO, U, V, T, W, 4, 4), Plan(WIDE), id="tiles of tiles"),
    pytest.param(lambda f: tiled(f).reorder(XI, YI, YO, XO), Plan(WIDE), id="order of tiles"),
    pytest.param(lambda f: f.bound(X, 0, 100).bound(Y, 0, 3).unroll(Y).unroll(X, 5), Plan(lanes=5), id="a plane"),
    pytest.param(lambda f: tiled(f).fuse(XO, YO, T).parallel(T), Plan(WIDE, None, ("parallel x.xo.t",)), id="fused tiles"),
    pytest.param(lambda f: f.tile(X, Y, XI, YI, 64, 32).vectorize(XI, 8).parallel(Y),
                 Plan(WIDE, None, ("vectorized x.xi.v*", "parallel y.y")), id="hints"),
    pytest.param(lambda f: f.vectorize(X, 16).parallel(Y), Plan({}, None, ("vectorized x.v*", "parallel y")), id="only hints"),
    pytest.param(lambda f: f.gpu_tile(X, Y, XI, YI, 16, 8),
                 Plan({"x": 16, "y": 8}, None, ("gpu_thread x.xi", "gpu_thread y.yi", "gpu_block x.x", "gpu_block y.y")),
                 id="gpu"),
])
def test_loops_are_tiles_and_lanes(schedule: Schedule, expected: Plan) -> None:
    func = sums(schedule)
    pipeline = load(func)
    dims = tuple(name for name in ("x", "y") if pipeline.funcs[name_of(func)].bounds.get(name, (0, 9))[1] > 4)
    found = plan(pipeline, dims)
    assert (dict(found.sides), found.lanes) == (dict(expected.sides), expected.lanes)
    # Halide numbers the loops that it names itself.
    assert len(found.unused) == len(expected.unused)
    for text, pattern in zip(found.unused, expected.unused, strict=True):
        assert text.startswith(pattern.partition("*")[0])


def test_a_factor_may_be_a_parameter() -> None:
    width = hl.Param(hl.Int(32), "width")
    assert planned(lambda f: f.split(X, XO, XI, width), width=24).sides == {"x": 24}


@pytest.mark.parametrize(("schedule", "message"), [
    pytest.param(lambda f: tiled(f).reorder(YI, XI, XO, YO),
                 "Func sums, pure definition: the loops of a tile are y.yi, x.xi from the innermost on, but the array walks "
                 "x, then y\n  try: reorder them", id="y first in a tile"),
    pytest.param(lambda f: f.reorder(Y, X),
                 "Func sums, pure definition: the loops of a tile are y, x from the innermost on, but the array walks "
                 "x, then y\n  try: reorder them", id="y first"),
    pytest.param(lambda f: f.split(X, XO, XI, 2).reorder(Y, XI, XO).unroll(XI),
                 "Func sums, pure definition: the loops of a tile are y, x.xi, x.xo from the innermost on, but the array walks "
                 "x, then y\n  try: reorder them", id="lanes around y"),
    pytest.param(lambda f: tiled(f).tile(XI, YI, U, V, 8, 4),
                 "Func sums, pure definition: the loops of a tile are x.xi.u, y.yi.v, x.xi.xi, y.yi.yi from the innermost on, "
                 "but the array walks x, then y\n  try: reorder them", id="tiles in a tile"),
    pytest.param(lambda f: tiled(f).reorder(XI, XO, YI, YO),
                 "Func sums, pure definition: x.xo runs from tile to tile inside y.yi, which runs inside a tile\n"
                 "  try: reorder them", id="no tile"),
    pytest.param(lambda f: f.fuse(X, Y, T),
                 "Func sums, pure definition: the loops x and y are fused, but inside a tile the array walks x, then y\n"
                 "  try: fuse loops over tiles only", id="fused"),
    pytest.param(lambda f: f.split(X, XO, XI, hl.i32(4) * 4),
                 "Func sums, pure definition: x is split by what is no constant\n  try: split it by a number", id="factor"),
    pytest.param(lambda f: tiled(f).unroll(YI, 2),
                 "Func sums, pure definition: y.yi.v* is unrolled, but lanes are neighbours in x\n"
                 "  try: unroll x, or bound y and unroll it as a whole: then each of its elements is a result of its own",
                 id="rows unrolled"),
    pytest.param(lambda f: tiled(f).unroll(XO, 2),
                 "Func sums, pure definition: x.xo.v* is unrolled, but tiles are computed one after the other\n"
                 "  try: unroll the innermost loop of x", id="tiles unrolled"),
    pytest.param(lambda f: tiled(f).vectorize(XI, 8).unroll(XI, 2),
                 "Func sums, pure definition: x.xi.v* is unrolled in steps of 8, but lanes are neighbours, or stripes of a "
                 "whole tile\n  try: unroll the innermost loop of x", id="vectors unrolled"),
    pytest.param(lambda f: tiled(f).split(XI, U, V, 16).split(U, T, W, 2).unroll(W),
                 "Func sums, pure definition: x.xi.u.w is unrolled in steps of 16, but lanes are neighbours, or stripes of a "
                 "whole tile\n  try: unroll the innermost loop of x", id="stripes of half a tile"),
    pytest.param(lambda f: f.unroll(X), "Func sums, pure definition: x is unrolled, but how often is no constant\n"
                 "  try: unroll(x, 2) makes 2 lanes", id="unbounded"),
])
def test_loops_that_are_no_such_walk_are_refused(schedule: Schedule, message: str) -> None:
    start, _, end = (message + ", or give tile and unroll as arguments").partition("v*")
    found = refused(schedule)
    assert found.startswith(start)
    assert found.endswith(end)
    given = planned(schedule, tile=False, lanes=False)
    assert (given.sides, given.lanes) == ({}, None)


def test_what_arguments_say_is_not_taken_from_the_program() -> None:
    def both(func: hl.Func) -> None:
        tiled(func).unroll(XI, 2)
    assert planned(both, tile=False) == Plan({}, 2)
    assert planned(both, lanes=False) == Plan(WIDE)
    assert planned(lambda f: f.fuse(X, Y, T), tile=False) == Plan()
    assert planned(lambda f: f.reorder(Y, X).unroll(X, 2), tile=False) == Plan({}, 2)
    assert planned(lambda f: tiled(f).unroll(YI, 2), lanes=False) == Plan(WIDE)


def total(schedule: Callable[[hl.Func, hl.RDom], object]) -> hl.Func:
    photo, func, k = image("photo", "uint8"), hl.Func("total"), hl.RDom([(0, 3), (0, 3)], "k")
    func[X, Y] = hl.u16(0)
    func[X, Y] += hl.u16(photo[X + k.x, Y + k.y])
    schedule(func, k)
    return func


def test_an_update_may_say_what_the_pure_definition_leaves_open() -> None:
    func = total(lambda f, k: f.update().tile(X, Y, XI, YI, 16, 8).unroll(XI, 2).unroll(k.x).unroll(k.y))
    assert plan(load(func), ("x", "y")) == Plan({"x": 16, "y": 8}, 2)


def test_loops_over_reductions_may_stand_anywhere() -> None:
    func = total(lambda f, k: f.update().reorder(X, k.x, Y, k.y).unroll(X, 2))
    assert plan(load(func), ("x", "y")) == Plan({}, 2)
    parts = total(lambda f, k: f.update().split(k.x, hl.RVar("ko"), hl.RVar("ki"), 3).vectorize(X, 4))
    found = plan(load(parts), ("x", "y"))
    name = load(parts).funcs[name_of(parts)].updates[0].domain[0].name
    assert found.unused[1:] == (f"split {name}",)
    assert found.unused[0].startswith("vectorized x.v")


def test_definitions_that_ask_for_different_tiles_or_lanes_are_refused() -> None:
    apart = total(lambda f, k: (f.split(X, XO, XI, 64), f.update().split(X, XO, XI, 32)))
    with pytest.raises(UserError) as error:
        plan(load(apart), ("x", "y"))
    assert str(error.value) == (
        f"Func {name_of(apart)}: the pure definition asks for tiles of 64 along x, update 0 for 32\n"
        "  try: schedule both alike, or give tile and unroll as arguments")
    lanes = total(lambda f, k: (f.unroll(X, 4), f.update().unroll(X, 2)))
    with pytest.raises(UserError, match="the pure definition asks for 4 lanes, update 0 for 2"):
        plan(load(lanes), ("x", "y"))
    either = total(lambda f, k: (f.tile(X, Y, XI, YI, 8, 8).unroll(XI, 4),
                                 f.update().tile(X, Y, XI, YI, 8, 8).split(XI, U, XI, 2).unroll(U)))
    assert plan(load(either), ("x", "y")).lanes == 4, "whichever of its loops is unrolled"


def test_planes_are_computed_at_once_whatever_their_loops() -> None:
    photo, func = image("photo", "uint8", 3), hl.Func("planes")
    func[X, Y, C] = photo[X, Y, C] + 1
    func.bound(C, 0, 3).reorder(C, X, Y).unroll(C).unroll(X, 2)
    assert plan(load(func), ("x", "y")) == Plan({}, 2)
    outer = hl.Func("outer")
    outer[X, Y, C] = photo[X, Y, C] + 1
    outer.bound(C, 0, 3).split(Y, YO, YI, 8).fuse(YO, C, T).parallel(T)
    assert plan(load(outer), ("x", "y")) == Plan({"y": 8}, None, ("parallel y.yo.t",))


LEVELS: dict[str, Callable[[hl.Func, hl.Func], object]] = {
    "inline": lambda first, second: None,
    "compute_root": lambda first, second: first.compute_root(),
    "compute_at a row": lambda first, second: first.compute_at(second, Y).store_root(),
    "compute_at a point": lambda first, second: first.compute_at(second, X),
    "compute_at a tile": lambda first, second: first.compute_at(second.tile(X, Y, XO, YO, XI, YI, 32, 16), XO),
    "store_in": lambda first, second: first.compute_root().store_in(hl.MemoryType.Stack),
    "a copy": lambda first, second: first.in_(second).compute_root(),
}


def chain(schedule: Callable[[hl.Func, hl.Func], object]) -> hl.Func:
    photo, first, second = image("photo", "uint8"), hl.Func("first"), hl.Func("second")
    first[X, Y] = (hl.u16(photo[X, Y]) + 2 * hl.u16(photo[X + 1, Y]) + hl.u16(photo[X, Y + 1])) / 4
    second[X, Y] = (first[X, Y] + 2 * first[X + 1, Y + 1] + first[X, Y + 2]) / 4
    schedule(first, second)
    return second


def test_where_a_func_is_computed_costs_no_tile() -> None:
    """Each value of an intermediate Func is computed once: as inlined with sharing, as in a buffer."""
    graphs = {name: compile_halide(load(chain(level)), presets.get("small"), (20, 10)).graph for name, level in LEVELS.items()}
    found = {name: (graph.count("pe"), graph.count("mem"), graph.count("io")) for name, graph in graphs.items()}
    assert set(found.values()) == {found["inline"]}, found
    # 4 PEs a Func at most: without sharing, the three values of `first` would take 3 times as many.
    assert found["inline"][0] <= 8


@pytest.mark.parametrize("level", LEVELS)
def test_levels_are_taken_as_they_are(level: str) -> None:
    func = chain(LEVELS[level])
    assert plan(load(func), ("x", "y")) == (Plan({"x": 32, "y": 16}) if level == "compute_at a tile" else Plan())


def test_what_has_no_meaning_is_named() -> None:
    def schedule(first: hl.Func, second: hl.Func) -> None:
        first.compute_at(second, Y).store_root().vectorize(X, 8).fold_storage(Y, 4)
        second.prefetch(first, Y, Y, 2)
    func = chain(schedule)
    first = next(name for name in load(func).funcs if name.startswith("first"))
    assert plan(load(func), ("x", "y")).unused == (
        f"loops of {first}", f"fold_storage of {first}", f"prefetch of {name_of(func)}")


@pytest.mark.parametrize(("found", "given", "text"), [
    (Plan(), (False, False), "tile 64 x 64 and 2 lanes by default"),
    (Plan({"x": 64, "y": 64}, 2), (False, False), "tile 64 x 64 and 2 lanes from the program"),
    (Plan({"x": 64, "y": 64}, 2, ("parallel y.yo",)), (False, False),
     "tile 64 x 64 and 2 lanes from the program; not used: parallel y.yo"),
    (Plan({"y": 64}, 2), (False, False), "tile 64 x 64 from the program along y, 2 lanes from the program"),
    (Plan({}, 2), (True, False), "tile 64 x 64 from the arguments, 2 lanes from the program"),
    (Plan(), (True, True), "tile 64 x 64 and 2 lanes from the arguments")])
def test_the_report_says_where_tile_and_lanes_come_from(found: Plan, given: tuple[bool, bool], text: str) -> None:
    assert said(found, ("x", "y"), (64, 64), 2, given) == text
