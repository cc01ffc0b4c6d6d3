"""Tensors as arrays in a folder, a text file each with a number a line, as the public Sparse Abstract Machine tools have them:

    tensor_B_mode_0_seg  tensor_B_mode_0_crd   segments and coordinates of the level that holds mode 0, if it is compressed
    tensor_B_mode_vals                         values of the positions of the last level
    tensor_B_mode_shape                        the extent of every mode; a scalar needs none

Modes are those of the tensor; in which order levels hold them is said by its format.

Errors:  UserError naming the file, and the line where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sardonyx.hw.arch.errors import UserError, shown

from .content import read_content
from .coordinates import Coo, Ints
from .fibertree import Fibertree, Format, Level, entries
from .files import taken
from .table import INDEX, LONGEST, REAL, read_rows

SEGMENTS, COORDINATES, VALUES, SHAPE = "seg", "crd", "vals", "shape"
# Positions of dense levels alone: as many zeros are 100 MB here.
MOST_POSITIONS = 1 << 24


def file_name(tensor: str, what: str, mode: int | None = None) -> str:
    """The name of a file: ``tensor_B_mode_0_seg``, ``tensor_B_mode_vals``."""
    return f"tensor_{tensor}_mode_{what}" if mode is None else f"tensor_{tensor}_mode_{mode}_{what}"


def read_levels(folder: Path, tensor: str, form: Format, values: str = "exact", seed: int = 0, pattern: bool = False) -> Coo:
    """A tensor from its files in a folder. `values` and `seed` as of `read_tensor`; `pattern`: every value is 1, and no file
    of them is needed."""
    extents = tuple(_whole(folder / file_name(tensor, SHAPE), LONGEST).tolist()) if form.rank else ()
    where = folder / file_name(tensor, SHAPE)
    if len(extents) != form.rank:
        raise UserError(f"there are {len(extents)} extents, but tensor {tensor} has {form.rank} modes", str(where),
                        "write one a line")
    levels, fibers = list[Level](), 1
    for level, mode in enumerate(form.order):
        found, fibers = _level(folder, tensor, mode, extents[mode], form.is_dense(level), fibers)
        levels.append(found)
    coords, position = entries(levels, form.order)
    if pattern:
        return taken(extents, coords, np.ones(len(coords), np.int64), "exact", seed, tensor, 0)
    path = folder / file_name(tensor, VALUES)
    numbers = _numbers(path, REAL)
    if len(numbers) != fibers:
        raise UserError(f"there are {len(numbers)} values, but {fibers} positions", str(path),
                        "write a value for each position")
    return taken(extents, coords, numbers[position], values, seed, str(path), 0)


def _level(folder: Path, tensor: str, mode: int, extent: int, dense: bool, fibers: int) -> tuple[Level, int]:
    """A level below so many positions, and how many it has."""
    if dense:
        if fibers * extent > MOST_POSITIONS:
            raise UserError(f"dense mode {mode} makes {fibers * extent:,} positions, more than {MOST_POSITIONS:,}",
                            str(folder / file_name(tensor, SHAPE)), "give a smaller tensor, or a compressed level")
        return Level(extent, dense=True), fibers * extent
    at = folder / file_name(tensor, SEGMENTS, mode)
    crd_at = folder / file_name(tensor, COORDINATES, mode)
    seg, crd = _whole(at, LONGEST), _whole(crd_at, LONGEST)
    if len(seg) != fibers + 1:
        raise UserError(f"there are {len(seg)} segments, but {fibers} positions above need {fibers + 1}", str(at),
                        "write where each begins, and at last where the last ends")
    if seg[0] != 0 or seg[-1] != len(crd) or (np.diff(seg) < 0).any():
        raise UserError(f"the segments do not rise from 0 to the number of coordinates, {len(crd)}", str(at),
                        "write where each begins, and at last where the last ends")
    if len(beyond := np.flatnonzero(crd >= extent)):
        raise UserError(f"coordinate {crd[beyond[0]]} is not below extent {extent} of mode {mode}",
                        f"{crd_at}:{beyond[0] + 1}", "count from 0")
    falls = np.flatnonzero(np.diff(crd) <= 0) + 1
    if len(wrong := falls[~np.isin(falls, seg)]):
        raise UserError(f"coordinate {crd[wrong[0]]} does not rise within its segment", f"{crd_at}:{wrong[0] + 1}",
                        "write the coordinates of a segment in rising order, each once")
    return Level(extent, seg=seg, crd=crd), len(crd)


def _whole(path: Path, most: int) -> Ints:
    """Whole numbers from 0."""
    numbers = _numbers(path, INDEX).astype(np.int64)
    if len(beyond := np.flatnonzero(numbers > most)):
        raise UserError(f"{numbers[beyond[0]]} is more than {most}", f"{path}:{beyond[0] + 1}", "write smaller numbers")
    return numbers


def _numbers(path: Path, pattern: bytes) -> NDArray[np.float64]:
    """The numbers of a file, one a line."""
    def refuse(number: int, words: list[str]) -> UserError:
        return UserError(f"'{shown(' '.join(words))}' is no {'whole number from 0' if pattern == INDEX else 'number'}",
                         f"{path}:{number}", "write one number a line")

    return read_rows(read_content(path, fix="write this file"), [pattern], refuse)[:, 0]


def written(tensor: str, tree: Fibertree) -> Mapping[str, str]:
    """The contents of the files of a tensor by their names."""
    files = {file_name(tensor, SHAPE): _lines(tree.shape), file_name(tensor, VALUES): _lines(tree.values)}
    for mode, level in zip(tree.format.order, tree.levels, strict=True):
        if not level.dense:
            files |= {file_name(tensor, SEGMENTS, mode): _lines(level.seg),
                      file_name(tensor, COORDINATES, mode): _lines(level.crd)}
    return files


def _lines(numbers: object) -> str:
    return "".join(f"{number}\n" for number in np.asarray(numbers).tolist())
