"""The programs of apps/dense: equal to Halide's own results, compiled for onyx, within the tiles that they may take."""

import pkgutil
from importlib import import_module

import halide as hl
import numpy as np
import pytest

import sardonyx.halide
from sardonyx.apps import dense

NAMES = [module.name for module in pkgutil.iter_modules(dense.__path__)]
# PEs at most: budgets of the programs that have one.
MOST = {"gaussian": 12, "unsharp": 57, "harris": 80}


@pytest.mark.parametrize("name", NAMES)
def test_a_program_gives_what_halide_gives(name: str) -> None:
    shape = (3, 17, 22) if name == "unsharp" else (17, 22)
    photo = np.random.default_rng(len(name)).integers(0, 256, shape).astype(np.uint8)
    program = import_module(f"sardonyx.apps.dense.{name}").build()
    result = sardonyx.halide.run(program, inputs={"photo": photo}, engine="tokens", arch="onyx", tile=(12, 9))
    assert result.report["tiles_used"]["pe"] <= MOST.get(name, 16)

    own = hl.Buffer(photo)
    file = hl.serialize_pipeline(hl.Pipeline([program]), get_params=True)
    parameters = dict(file[1])
    parameters["photo"].set_buffer(own)
    again = hl.deserialize_pipeline(file[0], parameters)
    expected = np.asarray(again.realize(list(result.value.shape[::-1])))
    assert np.array_equal(result.value, expected)
