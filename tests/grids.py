"""The words that a graph of PEs gets of an image."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sardonyx.compiler.ir.dataflow import Stream
from sardonyx.sim.model.pe_graph import WORD


def on_grid(stream: Stream, image: "NDArray[Any] | None", extents: "tuple[int, ...]",
            origin: "tuple[int, ...] | None" = None) -> NDArray[Any]:
    """The words of an input's stream at the points from `origin` (or 0) on, `extents` (x first) of them.

    `image` (y-first) has its element 0 first; outside it words are 0. It is not used for a pattern.
    """
    first = origin or (0,) * len(extents)
    places = [(scale * np.arange(low, low + extent) + shift) // divide for low, extent, scale, shift, divide
              in zip(first, extents, stream.scale, stream.shift, stream.divide, strict=True)]
    if stream.pattern:
        elements = sum(np.ix_(*reversed(places)))
        return np.array(stream.pattern)[elements % len(stream.pattern)]
    indices = iter(places)
    chosen = [next(indices) if at is None else np.array([at]) for at in stream.plane]
    whole = np.asarray(image)
    inside: NDArray[Any] = np.True_
    for each, size in zip(reversed(chosen), whole.shape, strict=True):
        inside = np.logical_and.outer(inside, (each >= 0) & (each < size))
    words = whole[np.ix_(*(np.clip(each, 0, size - 1) for each, size in zip(reversed(chosen), whole.shape, strict=True)))]
    return np.where(inside, words.astype(np.int64) % WORD, 0).reshape(extents[::-1])
