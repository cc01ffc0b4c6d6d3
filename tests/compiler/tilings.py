"""What tests of tilings share."""

import pytest
from hypothesis import strategies as st
from sam_reference import run as run_graph

from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.lower import lower
from sardonyx.compiler.sparse.settled import too_many
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.hw.arch.errors import UserError
from sardonyx.sim.expected import by_slot
from sardonyx.sim.golden import einsum as golden
from sardonyx.tensors import values as tensors

MATMUL = parse("X(i,j) = B(i,k) * C(k,j)")
# Formats of operands and of the result, and what is in operands, at random.
DRAWN = {"letters": st.text("ds", min_size=6, max_size=6), "form": st.sampled_from(["sss", "dss", "dds", "ssd", "sdd", "ddd"]),
         "densities": st.lists(st.sampled_from([0.0, 0.3, 1.0]), min_size=3, max_size=3), "seed": st.integers(0, 99),
         "narrow": st.booleans()}


def run(tiling):
    """The result of every item by golden; a statement that uses a tensor twice gets a name for each use."""
    alone = by_slot(tiling.einsum)
    for item in range(len(tiling)):
        yield golden.evaluate(alone, tiling.operands(item))


def message(call, *arguments):
    """What a call is refused with."""
    with pytest.raises(UserError) as error:
        call(*arguments)
    return str(error.value)


def computed(tiling):
    """The result of every item by the graph of its program, on the tokens of the public model."""
    program = lower(tiling.einsum)
    for item in range(len(tiling)):
        parts = tiling.operands(item)
        words = {access.slot: tensors.encode(parts[access.slot], access.format) for access in tiling.einsum.operands}
        result = golden.evaluate(by_slot(tiling.einsum), parts)
        words[tiling.einsum.result.slot] = right = golden.words(tiling.einsum, result)
        letters = tiling.einsum.result.format.letters
        assert run_graph(program, words) == tuple(block for at, block in enumerate(right) if letters[at:at + 1] != "d")
        yield result


def check(einsum, operands, edges=None, narrow=True):
    """Sub-tiles give the words of golden, and together the whole result."""
    tiling = tile(einsum, operands, 1024, edges, narrow=narrow)
    assert not too_many(tiling.einsum)
    assert tiling.combine(computed(tiling)) == golden.evaluate(einsum, operands)
    return tiling
