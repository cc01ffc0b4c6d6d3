"""The images of a Halide program: what it reads by name, as arrays of the right type and rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .compiler.lang.halide.pipeline import BOOL, Input, Pipeline, Type
from .hw.arch.errors import UserError
from .pictures import read_picture


def image_names(pipeline: Pipeline) -> list[str]:
    """The images that are not constant Buffers."""
    return [each.name for each in pipeline.inputs.values() if each.data is None]


def check_names(names: Sequence[str], given: Mapping[str, object], where: str, fix: str) -> None:
    """UserError if images are missing or unknown."""
    unknown = [name for name in given if name not in names]
    if missing := [name for name in names if name not in given]:
        also = f"; it reads no image '{unknown[0]}'" if unknown else ""
        raise UserError(f"the program reads {', '.join(names)}, and nothing is given for {', '.join(missing)}{also}", where,
                        fix.format(missing[0]))
    if unknown:
        raise UserError(f"the program reads no image '{unknown[0]}'", where, f"its images are {', '.join(names) or 'none'}")


def read_images(pipeline: Pipeline, inputs: Mapping[str, object]) -> tuple[dict[str, np.ndarray], list[str]]:
    """The inputs as arrays, each of the type and rank that the program reads, and what was converted for that, in words.

    inputs: arrays, or picture files by their names.
    """
    check_names(image_names(pipeline), inputs, "", "inputs={{'{}': array}}")
    images, notes = {}, []
    for name, each in inputs.items():
        image, note = pipeline.inputs[name], ""
        if isinstance(each, str | Path):
            array, note = read_picture(Path(each), image.dimensions)
        else:
            try:
                array = np.asarray(each)
            except ValueError:
                raise UserError("it is no array: its rows are not equally long", f"image {name}",
                                "give a NumPy array") from None
        _check(array, image)
        images[name] = array
        if note:
            notes.append(f"{name}: {note}")
    return images, notes


def _check(array: np.ndarray, image: Input) -> None:
    where = f"image {image.name}"
    if image.type.kind in ("float", "bfloat"):
        yet = "; bfloat16 is not there yet" if image.type.kind == "bfloat" else ""
        raise UserError(f"the program reads {image.type}, and the array computes with integers{yet}", where,
                        "read integers of 8 or 16 bits, scaled as the program needs them")
    if array.ndim != image.dimensions:
        raise UserError(f"the program reads {image.dimensions} dimensions, the image has {array.ndim}, {array.shape}",
                        where, "give as many, x last; a plane of colours is array[0], or array[..., 0] where colours come last")
    wanted = dtype_of(image.type)
    if array.dtype != wanted:
        raise UserError(f"the program reads {wanted}, the image is {array.dtype}", where,
                        f"convert it, as with array.astype('{wanted}')")
    for dim, ((start, extent), has) in enumerate(zip(image.promised, array.shape[::-1], strict=False)):
        if start not in (None, 0) or extent not in (None, has):
            said = f"begins at {start}" if extent is None else f"has elements {start or 0}..{(start or 0) + extent - 1}"
            raise UserError(f"the program says that dimension {dim} {said}, the image has 0..{has - 1}", where,
                            "give such an image, or change set_bounds, set_min or set_extent in the program")
    if not array.size:
        raise UserError(f"the image is empty, its shape is {array.shape}", where, "give a larger image")


def dtype_of(type_: Type) -> np.dtype[Any]:
    """The NumPy type of a Halide type; UserError for BF16, which NumPy does not have."""
    if type_.kind == "bfloat":
        raise UserError("bfloat16 is not there yet: images and results are integers", "",
                        "compute with integers of 8 or 16 bits, scaled as the program needs them")
    return np.dtype("bool" if type_ == BOOL else f"{type_.kind}{type_.bits}")


def buffers(pipeline: Pipeline) -> dict[str, np.ndarray]:
    """The constant Buffers of a program, y first."""
    return {name: np.array(each.data, dtype_of(each.type)).reshape(each.extents[::-1])
            for name, each in pipeline.inputs.items() if each.data is not None}


def extents(pipeline: Pipeline, images: Mapping[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
    """How far images and constant Buffers that begin at 0 reach, x first."""
    constant = {name: each.extents for name, each in pipeline.inputs.items() if each.data is not None and not any(each.minimum)}
    return constant | {name: image.shape[::-1] for name, image in images.items()}
