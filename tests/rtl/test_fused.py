"""Fused statements in generated Verilog, on the machine of the kernels: what MEM tiles keep of one transaction is not that of
another, whatever their sizes, also where an intermediate is empty."""

from dataclasses import replace

import pytest
from collect import simulated
from machines import KERNELS
from test_kernels import operands, whole, with_holes

from sardonyx.compiler.einsum import compile_fused
from sardonyx.compiler.lang.program import parse_program
from sardonyx.compiler.sparse.fuse import fuse
from sardonyx.compiler.sparse.fused_tiling import sharing, tile_fused
from sardonyx.compiler.sparse.lanes import lanes_of
from sardonyx.compiler.sparse.renumber import row_numbers
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.sim import engines
from sardonyx.sim.golden import einsum as golden
from sardonyx.sim.model.tokens import fabric
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.values import random_tensor

PROGRAMS = {
    "a vector, read again for each row": ("y(i) = A(i,j) * x(j); z(i) = A(i,j) * y(j)", ""),
    "an accumulated vector, read once": ("y(i) = A(i,j) * x(j); z(i) = A(i,j) * y(j)", "ji; ji"),
    "a dense vector, looked up": ("y(i) = A(i,j) * x(j); z(i) = A(i,j) * y(j)", "", {"A": "ds", "x": "d", "y": "d"}),
    "a matrix": ("T(i,j) = B(i,k) * C(k,j); X(i,l) = T(i,j) * D(j,l)", ""),
    "a number": ("t = b(i) * c(i); X(i,j) = t * D(i,j)", "")}


@pytest.mark.parametrize("name", PROGRAMS)
def test_fused_statements_give_the_words_of_numpy(name):
    program = parse_program(*PROGRAMS[name])
    found = fuse(program.statements, program.formats)
    einsum = found.einsum
    assert "MEM tiles" in found.ways.values()
    pairs = []
    for size in (1, 7, 2, 13):
        for seed, density in enumerate((0.1, 0.5, 1.0)):
            data = operands(einsum, dict.fromkeys(einsum.order, size), density, 10 * seed + size)
            pairs += [whole(einsum, data), whole(einsum, {k: with_holes(v, seed) for k, v in data.items()})]
            right = golden.evaluate_all(program.statements, data)[program.result.result.tensor]
            assert right == golden.evaluate(einsum, data), "the statement in one means the same"
        for tensor in einsum.tensors:
            pairs.append(whole(einsum, data | {tensor: Coo.empty(data[tensor].shape)}))
    compiled = compile_fused(found, KERNELS)
    inputs, right = [loaded for loaded, _ in pairs], [stored for _, stored in pairs]
    assert engines.differences(fabric.run_graph(compiled.graph, inputs), right)[1] == []
    stored, _ = simulated(compiled.program, KERNELS, inputs, full=True)
    assert engines.differences(stored, right)[1] == []


@pytest.mark.parametrize("parts", [False, True])
def test_lanes_and_parts_give_the_sums_of_numpy_with_empty_rows_and_rows_shorter_than_lanes(parts):
    program = parse_program("y(i) = A(i,j) * x(j); z(i) = A(i,j) * y(j)", "", {"A": "ds", "x": "d", "y": "d"})
    found = replace(fuse(program.statements, program.formats), lanes=2, parts=parts)
    works, right = [], []
    for size in (1, 7, 2, 13):
        for seed, density in enumerate((0.0, 0.1, 0.5, 1.0)):
            data = {"A": random_tensor((size, size), density, seed), "x": random_tensor((size,), 1.0, size)}
            tiling = tile_fused(found, data, KERNELS.mem.level_words)
            numbers = row_numbers(found.einsum, {"A": found.einsum.operands[0]}, data, 2) if parts else {}
            works.append(Work(tiling, lanes_of(replace(found, numbers=numbers))))
            right.append(golden.evaluate_all(program.statements, data)["z"])
    compiled = compile_fused(sharing(found, tiling), KERNELS)
    stored, _ = simulated(compiled.program, KERNELS, [each for work in works for each in work.transactions()], full=True)
    given = iter(stored)
    assert [work.result([next(given) for _ in range(len(work))]) for work in works] == right
