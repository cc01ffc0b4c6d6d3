"""The words of images that the host gathers: a Func of images alone, where the points of its dimensions cross.

What boundary conditions and other indices computed from loop variables mean is said once, by the operations of the language
(`compiler/lang/halide/meaning.py`); the golden model, which judges the result, evaluates whole pipelines on its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...compiler.lang.halide import meaning
from ...compiler.lang.halide.pipeline import Access, Func, Variable
from ...compiler.lang.halide.walk import children, postorder


def gather(func: Func, images: Mapping[str, np.ndarray], starts: Mapping[str, tuple[int, ...]],
           points: Sequence[np.ndarray]) -> np.ndarray:
    """The values of a Func of images, without updates, where `points` (x first) cross; y first.

    starts: where an image begins, x first, if not at 0 everywhere. Outside of an image are the elements at its edges: what is
    read there does not matter.
    """
    loops = {name: np.asarray(each, np.int32).reshape((-1,) + (1,) * dim)
             for dim, (name, each) in enumerate(zip(func.args, points, strict=True))}
    done: dict[int, np.ndarray] = {}
    for part in postorder(func.values[0]):
        operands = [done[id(each)] for each in children(part)]
        match part:
            case Variable():
                done[id(part)] = loops[part.name]
            case Access():
                done[id(part)] = _element(images[part.name], starts.get(part.name, (0,) * len(operands)), operands)
            case _:
                done[id(part)] = meaning.apply(part, operands)
    return np.broadcast_to(done[id(func.values[0])], tuple(len(each) for each in points)[::-1])


def _element(image: np.ndarray, start: Sequence[int], at: Sequence[np.ndarray]) -> np.ndarray:
    """Elements of an image (y first) at points, x first, or those at its edges."""
    places = [np.clip(np.asarray(each, np.int64) - first, 0, size - 1)
              for each, first, size in zip(at, start, image.shape[::-1], strict=True)]
    return np.asarray(image[tuple(places[::-1])])
