"""Machines and what configures them, explained: presets and descriptions, outputs of modules, bitstreams, registers."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

from . import arguments
from .cache import home
from .compiler.backend.encode import decode
from .compiler.pipeline import used
from .hw.arch import presets
from .hw.arch.cgra import Arch
from .hw.arch.errors import UserError
from .hw.arch.soc import address_map
from .hw.paths import listed
from .outcome import Outcome, plain, silent
from .tensors.content import read_content

# Bytes; that of the largest array has about 100 MB.
MOST_BITSTREAM = 1 << 28


def explain_arch(arch: str | None = None) -> Outcome:
    """The sizes, tiles and primitives of a machine; all presets when none is named."""
    machines = list(presets.PRESETS.values()) if arch is None else [arguments.machine(arch)]
    reports = {machine.name: _machine(machine) for machine in machines}
    if arch is not None:
        return Outcome(next(iter(reports.values())))
    lines = [f"{name:6} {report['array']}, {plain(report['tiles'])}" for name, report in reports.items()]
    return Outcome(reports, "\n".join(lines))


def _machine(machine: Arch) -> dict[str, object]:
    kinds = [tile.kind for tile in machine.tiles.values()]
    return {
        "name": machine.name, "fingerprint": f"{machine.fingerprint:016x}", "array": f"{machine.columns} x {machine.rows}",
        "tiles": {kind: kinds.count(kind) for kind in ("pe", "mem", "io")},
        "pe": ", ".join(p.name for p in machine.pe.primitives), "mem": ", ".join(p.name for p in machine.mem.primitives) or "-",
        "interconnect": dataclasses.asdict(machine.interconnect), "level_buffer_words": machine.mem.level_words,
        "global_buffer": f"{machine.glb_tiles} tiles x {machine.glb.banks} banks x {machine.glb.bank_bytes // 1024} KB",
        "configuration_words": {kind: machine.config_map(kind).words for kind in ("pe", "mem", "io")},
        **({"avoid": machine.avoid.text()} if machine.avoid else {})}


def explain_outputs(arch: str | Arch = "small", *, progress: Callable[[str], None] = silent) -> Outcome:
    """For every output of the tiles and of what is around them, whether a register drives it or which listed path."""
    machine = arguments.machine(arch)
    progress(f"walking the netlists of '{machine.name}'")
    report: dict[str, dict[str, object]] = {}
    lines = []
    for module, group in groupby(listed(machine, home()), lambda each: each.module):
        found = [*group]
        report[module] = {each.output: {"source": each.source, "follows": each.follows, "reasons": each.reasons}
                          for each in found}
        lines.append(module)
        for source, what in (("register", "registers"), ("constant", "constants"), ("logic", "logic of registers")):
            if names := [each.output for each in found if each.source == source and not each.follows]:
                lines.append(f"  {what}: {', '.join(folded(names))}")
        for reasons in dict.fromkeys(each.reasons for each in found if each.follows):
            lines += [f"  {'; '.join(reasons)}:", *(f"    {each.output} follows {', '.join(each.follows)}" for each in found
                                                    if each.reasons == reasons and each.follows)]
    return Outcome(report, "\n".join(lines))


def folded(names: Sequence[str]) -> list[str]:
    """Names as they stand, but those that differ in their first number alone, and count up, as one: ``glb0..15_start``."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        head, *numbered = re.split(r"(\d+)", name, maxsplit=1)
        alike.setdefault((head, *numbered[1:]), []).append(name)
    found: list[str] = []
    for (head, *tail), each in alike.items():
        last = f"{head}{{}}{''.join(tail)}".format
        first = int(each[0][len(head):len(each[0]) - len("".join(tail))]) if tail else 0
        counts = len(each) > 2 and each == [last(first + number) for number in range(len(each))]
        found += [last(f"{first}..{first + len(each) - 1}")] if counts else each
    return found


def explain_bitstream(path: Path, *, arch: str | Arch = "small") -> Outcome:
    """The configuration in a bitstream, tile by tile."""
    machine = arguments.machine(arch)
    program = decode(read_content(Path(path), MOST_BITSTREAM).decode(errors="replace"), machine, str(path))
    lines = [f"{program.source.get('expression')} for machine {program.fingerprint:016x}"]
    lines += [f"{each.direction:5} {each.name:8} column {each.column}" for each in program.transfers]
    tiles: dict[str, object] = {}
    for (x, y), sets in program.config.items():
        fields = {f"{name}.{field}": value for name, values in used(machine, (x, y), sets).items()
                  for field, value in values.items()}
        tiles[f"{x},{y}"] = fields
        name = program.source.get("names", {}).get(f"{x},{y}", "routing")
        lines.append(f"({x}, {y}) {machine.tiles[x, y].kind} {name}: " + " ".join(f"{k}={v}" for k, v in fields.items()))
    return Outcome({"source": dict(program.source), "tiles": tiles}, "\n".join(lines))


def explain_register(name: str, *, arch: str | Arch = "small") -> Outcome:
    """A register by name or AXI4-Lite address: its fields and what they mean."""
    found = []
    for file, base, registers in address_map(arguments.machine(arch)):
        for register in registers:
            at = base + register.offset
            if name in (register.name, f"{file}.{register.name}") or _address(name) == at:
                found.append({"name": f"{file}.{register.name}", "address": f"{at:#06x}", "access": register.access,
                              "meaning": register.doc, "fields": {f[0]: f"bits {f[1] + f[2] - 1}:{f[1]}, {f[3]}"
                                                                  for f in register.fields}})
    if not found:
        known = sorted({register.name for _, _, registers in address_map(arguments.machine(arch)) for register in registers})
        raise UserError(f"there is no register '{name}'", fix=f"name one of {', '.join(known)}, or give its address")
    first = found[0]
    more = {"same_in": f"{len(found) - 1} more GLB tiles"} if len(found) > 1 else {}
    return Outcome({**first, **more})


def _address(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None
