"""What holds for every elastic array: its model is its Verilog, word by word and cycle by cycle."""

from collections.abc import Mapping

import numpy as np

from sardonyx import spatial as sp
from sardonyx.runtime.data.fibers import fed
from sardonyx.sim.model.elastic import simulate
from sardonyx.sim.spatial import run_elastic_rtl


def check_verilog(array: sp.Design, given: "Mapping[str, np.ndarray]", stalls: "int | None") -> None:
    """Every element is NumPy's, which `run` compares; without stalls, outputs and cycles are the model's."""
    array.run("rtl", stalls, **given)
    if stalls is None:
        assert array.elastic is not None
        pairs = fed(array.elastic, given)
        model, rtl = simulate(array.elastic, pairs), run_elastic_rtl(array.elastic, pairs)
        assert (model.outputs, model.steps) == (rtl.outputs, rtl.cycles)


def operands(array: sp.Design, operations: int, seed: int) -> "dict[str, np.ndarray]":
    """Operands from empty to dense, with empty rows and columns."""
    random = np.random.default_rng(seed)
    found = array.random(operations, seed)
    for each in found.values():
        each *= random.random(each.shape) < random.random((operations, each.shape[1], 1)) * 1.3
        each *= random.random((operations, 1, each.shape[2])) < 0.8
    return found
