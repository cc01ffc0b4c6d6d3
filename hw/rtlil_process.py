"""Rewrite processes of RTLIL so that every path assigns once.

Amaranth assigns a default and then overrides it, which makes ``always_comb`` blocks that write twice. An event simulator
shows the first value for a moment: it wakes every block that reads any bit of the same vector, whether it reads the changed
bit or not (Icarus 11), and two tiles that read each other's tracks wake each other for ever. With one assignment on a path, a
block whose inputs did not change changes nothing. The Verilog is plainer, too: the default of ``x = 0; case ...`` is a case
of its own, what comes last (reset) is asked first, and cases that say what the default says are left out.

In Icarus 11 what wakes one ``always_comb`` also wakes others of the whole design that do not read it (mended in 12: vvp
put every such block at one place of two lists). A block that changes nothing when its inputs did not change comes to rest all
the same; two that show a first value and read each other by way of these lists never do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

PROCESS = re.compile(r"^  process [^\n]*\n(.*?)^  end\n", re.M | re.S)
PART = re.compile(r"([\\$]\S+) \[(\d+)(?::(\d+))?\]")
NAME = re.compile(r"(?<!\S)[\\$]\S+")
ASSIGN = re.compile(r"assign (\{[^}]*\}|\S+(?: \[[\d:]+\])?) (.+)")
_CONSTANT = re.compile(r"\d+'([01x]+)")
_VALUE = re.compile(r"\d+'[01x]+|[\\$]\S+ \[[\d:]+\]")
_COMMA = re.compile(" ?, ")     # Amaranth writes no blank before it, Yosys does
# What a register takes at the next edge; nothing else looks at it before, unless it is a port.
_NEXT = re.compile(r"^  cell \$a?dff \S+\n(?:    parameter [^\n]*\n)*    connect \\D ([\\$]\S+)(?: \[[\d:]+\])?$", re.M)
_PORT = re.compile(r"^  wire [^\n]*put \d+ +(?:signed +)?(\S+)$", re.M)


@dataclass(frozen=True)
class _Assign:
    target: str
    value: str


@dataclass(frozen=True)
class _Switch:
    """`cases` are (patterns, body); empty patterns are the default."""

    on: str
    cases: tuple[tuple[str, _Body], ...]


_Body = tuple["_Assign | _Switch", ...]


def assign_once(module: str) -> str:
    """Rewrite all processes of a module of RTLIL.

    A process that assigns parts of its wire on other paths becomes one for each part. One of which nothing but a register reads
    the wire wakes nobody: it stays as it is if it would be cut so, or a decision would have to be written twice. Others write
    some twice; where they would be more than two times as many, what was before the later ones has a wire and a process of
    its own, ``x_1_before``, as decisions one after the other would double each time.
    """
    used = Counter(NAME.findall(module))
    following = Counter(_NEXT.findall(module))
    ports = set(_PORT.findall(module))

    def rewrite(found: re.Match[str]) -> str:
        body = _parse(iter(found[1].splitlines()))
        targets = {each.target for each in _assigns(body)}
        once = _settle(body)
        if len(targets) == 1 and _switches(once, {}) <= _switches(body, {}):
            return _written(found, once)
        # Without a decision the last assignment of a bit is the only one that Yosys writes.
        if not _switches(body, {}):
            return _written(found, body)
        wires = {target.partition(" ")[0] for target in targets}
        assert len(wires) == 1, "Amaranth writes a process for each wire"
        wire = wires.pop()
        # Beside the process and the registers only the declaration has the name.
        if following[wire] and wire not in ports and used[wire] == NAME.findall(found[0]).count(wire) + following[wire] + 1:
            return _written(found, body)
        parts = list(_parts(body))
        if max(map(_most, parts)) == 1:
            return _written(found, body)
        return "".join(_settled(found, part, f"_{at}" if at else "", used) for at, part in enumerate(parts))

    return PROCESS.sub(rewrite, module)


def _settled(process: re.Match[str], part: _Body, suffix: str, used: Counter[str]) -> str:
    """The process for a part of its wire; `used` are the names of the module, to which those of new wires are added."""
    once = _settle(part)
    if _switches(once, {}) <= 2 * _switches(part, {}):
        return _written(process, once, suffix)
    target = next(_assigns(part)).target
    high, low = _span(target)
    bits = f"[{high - low}:0]" if high > low else "[0]"
    apart: dict[int, tuple[str, _Body]] = {}

    def keep(before: _Body) -> _Body:
        if id(before) not in apart:
            wire = f"\\{target.partition(' ')[0][1:]}_{len(apart) + 1}_before"
            while wire in used:
                wire += "_"
            used[wire] += 1
            apart[id(before)] = wire, before
        return (_Assign(target, f"{apart[id(before)][0]} {bits}"),)

    once = _settle(part, keep=keep)
    wires = "".join(f"  wire width {high - low + 1} {wire}\n" for wire, _ in apart.values())
    befores = (_written(process, before, f"{suffix}_{at}_before").replace(f"assign {target} ", f"assign {wire} {bits} ")
               for at, (wire, before) in enumerate(apart.values(), 1))
    return wires + "".join((*befores, _written(process, once, suffix)))


def _written(process: re.Match[str], body: _Body, suffix: str = "") -> str:
    """The process with another body, and more behind its name."""
    head, _, _ = process[0].partition("\n")
    return "".join(f"{line}\n" for line in (head + suffix, *_lines(body, "    "), "  end"))


def _parts(body: _Body) -> Iterator[_Body]:
    """For each part of the wire, cut wherever an assignment begins or ends, the statements that assign it."""
    spans = {_span(each.target) for each in _assigns(body)}
    cuts = sorted({edge for high, low in spans for edge in (low, high + 1)}, reverse=True)
    for above, low in pairwise(cuts):
        if any(span[1] <= low and above - 1 <= span[0] for span in spans):
            yield tuple(_only(body, above - 1, low))


def _only(body: _Body, high: int, low: int) -> Iterator[_Assign | _Switch]:
    """The statements for the bits from low to high: an assignment has all of them or none."""
    for each in body:
        if isinstance(each, _Switch):
            yield _Switch(each.on, tuple((patterns, tuple(_only(inner, high, low))) for patterns, inner in each.cases))
        elif (span := _span(each.target))[1] <= low <= span[0]:
            name, bits = each.target.partition(" ")[0], f"{high}:{low}" if high > low else f"{high}"
            yield _Assign(f"{name} [{bits}]", _slice(each.value, high - span[1], low - span[1]))


def _span(target: str) -> tuple[int, int]:
    """The highest and the lowest bit of a part."""
    found = PART.fullmatch(target)
    assert found, f"Amaranth says which bits of a wire it assigns, not {target!r}"
    return int(found[2]), int(found[3] or found[2])


def _slice(value: str, high: int, low: int) -> str:
    """Bits of a value: of a constant, of a part of a wire, or of several in braces, the highest first."""
    found, base = list[str](), 0
    for each in reversed(_VALUE.findall(value)):
        constant = _CONSTANT.fullmatch(each)
        first = 0 if constant else _span(each)[1]
        width = len(constant[1]) if constant else _span(each)[0] - first + 1
        top, bottom = min(high - base, width - 1), max(low - base, 0)
        base += width
        if top < bottom:
            continue
        if constant:
            found.append(f"{top - bottom + 1}'{constant[1][width - 1 - top:width - bottom]}")
        else:
            bits = f"{first + top}:{first + bottom}" if top > bottom else f"{first + top}"
            found.append(f"{each.partition(' ')[0]} [{bits}]")
    assert base > high, f"{value!r} has the bits that are assigned"
    return found[0] if len(found) == 1 else f"{{ {' '.join(reversed(found))} }}"


def _parse(lines: Iterator[str]) -> _Body:
    """The statements up to the end of the lines, of the switch, or the next case, which is put in `cases`."""
    body: list[_Assign | _Switch] = []
    for line in lines:
        word = line.split(maxsplit=1)[0]
        if word == "assign":
            found = ASSIGN.match(line.strip())
            assert found, line
            # Amaranth writes also what has no bits, with braces around nothing.
            if found[1].strip("{ }"):
                body.append(_Assign(found[1], found[2]))
        else:
            assert word == "switch", f"a process has {line!r}"
            body.append(_parse_switch(line.strip().removeprefix("switch "), lines))
    return tuple(body)


def _parse_switch(on: str, lines: Iterator[str]) -> _Switch:
    cases: list[tuple[str, _Body]] = []
    patterns, inner, depth = "", list[str](), 0
    started = False
    for line in lines:
        word = line.split(maxsplit=1)[0]
        if depth == 0 and word in ("case", "end"):
            if started:
                cases.append((patterns, _parse(iter(inner))))
            if word == "end":
                break
            started, patterns, inner = True, line.strip().removeprefix("case").strip(), []
            continue
        depth += (word == "switch") - (word == "end")
        inner.append(line)
    if on.strip("{ }") and any(patterns for patterns, _ in cases):
        return _Switch(on, tuple(cases))
    # Of no bits, the first case is true, but Yosys takes the default if there is one; of others the default alone is written as
    # Verilog that nobody reads. It stays a decision: Amaranth writes such around assignments behind others, since Yosys reads a
    # case's assignments before its decisions.
    return _Switch("{}", (("", cases[0][1] if cases else ()),))


def _settle(body: _Body, before: _Body = (), keep: Callable[[_Body], _Body] | None = None) -> _Body:
    """The same with one assignment on every path; `before` is what has been settled of the statements before.

    Every statement is visited once, and what is settled is shared by all cases that leave it as it is: n decisions one after
    the other, of c cases each, would else be c ** n bodies. `keep` gives what is said in place of decisions before one that
    would write them twice.
    """
    for each in body:
        if isinstance(each, _Assign):
            before = (each,)
            continue
        settled = _decided(each, before, keep)
        if keep and _switches(settled, {}) > _switches((each,), {}) + _switches(before, {}):
            settled = _decided(each, keep(before), keep)
        before = settled
    return before


def _decided(switch: _Switch, before: _Body, keep: Callable[[_Body], _Body] | None) -> _Body:
    """A decision with what is before it as a default."""
    cases = [(patterns, _settle(inner, before, keep)) for patterns, inner in switch.cases]
    if all(patterns for patterns, _ in switch.cases):
        cases.append(("", before))
    cases = _telling(cases)
    return (_Switch(switch.on, tuple(cases)),) if len(cases) > 1 else cases[0][1]


def _telling(cases: list[tuple[str, _Body]]) -> list[tuple[str, _Body]]:
    """The cases, the default last, without those that say what the default says and stand before no other that they meet.

    A register that one case of many writes would otherwise name all the others: n registers of one switch, n * n cases.
    """
    default = next(at for at, (patterns, _) in enumerate(cases) if not patterns)
    kept = [cases[default]]
    for patterns, body in reversed(cases[:default]):
        if body != kept[-1][1] or any(_meet(patterns, later) for later, _ in kept[:-1]):
            kept.insert(0, (patterns, body))
    return kept


def _meet(patterns: str, others: str) -> bool:
    """Whether one value matches a pattern of each."""
    return any(all("-" in bits or bits[0] == bits[1] for bits in zip(one, other, strict=True))
               for one in _COMMA.split(patterns) for other in _COMMA.split(others))


def _most(body: _Body) -> int:
    """How many assignments there are on the path that has most."""
    return sum(1 if isinstance(each, _Assign) else max((_most(inner) for _, inner in each.cases), default=0) for each in body)


def _assigns(body: _Body) -> Iterator[_Assign]:
    for each in body:
        if isinstance(each, _Assign):
            yield each
        else:
            for _, inner in each.cases:
                yield from _assigns(inner)


def _switches(body: _Body, known: dict[int, int]) -> int:
    """How many decisions are written, those in shared bodies each time; `known` has the bodies that were counted."""
    if id(body) not in known:
        known[id(body)] = sum(1 + sum(_switches(inner, known) for _, inner in each.cases)
                              for each in body if isinstance(each, _Switch))
    return known[id(body)]


def _lines(body: _Body, indent: str) -> Iterator[str]:
    for each in body:
        if isinstance(each, _Assign):
            yield f"{indent}assign {each.target} {each.value}"
            continue
        yield f"{indent}switch {each.on}"
        for patterns, inner in each.cases:
            yield f"{indent}  case {patterns}".rstrip()
            yield from _lines(inner, indent + "    ")
        yield f"{indent}end"
