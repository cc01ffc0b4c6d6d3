"""Images read at computed places: what is refused, how large a result is without a shape, and that gathering is exact."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import halide as hl
import numpy as np
import pytest
from halide_edges import edged, func, graph_of
from halide_programs import X, Y, image, load, noise

import sardonyx.halide
from sardonyx.compiler.dense.front.lower import lower
from sardonyx.compiler.ir.dataflow import faults
from sardonyx.compiler.lang.halide.pipeline import INT32, Access, Binary, Number, Type, Variable
from sardonyx.hw.arch.errors import UserError
from sardonyx.runtime.data.gather import gather


def test_more_such_streams_than_any_machine_has_are_refused() -> None:
    photo, blur = image("photo", "uint8"), hl.Func("blur")
    blur[X, Y] = sum((hl.u16(photo[X + i, Y + j]) for i in range(5) for j in range(5)), hl.u16(0))
    with pytest.raises(UserError) as error:
        graph_of(func(edged("repeat_edge", blur, [(0, 8), (0, 7)])[X - 1, Y]), photo=(12, 11))
    assert error.value.what == (
        "it reads photo in one more way that is no shift of the 16 others, and each takes a stream of its own, "
        "of which the machine has no more")
    assert error.value.where.startswith("Func blur")
    assert error.value.fix == "give a boundary condition to the image, not to what is computed from neighbours in it"


def test_a_place_that_depends_on_data_is_refused() -> None:
    photo = image("photo", "uint8")
    with pytest.raises(UserError, match="photo is read at a place that depends on data: min\\(cast"):
        graph_of(func(photo[hl.clamp(hl.i32(photo[X, Y]), 0, 8), Y]), photo=(9, 7))


def test_a_loop_variable_is_no_value() -> None:
    photo = image("photo", "uint8")
    with pytest.raises(UserError, match="a loop variable is a value here"):
        graph_of(func(hl.select(X < 3, hl.u8(X), photo[X, Y])), photo=(9, 7))


def test_a_mask_alone_is_nothing_to_compute() -> None:
    photo = image("photo", "uint8")
    with pytest.raises(UserError, match="it does not depend on an image, so there is nothing to compute on the array"):
        graph_of(func(hl.select(X < 3, hl.u8(1), hl.u8(0)) + 0 * photo[X, Y]), photo=(9, 7))


def test_lowering_without_the_sizes_of_the_images_is_refused() -> None:
    with pytest.raises(UserError) as error:
        lower(load(func(edged("repeat_edge", image("photo", "uint8"))[X - 1, Y])))
    assert str(error.value).endswith(
        "photo.min.0 is known only with the image\n"
        "  try: bind the program to the sizes of its images (compiler.lang.halide.walk.bind) before it is lowered")


# What the host may do.


def test_a_gathered_image_that_computes_is_a_fault() -> None:
    photo = image("photo", "uint8")
    graph = graph_of(func(edged("constant_exterior", photo)[X - 1, Y]), photo=(9, 7))
    assert faults(graph) == []
    gathered = graph.gathered["photo_gathered"]
    u8 = Type("uint", 8)
    read = Access(u8, "photo", (Variable("x"), Variable("y")))

    def found(value: Any) -> list[str]:
        return faults(replace(graph, gathered={"photo_gathered": replace(gathered, values=(value,))}))

    computed = Binary("add", u8, read, Number(u8, 1))
    assert found(computed) == ["gathered image photo_gathered: it computes with elements of images: photo(x, y) + 1"]
    chosen = gathered.values[0]
    assert len(found(replace(chosen, true=computed))) == 1
    assert len(found(replace(chosen, condition=Binary("lt", Type("uint", 1), read, Number(u8, 1))))) == 1
    assert len(found(replace(read, args=(replace(read, type=INT32), Variable("y"))))) == 1
    assert len(faults(replace(graph, gathered={"photo_gathered": replace(gathered, args=("x",))}))) == 1


def test_gathering_is_exact_and_goes_on_beyond_an_image() -> None:
    read = Access(Type("uint", 8), "photo", (Binary("sub", INT32, Variable("x"), Variable("y")), Variable("y")))
    photo = image("photo", "uint8")
    template = graph_of(func(edged("repeat_edge", photo)[X, Y]), photo=(3, 2)).gathered["photo_gathered"]
    picture = np.array([[1, 2, 3], [4, 5, 6]], np.uint8)
    found = gather(replace(template, values=(read,)), {"photo": picture}, {"photo": (-1, 0)}, (np.arange(-2, 4), np.arange(2)))
    assert found.tolist() == [[1, 1, 2, 3, 3, 3], [4, 4, 4, 5, 6, 6]]


# The size of a result that nobody gives.


@pytest.mark.parametrize(("build", "size"), [
    (lambda photo: edged("repeat_image", photo)[X // 2, Y], (18, 7)),
    (lambda photo: edged("mirror_image", photo)[X * 2 - 1, Y >> 1], (5, 14)),
    (lambda photo: photo[hl.clamp(X, 0, 8), Y + 2], (9, 5)),
    (lambda photo: edged("repeat_edge", photo)[X - 5, Y] + photo[X + 3, Y], (6, 7)),
    (lambda photo: photo[hl.i32(hl.abs(X - 3)) % 9, hl.clamp(6 - Y, 0, 6)], (9, 7)),
], ids=["enlarged", "reduced", "limited along y", "limited by another read", "folded"])
def test_the_size_without_a_limit_is_that_of_the_image(build: Any, size: tuple[int, int]) -> None:
    program = func(build(image("photo", "uint8")))
    result = sardonyx.halide.run(program, inputs={"photo": noise("uint8", (7, 9))}, engine="golden")
    assert result.value.shape == size[::-1]


@pytest.mark.parametrize(("build", "what"), [
    (lambda photo, other: edged("repeat_edge", photo)[X, Y] + edged("repeat_edge", other)[X, Y],
     "the images do not limit x and suggest 5 or 9"),
    (lambda photo, other: edged("repeat_edge", photo)[2 * X, Y] + photo[hl.clamp(X, 0, 8), Y] + other[0, 0],
     "the images do not limit x and suggest 5 or 9"),
    (lambda photo, other: photo[3, Y] + other[0, 0], "the images do not limit x"),
])
def test_images_that_do_not_agree_on_a_size_leave_it_to_be_given(build: Any, what: str) -> None:
    photo, other = image("photo", "uint8"), image("other", "uint8")
    with pytest.raises(UserError) as error:
        sardonyx.halide.run(func(build(photo, other)), engine="golden",
                            inputs={"photo": noise("uint8", (7, 9)), "other": noise("uint8", (7, 5))})
    assert (error.value.what, error.value.fix) == (what, "give the shape of the result")
