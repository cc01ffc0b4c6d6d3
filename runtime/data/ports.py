"""Between tensors and the ports of a spatial array: the words of every stream, operation after operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...hw.arch.spatial import Spatial


def fed(spatial: Spatial, operands: Mapping[str, np.ndarray]) -> dict[str, list[int]]:
    """The words of every input stream, by its name.

    operands: by tensor, each with an axis for the operations in front of those of the tensor.
    """
    taken = {(port.tensor, port.position): port.words for port in spatial.inputs}
    streams = {port.name: (port.tensor, port.words) for port in spatial.alone}
    for chain in spatial.chains:
        streams[chain.name] = chain.tensor, tuple(taken[chain.tensor, at][0] for at in reversed(chain.positions))
    found = {}
    for name, (tensor, words) in streams.items():
        places = tuple(np.array(axis) for axis in zip(*(word.element for word in words)))
        at: tuple[slice | np.ndarray, ...] = slice(None), *places
        found[name] = operands[tensor][at].astype(np.int64).reshape(-1).tolist()
    return found


def collected(spatial: Spatial, streams: Mapping[str, Sequence[int]], operations: int) -> dict[str, np.ndarray]:
    """The results, each with an axis for the operations in front, from the words of every output port.

    Raises AssertionError for a port that gave another number of words.
    """
    results = {tensor.name: np.zeros((operations, *tensor.shape), np.int64) for tensor in spatial.results}
    for port in spatial.outputs:
        words, found = streams[port.name], len(port.words)
        assert len(words) == operations * found, f"port {port.name} gave {len(words)} words, not {operations * found}"
        for at, word in enumerate(words):
            place = (at // found, *port.words[at % found].element)
            results[port.tensor][place] = word
    return results
