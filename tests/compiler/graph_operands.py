"""Operands for graphs: extents 1, prime and others, several densities, all empty, and one empty after the other."""

from collections.abc import Iterator

import numpy as np
from statements import agreeing

from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.tensors import values as tensors
from sardonyx.tensors.coordinates import Coo


def operand_sets(statement: Einsum, sets: int = 6) -> Iterator[dict[str, Coo]]:
    """Operands by tensor, the same in every run."""
    used = {access.tensor: access.indices for access in statement.operands}
    names = statement.order
    for seed in range(sets):
        chosen = [1 if seed == 1 else int(np.random.default_rng(seed + n).choice([2, 5, 7, 11])) for n in range(len(names))]
        extents = agreeing(statement, chosen)
        found = {tensor: tensors.random_tensor(tuple(extents[index] for index in indices), (0.1, 0.9, 0.3, 1.0, 0.6)[seed % 5]
                                               if indices else 1.0, 100 * seed + n)
                 for n, (tensor, indices) in enumerate(used.items())}
        yield found
    empty = {tensor: Coo.empty(each.shape) for tensor, each in found.items()}
    yield empty
    for tensor in found:
        yield {**found, tensor: empty[tensor]}
    yield found
