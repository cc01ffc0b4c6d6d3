"""Let processes of RTLIL read whole wires: one for each part of a vector that a process reads.

It tells simulators what a block really depends on: Icarus 11 takes the whole vector, and says so in tens of thousands of lines
for an array.
"""

from __future__ import annotations

import re

from .rtlil_process import ASSIGN, NAME, PART, PROCESS

_WIRE = re.compile(r"^  wire (?:width (\d+) )?(?:\w+ \d+ +)?(?:signed +)?(\S+)$", re.M)
_BITS = re.compile(r"([\\$]\S+)(?: \[(\d+)(?::(\d+))?\])?")
# A connection of a part, or of several.
_CONNECT = re.compile(r"^  connect (\{[^}]*\}|[\\$]\S+ \[[\d:]+\]) (.+)\n", re.M)


def read_wires(module: str) -> str:
    """Give every part of a vector that a process of a module reads a wire of its own, such as ``sb_5_3`` for bits 5 to 3.

    What is connected to a part of a wire is such a process, too, if another part is assigned: Yosys writes it as one. Nothing
    may be optimized afterwards: Yosys would draw the parts into the processes again.
    """
    widths = {name: int(width or 1) for width, name in _WIRE.findall(module)}
    made: dict[str, str] = {}

    def whole(part: re.Match[str]) -> str:
        name, high, low = part[1], int(part[2]), int(part[3] or part[2])
        if high - low + 1 == widths[name]:
            return part[0]
        if part[0] not in made:
            stem = re.sub(r"\W", "_", name.removeprefix("\\").replace("$flatten\\", "$"))
            wire = "_".join((f"\\{stem}", *map(str, dict.fromkeys((high, low)))))
            while wire in widths:
                wire += "_"
            widths[wire] = high - low + 1
            made[part[0]] = wire
        return made[part[0]]

    def read(line: str) -> str:
        target = ASSIGN.match(line.strip())
        at = line.index(target[1]) + len(target[1]) if target else 0
        return line[:at] + PART.sub(whole, line[at:])

    def bits(wire: re.Match[str]) -> str:
        high, low = (int(wire[2]), int(wire[3] or wire[2])) if wire[2] else (widths[wire[1]] - 1, 0)
        each = [f"{wire[1]} [{bit}]" for bit in range(high, low - 1, -1)]
        return wire[0] if widths[wire[1]] == 1 else " ".join(PART.sub(whole, bit) for bit in each)

    def rewrite(process: re.Match[str]) -> str:
        lines = process[0].splitlines()
        for at, line in enumerate(lines):
            indent, switch, on = line.partition("switch ")
            if switch and _loose(lines[at:]):
                # Yosys writes patterns of which a bit does not matter as decisions on the others, one by one.
                lines[at] = f"{indent}switch {{ {_BITS.sub(bits, on.strip('{} '))} }}"
            else:
                lines[at] = read(line)
        return "".join(f"{line}\n" for line in lines)

    def connected(connect: re.Match[str]) -> str:
        reads = connect[2] if assigned.isdisjoint(NAME.findall(connect[1])) else PART.sub(whole, connect[2])
        return f"  connect {connect[1]} {reads}\n"

    assigned = {name for process in PROCESS.finditer(module) for assign in ASSIGN.finditer(process[0])
                for name in NAME.findall(assign[1])}
    head, _, body = _CONNECT.sub(connected, PROCESS.sub(rewrite, module)).partition("\n")
    wires = "".join(f"  wire width {widths[wire]} {wire}\n" for wire in made.values())
    parts = "".join(f"  connect {wire} {part}\n" for part, wire in made.items())
    return f"{head}\n{wires}{body.removesuffix('end')}{parts}end"


def _loose(switch: list[str]) -> bool:
    """Whether there are patterns in which some bit does not matter; the first line is that of the switch."""
    depth = 0
    for line in switch:
        word, _, rest = line.strip().partition(" ")
        depth += (word == "switch") - (word == "end")
        if depth == 0:
            break
        if depth == 1 and word == "case" and "-" in rest:
            return True
    return False
