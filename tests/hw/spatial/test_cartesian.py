"""Arrays of Cartesian products: what is held comes again, sums leave while others grow, and convolutions are those of NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import designs
from sardonyx import spatial as sp
from sardonyx.cli import main
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.spatial.convolve.replay import Replay
from sardonyx.sim.golden.convolution import convolved
from sardonyx.sim.rtl.bench import Bench

stalls = st.none() | st.integers(1, 1 << 30)
SMALL = sp.convolver(image=(3, 3, 4), kernel=(4, 2, 2), pixels=2, weights=3, banks=4, words=16, name="small")


@settings(max_examples=20)
@given(groups=st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=4), min_size=1, max_size=6), stalls=stalls)
def test_a_group_is_given_again_until_it_is_let_go(groups: "list[list[int]]", stalls: "int | None") -> None:
    words = [word | (at == len(group) - 1) << 7 for group in groups for at, word in enumerate(group)]
    assert Bench(Replay(4, 8)).run({"i": words}, {"free": 1}, stalls).outputs["o"] == words
    # Never let go, the first one comes for ever.
    again = Bench(Replay(4, 8)).run({"i": words}, {"free": 0}, stalls, expect={"o": 20}).outputs["o"][:20]
    first = words[:len(groups[0])]
    assert again == (first * 20)[:20]


@settings(max_examples=20)
@given(stalls=stalls, density=st.sampled_from((0, 0.1, 0.5, 1)), seed=st.integers(0, 1 << 30))
def test_convolutions_are_those_of_numpy_whatever_stalls(stalls: "int | None", density: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    image, weights = (random.integers(-128, 128, shape) * (random.random(shape) < density)
                      for shape in (SMALL.image, SMALL.weights))
    # Places of 4 outputs are 80, and 64 there are: two groups.
    found = SMALL.run("rtl", stalls, image=image, weights=weights)
    assert found.report["groups"] == 2 and found.report["elements_checked"] == 4 * 4 * 5


def test_the_golden_one_is_the_definition() -> None:
    random = np.random.default_rng(1)
    image, weights = random.integers(-9, 9, (2, 3, 4)), random.integers(-9, 9, (3, 2, 2, 3))
    found = convolved(image, weights)
    for k, y, x in np.ndindex(found.shape):
        assert found[k, y, x] == sum(
            image[c, y - 1 + r, x - 2 + s] * weights[k, c, r, s] for c, r, s in np.ndindex(2, 2, 3)
            if 0 <= y - 1 + r < 3 and 0 <= x - 2 + s < 4)


@pytest.mark.slow
def test_an_array_as_large_as_scnn_s_is_nearly_as_fast_as_with_an_ideal_crossbar() -> None:
    report = designs.any_design("scnn").run().report
    assert report["of_ideal"] >= 0.83 and report["elements_checked"] == 32 * 9 * 9


def test_sums_of_a_group_leave_while_the_next_ones_grow() -> None:
    ones = {"image": np.ones(SMALL.image, int), "weights": np.ones(SMALL.weights, int)}
    found = SMALL.run("rtl", **ones)
    assert found.cycles is not None and found.cycles <= found.report["cycles_of_ideal_crossbar"] * 1.3 + 16 + 16 + 30


def test_explain_and_verilog(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spatial", "explain", "scnn"]) == 0
    assert "meet in a cycle, each with each: 16 multipliers" in capsys.readouterr().out
    SMALL.verilog(tmp_path)
    assert {"small.sv", "small.f", "convolver.json"} <= {each.name for each in tmp_path.iterdir()}
    assert main(["spatial", "explain", "scnn", "--bound", "i=3"]) == 2
    assert "--bound: it is a convolver, which has no bounds" in capsys.readouterr().err


@pytest.mark.parametrize("made,told", [
    (lambda: sp.convolver((1, 2), (1, 1, 1)), "image: it is (1, 2)\n  try: give three extents"),
    (lambda: sp.convolver((1, 99, 99), (1, 3, 3)),
     "convolver: an output has 10,201 sums, and the array 2,048\n  try: give smaller images, or more words"),
    (lambda: sp.convolver((1, 2, 2), (1, 1, 1), name="replay_x"),
     "name: replay_x is the name of a part\n  try: choose another one"),
    (lambda: sp.convolver((1, 2, 2), (1, 1, 1), banks=3), "array of products 'convolver': banks is 3\n"
                                                          "  try: give a power of two 2..64"),
    (lambda: SMALL.run("golden", image=np.ones((3, 3, 3), int)), "image: it is "),
    (lambda: SMALL.run("golden", image=np.full(SMALL.image, 128)), "image: it has 128..128\n  try: give -128..127"),
    (lambda: SMALL.run("golden", C=1), "operands: there is no input C\n  try: give image and weights"),
    (lambda: SMALL.run("golden", stalls=1), "stalls: engine golden has no stalls\n  try: choose engine rtl"),
    (lambda: SMALL.picture(), "small: it is a convolver, of which there is no picture\n  try: leave --picture out"),
    (lambda: SMALL.random(2), "operations: 2 operations\n  try: give 1: a convolver takes one image after the other"),
    (lambda: designs.design("scnn"), "scnn: it is a convolver, not an array\n  try: choose a design with a functionality"),
    (lambda: sp.convolver((1, 2, 2), (1, 20, 20), weights=1, name="held").run("golden", weights=np.ones((1, 1, 20, 20), int)),
     "held: weights of an output and a channel are 400 vectors, and the array holds 64\n"
     "  try: give smaller kernels, or a larger store"),
])
def test_what_does_not_fit_is_refused(made, told: str) -> None:
    with pytest.raises(UserError) as error:
        made()
    assert str(error.value).startswith(told)
