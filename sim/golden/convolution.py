"""A convolution in NumPy, in which the kernel may lie over the edges of the image."""

from __future__ import annotations

import numpy as np


def convolved(image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(outputs, rows, columns) from (channels, rows, columns) and (outputs, channels, rows, columns).

    What is called a convolution in neural networks: the kernel is not mirrored.
    """
    rows, columns = weights.shape[2:]
    padded = np.pad(image.astype(np.int64), ((0, 0), (rows - 1,) * 2, (columns - 1,) * 2))
    under = np.lib.stride_tricks.sliding_window_view(padded, (rows, columns), axis=(1, 2))
    found: np.ndarray = np.einsum("cyxrs,kcrs->kyx", under, weights.astype(np.int64))
    return found
