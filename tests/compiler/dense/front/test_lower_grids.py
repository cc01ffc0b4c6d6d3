"""Images on grids of their own: down- and up-sampling, patterns, planes."""

from __future__ import annotations

from halide_ast import U16, Program, c, cast, high, select, x, y
from lower_programs import agrees, operations

from sardonyx.compiler.dense.front.lower import lower


def test_down_sampling_computes_on_the_finer_grid() -> None:
    program = Program()
    photo = program.image("photo", U16)
    program.func("out", [x, y], high(high(photo(x * 2, y * 2), photo(x * 2 + 1, y * 2)),
                                     high(photo(x * 2, y * 2 + 1), photo(x * 2 + 1, y * 2 + 1))))
    graph = agrees(program, (10, 8), (5, 4))
    assert graph.outputs["out"].scale == (2, 2) and graph.inputs["photo"].scale == (1, 1)
    assert operations(graph) == {"max": 2}


def test_a_coarser_image_beside_a_finer_one_is_repeated() -> None:
    program = Program()
    fine, coarse = program.image("fine", U16), program.image("coarse", U16)
    program.func("out", [x, y], fine(x * 2 + 1, y) - coarse(x + 1, y))
    graph = agrees(program, (12, 4), (5, 4))
    assert graph.inputs["coarse_by_2_1"].divide == (2, 1)


def test_up_sampling_repeats_elements_and_selects_by_a_pattern() -> None:
    program = Program()
    photo = program.image("photo", U16)
    near, far = photo(x // 2, y), photo(x // 2 + 1, y)
    program.func("out", [x, y], select((x % 2).equals(0), near // 4 + far // 4 * 3, near // 4 * 3 + far // 4))
    graph = agrees(program, (12, 4), (9, 3))
    assert graph.inputs["photo_by_2_1"].divide == (2, 1)
    assert graph.inputs["x_mod_2"].pattern == (0, 1) and graph.inputs["x_mod_2"].image == ""


def test_a_pattern_at_other_places_is_one_stream() -> None:
    program = Program()
    photo = program.image("photo", U16)
    program.func("out", [x, y], photo(x, y) + cast(U16, (x % 3)) * cast(U16, ((y // 2 + 1) % 2)) + cast(U16, ((x + 2) % 3)))
    graph = agrees(program)
    assert sorted(graph.inputs) == ["photo", "x_mod_3", "y_mod_2"]
    assert graph.inputs["y_mod_2"].pattern == (0, 0, 1, 1)


def test_a_pattern_of_a_down_sampled_result_counts_results() -> None:
    program = Program()
    photo = program.image("photo", U16)
    program.func("out", [x, y], photo(x * 2, y) + cast(U16, (x + 1) % 2))
    assert agrees(program, (12, 4), (5, 4)).inputs["x_mod_2"].divide == (2, 1)


def test_what_is_reduced_and_enlarged_again_is_selected_by_the_remainder() -> None:
    program = Program()
    photo = program.image("photo", U16)
    blur = program.func("blur", [x, y], photo(x, y) + photo(x + 1, y))
    down = program.func("down", [x, y], blur(x * 2, y))
    up = program.func("up", [x, y], down(x // 2, y))
    program.func("out", [x, y], blur(x, y) - up(x, y))
    graph = agrees(program, (12, 4), (9, 3), margin=1)
    assert operations(graph) == {"add": 1, "eq": 1, "select": 1, "sub": 1}


def test_remainders_are_told_apart_outside_of_all_that_is_computed_between() -> None:
    """The sum is computed at every point of the finer image once, and then selected."""
    program = Program()
    photo = program.image("photo", U16)
    left, right = (program.func(name, [x, y], photo(x * 2 + at, y)) for at, name in enumerate(("left", "right")))
    both = program.func("both", [x, y], left(x, y) * 3 + right(x + 1, y))
    program.func("out", [x, y], both(x // 2, y) - photo(x, y))
    graph = agrees(program, (14, 4), (9, 3), margin=1)
    assert operations(graph) == {"mul": 1, "add": 1, "eq": 1, "select": 1, "sub": 1}


def test_planes_that_are_interleaved_again_are_selected_once() -> None:
    """Where the remainder is known, only the part for it is left."""
    program = Program()
    photo = program.image("photo", U16)
    left, right = (program.func(name, [x, y], photo(x * 2 + at, y)) for at, name in enumerate(("left", "right")))
    doubled = program.func("doubled", [x, y], left(x, y) * 2)
    summed = program.func("summed", [x, y], left(x, y) + right(x, y))
    program.func("out", [x, y], select((x % 2).equals(0), doubled(x // 2, y), summed(x // 2, y)))
    graph = agrees(program, (14, 4), (9, 3), margin=1)
    assert operations(graph) == {"mul": 1, "add": 1, "eq": 1, "select": 1}


def test_a_remainder_decides_what_is_selected_by_it_inside() -> None:
    program = Program()
    photo = program.image("photo", U16)
    a, b, d = photo(x, y), photo(x + 1, y), photo(x + 2, y)
    inside = select((x % 3).equals(2), a, select((x % 3).equals(0), b, d))
    program.func("out", [x, y], select((x % 3).equals(0), inside, select(x % 3 < 2, inside, b)))
    graph = agrees(program, (14, 4), (9, 3))
    assert operations(graph) == {"eq": 1, "lt": 1, "select": 2}


def test_two_levels_of_a_pyramid_are_right() -> None:
    program = Program()
    read = program.image("photo", U16)
    for name in ("fine", "coarse"):
        blur = program.func(f"{name}_blur", [x, y], read(x, y) * 3 + read(x + 1, y) + read(x, y + 1))
        read = program.func(name, [x, y], blur(x * 2, y * 2))
    for name in ("up", "out"):
        up = program.func(f"{name}_up", [x, y], read(x // 2, y // 2))
        read = program.func(name, [x, y], up(x, y) + up(x + 1, y))
    agrees(program, (24, 22), (9, 8), margin=4)


def test_unrolled_dimensions_are_planes() -> None:
    program = Program()
    photo = program.image("photo", U16, 3)
    program.func("out", [c, x, y], photo(x, y, c % 2) + cast(U16, c), bounds={"c": (1, 3)})
    graph = agrees(program)
    assert list(graph.results) == ["out_1", "out_2", "out_3"] and graph.dims == ("x", "y")
    assert graph.outputs["out_2"].plane == (2, None, None)


def test_images_of_three_dimensions_have_grids_of_three() -> None:
    program = Program()
    photo = program.image("photo", U16, 3)
    program.func("out", [x, y, c], photo(x, y, c) + photo(x + 1, y, c))
    assert lower(program.pipeline()).dims == ("x", "y", "c")
