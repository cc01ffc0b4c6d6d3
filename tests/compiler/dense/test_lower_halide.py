"""Real Halide programs: the word graph gives what Halide's own code gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import halide as hl
import numpy as np
from grids import on_grid
from halide_programs import C, X, Y, image, load, name_of, noise

from sardonyx.compiler.dense.front.lower import lower
from sardonyx.compiler.ir.dataflow import WordGraph
from sardonyx.sim.model.pe_graph import evaluate_words, stored


def agrees(func: hl.Func, shape: tuple[int, ...], images: Mapping[hl.ImageParam, np.ndarray],
           grid: tuple[int, int] | None = None) -> WordGraph:
    """The graph of a Func, after every element of a result of `shape` (x first) has been compared."""
    for param, array in images.items():
        param.set(hl.Buffer(array))
    realized = func.realize(list(shape))
    expected = [np.array(each) for each in (realized if isinstance(realized, list | tuple) else [realized])]
    graph = lower(load(func))
    given = {param.name(): array for param, array in images.items()}
    extents = grid or next(iter(images.values())).shape[:-3:-1]
    words = {name: on_grid(stream, given.get(stream.image), extents) for name, stream in graph.inputs.items()}
    found = evaluate_words(graph, words)
    for (name, stream), whole in zip(graph.outputs.items(), expected * len(graph.outputs)):
        plane = whole[tuple(slice(None) if at is None else at for at in reversed(stream.plane))]
        np.testing.assert_array_equal(stored(stream, found[name], shape[:2]), plane.astype(np.int64) % 65536, name)
    return graph


def nodes(graph: WordGraph) -> int:
    return sum(node.op != "input" for node in graph.nodes)


def gaussian() -> tuple[hl.Func, hl.ImageParam]:
    photo, total, blur, box = image("photo", "uint8"), hl.Func("total"), hl.Func("blur"), hl.RDom([(0, 3), (0, 3)])
    weight = hl.Func("weight")
    weight[X, Y] = hl.u16(0)
    for row, weights in enumerate(((24, 30, 24), (30, 37, 30), (24, 30, 24))):
        for column, each in enumerate(weights):
            weight[column, row] = hl.u16(each)
    total[X, Y] = hl.u16(0)
    total[X, Y] += hl.u16(photo[X + box.x, Y + box.y]) * weight[box.x, box.y]
    blur[X, Y] = hl.u8(total[X, Y] >> 8)
    return blur, photo


def unsharp() -> tuple[hl.Func, hl.ImageParam]:
    rgb, gray, blurred, sharp = image("rgb", "uint8", 3), hl.Func("gray"), hl.Func("blurred"), hl.Func("sharp")
    ratio, inverse, result, box = hl.Func("ratio"), hl.Func("inverse"), hl.Func("unsharp"), hl.RDom([(0, 7), (0, 7)])
    gray[X, Y] = (77 * hl.u16(rgb[X, Y, 0]) + 150 * hl.u16(rgb[X, Y, 1]) + 29 * hl.u16(rgb[X, Y, 2])) >> 8
    bell = np.exp(-np.arange(-3, 4) ** 2 / 4.5)
    kernel = 256 * np.outer(bell, bell)
    weight = hl.Func("weight")
    weight[X, Y] = hl.u16(0)
    for (row, column), each in np.ndenumerate(kernel / kernel.sum() * 256):
        weight[column, row] = hl.u16(int(each))
    blurred[X, Y] = hl.u16(0)
    blurred[X, Y] += gray[X + box.x, Y + box.y] * weight[box.x, box.y]
    here = gray[X + 3, Y + 3]
    sharp[X, Y] = hl.clamp(hl.i16(2 * here) - hl.i16(blurred[X, Y] >> 8), 0, 255)
    inverse[X] = hl.u16(256 / hl.max(X, 1))
    ratio[X, Y] = hl.u16(sharp[X, Y]) * inverse[hl.i32(here)]
    result[X, Y, C] = hl.u8((hl.u32(ratio[X, Y]) * hl.u32(rgb[X + 3, Y + 3, C])) >> 8)
    result.bound(C, 0, 3)
    return result, rgb


def harris() -> tuple[hl.Func, hl.ImageParam]:
    photo, gray, gx, gy, box = image("photo", "uint8"), hl.Func("gray"), hl.Func("gx"), hl.Func("gy"), hl.RDom([(0, 3), (0, 3)])
    gray[X, Y] = hl.i16(photo[X, Y])
    gx[X, Y] = hl.clamp(gray[X + 2, Y] - gray[X, Y] + 2 * (gray[X + 2, Y + 1] - gray[X, Y + 1])
                        + gray[X + 2, Y + 2] - gray[X, Y + 2], -180, 180)
    gy[X, Y] = hl.clamp(gray[X, Y + 2] - gray[X, Y] + 2 * (gray[X + 1, Y + 2] - gray[X + 1, Y])
                        + gray[X + 2, Y + 2] - gray[X + 2, Y], -180, 180)
    sums = []
    for name, a, b in (("xx", gx, gx), ("yy", gy, gy), ("xy", gx, gy)):
        product, total = hl.Func(name), hl.Func(f"sum_{name}")
        product[X, Y] = (a[X, Y] * b[X, Y]) >> 6
        total[X, Y] = hl.i16(0)
        total[X, Y] += product[X + box.x, Y + box.y]
        sums.append(total[X, Y] >> 6)
    corner, result = hl.Func("corner"), hl.Func("harris")
    trace = sums[0] + sums[1]
    corner[X, Y] = sums[0] * sums[1] - sums[2] * sums[2] - ((trace * trace) >> 4)
    found = corner[X + 1, Y + 1] >= 1
    for row, column in np.ndindex(3, 3):
        if (row, column) != (1, 1):
            found = found & (corner[X + 1, Y + 1] > corner[X + column, Y + row])
    result[X, Y] = hl.select(found, hl.u8(255), hl.u8(0))
    return result, photo


def test_gaussian() -> None:
    func, photo = gaussian()
    assert nodes(agrees(func, (12, 9), {photo: noise("uint8", (11, 14))})) == 12


def test_unsharp() -> None:
    func, rgb = unsharp()
    graph = agrees(func, (12, 9, 3), {rgb: noise("uint8", (3, 15, 18))})
    assert len(graph.results) == 3 and nodes(graph) <= 70


def test_harris() -> None:
    func, photo = harris()
    squares = np.kron(np.arange(20).reshape(4, 5) * 7919 % 256, np.ones((5, 5))).astype(np.uint8)
    for each in (noise("uint8", (20, 25)), squares):
        assert nodes(agrees(func, (19, 14), {photo: each})) <= 72


def test_intermediate_results_may_be_realized_anywhere() -> None:
    photo, blur, result = image("photo"), hl.Func("blur"), hl.Func("result")
    blur[X, Y] = photo[X, Y] + photo[X + 1, Y]
    result[X, Y] = blur[X, Y] * blur[X, Y + 1]
    free = lower(load(result))
    blur.compute_root()
    assert lower(load(result)).nodes == free.nodes


def test_the_position_of_the_best_match_is_a_tuple_updated_in_order() -> None:
    left, right, cost, best = image("left", "uint8"), image("right", "uint8"), hl.Func("cost"), hl.Func("best")
    shift, window, tried = hl.Var("shift"), hl.RDom([(0, 2), (0, 2)]), hl.RDom([(0, 4)])
    cost[X, Y, shift] = hl.u16(0)
    cost[X, Y, shift] += hl.absd(hl.u16(left[X + window.x, Y + window.y]), hl.u16(right[X + window.x + shift, Y + window.y]))
    best[X, Y] = (hl.u16(65535), hl.u8(0))
    better = cost[X, Y, tried.x] <= best[X, Y][0]
    best[X, Y] = (hl.select(better, cost[X, Y, tried.x], best[X, Y][0]), hl.select(better, hl.u8(tried.x), best[X, Y][1]))
    result = hl.Func("result")
    result[X, Y] = hl.u8(hl.u16(best[X, Y][1]) * 255 / 10)
    counts = Counter(node.op for node in agrees(result, (8, 6), {left: noise("uint8", (8, 12), 1),
                                                                 right: noise("uint8", (8, 12), 2)}).nodes)
    assert counts["abs"] == 4 and counts["mul_high"] == 1


def test_a_reduction_goes_through_its_domain_in_the_order_of_halide() -> None:
    photo, folded, box = image("photo"), hl.Func("folded"), hl.RDom([(0, 2), (0, 3)])
    folded[X, Y] = hl.u16(1)
    folded[X, Y] = folded[X, Y] * 3 + photo[X + box.x, Y + box.y]
    agrees(folded, (6, 4), {photo: noise("uint16", (6, 7))})


def test_an_output_of_several_values_has_a_result_for_each() -> None:
    photo, both = image("photo", "int16"), hl.Func("both")
    both[X, Y] = (hl.min(photo[X, Y], photo[X + 1, Y]), hl.abs(photo[X, Y]))
    graph = agrees(both, (5, 4), {photo: noise("int16", (6, 8))})
    assert [graph.outputs[name].image for name in graph.results] == list(graph.results)


def test_a_saturating_sum_is_right_for_every_type() -> None:
    for dtype in ("uint8", "int8"):
        photo, result = image("photo", dtype), hl.Func("result")
        result[X, Y] = hl.saturating_add(photo[X, Y], photo[X + 1, Y])
        agrees(result, (20, 10), {photo: noise(dtype, (10, 21))})


def test_down_sampling_and_up_sampling() -> None:
    photo, down, up = image("photo"), hl.Func("down"), hl.Func("up")
    down[X, Y] = hl.max(hl.max(photo[2 * X, 2 * Y], photo[2 * X + 1, 2 * Y]),
                        hl.max(photo[2 * X, 2 * Y + 1], photo[2 * X + 1, 2 * Y + 1]))
    assert agrees(down, (7, 5), {photo: noise("uint16", (10, 16))}).outputs[name_of(down)].scale == (2, 2)
    near, far = photo[X / 2, Y], photo[X / 2 + 1, Y]
    up[X, Y] = hl.select(X % 2 == 0, near / 4 + 3 * (far / 4), 3 * (near / 4) + far / 4)
    agrees(up, (14, 6), {photo: noise("uint16", (6, 10))}, grid=(18, 6))
