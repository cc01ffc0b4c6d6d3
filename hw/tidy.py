"""Make the Verilog that Yosys writes plain to read: ports declared once, expressions instead of wires that have no name.

Input:   the text of one module, and the fields of its packed ports.
Output:  the same module. What one place reads is written there, as far as a line holds it and widths stay; another wire that
         Amaranth or Yosys named gets a name after what it says (``held_and_o__ready``), what it drives (``fifo__rst``) or what
         it is read for (``total_next_sum``); what reads a field of a port reads ``cfg_alu_op``. There is one clock, and
         ``casez`` only where a bit may be anything.
Cost:    2 s for the largest machine.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from .describe import Field
from .expression import NAME, Expression, parse
from .names import named

# Letters of an expression in an assignment and in a decision, and of a line.
EXPRESSION, DECISION, LINE = 360, 72, 120
# Yosys writes `$signed` wherever a sign counts, so that the one of a wire plays no part.
_DECLARED = re.compile(rf"  (input|output|inout|wire|reg) (?:signed )?(?:\[(\d+):0\] )?({NAME})(.*);")
_ASSIGN = re.compile(rf"  assign ({NAME}(?:\[\d+(?::\d+)?\])?|\{{[^{{}}]*\}}) = (.*);")
_DECISION = re.compile(rf"(if|casez) \(({NAME})\)")
_INNER = re.compile(rf"( +)({NAME}) = ({NAME});")
# Names in a text; not those of ports behind a dot, nor letters of numbers.
WORDS = re.compile(rf"\.{NAME}\(|\d+'[hbdo][0-9a-fxz?_]+|{NAME}")
_LONG_ZERO = re.compile(r"\b(\d+'h)0{9,}\b")
_TEMPORARY = re.compile(r"_\d+_(?:\d+_?)*|_\w+?__\d+_(?:\d+_?)*")


@dataclass
class Declared:
    """A port, wire or register: its direction or nothing, and all behind its name."""

    flow: str
    kind: str
    width: int
    rest: str = ""

    def line(self, name: str) -> str:
        size = f"[{self.width - 1}:0] " if self.width > 1 else ""
        return f"{self.flow} {self.kind:4} {size}{name}{self.rest}" if self.flow else f"{self.kind} {size}{name}{self.rest}"


class Module:
    """A module in parts: what is declared, its assignments in order, and the text of its blocks and instances."""

    def __init__(self, text: str) -> None:
        head, _, body = text.partition(");\n")
        self.name = head.split("(")[0].split()[1]
        self.declared: dict[str, Declared] = {}
        self.assigns: list[tuple[str, str]] = []
        self.blocks: list[str] = []
        block: list[str] = []
        for line in body.splitlines():
            if line == "endmodule":
                break
            if found := _DECLARED.fullmatch(line):
                self._declare(*found.groups())
            elif found := _ASSIGN.fullmatch(line):
                self.assigns.append((found[1], found[2]))
            else:
                block.append(line)
                if _ends(block):
                    self.blocks.append("\n".join(block))
                    block = []
        assert not block, f"{self.name} ends within {block[0]!r}"
        self.ports = [name for name, each in self.declared.items() if each.flow]

    def _declare(self, kind: str, high: str | None, name: str, rest: str) -> None:
        known = self.declared.get(name)
        if known is not None:       # of a port: wire or reg, and the value that it begins with
            known.kind, known.rest = kind, rest
        elif kind in ("wire", "reg"):
            self.declared[name] = Declared("", kind, int(high or 0) + 1, rest)
        else:
            self.declared[name] = Declared(f"{kind:6}", "wire", int(high or 0) + 1)

    def width(self, name: str) -> int:
        return self.declared[name].width

    def text(self) -> str:
        """The module as Verilog."""
        lines = [f"module {self.name} ("]
        lines += [f"  {self.declared[name].line(name)}," for name in self.ports]
        lines[-1] = lines[-1].removesuffix(",")
        lines.append(");")
        lines += [f"  {each.line(name)};" for name, each in self.declared.items() if not each.flow]
        for left, right in self.assigns:
            lines += _wrapped(f"  assign {left} = {right};")
        for block in self.blocks:
            lines += block.split("\n") if max(map(len, block.split("\n"))) <= LINE else _cut(block)
        return "\n".join([*lines, "endmodule", ""])


def tidy(text: str, fields: Sequence[Field] = ()) -> str:
    """The text of a module, made plain."""
    module = Module(text)
    _name_fields(module, fields)
    _merge(module)
    operators = _gather(module)
    _share(module)
    _rename(module, named(module.declared, module.assigns, module.blocks, operators, _TEMPORARY))
    module.blocks = [_plain_cases(block) for block in module.blocks]
    return _LONG_ZERO.sub(r"\g<1>0", module.text())


def _ends(block: list[str]) -> bool:
    """Whether the lines are all of a block or an instance, which Yosys indents by two."""
    last = block[-1]
    if block[0].startswith(("  always", "  initial")):
        return last == "  end" or (len(block) == 2 and not block[0].endswith("begin"))
    return last == "  );"


def _cut(block: str) -> Iterator[str]:
    for line in block.split("\n"):
        yield from _wrapped(line)


def _wrapped(line: str) -> Iterator[str]:
    """A line, cut before operators where it is long."""
    indent = line[:len(line) - len(line.lstrip())]
    further = indent + "    "
    while len(line) > LINE:
        at = max(line.rfind(mark, len(indent) + 8, LINE) + (mark == ", ") for mark in (" | ", " & ", " ? ", " : ", ", "))
        if at <= 0:
            break
        yield line[:at]
        indent = further
        line = indent + line[at + 1:]
    yield line


def _name_fields(module: Module, fields: Sequence[Field]) -> None:
    """Read the fields of packed ports by name, and parts of a field by its name and their place in it."""
    taken = {name.strip() for name in module.declared}
    known = {field.port: [each for each in fields if each.port == field.port] for field in fields}
    used: dict[str, Declared] = {}
    bits: dict[str, str] = {}

    def name(part: re.Match[str]) -> str:
        port, high, low = part[1], int(part[2]), int(part[3] or part[2])
        around = [field for field in known.get(port, ()) if field.low <= low and high <= field.high]
        if not around or port not in module.ports or module.declared[port].flow != "input ":
            return part[0]
        field = min(around, key=lambda field: (field.high - field.low, field.whole))
        wire = f"{port}_{field.name.replace('.', '_')}"
        if wire in taken:
            return part[0]
        width = field.high - field.low + 1
        used[wire] = Declared("", "wire", width)
        bits[wire] = f"{port}[{field.high}:{field.low}]" if width > 1 else f"{port}[{field.low}]"
        if (high, low) == (field.high, field.low):
            return wire
        return f"{wire}[{high - field.low}:{low - field.low}]" if high > low else f"{wire}[{low - field.low}]"

    if not known:
        return
    part = re.compile(r"\b(" + "|".join(known) + r")\[(\d+)(?::(\d+))?\]")
    module.assigns = [(left, part.sub(name, right)) for left, right in module.assigns]
    module.blocks = [part.sub(name, block) for block in module.blocks]
    # Wires that `rtlil.whole_reads` made for parts have the number of their bits.
    numbered = re.compile(r"(" + "|".join(known) + r")_\d+(?:_\d+)?")
    names: dict[str, str] = {}
    for left, right in module.assigns:
        if numbered.fullmatch(left) and (said := re.sub(r"\W+", "_", right).strip("_")).startswith(tuple(used)):
            if said in used:
                names[left] = said
            elif said not in taken:
                names[left] = said
                taken.add(said)
    module.declared = {name: each for name, each in module.declared.items() if names.get(name) not in used} | used
    _rename(module, names)
    module.assigns = [*bits.items(), *(each for each in module.assigns if each[0] not in used)]


def _rename(module: Module, names: dict[str, str]) -> None:
    if not names:
        return
    module.declared = {names.get(name, name): each for name, each in module.declared.items()}

    def new(word: re.Match[str]) -> str:
        return names.get(word[0], word[0])

    module.assigns = [(WORDS.sub(new, left), WORDS.sub(new, right)) for left, right in module.assigns]
    module.blocks = [WORDS.sub(new, block) for block in module.blocks]


def _merge(module: Module) -> None:
    """Let aliases of the clock and the reset go, and wires without a name that are only another name of one that has one."""
    aliases = {left: right for left, right in module.assigns if left in module.declared and right in module.declared
               and module.width(left) == module.width(right) and not module.declared[left].flow}
    names: dict[str, str] = {}
    for left, right in module.assigns:
        if left in aliases and (root := _end(aliases, left)) in ("clk", "rst") and module.declared[root].flow:
            names[left] = root
        elif right in module.declared and _TEMPORARY.fullmatch(right) and not _TEMPORARY.fullmatch(left) \
                and right not in names and left in module.declared and module.width(left) == module.width(right):
            names[right] = left
            made = module.declared[right]
            module.declared[left] = replace(module.declared[left], kind=made.kind, rest=made.rest)
    kept = {name: each for name, each in module.declared.items() if name not in names}
    _rename(module, {name: _end(names, name) for name in names})
    module.declared = kept
    module.assigns = [(left, right) for left, right in module.assigns if left != right]


def _end(names: Mapping[str, str], name: str) -> str:
    """The last of a chain of names."""
    while name in names:
        name = names[name]
    return name


def _gather(module: Module) -> dict[str, str]:
    """Write expressions of wires without a name where they are read; return the operators of those that are left."""
    uses: Counter[str] = Counter()
    for _, right in module.assigns:
        uses.update(WORDS.findall(right))
    for block in module.blocks:
        uses.update(WORDS.findall(block))
    parsed = {left: found for left, right in module.assigns if _TEMPORARY.fullmatch(left) and "$" not in right
              and (found := parse(right, module.width)) is not None}
    operators = {name: found.operator for name, found in parsed.items()}
    makers = {name: found for name, found in parsed.items() if found.width == module.width(name)}
    whole: dict[str, Expression] = {}

    def full(name: str) -> Expression:
        """What drives a wire, with all that fits."""
        if name not in whole:
            whole[name] = spread(makers[name], makers[name].width)
        return whole[name]

    def may(name: str, limit: int, around: int, parts: bool) -> Expression | None:
        """The expression of a wire, if it can stand where it is read."""
        if name not in makers:
            return None
        found = full(name)
        simple = found.operator == "~" and not found.operands[0].operands
        if (uses[name] > 1 and not simple) or len(found.written) > limit or (found.fragile and around != found.width):
            return None
        return None if found.has_parts and not parts else found

    def spread(expression: Expression, around: int) -> Expression:
        """An expression evaluated as wide as `around`, with those of its wires."""
        if not expression.operands:
            found = may(expression.text, EXPRESSION, around, True)
            return expression if found is None else found
        inner, room = list(expression.operands), EXPRESSION
        for at, (operand, width) in enumerate(zip(expression.operands, expression.contexts(around), strict=True)):
            found = spread(operand, width)
            if len(found.written) <= room:
                inner[at] = found
                room -= len(found.written)
        return replace(expression, operands=tuple(inner))

    assigns = []
    for left, right in module.assigns:
        if left in makers:
            assigns.append((left, full(left).written))
            continue
        found = None if "$" in right else parse(right, module.width)
        if found is not None and (target := parse(left, module.width)) is not None:
            right = spread(found, max(target.width, found.width)).written
        assigns.append((left, right))
    module.assigns = assigns

    def assign(found: re.Match[str]) -> str:
        made = may(found[3], DECISION, module.width(found[2]), False) if found[3] in makers else None
        return found[0] if made is None else f"{found[1]}{found[2]} = {made.written};"

    def decide(decision: re.Match[str]) -> str:
        found = may(decision[2], DECISION, 0 if decision[2] not in makers else makers[decision[2]].width, False)
        return decision[0] if found is None or decision[1] != "if" else f"if ({found.written})"

    module.blocks = [_INNER.sub(assign, _DECISION.sub(decide, block)) if block.startswith("  always") else block
                     for block in module.blocks]
    _drop_unread(module, set(makers))
    return operators | {found[2]: "if" for block in module.blocks for found in _DECISION.finditer(block)}


def _share(module: Module) -> None:
    """One wire for what says the same, but for inputs of instances, which have names."""
    pins = {name for block in module.blocks if not block.startswith("  always") for name in WORDS.findall(block)}
    first: dict[tuple[str, int], str] = {}
    names: dict[str, str] = {}
    for left, right in module.assigns:
        if _TEMPORARY.fullmatch(left) and left not in pins:
            known = first.setdefault((right, module.width(left)), left)
            if known != left:
                names[left] = known
    if names:
        module.assigns = [(left, right) for left, right in module.assigns if left not in names]
        kept = {name: each for name, each in module.declared.items() if name not in names}
        _rename(module, names)
        module.declared = kept


def _drop_unread(module: Module, makers: set[str]) -> None:
    """Let wires go that nothing reads any more; those that made them may follow."""
    uses: Counter[str] = Counter()
    for _, right in module.assigns:
        uses.update(WORDS.findall(right))
    for block in module.blocks:
        uses.update(WORDS.findall(block))
    drivers = dict(module.assigns)
    dead = [name for name in makers if not uses[name]]
    gone = set(dead)
    while dead:
        for name in WORDS.findall(drivers[dead.pop()]):
            uses[name] -= 1
            if not uses[name] and name in makers and name not in gone:
                gone.add(name)
                dead.append(name)
    module.assigns = [(left, right) for left, right in module.assigns if left not in gone]
    module.declared = {name: each for name, each in module.declared.items() if name not in gone}


def _plain_cases(block: str) -> str:
    """``case`` for ``casez`` whose items have no bit that may be anything."""
    if "casez" not in block:
        return block
    lines, opened = block.split("\n"), list[int]()
    loose: set[int] = set()
    for at, line in enumerate(lines):
        word = line.split(" ", 1)[0] if not line.startswith(" ") else line.lstrip()
        if word.startswith("casez"):
            opened.append(at)
        elif word.startswith("endcase"):
            start = opened.pop()
            if start not in loose:
                lines[start] = lines[start].replace("casez", "case", 1)
        elif opened and "?" in line and line.endswith(":"):
            loose.add(opened[-1])
    return "\n".join(lines)
