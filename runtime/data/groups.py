"""Tensors of which few elements of each group are not 0, as values and places in their groups."""

from __future__ import annotations

import numpy as np


def grouped(array: np.ndarray, axis: int, keep: int, of: int) -> tuple[np.ndarray, np.ndarray]:
    """The values that are not 0, and which of their group each was; where a group has fewer, zeros.

    axis: along which `of` elements in a row are a group, at most `keep` of them not 0; it is `keep` / `of` as long then.
    """
    moved = np.moveaxis(array, axis, -1)
    groups = moved.reshape(*moved.shape[:-1], -1, of)
    # A stable order by whether an element is 0 has those that are not first, in their own order.
    places = np.argsort(groups == 0, axis=-1, kind="stable")[..., :keep]
    values = np.take_along_axis(groups, places, -1)
    shape = (*moved.shape[:-1], moved.shape[-1] // of * keep)
    return np.moveaxis(values.reshape(shape), -1, axis), np.moveaxis(places.reshape(shape), -1, axis)
