"""Vectors of elements that are not 0: what is held comes again, sums leave while others grow, and results are NumPy's."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vector_designs import SKIPS, SMALL, c, image, k, operands, output, product, r, s, two_operands, weights, x, y

from sardonyx import designs
from sardonyx import spatial as sp
from sardonyx.apps.spatial.scnn import convolution
from sardonyx.cli import main
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.spatial.convolve.replay import Replay
from sardonyx.sim.rtl.bench import Bench

stalls = st.none() | st.integers(1, 1 << 30)


@settings(max_examples=20)
@given(groups=st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=4), min_size=1, max_size=6), stalls=stalls,
       held=st.sampled_from((2, 3)))
def test_a_group_is_given_again_until_it_is_let_go(groups: "list[list[int]]", stalls: "int | None", held: int) -> None:
    words = [word | (at == len(group) - 1) << 7 for group in groups for at, word in enumerate(group)]
    assert Bench(Replay(4, 8, held)).run({"i": words}, {"free": 1}, stalls).outputs["o"] == words
    # Never let go, the first one comes for ever.
    again = Bench(Replay(4, 8, held)).run({"i": words}, {"free": 0}, stalls, expect={"o": 20}).outputs["o"][:20]
    first = words[:len(groups[0])]
    assert again == (first * 20)[:20]


@settings(max_examples=20)
@given(stalls=stalls, density=st.sampled_from((0, 0.1, 0.5, 1)), seed=st.integers(0, 1 << 30))
def test_convolutions_are_those_of_numpy_whatever_stalls(stalls: "int | None", density: float, seed: int) -> None:
    # Places of 4 outputs are 80, and 64 there are: two parts of each operation.
    found = SMALL.run("rtl", stalls, **operands(SMALL, density, seed))
    assert found.report["parts"] == 4 and found.report["elements_checked"] == 2 * 4 * 4 * 5


@settings(max_examples=20)
@given(density=st.sampled_from((0, 0.1, 0.5, 1)), seed=st.integers(0, 1 << 30),
       what=st.sampled_from(("", "another functionality: strides, and the larger of both")))
def test_cycles_of_tokens_are_those_of_the_verilog(density: float, seed: int, what: str) -> None:
    design = OTHERS[what] if what else SMALL
    given = operands(design, density, seed)
    rtl, tokens = (design.run(engine, **given).report for engine in ("rtl", "tokens"))
    assert {name: tokens[name] for name in ("cycles", "of_ideal", "utilisation")} == {
        name: rtl[name] for name in ("cycles", "of_ideal", "utilisation")}


def test_the_golden_one_is_the_definition() -> None:
    given = {name: each[0] for name, each in operands(SMALL, 1, 1).items()}
    found = SMALL.run("golden", **given).value
    assert found.shape == (4, 4, 5)
    for to, down, right in np.ndindex(found.shape):
        assert found[to, down, right] == sum(
            given["image"][at, down - 1 + i, right - 1 + j] * given["weights"][to, at, i, j] for at, i, j in np.ndindex(3, 2, 2)
            if 0 <= down - 1 + i < 3 and 0 <= right - 1 + j < 4)


OTHERS = {
    "one concern less: zeros of weights meet, too": replace(SMALL, sparsity=SKIPS[:1]),
    "none is skipped": replace(SMALL, sparsity=()),
    "another dataflow: pixels are held": replace(SMALL, dataflow=sp.Vectors((k, r, s), (y, x), sizes=(1, 4)), buffers={
        "image": sp.Held(), "output": sp.Sums(2, 32, 1, 2)}),
    "kernels of one place share fibers, parts are of a shared index": replace(
        SMALL, dataflow=sp.Vectors((y, x), (r, s), sizes=(2, 2)), sparsity=[SKIPS[0], sp.skip(
            r, s, where=weights(k, c, r, s) == 0)]),
    "another functionality: strides, and the larger of both": sp.Design(
        sp.functionality(product(c, y, x, k, r, s).eq(sp.maximum(image(y, c, x), weights(r, s, k)) - 3),
                         output(2 * y + x, 3 * r + 5 - s).add(product(c, y, x, k, r, s))),
        sp.Vectors((x, y), (r, s), sizes=(3, 1)), {"c": 2, "y": 2, "x": 3, "k": 2, "r": 2, "s": 3},
        buffers={"weights": sp.Held(16), "output": sp.Sums(4, 16)}, name="other"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_engines_agree_whatever_one_concern_is(what: str) -> None:
    design = OTHERS[what]
    for density in (0.3, 1):
        given = operands(design, density, 3)
        tokens = design.run("tokens", **given)
        assert tokens.report["elements_checked"] == tokens.value.size
        if design.functionality is SMALL.functionality:
            assert np.array_equal(tokens.value, SMALL.run("golden", **given).value)
    if design.vectored.kind == SMALL.vectored.kind or what.startswith("another"):     # others would be models of their own
        assert np.array_equal(design.run("rtl", 5, **given).value, tokens.value)


@settings(max_examples=60)
@given(design=two_operands(), density=st.sampled_from((0.2, 1)), seed=st.integers(0, 1 << 30))
def test_any_result_of_two_operands_is_the_golden_one(design: sp.Design, density: float, seed: int) -> None:
    found = design.run("tokens", **operands(design, density, seed))
    assert found.report["elements_checked"] == found.value.size


@pytest.mark.slow
def test_an_array_as_large_as_scnn_s_is_nearly_as_fast_as_with_an_ideal_crossbar() -> None:
    report = designs.any_design("scnn").run().report
    assert report["of_ideal"] >= 0.83 and report["elements_checked"] == 32 * 9 * 9


def test_sums_of_a_part_leave_while_the_next_ones_grow() -> None:
    found = SMALL.run("rtl", **{each.name: np.ones(each.shape, int) for each in SMALL.tensors})
    assert found.cycles is not None and found.cycles <= found.report["cycles_of_ideal_crossbar"] * 1.3 + 16 + 16 + 30


def test_the_convolution_of_a_network_has_a_million_points_and_more() -> None:
    layer = convolution(48, 7, 128, 5)
    assert layer.run("golden").value.shape == (128, 11, 11)


def test_explain_and_verilog(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spatial", "explain", "scnn", "--bound", "c=3"]) == 0
    shown = capsys.readouterr().out
    assert "skip y and x where image(c, y, x) == 0; y by c and x by c" in shown
    assert "weights: fibers of the elements that are not 0 along k, r, s, at 81 * k - 9 * r - s + 20" in shown
    SMALL.verilog(tmp_path)
    assert {"few.sv", "few.f", "vectors.json", "array.svg"} <= {each.name for each in tmp_path.iterdir()}
    described = json.loads((tmp_path / "vectors.json").read_text())
    assert described["left"]["factors"] == [["y", 5], ["x", 1]] and described["part"] == "k"


def test_the_picture_has_every_pe_bank_and_fiber() -> None:
    drawn = SMALL.picture()
    boxes = ElementTree.fromstring(drawn).findall(".//{http://www.w3.org/2000/svg}rect")
    # The ground, PEs, banks, the buffer that is held, and the crossbar.
    assert len(boxes) == 1 + 2 * 3 + 4 + 1 + 1
    for said in ("image", "along y, x", "weights along k, r, s", "64 vectors, twice", "4 banks of 16 sums", "3 of k at once"):
        assert f">{said}" in drawn or said in drawn
    assert drawn == replace(SMALL).picture()


def made(**changes: object) -> object:
    """What is refused of a design that is otherwise right."""
    return replace(SMALL, **changes).vectored     # type: ignore[arg-type]


FEW = {"weights": sp.Held(2), "output": sp.Sums()}
WITHOUT = "points do not add to one output, once each: its points cannot meet in vectors"
PRODUCT = product(c, y, x, k, r, s).eq(image(c, y, x) * weights(k, c, r, s))


@pytest.mark.parametrize("make,told", [
    (lambda: sp.Vectors((y, x), (x, k)), "vectors: x is an index of both fibers\n"),
    (lambda: sp.Vectors((y, y), (k,)), "vectors: indices y, y name one twice\n"),
    (lambda: sp.Vectors((), (k,)), "vectors: () are no indices\n"),
    (lambda: sp.Vectors((y,), (k,), sizes=(4, 9)), "vectors: a vector has 9 elements\n  try: give 1 to 8"),
    (lambda: sp.Vectors((y,), (k,), sizes=(4,)), "vectors: sizes are (4,)\n"),
    (lambda: sp.Sums(banks=3), "sums: banks is 3\n  try: give a power of two 2..64"),
    (lambda: made(bounds={**SMALL.bounds, "r": 3}), "functionality: y - r + 1 is before the first element"),
    (lambda: made(bounds={**SMALL.bounds, "x": 99}),
     "vectors: result has 400 sums at once, and the array 64\n  try: give more banks or words of sums"),
    (lambda: made(bounds={**SMALL.bounds, "q": 3}), "bounds: there is no index q\n"),
    (lambda: made(bounds={**SMALL.bounds, "c": 1 << 16, "k": 1 << 10}), "bounds: the iteration space has 3,221,225,472 "),
    (lambda: made(functionality=sp.functionality(PRODUCT, output(k).eq(product(0, 0, 0, k, 0, 0)))),
     f"functionality: {WITHOUT}"),
    (lambda: made(functionality=sp.functionality(
        product(c, y, x, k, r, s).eq(image(c, y, x) + 1), output(k, y, x).add(product(c, y, x, k, r, s))), sparsity=()),
     "functionality: what points add is of 1 elements: its points cannot meet in vectors\n"),
    (lambda: made(functionality=sp.functionality(
        product(c, y, x, k, r, s).eq(image(c, y, x) * weights(k, c, r, y)), output(k, y, x).add(product(c, y, x, k, r, s))),
        sparsity=()), "functionality: no operand has the indices k, r, s: "),
    (lambda: made(functionality=sp.functionality(
        product(c, y, x, k, r, s).eq(image(k, y, x) * weights(k, c, r, s)), output(k, y, x).add(product(c, y, x, k, r, s))),
        sparsity=()), "functionality: image(k, y, x) is at more than indices of its own fiber and shared ones: "),
    (lambda: made(functionality=sp.functionality(
        product(c, y, x, k, r, s).eq(product(c - 1, y, x, k, r, s) + image(c, y, x)), product(c.lower, y, x, k, r, s).eq(0),
        output(k).add(product(c, y, x, k, r, s))), sparsity=()), "functionality: product is not one value of inputs at every"),
    (lambda: made(sparsity=[sp.skip(y, where=image(c, y, x) == 0)]),
     "skip y where image(c, y, x) == 0: fibers of image go along y, x, and only y is skipped\n  try: skip y and x together"),
    (lambda: made(sparsity=[sp.optimistic_skip(y, where=image(c, y, x) == 0, keep=1, of=3)]),
     "skip y where image(c, y, x) == 0, 1 of 3 stay: vectors have the elements of an operand that are not 0, and nothing"),
    (lambda: made(buffers={"weights": sp.Held()}), "buffers: output: output has no buffer for that: its elements are added"),
    (lambda: made(buffers={**SMALL.buffers, "image": sp.Held()}), "buffers: image: vectors of image are used once, as"),
    (lambda: made(buffers={**SMALL.buffers, "imago": sp.Held()}), "buffers: there is no operand imago\n"),
    (lambda: made(short=True), "short: the dataflow is one of vectors: "),
    (lambda: made(balance=[sp.work_queue(k, where=y >= 2)]),
     "balance: the dataflow is one of vectors: in each cycle all PEs have work, so that there is none to move\n"),
    (lambda: SMALL.spatial, "dataflow: 2 positions of y, x with 3 positions of k, r, s: which points meet depends on values\n"),
    (lambda: SMALL.run("golden", image=np.full((3, 3, 4), 128)), "image: it has values from 128 to 128\n"),
    (lambda: replace(SMALL, buffers=FEW).run("tokens", weights=np.ones((4, 3, 2, 2), int)), None),
    (lambda: replace(SMALL, dataflow=sp.Vectors((y, x), (k, r, s), sizes=(2, 1)), buffers=FEW).run(
        "tokens", weights=np.ones((4, 3, 2, 2), int)),
     "few: a fiber of weights has 4 vectors, and its buffer holds 2\n"),
    (lambda: replace(SMALL, dataflow=sp.Transform(np.eye(6, dtype=int).tolist()), buffers={}).elastic,
     "functionality: points add to output, and no tree of mergers does: "),
    (lambda: sp.Design(sp.functionality("X(c,y,x) = image(c,y,x) * V(c)", dtype="int8"),
                       sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]]), {"c": 2, "y": 2, "x": 2}, sparsity=SKIPS[:1]).elastic,
     "skip y and x where image(c, y, x) == 0: y and x are found together, as one position, which is no axis of a transform\n"),
    (lambda: sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]]),
                       {"i": 2, "j": 2, "k": 2}, buffers={"C": sp.Sums()}).run("tokens"),
     "buffers: C: Sums is for vectors, and words of C have an order that is known\n"),
])
def test_what_does_not_fit_is_refused(make, told: "str | None") -> None:
    if told is None:      # parts are smaller where less is held
        assert make().report["parts"] == 4
        return
    with pytest.raises(UserError) as error:
        make()
    assert str(error.value).startswith(told) and error.value.fix
