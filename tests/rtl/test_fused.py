"""Fused statements in generated Verilog, on the machine of the kernels: what MEM tiles keep of one transaction is not that of
another, whatever their sizes, also where an intermediate is empty."""

import pytest
from collect import simulated
from machines import KERNELS
from test_kernels import operands, whole, with_holes

from sardonyx.compiler.einsum import compile_fused
from sardonyx.compiler.lang.program import parse_program
from sardonyx.compiler.sparse.fuse import fuse
from sardonyx.sim import engines
from sardonyx.sim.golden import einsum as golden
from sardonyx.sim.model.tokens import fabric
from sardonyx.tensors.coordinates import Coo

PROGRAMS = {
    "a vector, read again for each row": ("y(i) = A(i,j) * x(j); z(i) = A(i,j) * y(j)", ""),
    "an accumulated vector, read once": ("y(i) = A(i,j) * x(j); z(i) = A(i,j) * y(j)", "ji; ji"),
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
