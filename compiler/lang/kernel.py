"""Kernels by name: statements with their order and formats, one file each under `apps/sparse`, those of several statements in
`programs` there.

    doc = "Sparse matrix times dense vector."
    expression = "x(i) = B(i,j) * c(j)" # several with ; between them, or each on a line
    order = "ij"                        # optional; of several as "ij; jk"
    formats = { c = "d0" }              # optional
    also = ["mat_vecmul"]               # optional: other names, as papers have them
    fuse = ["T"]                        # optional, of several statements: what stays inside the array
    shapes = [{ i = 11, j = 7 }]        # optional: extents that tests run

A name that ends in `.toml` is taken as the path of a file of the user's own.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path

from sardonyx.hw.arch.errors import UserError, shown
from sardonyx.tensors.content import read_content
from sardonyx.tensors.table import LONGEST

from .einsum import Einsum, parse
from .program import Program, parse_program

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_FOLDER = files("sardonyx.apps") / "sparse"
_PROGRAMS = _FOLDER / "programs"
# A kernel is a line or two; nothing longer is one.
MOST_BYTES = 1 << 20
_EXAMPLE = "write lines such as expression = \"x(i) = b(i)\""
_KEYS = {"doc": str, "expression": str, "order": str, "formats": dict, "also": list, "fuse": list, "shapes": list}


@dataclass(frozen=True)
class Kernel:
    """A statement with its schedule, and extents per index that tests run."""

    name: str
    doc: str
    expression: str
    order: str
    formats: Mapping[str, str]
    shapes: tuple[Mapping[str, int], ...]
    also: tuple[str, ...] = ()
    fuse: tuple[str, ...] = ()

    def program(self) -> Program:
        """The checked statements."""
        return parse_program(self.expression, self.order, self.formats, origin=f"{self.name}.toml")

    def einsum(self) -> Einsum:
        """The checked statement."""
        return parse(self.expression, self.order, self.formats, origin=f"{self.name}.toml")


def kernel_names() -> list[str]:
    """The names of all kernels that come with Sardonyx, sorted."""
    return sorted(entry.name[:-5] for entry in _FOLDER.iterdir() if entry.name.endswith(".toml"))


def program_names() -> list[str]:
    """The names of the kernels of several statements, sorted."""
    return sorted(entry.name[:-5] for entry in _PROGRAMS.iterdir() if entry.name.endswith(".toml"))


def other_names() -> dict[str, str]:
    """The other names of kernels, and the name of each in `kernel_names`."""
    return {also: name for name in kernel_names() for also in load_kernel(name).also}


def load_kernel(name: str) -> Kernel:
    """A kernel by any of its names, or from a file of the user's own."""
    names = kernel_names()
    if name.endswith(".toml"):
        try:
            return read_kernel(Path(name).stem, read_content(Path(name), MOST_BYTES).decode("utf-8"), name)
        except UnicodeDecodeError as error:
            raise UserError(f"this is not UTF-8: byte {error.start + 1} is {error.object[error.start]:#04x}", name,
                            "write it as plain text") from None
    if name in program_names():
        return read_kernel(name, (_PROGRAMS / f"{name}.toml").read_text(encoding="utf-8"), f"{name}.toml")
    if name not in names:
        other = other_names()
        if name in other:
            return load_kernel(other[name])
        near = get_close_matches(name, [*names, *other, *program_names()], 3)
        raise UserError(f"there is no kernel '{shown(name)}'", fix=f"use {' or '.join(near)}" if near
                        else f"use one of {', '.join(names)}")
    return read_kernel(name, (_FOLDER / f"{name}.toml").read_text(encoding="utf-8"), f"{name}.toml")


def read_kernel(name: str, text: str, where: str) -> Kernel:
    """A kernel from the text of its file; `where` stands in errors."""
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise UserError("this is not TOML that is read: it nests too deep", where, _EXAMPLE) from None
    except ValueError as error:
        # Not only TOMLDecodeError: a number of 5,000 digits, a date that no calendar has.
        raise UserError(f"this is not TOML: {shown(str(error), 200)}", where, _EXAMPLE) from None
    for key, value in data.items():
        if key not in _KEYS or not isinstance(value, _KEYS[key]):
            raise UserError(f"key '{shown(key)}' is unknown or of the wrong type", where,
                            f"use {', '.join(f'{known} ({kind.__name__})' for known, kind in _KEYS.items())}")
    for tensor, form in data.get("formats", {}).items():
        if not isinstance(form, str):
            raise UserError(f"the format of {shown(tensor)} is no text", where, "write formats = { B = \"ss10\" }")
    if not all(isinstance(also, str) for also in data.get("also", [])):
        raise UserError("one of the other names is no text", where, "write also = [\"mat_vecmul\"]")
    if not all(isinstance(tensor, str) for tensor in data.get("fuse", [])):
        raise UserError("what is fused is no name of a tensor", where, "write fuse = [\"T\"]")
    for shape in data.get("shapes", []):
        if not isinstance(shape, dict) or not all(type(extent) is int and 1 <= extent <= LONGEST for extent in shape.values()):
            raise UserError(f"one of the shapes has no extents from 1 to {LONGEST}", where,
                            "write shapes = [{ i = 11, j = 7 }]")
    if "expression" not in data:
        raise UserError("there is no expression", where, "add expression = \"x(i) = b(i)\"")
    return Kernel(name, data.get("doc", ""), data["expression"], data.get("order", ""),
                  data.get("formats", {}),
                  tuple(data.get("shapes", ())), tuple(data.get("also", ())), tuple(data.get("fuse", ())))
