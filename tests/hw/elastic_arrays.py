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
