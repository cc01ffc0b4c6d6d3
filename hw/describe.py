"""What stands at the top of a module's file, and the names of the fields of its packed ports.

Input:   a component.
Output:  its docstring as a comment, so that source and Verilog say one thing; the values of its parameters; for each port
         that packs fields, which bits are which field.
Cost:    nothing to speak of.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Iterator
from dataclasses import dataclass

from amaranth.lib import data, wiring

from .arch.token import TOKEN

_PLAIN = (bool, int, str, enum.Enum)


@dataclass(frozen=True)
class Field:
    """Some bits of a port; `whole` if they are a structure, whose own fields follow."""

    port: str
    high: int
    low: int
    name: str
    whole: bool


@dataclass(frozen=True)
class Description:
    """What is said of a module.

    Parameters
    ----------
    comment : str               Lines of ``//``, or nothing.
    fields : tuple of Field     Of packed ports but for streams, in the order of their bits.
    """

    comment: str = ""
    fields: tuple[Field, ...] = ()


def describe(component: wiring.Component, name: str) -> Description:
    """The description of a component whose module is called `name`."""
    # One module serves payloads of all that have as many bits, whoever made it first: their fields are not its own.
    depth = 1 if getattr(component, "any_payload", False) else 2
    fields, all_fields = tuple(_fields(component, 1)), tuple(_fields(component, depth))
    said = inspect.cleandoc(type(component).__dict__.get("__doc__") or "")
    lines = [f"{name}: {said}" if said else name]
    if values := [f"{parameter} = {value}" for parameter, value in _values(component)]:
        lines += ["", "Parameters of this module", "-------------------------", *values]
    for port in dict.fromkeys(field.port for field in all_fields):
        lines += ["", f"Bits of {port}", "-" * len(f"Bits of {port}")]
        lines += [f"{_range(field):9}  {field.name}" for field in all_fields if field.port == port and not field.whole]
    return Description("".join(f"// {line}".rstrip() + "\n" for line in "\n".join(lines).splitlines()), fields)


def _range(field: Field) -> str:
    return f"[{field.low}]" if field.high == field.low else f"[{field.high}:{field.low}]"


def _values(component: wiring.Component) -> Iterator[tuple[str, object]]:
    """Numbers and words that the component was made with, also those in descriptions that it was given.

    Of a description that its `emit_key` leaves out, nobody knows whether it decides anything.
    """
    members, key = component.signature.members, getattr(component, "emit_key", None)
    deciding = key if isinstance(key, tuple) else (key,)
    for name, value in vars(component).items():
        if name.startswith("_") or name in members or name in ("module_name", "emit_key"):
            continue
        if isinstance(value, _PLAIN):
            yield name, _shown(value)
        elif dataclasses.is_dataclass(value) and (key is None or any(value is part for part in deciding)):
            without = getattr(value, "without_effect", ())
            for field in dataclasses.fields(value):
                part = getattr(value, field.name)
                if isinstance(part, _PLAIN) and field.name not in without:
                    yield f"{name}.{field.name}", _shown(part)


def _shown(value: object) -> object:
    return value.name.lower() if isinstance(value, enum.Enum) else value


def _fields(component: wiring.Component, depth: int) -> Iterator[Field]:
    """Of ports with names of up to `depth` parts; a stream has two."""
    for path, member, _ in component.signature.flatten(component):
        shape = member.shape
        # Tokens are on nearly every port; `hw/arch/token.py` and the documents say once what their bits are.
        if isinstance(shape, data.StructLayout) and len(path) <= depth and shape != TOKEN:
            yield from _parts("__".join(map(str, path)), shape, 0, ())


def _parts(port: str, layout: data.Layout, low: int, above: tuple[str, ...]) -> Iterator[Field]:
    for name, field in layout:
        at, path = low + field.offset, (*above, str(name))
        if field.width:
            inside = field.shape if isinstance(field.shape, data.StructLayout | data.ArrayLayout) else None
            yield Field(port, at + field.width - 1, at, ".".join(path), inside is not None)
            if inside is not None:
                yield from _parts(port, inside, at, path)
