"""Graphs that the public tools draw, in generated Verilog against NumPy, on the tile library of the kernels."""

import numpy as np
import pytest
from collect import simulated
from drawings import PUBLIC
from graph_operands import operand_sets
from machines import KERNELS

from sardonyx.compiler.graph import compile_graph
from sardonyx.compiler.ir.sam_read import read_sam
from sardonyx.compiler.lang.einsum import parse
from sardonyx.graph_job import graph_data
from sardonyx.runtime.data.blocks import with_segments
from sardonyx.sim.golden import einsum as golden
from sardonyx.tensors.fibertree import COMPRESSED, Format, flatten, from_blocks


@pytest.mark.parametrize("name", ["matmul_drop", "spmv_drop", "residual", "mul3", "mttkrp", "sddmm", "to_sparse", "add_relu",
                                  "outer", "rows", "located"])
def test_public_graph_gives_the_result_of_numpy_in_generated_verilog(name):
    reading, statement = read_sam(PUBLIC[name].text, name), parse(PUBLIC[name].statement)
    compiled = compile_graph(reading.graph, KERNELS)
    sets = list(operand_sets(statement))
    data = [graph_data(reading, operands, KERNELS.mem.level_words, name) for operands in sets]
    bounds = {stream: max(len(each.stored[stream]) for each in data) for stream in data[0].stored}
    stored, _ = simulated(compiled.program, KERNELS, [each.loaded for each in data], full=True, bounds=bounds)
    assert len(stored) == len(sets) >= 9
    form = reading.formats[reading.result]
    levels = [f"{reading.result}{level}" for level in range(form.rank)] + [f"{reading.result}_vals"]
    for operands, blocks in zip(sets, stored, strict=True):
        right = golden.evaluate(statement, operands)
        blocks = {**blocks, **{each: with_segments(blocks[each]) for each in levels[:-1][:1]}}
        words = [np.asarray(blocks[each]).tolist() for each in levels]
        assert flatten(from_blocks(words, Format(COMPRESSED * form.rank, form.order), right.shape)) == right
