"""Configuration: declared once as fields; hardware, encoder, decoder and register tables read the declaration.

A `ConfigSet` is the configuration of one component: named fields with widths. A `ConfigMap` is the configuration
space of a tile: its sets, packed in the declared order into 32-bit words, no field across two words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from amaranth.lib import data

from .check import Identifier, Misfit, Whole, check
from .errors import UserError

WORD_BITS = 32

# The register of every tile that reads back what waits in it; the configuration words come before it.
STATUS_REGISTER = 0xFFFF
# Its bits above those of the tile's ports: a word led at a wall, streams that do not belong together, and that or a level
# beyond its buffer.
STATUS_WALLED, STATUS_FAULT, STATUS_OVERFLOW = 29, 30, 31

# The registers of a MEM tile from here on write its SRAM, two 16-bit words each, the lower one first; they read as these words
# with `Arch.memory_readback`, else as 0.
MEMORY_REGISTER = 0x8000

# A write to this row is one to all PE or MEM tiles of its column, IO tiles left out.
EVERY_ROW = 0xFF

# 16-bit words of SRAM that a tile can have at most: twice the registers from there on, a power of two without the last ones.
MEMORY_WORDS = STATUS_REGISTER - MEMORY_REGISTER + 1


def config_segment(row: int, rows: int) -> int:
    """The segment of a column's configuration channel in which a row is, where it has a register every so many rows.

    The row of IO tiles belongs to the first.
    """
    return max(0, row - 1) // rows


@dataclass(frozen=True)
class Field:
    """One configuration field.

    Parameters
    ----------
    name : str
    bits : int                 Width, 1..32.
    doc : str                  What it does, one line.
    choices : tuple of str     Names of the values 0, 1, ...; the field is then written and read by name.
    """

    name: Annotated[str, Identifier()]
    bits: Annotated[int, Whole(1, WORD_BITS)]
    doc: str
    choices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check(self, "configuration field", self._misfits)

    def _misfits(self) -> Iterator[Misfit]:
        if len(self.choices) > 1 << self.bits:
            yield Misfit("bits", f"is {self.bits}, too few for {len(self.choices)} choices", "give more bits")

    def encode(self, value: int | str | bool, where: str) -> int:
        """The number to write for a value; UserError if it is no choice or out of range."""
        if self.choices and isinstance(value, str):
            if value not in self.choices:
                raise UserError(f"'{value}' is not a value of {self.name}", where, f"choose one of {', '.join(self.choices)}")
            return self.choices.index(value)
        if not isinstance(value, int | np.integer | np.bool_) or not 0 <= int(value) < 1 << self.bits:
            raise UserError(f"{value!r} is not a value of {self.name}", where, f"give 0..{(1 << self.bits) - 1}")
        return int(value)

    def decode(self, raw: int) -> int | str:
        """The value of a number: its name if the field has choices and the number is one of them."""
        return self.choices[raw] if raw < len(self.choices) else raw


Values = Mapping[str, "int | str | bool"]


class ConfigSet:
    """The fields of one component, with their packing.

    Parameters
    ----------
    name : str            Name in the tile's configuration space.
    fields : Field        In order; absent fields are written as 0.
    """

    def __init__(self, name: str, *fields: Field) -> None:
        self.name = name
        self.fields = {field.name: field for field in fields}
        assert len(self.fields) == len(fields), f"{name} has two fields of one name"
        self.layout = data.StructLayout({field.name: field.bits for field in fields})

    def __repr__(self) -> str:
        return f"ConfigSet({self.name!r}, {', '.join(self.fields)})"

    def numbers(self, values: Values) -> dict[str, int]:
        """Every field as a number; UserError for an unknown field or a value out of range."""
        for name in values:
            if name not in self.fields:
                raise UserError(f"{self.name} has no configuration field '{name}'",
                                fix=f"fields are {', '.join(self.fields) or 'none'}")
        return {name: field.encode(values.get(name, 0), self.name) for name, field in self.fields.items()}

    def encode(self, **values: int | str | bool) -> int:
        """All fields packed into one number, first field at bit 0 (as the component's ``cfg`` port takes it)."""
        return self.layout.const(self.numbers(values)).as_bits()

    def decode(self, raw: int) -> dict[str, int | str]:
        """The inverse of `encode`."""
        const = self.layout.from_bits(raw)
        return {name: field.decode(int(const[name])) for name, field in self.fields.items()}


@dataclass(frozen=True)
class Slot:
    """Where a field lives: 32-bit word and lowest bit in it."""

    word: Annotated[int, Whole(0, MEMORY_REGISTER - 1)]
    lsb: Annotated[int, Whole(0, WORD_BITS - 1)]

    def __post_init__(self) -> None:
        check(self, "slot")


def differing(each: ConfigSet, values: Values) -> dict[str, int | str | bool]:
    """The values that a register full of zeros would not have."""
    return {name: values[name] for name, number in each.numbers(values).items() if number}


def memory_words(contents: Sequence[int]) -> list[tuple[int, int]]:
    """Registers of a MEM tile and what to write into them, so that its SRAM has these 16-bit words from address 0 on.

    The last register is filled up with a word of 0.
    """
    low, high = contents[::2], [*contents[1::2], 0]
    return [(MEMORY_REGISTER + n, word | high[n] << 16) for n, word in enumerate(low)]


class ConfigMap:
    """The configuration space of one tile kind: sets packed into 32-bit words in the declared order."""

    def __init__(self, sets: tuple[ConfigSet, ...]) -> None:
        self.sets = {each.name: each for each in sets}
        assert len(self.sets) == len(sets), "two configuration sets of one name in a tile"
        self.slots: dict[tuple[str, str], Slot] = {}
        word = lsb = 0
        for each in sets:
            for field in each.fields.values():
                if lsb + field.bits > WORD_BITS:
                    word, lsb = word + 1, 0
                self.slots[each.name, field.name] = Slot(word, lsb)
                lsb += field.bits
        self.words = word + (lsb > 0)

    @cached_property
    def layout(self) -> data.StructLayout:
        """The space as a tile core sees it: one struct of structs."""
        return data.StructLayout({name: each.layout for name, each in self.sets.items()})

    def encode(self, values: Mapping[str, Values]) -> list[int]:
        """Every word of the space; what `values` leaves out is 0, so that no stale state survives."""
        for name in values:
            if name not in self.sets:
                raise UserError(f"there is no configuration set '{name}'", fix=f"sets are {', '.join(self.sets)}")
        words = [0] * self.words
        for name, each in self.sets.items():
            for field, number in each.numbers(values.get(name, {})).items():
                slot = self.slots[name, field]
                words[slot.word] |= number << slot.lsb
        return words

    def decode(self, words: list[int]) -> dict[str, dict[str, int | str]]:
        """The inverse of `encode`: every field of every set."""
        def field(name: str, field: Field) -> int | str:
            slot = self.slots[name, field.name]
            return field.decode((words[slot.word] >> slot.lsb) & ((1 << field.bits) - 1))

        return {name: {f.name: field(name, f) for f in each.fields.values()} for name, each in self.sets.items()}
