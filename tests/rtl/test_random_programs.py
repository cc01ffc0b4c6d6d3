"""Random programs of one to three statements, fused or not, cut, copied and stored at random: NumPy on dense arrays, the model
of tokens and generated Verilog give the same values. What is refused has one of the reasons in `random_programs.py`."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from machines import KERNELS, WIDE
from random_programs import array, cases, computed, meaning, read

from sardonyx.hw.arch.primitive import SHARING_PRIMITIVES

# With all that the programs of several copies need.
SHARING = replace(WIDE, name="sharing", columns=18, rows=9,
                  pe=replace(WIDE.pe, primitives=(*WIDE.pe.primitives, *SHARING_PRIMITIVES)))
# The same, in other cycles.
EARLY = replace(SHARING, name="early", mem=replace(SHARING.mem, early=True), glb=replace(SHARING.glb, packed=True))


def agree(arch, engines, examples, most=3):
    """How many of the examples ran, all of them with the values of NumPy."""
    ran = []

    @settings(max_examples=examples, phases=[Phase.explicit, Phase.generate, Phase.shrink])
    @given(cases(most))
    def compare(case):
        if (program := read(case.text)) is None:
            return
        data = case.operands(program)
        right = meaning(program, data)
        for engine in engines:
            result = computed(case, program, data, arch, engine)
            assert result is None or np.array_equal(array(result), right)
            ran.append(result is not None)

    compare()
    return sum(ran) / len(ran)


def test_random_programs_give_what_numpy_gives_on_the_model_of_tokens():
    assert agree(SHARING, ["golden", "tokens"], 10) > 0.8


def test_random_programs_give_what_numpy_gives_in_verilog():
    assert agree(KERNELS, ["rtl-full"], 6) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("arch,engines,examples", [
    (SHARING, ["golden", "tokens", "fabric"], 400), (SHARING, ["rtl-full"], 200), (EARLY, ["rtl-full"], 100)])
def test_many_random_programs_give_what_numpy_gives(arch, engines, examples):
    assert agree(arch, engines, examples) > 0.8
