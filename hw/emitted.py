"""What the text of an emitted module says: its ports, its registers, and the modules in it.

Input:   Verilog of one module as `hw.emit` writes it: a declaration, an instance and an assignment begin on lines of their own.
Errors:  UserError for a module without ports: its text is of another origin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .arch.errors import UserError

_PORT = re.compile(r"^ *(input|output) +(?:wire|reg) +(?:\[(\d+):0\] +)?(\w+)(?: = [^,\n]+)?,?$", re.MULTILINE)
_DECLARED = re.compile(r"^ *(?:output +)?reg +(?:\[(\d+):0\] +)?(\w+)(?: \[(\d+):0\])?(?: = [^;,\n]+)?[;,]?$", re.MULTILINE)
_CLOCKED = re.compile(r"^ +(\w+)(?:\[[^\n]*?\])* <= [^\n]*;$", re.MULTILINE)


@dataclass(frozen=True)
class Port:
    """A port of a module."""

    name: str
    flow: str
    bits: int


def ports(verilog: str) -> list[Port]:
    """The ports of a module, in the order of their declarations."""
    found = [Port(name, flow, int(high or 0) + 1) for flow, high, name in _PORT.findall(verilog)]
    if not found:
        raise UserError("this module has no ports that can be read", fix="give Verilog that `sardonyx verilog` wrote")
    return found


@dataclass(frozen=True)
class Register:
    """What a clock edge changes: words of some bits, one if it is no array."""

    width: int
    words: int

    @property
    def bits(self) -> int:
        return self.width * self.words


def registers(verilog: str) -> dict[str, Register]:
    """Everything that a clock edge changes."""
    clocked = set(_CLOCKED.findall(verilog))
    found = {name: Register(int(high or 0) + 1, int(last or 0) + 1) for high, name, last in _DECLARED.findall(verilog)
             if name in clocked}
    assert clocked == found.keys(), f"{sorted(clocked - found.keys())} have no declaration: emission has changed"
    return found


def instances(verilog: str) -> dict[str, str]:
    """The modules that a module uses, with parameters or without, by the names of their instances."""
    found, set_module = {}, ""
    for words in (line.split() for line in verilog.splitlines() if line.endswith("(")):
        if len(words) == 2 and words[1] == "#(":
            set_module = words[0]
        elif len(words) == 3 and words[0] != "module":
            found[words[1]] = set_module if words[0] == ")" else words[0]
    return found


def below(top: str, texts: Mapping[str, str]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Every instance below a module, the module itself first: the names on the way to it, and their modules.

    texts: Verilog by module.
    """
    waiting: list[tuple[tuple[str, ...], tuple[str, ...]]] = [((top,), (top,))]
    while waiting:
        names, modules = waiting.pop()
        yield names, modules
        waiting += [((*names, name), (*modules, inner)) for name, inner in instances(texts[modules[-1]]).items()]
