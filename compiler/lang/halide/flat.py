"""Records of a FlatBuffers file, read field by field through the tables of `schema`.

Every offset, length and code is checked: the FlatBuffers runtime checks nothing. What is read is counted, since a file of
offsets can name one part a million times.

Errors:  Damaged, a ValueError, for what lies outside the file or is not of the schema.
Source:  FlatBuffers internals (flatbuffers.dev): a table begins with the distance back to its table of field offsets, which
         begins with its size. A vector or a text begins with its length.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from .schema import ENUMS, SCALARS, TABLES, UNIONS

Scalar = int | float | bool


def _slots(fields: Mapping[str, str]) -> dict[tuple[str, bool], int]:
    """The number of every field in a table's offsets; with True that of the code of a union, which stands before it."""
    names = [(field, code) for field, kind in fields.items()
             for code in ((True, False) if kind.strip("[]") in UNIONS else (False,))]
    return {name: at for at, name in enumerate(names)}


_SLOTS = {table: _slots(fields) for table, fields in TABLES.items()}


class Damaged(ValueError):
    """The bytes are not what the schema says."""


# A twentieth of that is what reading takes of the files that Halide writes.
_PARTS_A_BYTE = 1
# So many bytes of a text or of a Buffer count as one part more.
_TEXT_BYTES = 16


@dataclass
class File:
    """The bytes of a file, and how many parts of it may still be read."""

    data: bytes
    left: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.left = _PARTS_A_BYTE * len(self.data)

    def count(self, parts: int = 1) -> None:
        """Damaged if so much was read that parts of the file stand for many."""
        self.left -= parts
        if self.left < 0:
            raise Damaged("its parts hold each other many times over")


@dataclass(frozen=True)
class Record:
    """A table of the file: `table` is its name in the schema, `at` its position in bytes."""

    table: str
    file: File
    at: int

    def number(self, field: str) -> Scalar:
        """A number or an enumeration's code; what the file leaves out is 0."""
        found = self.optional(field)
        return 0 if found is None else found

    def optional(self, field: str) -> Scalar | None:
        """A number, or None if the file leaves it out."""
        place, kind = self._find(field)
        return None if place is None else self._scalar(SCALARS[kind], place)

    def integer(self, field: str) -> int:
        """A whole number."""
        return int(self.number(field))

    def flag(self, field: str) -> bool:
        """A Boolean."""
        return bool(self.number(field))

    def choice(self, field: str) -> str:
        """The name of an enumeration's value."""
        kind, code = TABLES[self.table][field], self.integer(field)
        if code >= len(ENUMS[kind]):
            raise Damaged(f"{self.table}.{field} has the code {code}")
        return ENUMS[kind][code]

    def text(self, field: str) -> str:
        """A string; what the file leaves out is empty."""
        place, _ = self._find(field)
        return "" if place is None else self._text(place)

    def texts(self, field: str) -> tuple[str, ...]:
        """A vector of strings."""
        return tuple(self._text(place) for place in self._vector(field, 4))

    def record(self, field: str) -> Record | None:
        """A table, or None if the file leaves it out."""
        place, kind = self._find(field)
        return None if place is None else self._record(kind, place)

    def records(self, field: str) -> tuple[Record, ...]:
        """A vector of tables."""
        kind = TABLES[self.table][field][1:-1]
        return tuple(self._record(kind, place) for place in self._vector(field, 4))

    def member(self, field: str) -> Record | None:
        """What a field of a union type holds."""
        kind_at, kind = self._find(field, code=True)
        place, _ = self._find(field)
        return None if kind_at is None or place is None else self._member(kind, kind_at, place)

    def members(self, field: str) -> tuple[Record | None, ...]:
        """A vector of a union type."""
        kind = TABLES[self.table][field][1:-1]
        codes, places = tuple(self._vector(field, 1, code=True)), tuple(self._vector(field, 4))
        if len(codes) != len(places):
            raise Damaged(f"{self.table}.{field} has {len(places)} values of {len(codes)} kinds")
        return tuple(self._member(kind, code, place) for code, place in zip(codes, places))

    def count(self, field: str) -> int:
        """The length of a vector."""
        return len(self._vector(field, 1))

    def bytes(self, field: str) -> bytes:
        """A vector of bytes."""
        places = self._vector(field, 1)
        self.file.count(len(places) // _TEXT_BYTES)
        return self.file.data[places.start:places.stop]

    def _find(self, field: str, code: bool = False) -> tuple[int | None, str]:
        """Where a field is stored, None if it is left out, and its type. A union has a slot for the code before its own."""
        kinds = TABLES[self.table]
        offsets, slot = self.at - int(self._scalar("<i", self.at)), 4 + 2 * _SLOTS[self.table][field, code]
        # Fields that a writer leaves out at the end have no slot.
        offset = int(self._scalar("<H", offsets + slot)) if slot < self._scalar("<H", offsets) else 0
        return (self.at + offset if offset else None), kinds[field]

    def _vector(self, field: str, size: int, code: bool = False) -> range:
        """Positions of the elements of a vector."""
        place, _ = self._find(field, code)
        if place is None:
            return range(0)
        start = self._target(place)
        length = int(self._scalar("<I", start))
        self._inside(start + 4, size * length)
        return range(start + 4, start + 4 + size * length, size)

    def _member(self, kind: str, code_at: int, place: int) -> Record | None:
        code = int(self._scalar("<B", code_at))
        if code >= len(UNIONS[kind]):
            raise Damaged(f"a {kind} has the code {code}")
        return self._record(UNIONS[kind][code], place) if code else None

    def _record(self, kind: str, place: int) -> Record:
        self.file.count()
        return Record(kind, self.file, self._target(place))

    def _text(self, place: int) -> str:
        start = self._target(place)
        length = int(self._scalar("<I", start))
        self._inside(start + 4, length)
        self.file.count(1 + length // _TEXT_BYTES)
        try:
            return self.file.data[start + 4:start + 4 + length].decode()
        except UnicodeDecodeError:
            raise Damaged(f"the text at byte {start} is not UTF-8") from None

    def _target(self, place: int) -> int:
        target = place + int(self._scalar("<I", place))
        self._inside(target, 4)
        return target

    def _scalar(self, form: str, place: int) -> Scalar:
        self._inside(place, struct.calcsize(form))
        value: Scalar = struct.unpack_from(form, self.file.data, place)[0]
        return value

    def _inside(self, start: int, size: int) -> None:
        if not 0 <= start <= start + size <= len(self.file.data):
            raise Damaged(f"bytes {start} to {start + size} of {len(self.file.data)} are meant")
