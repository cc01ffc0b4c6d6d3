"""Walk every controller of a configuration as the hardware does, word by word, and compare with what was meant.

Whoever sets a controller means a loop nest with strides (`Pattern`) or a number of cycles that an operand waits. Here the
fields that the machine will have are followed as they are, with no use of strides or of how fields are made from them: start,
then one gap and one delta after each word, those of the innermost loop that has not ended. What comes of them must be, word
by word, what the nested loops say.

Needs:   Configuration of a program, the tiles of its blocks, Meant.
Errors:  AssertionError naming tile, port, word, and the cycles and addresses meant and found: a fault of a pass.
Cost:    20 ms for 180,000 words.
Source:  `hw/memory/controller.py`, `hw/memory/buffer.py`, `hw/arith/register_file.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ....hw.arch.buffer import READS, VALID, WRITES, MemSizes
from ....hw.arch.cgra import Arch
from ....hw.arch.op import OPS
from ....hw.arch.primitive import ALU, BUFFER
from ....hw.arch.register_file import CHANNELS, DELAY, LOOPS, MODES, OPERANDS, SOURCES
from ....hw.arch.register_file import WRITES as WRITTEN
from ...ir.mapped import Block, MappedGraph, Pin
from ...ir.program import Config, Site
from ..map.affine import Pattern, events
from ..map.delay_lines import OPERAND_PORT

BUFFER_PORTS = (*WRITES, *READS, VALID)
REGISTER_PORTS = tuple(f"{port}{n}" for n in range(CHANNELS) for port in ("wr", "rd"))
DATA_INPUTS = tuple(OPERAND_PORT[name] for name in OPERANDS)

# Cycle and address of every word, int64[words] each.
Words = tuple[np.ndarray, np.ndarray]


class Port(NamedTuple):
    """A port with a controller: of a buffer (wr0, wr1, rd0, rd1, valid) or of a register file (wr0, rd0, wr1, rd1)."""

    block: str
    name: str


class Kept(NamedTuple):
    """What a schedule gives an operand: a channel of the register file, and what that one writes (a, b, c or res)."""

    channel: int
    written: str


@dataclass(frozen=True)
class Meant:
    """What all controllers of a program are to do.

    Parameters
    ----------
    patterns : mapping     Port -> its words; a port that is left out has none.
    waits : mapping        Data input of a PE -> cycles, 1 or more, that a delay line of the register file keeps its operand.
    kept : mapping         Data input of a PE -> what a schedule of the register file gives its operand.
    """

    patterns: Mapping[Port, Pattern]
    waits: Mapping[Pin, int]
    kept: Mapping[Pin, Kept] = field(default_factory=dict)


@dataclass(frozen=True)
class Schedule:
    """The settings of a controller as the hardware has them.

    Parameters
    ----------
    on : bool
    cycle, address : int        Of the first word.
    extents : tuple of int      Iterations of each loop, less 1, innermost first.
    gaps : tuple of int         Idle cycles when a loop advances.
    deltas : tuple of int       What is added to the address then.
    size : int                  Addresses count modulo this number; 1: they do not matter.
    """

    on: bool
    cycle: int
    address: int
    extents: tuple[int, ...]
    gaps: tuple[int, ...]
    deltas: tuple[int, ...]
    size: int


def verify(config: Mapping[Site, Config], graph: MappedGraph, placement: Mapping[str, Site], meant: Meant, arch: Arch) -> None:
    """Prove that every controller of a configuration does what was meant, and that no other runs.

    config: decoded, every field of every used tile. placement: block -> (x, y).
    """
    kinds = {name: block.kind for name, block in graph.blocks.items()}
    for port in meant.patterns:
        known = {"mem": BUFFER_PORTS, "pe": REGISTER_PORTS}.get(kinds.get(port.block, ""), ())
        assert port.name in known, f"words are meant for {port.name} of {port.block}, which has no such controller"
    for pin in (*meant.waits, *meant.kept):
        assert kinds.get(pin.block) == "pe" and pin.port in DATA_INPUTS, f"{pin.block}.{pin.port} has no register file"
    for name, block in graph.blocks.items():
        if block.primitive == BUFFER.name:
            _verify_buffer(block, placement[name], config[placement[name]], meant, arch)
        elif block.primitive == ALU.name:
            _verify_register_file(block, placement[name], config[placement[name]], meant, arch)


def walk(schedule: Schedule, most: int) -> Words:
    """The words of a controller, no more than `most` (1 or more) of them."""
    if not schedule.on:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    words = min(most, math.prod(extent + 1 for extent in schedule.extents))
    # The loop that advances after each word: once in `period` words those inside it have all ended.
    advances = np.zeros(words - 1, np.int64)
    period = 1
    for loop, extent in enumerate(schedule.extents):
        advances[period - 1::period] = loop
        period *= extent + 1
    distances = np.array(schedule.gaps, np.int64)[advances] + 1
    deltas = np.array(schedule.deltas, np.int64)[advances]
    return (np.cumsum(np.concatenate([[schedule.cycle], distances])),
            np.cumsum(np.concatenate([[schedule.address], deltas])) % schedule.size)


def buffer_schedule(sizes: MemSizes, fields: Mapping[str, int], port: str) -> Schedule:
    """The controller of a port of a MEM tile, given its fields as numbers."""
    owner = f"rd{port[-1]}" if fields.get(f"{port}_replay") else port
    return _schedule(fields, port, owner, sizes.loops(owner), 1 if port == VALID else sizes.buffer_words)


def register_schedule(words: int, fields: Mapping[str, int], port: str) -> Schedule:
    """The controller of a port of a register file of so many words; a delay line makes no use of it."""
    found = _schedule(fields, port, port, LOOPS, words)
    return found if fields[f"mode{port[-1]}"] != MODES.index(DELAY) else Schedule(False, 0, 0, (), (), (), words)


def _schedule(fields: Mapping[str, int], port: str, owner: str, loops: int, size: int) -> Schedule:
    """owner: the port whose loops are walked."""
    extents, gaps, deltas = (tuple(fields.get(f"{owner}_{part}{loop}", 0) for loop in range(loops))
                             for part in ("extent", "gap", "delta"))
    return Schedule(bool(fields.get(f"{port}_on")), fields.get(f"{port}_cycle", 0), fields.get(f"{port}_address", 0), extents,
                    gaps, deltas, size)


def _verify_buffer(block: Block, site: Site, config: Config, meant: Meant, arch: Arch) -> None:
    fields = _fields(block, site, config, arch)
    tile = f"{block.name} on tile {site}"
    is_table = int(block.config.get("rom", 0))
    assert fields["rom"] == is_table, f"{tile}: a table is {'' if is_table else 'not '}meant, but rom is {fields['rom']}"
    for name in BUFFER_PORTS:
        _compare(f"{tile}, {name}", buffer_schedule(arch.mem, fields, name), meant.patterns.get(Port(block.name, name)))


def _verify_register_file(block: Block, site: Site, config: Config, meant: Meant, arch: Arch) -> None:
    tile, words = f"{block.name} on tile {site}", arch.pe.register_words
    patterns = {name: meant.patterns[port] for name in REGISTER_PORTS if (port := Port(block.name, name)) in meant.patterns}
    pins = {name: Pin(block.name, OPERAND_PORT[name]) for name in OPERANDS}
    if not words:
        assert not patterns and not any(pin in meant.waits or pin in meant.kept for pin in pins.values()), \
            f"{tile} has no register file"
        return
    fields = _fields(block, site, config, arch)
    for name in REGISTER_PORTS:
        _compare(f"{tile}, {name}", register_schedule(words, fields, name), patterns.get(name))
    written = {int(address) for name, pattern in patterns.items() if name.startswith("wr")
               for address in np.unique(events(pattern)[1] % words)}
    lines = {f"channel{n}" for n in range(CHANNELS) if fields[f"mode{n}"] == MODES.index(DELAY)}
    sources = {name: _source(fields, name) for name in OPERANDS}
    for name, pin in pins.items():
        where, source, kept = f"{tile}, operand {name}", sources[name], meant.kept.get(pin)
        if pin in meant.waits:
            assert source in lines, f"{where}: it is meant to wait {meant.waits[pin]} cycles, but comes from {source}"
            delay = OPS[fields["op"]].delay(name) if fields["op"] < len(OPS) else 0
            _verify_wait(where, name, meant.waits[pin] + delay, fields, words, written)
        else:
            wanted = f"channel{kept.channel}" if kept else SOURCES[0]
            assert source == wanted, f"{where}: it is meant to come from {wanted}, but comes from {source}"
        if kept:
            what = WRITTEN[fields[f"write{kept.channel}"]]
            assert what == kept.written, f"{where}: {source} is meant to keep {kept.written}, but keeps {what}"
    waiting = {sources[name] for name, pin in pins.items() if pin in meant.waits}
    assert lines == waiting, f"{tile}: {', '.join(sorted(lines - waiting))} writes words that nobody waits for"


def _source(fields: Mapping[str, int], operand: str) -> str:
    """Where an operand comes from."""
    code = fields[f"operand_{operand}"]
    return SOURCES[code] if code < len(SOURCES) else f"source {code}, which there is not"


def _verify_wait(where: str, operand: str, wait: int, fields: Mapping[str, int], words: int, written: set[int]) -> None:
    """An operand comes out of its delay line when it is meant to. wait: cycles until the operation takes it. written: registers
    that schedules write."""
    source = _source(fields, operand)
    # In twice the laps of the longest line every register has been shown that another one can overwrite.
    laps = 2 * max(wait, *(fields[f"depth{n}"] + 1 for n in range(CHANNELS)))
    for cycle, (address, shown) in enumerate(_shown(fields, words, int(source[-1]), laps + 1)):
        found = f"{source} shows in cycle {cycle} at address {address}"
        assert address not in written, f"{where}: {found} a word that a schedule writes"
        if cycle >= wait:
            assert shown == (operand, cycle - wait), (
                f"{where}: word {cycle - wait} is meant for cycle {cycle}, but {found} "
                + (f"word {shown[1]} of {shown[0]}" if shown else "one that was never written"))


def _shown(fields: Mapping[str, int], words: int, channel: int, cycles: int) -> list[tuple[int, tuple[str, int] | None]]:
    """What a delay line shows in every cycle: the address, and which word was written there, in which cycle. The hardware reads
    it in the cycle before, and forwards what is written then."""
    lines = [n for n in range(CHANNELS) if fields[f"mode{n}"] == MODES.index(DELAY)]
    registers: list[tuple[str, int] | None] = [None] * words
    turns = dict.fromkeys(lines, 0)
    found = []
    for cycle in range(cycles):
        addresses = {n: (fields[f"base{n}"] + turns[n]) % words for n in lines}
        found.append((addresses[channel], registers[addresses[channel]]))
        for n in lines:     # of two writes of one register the second stays
            registers[addresses[n]] = (WRITTEN[fields[f"write{n}"]], cycle)
            turns[n] = 0 if turns[n] == fields[f"depth{n}"] else turns[n] + 1
    return found


def _fields(block: Block, site: Site, config: Config, arch: Arch) -> dict[str, int]:
    """The fields of the primitive of a tile as numbers."""
    mode = config["core"]["mode"]
    assert mode == block.primitive, f"tile {site} is set to {mode}, but {block.name} is a {block.primitive}"
    return arch.tiles[site].config(BUFFER if block.kind == "mem" else ALU).numbers(config[block.primitive])


def _compare(where: str, schedule: Schedule, pattern: Pattern | None) -> None:
    """The words of a controller are those of a pattern."""
    none = np.zeros(0, np.int64)
    cycles, addresses = events(pattern) if pattern else (none, none)
    addresses = addresses % schedule.size
    found_cycles, found_addresses = walk(schedule, len(cycles) + 1)
    both = min(len(cycles), len(found_cycles))
    same = (cycles[:both] == found_cycles[:both]) & (addresses[:both] == found_addresses[:both])
    if same.all() and len(cycles) == len(found_cycles):
        return
    word = both if same.all() else int(np.argmin(same))
    meant = _text(cycles, addresses, word, schedule.size)
    found = _text(found_cycles, found_addresses, word, schedule.size)
    raise AssertionError(f"{where}: word {word} is meant {meant}, but comes {found}")


def _text(cycles: np.ndarray, addresses: np.ndarray, word: int, size: int) -> str:
    if word >= len(cycles):
        return "never"
    return f"in cycle {cycles[word]}" + (f" at address {addresses[word]}" if size > 1 else "")
