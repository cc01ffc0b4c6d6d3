"""Names for wires of Verilog that have none: what they say, or what they are for.

A wire is called, the first that applies: ``fifo__rst`` if it is only an input of an instance; ``not_held``, ``mode_is_2`` or
``held_and_i__valid`` if that is short; else, after what it is read for and its operator, ``total_next_sum``. A part of a wire
is called as that, and its bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from .expression import NAME, Expression, parse

SHORT = 32
# Reserved words of SystemVerilog (IEEE 1800-2017, Annex B).
KEYWORDS = frozenset("""
accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin bind bins binsof bit
break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos config const constraint context continue
cover covergroup coverpoint cross deassign default defparam design disable dist do edge else end endcase endchecker endclass
endclocking endconfig endfunction endgenerate endgroup endinterface endmodule endpackage endprimitive endprogram endproperty
endspecify endsequence endtable endtask enum event eventually expect export extends extern final first_match for force foreach
forever fork forkjoin function generate genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies
import incdir include initial inout input inside instance int integer interconnect interface intersect join join_any join_none
large let liblist library local localparam logic longint macromodule matches medium modport module nand negedge nettype new
nexttime nmos nor noshowcancelled not notif0 notif1 null or output package packed parameter pmos posedge primitive priority
program property protected pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase
randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1
s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled signed small soft
solve specify specparam static string strong strong0 strong1 struct super supply0 supply1 sync_accept_on sync_reject_on table
tagged task this throughout time timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef
union unique unique0 unsigned until until_with untyped use uwire var vectored virtual void wait wait_order wand weak weak0
weak1 while wildcard wire with within wor xnor xor
""".split())
_WORD = re.compile(NAME)
_PIN = re.compile(rf"    \.({NAME})\(({NAME})\),?")
_TARGET = re.compile(rf"({NAME})(?:\[[\d:]+\])* <?= ")
_JOINED = {"&": "and", "|": "or", "^": "xor", "&&": "and", "||": "or", "<": "below", ">": "above", "<=": "up_to",
           ">=": "from", "!=": "is_not", "==": "is"}
_BEFORE = {"~": "not", "!": "no", "|": "any", "&": "all", "^": "odd"}
_ROLE = {"+": "sum", "-": "difference", "*": "product", "<<": "shifted", ">>": "shifted", "?": "choice", "==": "equal",
         "!=": "unequal", "<": "below", ">": "above", "<=": "up_to", ">=": "from", "~": "inverse", "{}": "bits", "!": "zero",
         "&": "and", "|": "or", "^": "xor", "&&": "and", "||": "or", "if": "when"}


def named(declared: Iterable[str], assigns: Sequence[tuple[str, str]], blocks: Sequence[str],
          operators: Mapping[str, str], nameless: re.Pattern[str]) -> dict[str, str]:
    """New names of all wires whose names match `nameless`; `operators` has the operator that makes each, as far as known."""
    lost = [name for name in declared if nameless.fullmatch(name)]
    if not lost:
        return {}
    taken = {name.strip() for name in declared} - set(lost) | KEYWORDS
    makers = dict(assigns)
    readers, pins = _readers(set(lost), assigns, blocks)
    names: dict[str, str] = {}

    def short(name: str) -> str | None:
        """What the wire says, if that is short and of wires with names."""
        found = parse(makers.get(name, ""), lambda _: 1)
        if found is None or not found.operands:
            return None
        said = _said(found)
        return said if said is not None and len(said) <= SHORT else None

    def name_of(name: str, above: tuple[str, ...] = ()) -> str:
        if not nameless.fullmatch(name):
            return name.strip().strip("\\")
        if name not in names:
            base = _part(makers.get(name, ""), lambda whole: name_of(whole, (*above, name)) if whole not in above else whole)
            new = base or pins.get(name) or short(name) or ""
            if not new or nameless.match(new):
                reader = readers.get(name, "")
                target = root(reader, {name})
                new = f"{target}_{_ROLE.get(operators.get(name, ''), 'choice')}"
            names[name] = _free(new, taken)
        return names[name]

    def root(reader: str, seen: set[str]) -> str:
        """The wire with a name that is made of a wire in the end."""
        while nameless.fullmatch(reader) and reader not in seen:
            seen.add(reader)
            reader = readers.get(reader, "")
        return re.sub(r"\W", "", reader) if reader and not nameless.fullmatch(reader) else "unread"

    def _said(found: Expression) -> str | None:
        words = []
        for operand in found.operands:
            if operand.operands:
                return None
            leaf = operand.text.strip()
            if leaf[0].isdigit():
                digits = leaf.partition("'")[2]
                words.append(str(int(digits[1:], 16)) if digits[0] == "h" and "x" not in digits else "")
            elif nameless.fullmatch(leaf.partition("[")[0]):
                return None
            else:
                words.append(re.sub(r"\W+", "_", leaf).strip("_"))
        if "" in words:
            return None
        if found.unary and found.operator in _BEFORE:
            return f"{_BEFORE[found.operator]}_{words[0]}"
        if found.operator in _JOINED:
            return f"{words[0]}_{_JOINED[found.operator]}_{words[1]}" if not words[0][0].isdigit() else None
        return None

    for name in lost:
        name_of(name)
    return names


def _part(right: str, name_of: Callable[[str], str]) -> str | None:
    """The name of a part of a wire that had no name either."""
    found = re.fullmatch(rf"({NAME})\[(\d+)(?::(\d+))?\]", right)
    if found is None:
        return None
    return "_".join((name_of(found[1]), *(each for each in found.groups()[1:] if each)))


def _free(new: str, taken: set[str]) -> str:
    name, count = new, 1
    while name in taken:
        count += 1
        name = f"{new}_{count}"
    taken.add(name)
    return name


def _readers(lost: set[str], assigns: Sequence[tuple[str, str]],
             blocks: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """For each wire what is first made of it, and the input of an instance if it is that."""
    readers: dict[str, str] = {}
    pins: dict[str, str] = {}
    for block in blocks:
        if block.startswith(("  always", "  initial")):
            target = _TARGET.search(block)
            made = target[1] if target else ""
            for name in _WORD.findall(block):
                if name in lost and name != made:
                    readers.setdefault(name, made)
                elif name in lost:
                    readers.setdefault(name, "")
        else:
            instance = block.split("(", 1)[0].split()[1]
            for port, wire in _PIN.findall(block):
                if wire in lost:
                    pins.setdefault(wire, f"{instance}__{port}")
    for left, right in assigns:
        target = re.match(NAME, left)
        for name in _WORD.findall(right):
            if name in lost and target and not readers.get(name):
                readers[name] = target[0]
    return readers, pins
