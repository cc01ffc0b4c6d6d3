"""What tests of tilings share."""

import pytest

from sardonyx.compiler.lang.einsum import parse
from sardonyx.hw.arch.errors import UserError
from sardonyx.sim.expected import by_slot
from sardonyx.sim.golden import einsum as golden

MATMUL = parse("X(i,j) = B(i,k) * C(k,j)")


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
