"""Make Amaranth's RTLIL readable as Verilog: plain names, wires named after their drivers, no dead wires.

Amaranth names nets ``$8`` and ``o__payload$12``, keeps an alias for every signal, and an operation for every
expression that was ever written. Yosys could sweep most of that, but not in modules that keep their
processes, and those make the Verilog readable (`if` and `case` instead of multiplexers).

Memories that are written lose an initial content of zeros: no SRAM has one, so no design may read before it
writes, and a simulator that starts them unknown shows it. (Yosys also needs minutes to read one back.)

Input:   RTLIL text as `amaranth.back.rtlil` writes it.
Output:  the same modules and ports, the same function; deterministic.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from .names import KEYWORDS
from .rtlil_process import assign_once
from .rtlil_reads import read_wires

_MODULE = re.compile(r"^module [^\n]*\n.*?^end$", re.M | re.S)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WIRE = re.compile(r'\\[^\s"]+|\$\d+|"(?:[^"\\]|\\.)*"')
_LOWEST = re.compile(r"(\\\S+) \[(?:(\d+):)?0\]")
_PORT = re.compile(r"^  wire width \d+ (input|output|inout) ")
# Names of modules, of ports, and of what instances are connected by.
_KNOWN = re.compile(r"^(?:module|  cell|    connect|  wire width \d+ (?:input|output|inout) \d+) \\([^\s]+)", re.M)
_ZERO = re.compile(r"\d+'0+|\{ *\}")
# Cells with no effect but their output Y; all others stay.
_EFFECTS = ("$dff", "$mem", "$check", "$print", "$assert", "$assume", "$cover", "$any", "$initstate",
            "$tribuf")


def readable(text: str) -> str:
    """All of the above on an RTLIL text."""
    text = re.sub(r"^ *attribute \\(?:generator|top|src) .*\n", "", plain_names(text), flags=re.M)
    text = _MODULE.sub(lambda match: _tidy_module(assign_once(match[0])), text)
    return _without_reset(text)


def _without_reset(text: str) -> str:
    """Modules of which nothing is reset, without the port for it: what they pass to each other is no use of it."""
    inside = "|".join(re.escape(name) for name in re.findall(r"^module (\S+)$", text, re.M))
    passed = re.sub(rf"^  cell (?:{inside}) \S+\n(?:    .*\n)*",
                    lambda match: re.sub(r" {4}connect \\rst \\rst(?: \[0\])?\n", "", match[0]), text, flags=re.M)
    plain = re.sub(r"^  wire width 1 input \d+ \\rst\n", "", passed, flags=re.M)
    used = re.search(r"\\rst(?=\s)", re.sub(r"^    connect \\rst ", "", plain, flags=re.M))
    return text if used else plain


def whole_reads(text: str) -> str:
    """An RTLIL text, as Yosys writes it, whose processes read whole wires."""
    return _MODULE.sub(lambda match: read_wires(match[0]), text)


def plain_names(text: str) -> str:
    """Make every public name a plain identifier.

    Submodules ``tile.fifo`` become ``tile__fifo``, duplicates ``n$15`` become ``n_15``, and what SystemVerilog reserves
    ``wait_``, but for modules and ports, whose names others know.
    """
    given: dict[str, str] = {}
    known = set(_KNOWN.findall(text))
    taken = set(re.findall(r'\\([A-Za-z_][A-Za-z0-9_]*)(?=\s)', text))

    def plain(match: re.Match[str]) -> str:
        name = match[0][1:]
        reserved = name in KEYWORDS and name not in known
        if not match[0].startswith("\\") or (_PLAIN.fullmatch(name) and not reserved):
            return match[0]
        if name not in given:
            new = re.sub(r"[^A-Za-z0-9_]", "_", name.replace(".", "__").replace("U$", "u"))
            new = f"{new}_" if reserved else new if _PLAIN.match(new) else f"_{new}"
            while new in taken:
                new += "_"
            taken.add(new)
            given[name] = new
        return f"\\{given[name]}"

    return _WIRE.sub(plain, text)


@dataclass
class _Statement:
    """A wire, memory, connection, cell or process of a module, with the attributes before it.

    `lines` are cut where the wire names begin: (text before, text with wires).
    """

    kind: str
    lines: list[tuple[str, str]] = field(default_factory=list)
    kept: bool = True

    def wires(self) -> Iterator[str]:
        for _, part in self.lines:
            yield from (name for name in _WIRE.findall(part) if not name.startswith('"'))

    def cell(self) -> str:
        """The type of a cell, empty for other statements."""
        return next((before.split()[1] for before, _ in self.lines if before.startswith("  cell")), "")

    def pin(self, port: str) -> str:
        """What a port of a cell is connected to."""
        return next(part for before, part in self.lines if before == f"    connect {port} ")

    def memory(self) -> str:
        """The memory that a cell is a port of."""
        return next(before for before, _ in self.lines if before.startswith("    parameter \\MEMID "))

    def pins(self) -> dict[str, str]:
        """Ports of a cell that are connected to one whole wire."""
        return {before.split()[1]: part for before, part in self.lines
                if before.startswith("    connect") and _WIRE.fullmatch(part)}

    def inputs(self) -> Iterator[tuple[str, str, int]]:
        """Ports of a cell that are connected to the lowest bits of a wire: port, wire, bits."""
        for before, part in self.lines:
            if before.startswith("    connect") and (found := _LOWEST.fullmatch(part)):
                yield before.split()[1], found[1], int(found[2] or 0) + 1


def _parse(body: str) -> list[_Statement]:
    """Statements in order. A line of a cell names wires only behind its port; attributes name none."""
    statements: list[_Statement] = []
    current, block = _Statement(""), ""
    for line in body.split("\n"):
        word = line.split(maxsplit=1)[0] if line.strip() else ""
        if not word:
            continue
        if not block:
            current.kind = word
            block = word if word in ("cell", "process") else ""
        if word in ("attribute", "parameter", "wire", "memory", "cell", "process"):
            current.lines.append((line, ""))
        elif word == "connect" and block == "cell":
            cut = line.index(" ", len("    connect ")) + 1
            current.lines.append((line[:cut], line[cut:]))
        else:
            cut = len(line) - len(line.lstrip()) + len(word)
            current.lines.append((line[:cut], line[cut:]))
        if line == "  end":
            block = ""
        if not block and word != "attribute":
            statements.append(current)
            current = _Statement("")
    return statements


def _tidy_module(text: str) -> str:
    head, body = text.split("\n", 1)
    statements = _parse(body.removesuffix("end"))
    declared = {each.lines[-1][0].split()[-1]: each for each in statements if each.kind == "wire"}
    ports = {name for name, each in declared.items() if _PORT.match(each.lines[-1][0])}
    written = {each.memory() for each in statements
               if each.cell() == "$memwr_v2" and not _ZERO.fullmatch(each.pin("\\EN"))}
    for each in statements:
        if each.cell() == "$meminit_v2" and each.memory() in written:
            each.kept = not _ZERO.fullmatch(each.pin("\\DATA"))
    _sweep(statements, declared, ports)
    names = _names(statements, declared, ports)
    order = 0
    lines = [head]
    for each in statements:
        if not each.kept:
            continue
        for before, part in each.lines:
            if each.kind == "wire" and before.startswith("  wire"):
                before, _, name = before.rpartition(" ")
                if name in ports:
                    # Amaranth counts ports from 0, but 0 means "no order" in RTLIL.
                    order += 1
                    before = re.sub(r"(?<=put )\d+ *$", f"{order}", before)
                before += " " + names.get(name, name)
            lines.append(before + _WIRE.sub(lambda match: names.get(match[0], match[0]), part))
    return "\n".join([*lines, "end"])


def _sweep(statements: list[_Statement], declared: dict[str, _Statement], ports: set[str]) -> None:
    """Drop aliases and operations whose result nobody reads, and wires that are then not mentioned."""
    uses = Counter(name for each in statements for name in each.wires())
    makers = {}
    for each in statements:
        result = _result(each)
        if result is not None and result not in ports:
            makers[result] = each
    dead = [name for name in makers if uses[name] == 1]
    while dead:
        maker = makers[dead.pop()]
        maker.kept = False
        for name in maker.wires():
            uses[name] -= 1
            if uses[name] == 1 and name in makers and makers[name].kept:
                dead.append(name)
    for name, each in declared.items():
        each.kept = name in ports or uses[name] > 0


def _result(each: _Statement) -> str | None:
    """The wire that a statement does nothing but compute."""
    if each.kind == "connect":
        found = re.match(r" (\S+) (?:\[\d+:0\] )?(?=\S)", each.lines[-1][1])
        return found[1] if found and _WIRE.fullmatch(found[1]) else None
    if each.cell().startswith("$") and not each.cell().startswith(_EFFECTS):
        return each.pins().get("\\Y")
    return None


def _names(statements: list[_Statement], declared: dict[str, _Statement], ports: set[str]) -> dict[str, str]:
    """Better names: ``fifo__o__valid`` for what an instance drives, ``count_next`` for a register's input.

    An input of an instance has its port's name, or that with a number; several instances have such: ``fifo__i__valid``.
    """
    taken = set(declared)
    sizes = {name: int(each.lines[-1][0].split()[2]) for name, each in declared.items()}
    names: dict[str, str] = {}

    def rename(wire: str, new: str) -> None:
        if wire not in ports and wire not in names and new not in taken:
            names[wire] = new
            taken.add(new)

    for each in statements:
        if each.kind != "cell" or not each.kept:
            continue
        _, cell, instance = next(before for before, _ in each.lines if before.startswith("  cell")).split()
        if cell.startswith("\\"):
            for pin, wire in each.pins().items():
                rename(wire, f"{instance}__{pin[1:]}")
            for pin, wire, bits in each.inputs():
                if bits == sizes[wire] and re.fullmatch(rf"{re.escape(pin)}(_\d+)?", wire):
                    rename(wire, f"{instance}__{pin[1:]}")
    for each in statements:
        register = each.pins().get("\\Q") if each.kind == "cell" else None
        if register and register.startswith("\\"):
            following = each.pin("\\D").split(" ")[0]
            if following.startswith("$"):
                rename(following, f"{names.get(register, register)}_next")
    return names
