"""Between tensors and the ports of a spatial array: the words of every stream, operation after operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...hw.arch.spatial import LENGTH, Port, Position, Spatial, Word


def fed(spatial: Spatial, operands: Mapping[str, np.ndarray], lengths: Sequence[int] | None = None) -> dict[str, list[int]]:
    """The words of every input stream, by its name.

    operands: by tensor, each with an axis for the operations in front of those of the tensor. lengths: the launches of each
    operation of an array that is `short`; by default all.
    """
    ports = {(port.tensor, port.position): port for port in spatial.inputs}
    streams = {port.name: (port.tensor, _placed(port)) for port in spatial.alone}
    for chain in spatial.chains:
        streams[chain.name] = chain.tensor, [(at, ports[chain.tensor, at].words[0]) for at in reversed(chain.positions)]
    count = len(next(iter(operands.values())))
    found = {LENGTH: [*(lengths or [spatial.launches] * count)]} if spatial.short else {}
    for name, (tensor, words) in streams.items():
        places = tuple(np.array(axis) for axis in zip(*(word.element for _, word in words)))
        at: tuple[slice | np.ndarray, ...] = slice(None), *places
        given = operands[tensor][at].astype(np.int64).reshape(count, -1)
        found[name] = given[_done(spatial, words, count, lengths)].tolist()
    return found


def collected(spatial: Spatial, streams: Mapping[str, Sequence[int]], operations: int,
              lengths: Sequence[int] | None = None) -> dict[str, np.ndarray]:
    """The results, each with an axis for the operations in front, from the words of every output port.

    What operations do not come to is 0. Raises AssertionError for a port that gave another number of words.
    """
    results = {tensor.name: np.zeros((operations, *tensor.shape), np.int64) for tensor in spatial.results}
    for port in spatial.outputs:
        done = _done(spatial, _placed(port), operations, lengths)
        words = np.array(streams[port.name], np.int64)
        assert len(words) == done.sum(), f"port {port.name} gave {len(words)} words, not {done.sum()}"
        operation, nth = np.nonzero(done)
        elements = np.array([word.element for word in port.words], np.int64).reshape(len(port.words), -1)[nth]
        place: tuple[np.ndarray, ...] = operation, *elements.T
        results[port.tensor][place] = words
    return results


def reached(spatial: Spatial, operations: int, lengths: Sequence[int] | None) -> dict[str, np.ndarray]:
    """Which elements of the results operations come to."""
    ones = {port.name: [1] * int(_done(spatial, _placed(port), operations, lengths).sum()) for port in spatial.outputs}
    return {name: found.astype(bool) for name, found in collected(spatial, ones, operations, lengths).items()}


def _placed(port: Port) -> list[tuple[Position, Word]]:
    return [(port.position, word) for word in port.words]


def _done(spatial: Spatial, words: Sequence[tuple[Position, Word]], operations: int,
          lengths: Sequence[int] | None) -> np.ndarray:
    """Whether an operation comes to a word: by operation and word."""
    launches = np.array([spatial.launch(at, word.step) for at, word in words], np.int64)
    return launches[None, :] < np.array([*(lengths or [spatial.launches] * operations)], np.int64)[:, None]
