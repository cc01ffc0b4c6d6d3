"""Picture files and arrays: what the command line reads and writes.

Arrays have y first, and colour planes in front of it: the order of a Halide image (x, y, c) reversed. A file that ends in .npy
holds any array.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, UnidentifiedImageError

from .hw.arch.errors import UserError, shown
from .tensors.numpy_file import read_array

# Modes of Pillow of one plane with 16 bits, and those of deep planes that no other mode holds without loss.
GREY_16 = ("I;16", "I;16B", "I;16L", "I;16N")
DEEP = (*GREY_16, "I", "F")
# Kinds of files that are read; Pillow knows more, of which some start programs.
READ = ("PNG", "JPEG", "TIFF", "BMP", "GIF", "PPM", "WEBP")
# Kinds of files that hold 16 bits.
HOLD_16 = (".png", ".tif", ".tiff")


def read_picture(path: Path, dimensions: int) -> tuple[np.ndarray, str]:
    """A picture as 8-bit or 16-bit integers, grey with two dimensions, red, green and blue planes with three; and what was
    converted for that, in words.

    UserError for a file that cannot be read, or whose values do not fit.
    """
    if path.suffix == ".npy":
        return read_array(path), ""
    if dimensions not in (2, 3):
        raise UserError(f"the program reads an image of {dimensions} dimensions, a picture has 2 (grey) or 3 (colour)",
                        str(path), "give the image as .npy")
    picture = _load(path)
    try:
        return _planes(picture, str(path)) if dimensions == 3 else _grey(picture, str(path))
    except ValueError:
        raise UserError(f"the picture's mode is {picture.mode}, which has no red, green, blue or grey", str(path),
                        "convert it to a PNG file") from None


def _load(path: Path) -> Image.Image:
    """A picture with its contents."""
    try:
        # Pillow warns of a picture half as large as what it refuses.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(path, formats=READ) as picture:
                picture.load()
                return picture
    except UnidentifiedImageError:
        raise UserError("not a picture that can be read", str(path), "give a PNG, JPEG or TIFF file, or .npy") from None
    except Image.DecompressionBombError:
        raise UserError(f"the picture has more than {2 * (Image.MAX_IMAGE_PIXELS or 0)} pixels", str(path),
                        "cut it into smaller ones, or give the image as .npy") from None
    except FileNotFoundError as error:
        raise UserError(f"cannot read the picture: {error.strerror}", str(path), "name a file that is there") from None
    except MemoryError:
        raise UserError("cannot read the picture: it does not fit in memory", str(path), "give a smaller one") from None
    except Exception as error:
        # Of a damaged file a decoder raises whatever it stumbles over: SyntaxError, struct.error, zlib.error, KeyError, ...
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
        raise UserError(f"cannot read the picture: {shown(reason)}", str(path),
                        "name a whole PNG, JPEG or TIFF file, or .npy") from None


def _grey(picture: Image.Image, where: str) -> tuple[np.ndarray, str]:
    if picture.mode == "F":
        raise UserError("the picture holds floating-point numbers", where, "give whole numbers, as .npy or with 8 or 16 bits")
    if picture.mode in DEEP:
        values = np.asarray(picture)
        if values.min() < 0 or values.max() > 0xFFFF:
            raise UserError(f"the picture holds {values.min()}..{values.max()}, and 16 bits hold 0..65535", where,
                            "scale it, or give the image as .npy")
        return values.astype(np.uint16), ""
    note = {"L": "", "1": "black and white taken as 0 and 255"}.get(picture.mode, f"{picture.mode} taken as grey")
    return np.asarray(picture if picture.mode == "L" else picture.convert("L")), note


def _planes(picture: Image.Image, where: str) -> tuple[np.ndarray, str]:
    if picture.mode in DEEP:
        raise UserError("the picture is grey with more than 8 bits, and the program reads planes of colours", where,
                        "give the planes as .npy")
    notes = {"RGB": "", "L": "grey taken as three equal planes", "1": "black and white taken as three equal planes",
             "RGBA": "RGBA without its transparency"}
    return np.ascontiguousarray(np.moveaxis(np.asarray(picture.convert("RGB")), 2, 0)), \
        notes.get(picture.mode, f"{picture.mode} taken as RGB")


def check_picture(path: Path, dtype: np.dtype[Any], dimensions: int) -> None:
    """UserError if arrays of a type and rank cannot be written to a file of this name."""
    if path.suffix == ".npy":
        return
    if path.suffix.lower() not in Image.registered_extensions():
        raise UserError("the name does not say which kind of picture to write", str(path), "let it end in .png or .npy")
    if not ((dimensions == 2 and dtype in (np.uint8, np.uint16)) or (dimensions == 3 and dtype == np.uint8)):
        raise UserError(f"a result of {dtype} with {dimensions} dimensions is no picture", str(path),
                        "give a file name that ends in .npy")
    if dtype == np.uint16 and path.suffix.lower() not in HOLD_16:
        raise UserError(f"{path.suffix} does not hold 16 bits", str(path), "let the name end in .png, .tiff or .npy")


def write_picture(value: np.ndarray, path: Path) -> None:
    """Write integers as a picture: 8 bits, or 16 bits grey; any array as .npy. Folders are made.

    UserError for an array or a name that does not make a picture, or a file that cannot be written.
    """
    check_picture(path, value.dtype, value.ndim)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".npy":
            np.save(path, value)
            return
        if value.ndim == 3 and len(value) != 3:
            raise UserError(f"a result of {value.dtype} with {len(value)} planes is no picture", str(path),
                            "give a file name that ends in .npy")
        Image.fromarray(np.moveaxis(value, 0, 2) if value.ndim == 3 else value).save(path)
    except OSError as error:
        raise UserError(f"cannot write the picture: {error.strerror or error}", str(path),
                        "name a file that can be written") from None
