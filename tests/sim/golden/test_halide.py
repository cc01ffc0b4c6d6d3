"""Whole programs: Halide's own result against the golden model, bit by bit."""

import re

import halide as hl
import numpy as np
import pytest
from halide_programs import C, X, Y, agree, image, load, noise

from sardonyx.hw.arch.errors import UserError
from sardonyx.sim.golden.halide import realize

GAUSSIAN = ((24, 30, 24), (30, 37, 30), (24, 30, 24))


def stencil(name: str, source: hl.Func, taps: "tuple[tuple[int, ...], ...]", shift: int) -> hl.Func:
    """A sum of products with constants, shifted right."""
    func = hl.Func(name)
    func[X, Y] = sum((tap * source[X + dx, Y + dy] for dy, row in enumerate(taps) for dx, tap in enumerate(row)),
                     start=hl.u16(0)) >> shift
    return func


def test_gaussian_with_constants() -> None:
    source = image("source")
    agree(stencil("gaussian", source, GAUSSIAN, 8), (10, 17), {source: noise("uint16", (12, 19))})


def test_gaussian_whose_kernel_is_a_func_with_updates() -> None:
    source, kernel, blur, output = image("source", "uint8"), hl.Func("kernel"), hl.Func("blur"), hl.Func("output")
    kernel[X, Y] = hl.u16(0)
    for y, row in enumerate(GAUSSIAN):
        for x, tap in enumerate(row):
            kernel[x, y] = hl.u16(tap)
    taps = hl.RDom([(0, 3), (0, 3)], "taps")
    blur[X, Y] = hl.u16(0)
    blur[X, Y] += hl.u16(source[X + taps.x, Y + taps.y]) * kernel[taps.x, taps.y]
    output[X, Y] = hl.u8(blur[X, Y] >> 8)
    kernel.compute_root()
    blur.update().unroll(taps.x).unroll(taps.y)
    agree(output, (7, 13), {source: noise("uint8", (9, 15))})


def test_cascade() -> None:
    source, box = image("source"), ((1, 2, 1), (2, 4, 2), (1, 2, 1))
    agree(stencil("second", stencil("first", source, box, 4), box, 4), (8, 11), {source: noise("uint16", (12, 15)) >> 4})


def test_unsharp_with_a_table_of_reciprocals() -> None:
    source, gray, output = image("rgb", "uint8", 3), hl.Func("gray"), hl.Func("output")
    gray[X, Y] = hl.u16(77) * source[X, Y, 0] + hl.u16(150) * source[X, Y, 1] + hl.u16(29) * source[X, Y, 2] >> 8
    blur = stencil("blur", gray, GAUSSIAN, 8)
    sharp, ratio, table = hl.Func("sharp"), hl.Func("ratio"), hl.Func("reciprocal")
    table[X] = hl.u16(256 / hl.clamp(X, 1, 255))
    sharp[X, Y] = hl.u16(hl.clamp(2 * hl.i16(gray[X + 1, Y + 1]) - hl.i16(blur[X, Y]), 0, 255))
    ratio[X, Y] = sharp[X, Y] * table[hl.u8(hl.max(gray[X + 1, Y + 1], 1))]
    output[C, X, Y] = hl.u8(hl.u32(ratio[X, Y]) * source[X + 1, Y + 1, C] >> 8)
    table.compute_root()
    agree(output, (6, 9, 3), {source: noise("uint8", (3, 8, 11))})


def test_harris() -> None:
    source = image("source", "int16")
    gx, gy = hl.Func("gx"), hl.Func("gy")
    gx[X, Y] = hl.clamp(source[X + 2, Y] - source[X, Y] + 2 * (source[X + 2, Y + 1] - source[X, Y + 1])
                        + source[X + 2, Y + 2] - source[X, Y + 2], -180, 180)
    gy[X, Y] = hl.clamp(source[X, Y + 2] - source[X, Y] + 2 * (source[X + 1, Y + 2] - source[X + 1, Y])
                        + source[X + 2, Y + 2] - source[X + 2, Y], -180, 180)
    window = hl.RDom([(0, 3), (0, 3)], "window")
    sums = []
    for name, a, b in (("xx", gx, gx), ("yy", gy, gy), ("xy", gx, gy)):
        products, total = hl.Func(f"l{name}"), hl.Func(f"s{name}")
        products[X, Y] = a[X, Y] * b[X, Y] >> 6
        total[X, Y] += products[X + window.x, Y + window.y]
        sums.append(total[X, Y] >> 6)
    xx, yy, xy = sums
    corner, output = hl.Func("corner"), hl.Func("output")
    corner[X, Y] = xx * yy - xy * xy - ((xx + yy) * (xx + yy) >> 4)
    here = corner[X + 1, Y + 1]
    largest = here >= 1
    for dx, dy in ((0, 0), (1, 0), (2, 0), (0, 1), (2, 1), (0, 2), (1, 2), (2, 2)):
        largest = largest & (here > corner[X + dx, Y + dy])
    output[X, Y] = hl.select(largest, hl.i16(255), hl.i16(0))
    found = agree(output, (24, 31), {source: noise("uint8", (30, 37)).astype("int16")})
    assert 0 < np.count_nonzero(found) < found.size // 4


def test_down_and_upsample() -> None:
    source, half, twice = image("source"), hl.Func("half"), hl.Func("twice")
    half[X, Y] = hl.max(hl.max(source[2 * X, 2 * Y], source[2 * X + 1, 2 * Y]),
                        hl.max(source[2 * X, 2 * Y + 1], source[2 * X + 1, 2 * Y + 1]))
    near = half[X / 2 + X % 2, Y / 2 + Y % 2]
    twice[X, Y] = hl.select((X + Y) % 2 == 0, half[X / 2, Y / 2], hl.halving_add(half[X / 2, Y / 2], near))
    agree(twice, (10, 14), {source: noise("uint16", (12, 16))})


@pytest.mark.parametrize("extend", ("repeat_edge", "constant_exterior", "repeat_image", "mirror_image", "mirror_interior"))
def test_boundary_conditions_on_images_that_are_not_square(extend: str) -> None:
    source, output = image("source", "int16"), hl.Func("output")
    condition = getattr(hl.BoundaryConditions, extend)
    around = condition(source, -7) if extend == "constant_exterior" else condition(source)
    output[X, Y] = around[X - 6, Y - 4] - around[X + 2, Y + 3]
    agree(output, (11, 19), {source: noise("int16", (6, 9))})


def test_boundary_condition_with_a_region_of_its_own() -> None:
    source, output = image("source"), hl.Func("output")
    around = hl.BoundaryConditions.repeat_edge(source, [(2, 5), (1, 3)])
    output[X, Y] = around[X, Y]
    agree(output, (6, 9), {source: noise("uint16", (5, 7))})


def test_histogram_scatters() -> None:
    source, count = image("source", "uint8"), hl.Func("count")
    pixels = hl.RDom([(0, 12), (0, 9)], "pixels")
    count[X] = hl.u16(0)
    count[source[pixels.x, pixels.y]] += hl.u16(1)
    found = agree(count, (256,), {source: noise("uint8", (9, 12))})
    assert found.sum() == 9 * 12


def test_matrix_product() -> None:
    a, b, product = image("a"), image("b"), hl.Func("product")
    k = hl.RDom([(0, 13)], "k")
    product[X, Y] += a[k, Y] * b[X, k]
    left, right = noise("uint16", (5, 13), 1), noise("uint16", (13, 7), 2)
    np.testing.assert_array_equal(agree(product, (5, 7), {a: left, b: right}), left @ right)


def test_convolution_with_stride_two_and_clamped_coordinates() -> None:
    source, weights, edges = image("source", "int16", 3), image("weights", "int16", 4), hl.Func("edges")
    total, output = hl.Func("total"), hl.Func("output")
    k = hl.RDom([(0, 4), (0, 3), (0, 3)], "k")
    edges[C, X, Y] = source[C, hl.clamp(X, 0, 8), hl.clamp(Y, 0, 8)]
    total[C, X, Y] = hl.i16(0)
    total[C, X, Y] += weights[C, k.x, k.y, k.z] * edges[k.x, 2 * X + k.y - 1, 2 * Y + k.z - 1]
    output[C, X, Y] = hl.max(total[C, X, Y], 0)
    agree(output, (5, 4, 6), {source: noise("int16", (9, 9, 4)), weights: noise("int16", (3, 3, 4, 6))})


def test_inline_reductions() -> None:
    source = image("source", "int16")
    k = hl.RDom([(0, 5), (0, 3)], "k")
    for number, reduction in enumerate((hl.sum, hl.maximum, hl.minimum, hl.product)):
        output = hl.Func(f"output{number}")
        output[X, Y] = reduction(k, source[X + k.x, Y + k.y]) + 1
        agree(output, (4, 6), {source: noise("int16", (6, 10))})


def test_argmax_is_a_func_of_two_values() -> None:
    source, output = image("source", "uint8"), hl.Func("output")
    k = hl.RDom([(0, 9)], "k")
    best = hl.argmax(k, source[k, X])
    output[X] = best[0] * 1000 + hl.i32(best[1])
    agree(output, (6,), {source: noise("uint8", (6, 9)) // 32})


def test_tuples_are_updated_at_once() -> None:
    source, pair, output = image("source"), hl.Func("pair"), hl.Func("output")
    k = hl.RDom([(0, 7)], "k")
    pair[X] = (hl.u16(0), hl.u16(1))
    pair[X] = (pair[X][1], pair[X][0] + source[X, k])
    output[X] = pair[X][0] * 3 + pair[X][1]
    agree(output, (5,), {source: noise("uint16", (7, 5))})


def test_a_scan_runs_in_the_order_of_its_domain() -> None:
    source, total = image("source"), hl.Func("total")
    k = hl.RDom([(1, 8), (0, 5)], "k")
    total[X, Y] = source[X, Y]
    total[k.x, k.y] = total[k.x - 1, k.y] * 3 + source[k.x, k.y]
    agree(total, (5, 9), {source: noise("uint16", (5, 9))})


def test_a_predicate_limits_the_domain_and_its_reads() -> None:
    source, total = image("source"), hl.Func("total")
    k = hl.RDom([(0, 20), (0, 6)], "k")
    k.where((k.x < 9) & (k.x + k.y > 4))
    total[X, Y] = hl.u16(X)
    total[X, Y] += source[k.x, k.y] * hl.u16(X + Y)
    agree(total, (3, 4), {source: noise("uint16", (6, 9))})


def test_a_predicate_may_depend_on_the_point() -> None:
    source, total = image("source"), hl.Func("total")
    k = hl.RDom([(0, 8)], "k")
    k.where(k.x <= X)
    total[X, Y] = hl.u16(0)
    total[X, Y] += source[k.x, Y] + hl.u16(k.x)
    agree(total, (3, 8), {source: noise("uint16", (3, 8))})


def test_updates_of_single_rows_and_later_stages_that_read_them() -> None:
    source, func, output = image("source"), hl.Func("func"), hl.Func("output")
    func[X, Y] = source[X, Y]
    func[X, 2] = func[X, 1] + 5
    func[3, Y] = func[2, Y] ^ 0xFF
    output[X, Y] = func[X + 1, Y] + func[X, Y + 1]
    agree(output, (5, 7), {source: noise("uint16", (6, 8))})


def test_lookups_by_data_in_buffers_and_funcs() -> None:
    source, output, squares = image("source", "uint8"), hl.Func("output"), hl.Func("squares")
    table = hl.Buffer(noise("int16", (256,), 3))
    squares[X] = hl.i16(X * X)
    place = hl.clamp(hl.i32(table[source[X, Y]]) / 256, -20, 90)
    output[X, Y] = squares[place] + table[source[X + 1, Y]]
    squares.compute_root()
    agree(output, (5, 8), {source: noise("uint8", (5, 9))})


def test_buffers_of_any_layout_and_place() -> None:
    content = noise("uint16", (6, 10))
    for number, array in enumerate((content, np.asfortranarray(content), content[::2, 1:8], content.T)):
        buffer, output = hl.Buffer(array), hl.Func(f"output{number}")
        buffer.set_min([3, -2])
        output[X, Y] = buffer[X + 3, Y - 2]
        np.testing.assert_array_equal(agree(output, array.shape), array)


def test_schedules_change_nothing() -> None:
    source = image("source")
    first = stencil("first", source, GAUSSIAN, 8)
    second = stencil("second", first, GAUSSIAN, 7)
    xo, yo, xi, yi, u = (hl.Var(name) for name in ("xo", "yo", "xi", "yi", "u"))
    k = hl.RDom([(0, 8)], "k")
    total = hl.Func("total")
    total[X, Y] += second[X, Y + k]
    total.update().split(k, hl.RVar("ko"), hl.RVar("ki"), 4)
    partial = total.update().rfactor(hl.RVar("ki"), u)
    partial.compute_root()
    output = hl.Func("output")
    output[X, Y] = total[X, Y] + 1
    output.tile(X, Y, xo, yo, xi, yi, 4, 2, hl.TailStrategy.GuardWithIf).unroll(xi)
    copy = first.in_(second)
    copy.compute_root()
    first.compute_at(copy, Y).store_root()
    output.specialize(source.width() > 100).vectorize(xi)
    agree(output, (6, 11), {source: noise("uint16", (17, 15))})


def test_parameters_have_the_values_that_are_given() -> None:
    source, gain, offset, output = image("source"), hl.Param(hl.UInt(16), "gain"), hl.Param(hl.Int(32), "offset"), hl.Func("o")
    output[X, Y] = source[X + offset, Y] * gain
    gain.set(77)
    offset.set(3)
    agree(output, (4, 5), {source: noise("uint16", (4, 8))}, gain=77, offset=3)


def test_a_domain_over_an_input_knows_its_extents() -> None:
    source, output = image("source"), hl.Func("output")
    k = hl.RDom([(0, source.width())], "k")
    output[X, Y] += source[k, Y] + hl.u16(source.height())
    agree(output, (3, 2), {source: noise("uint16", (3, 7))})


def test_dimensions_none_and_four() -> None:
    source, total, output = image("source", "uint16", 4), hl.Func("total"), hl.Func("output")
    w = hl.Var("w")
    k = hl.RDom([(0, 4), (0, 3)], "k")
    total[()] = hl.u16(0)
    total[()] += source[k.x, k.y, 0, 0]
    output[X, Y, C, w] = source[X, Y, w, C] + total[()]
    total.compute_root()
    agree(output, (2, 5, 3, 4), {source: noise("uint16", (5, 2, 3, 4))})


def test_the_shape_is_that_of_the_program_when_none_is_given() -> None:
    output = hl.Func("output")
    output[X, Y] = hl.i32(X + 10 * Y)
    output.bound(X, 0, 4).set_estimate(Y, 0, 3)
    found = realize(load(output), {})
    np.testing.assert_array_equal(found, np.arange(4) + 10 * np.arange(3)[:, None])


def message(func: hl.Func, inputs: "dict[str, np.ndarray]", shape: "tuple[int, ...] | None") -> str:
    with pytest.raises(UserError) as error:
        realize(load(func), inputs, shape)
    # Halide numbers the Funcs of one name.
    return re.sub(r"\$\d+", "", str(error.value))


def blurred() -> hl.Func:
    source, output = image("source"), hl.Func("blurred")
    output[X, Y] = source[X - 1, Y] + source[X + 2, Y]
    return output


def test_an_image_that_is_too_small() -> None:
    text = message(blurred(), {"source": noise("uint16", (4, 8))}, (5, 6))
    assert text == ("input source: the image does not cover what the program reads: dimension 0 (x) is read at -1..7 but has "
                    "0..7; dimension 1 (y) is read at 0..4 but has 0..3\n"
                    "  try: give a larger image, ask for a smaller output, or read it through a boundary condition")


def test_an_image_of_another_type() -> None:
    assert message(blurred(), {"source": noise("int16", (4, 8))}, (5, 6)) == (
        "the image for input source is of int16 with 2 dimensions but the program reads uint16 with 2\n"
        "  try: convert the image")


def test_an_image_that_is_missing_or_unknown() -> None:
    assert message(blurred(), {}, (5, 6)) == "no image for input source\n  try: give an array for each by its name"
    assert message(blurred(), {"sauce": noise("uint16", (4, 8))}, (5, 6)) == (
        "input sauce is not in the pipeline\n  try: give source")


def test_no_shape() -> None:
    assert message(blurred(), {"source": noise("uint16", (4, 8))}, None).startswith(
        "Func blurred: the program does not say how large the output is")
    assert message(blurred(), {"source": noise("uint16", (4, 8))}, (3,)) == (
        "Func blurred: it has 2 dimensions but the shape (3,) has 1\n"
        "  try: give a number for each, the first dimension of the program last")


def test_an_output_that_updates_write_beyond() -> None:
    source, count = image("source", "uint8"), hl.Func("count")
    k = hl.RDom([(0, 4)], "k")
    count[X] = 0
    count[source[k, 0]] += 1
    assert message(count, {"source": noise("uint8", (1, 4))}, (10,)) == (
        "Func count: its updates reach 0..255 but the output is 0..9\n  try: ask for a larger output")


def test_floats_are_not_evaluated() -> None:
    output = hl.Func("output")
    output[X] = hl.i32(hl.f32(X) * 1.5)
    assert message(output, {}, (4,)) == (
        "Func output: float32(x) is a float32, which is not evaluated\n  try: compute with integers")


def test_an_output_of_two_values() -> None:
    output = hl.Func("output")
    output[X] = (X, X + 1)
    assert message(output, {}, (4,)) == ("Func output: it gives 2 values at every point\n"
                                         "  try: make an output Func for one of them")
