"""What moves in a machine: the bits of its modules that change, and the accesses to its memories, counted cycle by cycle.

Counted for a module are changes of what its own gates follow: its inputs, its registers, and the outputs of the modules in it.
An SRAM is asked for reads and writes instead. Values are those with which a cycle ends, so that what a wire does on its way
to them (glitches) is not seen. What never moves in a run, such as configuration, is among them and does not change.

`sources` says where Verilator keeps these values in a library that is built to count (`library`); without that it optimises
many of them away. `stitched.h` compares them at the end of each cycle.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ...hw.emitted import below, ports, registers

_SRAM = re.compile(r"sram_\d+x\d+x\d+$")


@dataclass(frozen=True)
class Source:
    """A value that is compared: its member in Verilator's class, and the module for which its changes count.

    words, width: of a register, one word or an array of them; a width of 0 is no register.
    """

    member: str
    module: str
    words: int = 1
    width: int = 0


@dataclass(frozen=True)
class Memory:
    """An SRAM: the members that say whether it is accessed and which lanes are written."""

    enable: str
    write: str
    module: str


@dataclass(frozen=True)
class Count:
    """What was counted of modules.

    Parameters
    ----------
    changes : int          Of bits.
    clocked : int          Bits of words of registers in cycles in which the word changed: what clock gates would let through.
    reads, writes : int    Accesses to memories.
    """

    changes: int = 0
    clocked: int = 0
    reads: int = 0
    writes: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.changes + other.changes, self.clocked + other.clocked, self.reads + other.reads,
                     self.writes + other.writes)


@dataclass(frozen=True)
class Activity:
    """What was counted in runs.

    Parameters
    ----------
    cycles : int     In which it was counted.
    kinds : dict     The module of each instance of the wire list.
    counts : dict    By instance, then by module.
    """

    cycles: int = 0
    kinds: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, Mapping[str, Count]] = field(default_factory=dict)

    def __add__(self, other: Activity) -> Activity:
        """Both, of one machine."""
        counts = {part: dict(each) for part, each in self.counts.items()}
        for part, each in other.counts.items():
            here = counts.setdefault(part, {})
            for module, count in each.items():
                here[module] = here.get(module, Count()) + count
        return Activity(self.cycles + other.cycles, {**self.kinds, **other.kinds}, counts)


def is_sram(module: str) -> bool:
    """Whether a module is one of `hw.memory.sram`."""
    return _SRAM.match(module) is not None


def sources(top: str, texts: Mapping[str, str]) -> Iterator[Source | Memory]:
    """All that is counted in a module and those below it; texts: Verilog by module."""
    for path, modules in below(top, texts):
        module = modules[-1]

        def member(name: str, at: tuple[str, ...] = path) -> str:
            return "__DOT__".join(_encoded(each) for each in (*at, name))

        there = ports(texts[module])
        if is_sram(module):
            yield Memory(member("enable"), member("write"), module)
        else:
            yield from (Source(member(port.name) if len(path) > 1 else _encoded(port.name), module)
                        for port in there if port.flow == "input" and port.name != "clk")
            # A register that is an output of the top module has the name of the port.
            outputs = {port.name for port in there if port.flow == "output"} if len(path) == 1 else set()
            yield from (Source(_encoded(name) if name in outputs else member(name), module, each.words, each.width)
                        for name, each in registers(texts[module]).items())
        if len(path) > 1:
            yield from (Source(member(port.name), modules[-2]) for port in there if port.flow == "output")


def control(texts: Iterable[tuple[str, str]]) -> str:
    """What makes Verilator keep these values, in its language; texts: names of modules and their Verilog."""
    lines = ["`verilator_config"]
    for module, text in texts:
        kept = [port.name for port in ports(text)] + ([] if is_sram(module) else list(registers(text)))
        lines += [f'public_flat_rd -module "{module}" -var "{name}"' for name in dict.fromkeys(kept)]
    return "\n".join(lines) + "\n"


def _encoded(name: str) -> str:
    """A name as Verilator writes it in C++."""
    return name.replace("__", "___05F")
