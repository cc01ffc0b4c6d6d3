"""The configuration of the blocks of an aligned graph: schedules of MEM tiles, register files of PEs.

Needs:   StaticGraph, Alignment.
Gives:   MappedGraph with every field set, ready for `configure`; Meant, what its controllers are to do, for `controllers`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ....hw.arch.buffer import VALID
from ....hw.arch.cgra import Arch
from ....hw.arch.errors import UserError
from ...ir.mapped import Block, MappedGraph, Pin
from ..map.affine import Pattern, fields
from ..map.delay_lines import OPERAND_PORT, StaticGraph
from ..map.registers import channels, schedules, written
from ..map.storage import latency_of
from .align import Alignment
from .verify_controllers import Kept, Meant, Port

Config = dict[str, "int | str | bool"]


@dataclass(frozen=True)
class Settled:
    """A graph with its settings, and what its controllers are to do."""

    graph: MappedGraph
    meant: Meant


def settle(static: StaticGraph, alignment: Alignment, arch: Arch) -> Settled:
    """The graph with the settings that the alignment asks for."""
    flagged = {mem: store for store, mem in static.valid.items()}
    blocks: dict[str, Block] = {}
    patterns: dict[Port, Pattern] = {}
    kept: dict[Pin, Kept] = {}
    for name, block in static.graph.blocks.items():
        config: Config = dict(block.config)
        if block.kind == "pe":
            number = static.nodes[name]
            waits = {operand: alignment.waits.get(Pin(name, port), 0) for operand, port in OPERAND_PORT.items()}
            start = next(start for pin, start in alignment.starts.items() if pin.block == name)
            # Words are read from the register file when the operation begins.
            start -= latency_of(static.walk.graph.nodes[number], arch)
            config |= channels(static.walk, number, waits, start, arch.pe.register_words)
            if operands := list(static.walk.graph.nodes[number].kept()):
                patterns |= {Port(name, port): each for port, each in schedules(static.walk, number, waits, start).items()}
                kept |= {Pin(name, OPERAND_PORT[operand]): Kept(channel, written(operand, each))
                         for channel, (operand, each) in enumerate(operands)}
        elif block.kind == "mem":
            found = _line(name, static, alignment, arch)
            for port, pattern in found.items():
                config |= fields(arch.mem, port, pattern)
            if name in flagged:
                found[VALID] = _flag(flagged[name], name, static, alignment, arch)
                config |= _flag_fields(flagged[name], found[VALID], static, arch)
            patterns |= {Port(name, port): pattern for port, pattern in found.items()}
        blocks[name] = Block(name, block.kind, block.primitive, config)
    meant = Meant(patterns, {pin: wait for pin, wait in alignment.waits.items() if wait and pin not in kept}, kept)
    return Settled(replace(static.graph, blocks=blocks), meant)


def _line(name: str, static: StaticGraph, alignment: Alignment, arch: Arch) -> dict[str, Pattern]:
    """A delay line writes and reads every word that is needed in turn; the SRAM wraps."""
    first, last = static.spans.get(name, (0, 0))
    loops = _count(last - first + 1, arch)
    patterns = {}
    for port in static.lines.get(name, ()):
        written = alignment.arrivals[Pin(name, "in0")] + first
        read = alignment.starts[Pin(name, port)] + first - arch.mem.read_latency
        patterns["wr0"] = Pattern(loops, _ramp(loops), _ramp(loops), written, 0)
        patterns[port.replace("out", "rd")] = Pattern(loops, _ramp(loops), _ramp(loops), read, 0)
    return patterns


def _flag(store: str, name: str, static: StaticGraph, alignment: Alignment, arch: Arch) -> Pattern:
    """The flag is 1 when an element of the result arrives at the store."""
    each = next(each for each in static.walk.stores if each.name == store)
    pitch = static.walk.grid.pitch
    loops = [loop for count, stride, step in zip(each.counts, each.stride, pitch, strict=True)
             for loop in _loops(count, stride * step, 1 << arch.mem.extent_bits)]
    extents, strides = zip(*loops, strict=True)
    return Pattern(extents, strides, (0,) * len(loops), alignment.starts[Pin(name, "bit")], 0)


def _flag_fields(store: str, pattern: Pattern, static: StaticGraph, arch: Arch) -> dict[str, int]:
    """UserError in terms of the tile."""
    counts = next(each.counts for each in static.walk.stores if each.name == store)
    try:
        return fields(arch.mem, VALID, pattern)
    except UserError as error:
        raise UserError(f"tiles of {' x '.join(map(str, counts))} elements cannot be counted: {error.what}", store,
                        f"give smaller tiles, or sides that are products of at most {1 << arch.mem.extent_bits}") from None


def _loops(count: int, stride: int, most: int) -> list[tuple[int, int]]:
    """A loop as loops of at most `most` iterations, innermost first, if its count is a product of such."""
    part = next(each for each in range(min(count, most), 0, -1) if count % each == 0)
    return [(count, stride)] if part in (1, count) else [(part, stride), *_loops(count // part, stride * part, most)]


def _count(points: int, arch: Arch) -> tuple[int, ...]:
    """Loops of at least so many steps: a line that runs on harms nobody."""
    most = 1 << arch.mem.extent_bits
    loops: list[int] = []
    while points > 1:
        loops.append(min(points, most))
        points = -(-points // most)
    return tuple(loops) or (1,)


def _ramp(loops: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of loops that count steps."""
    strides, step = [], 1
    for extent in loops:
        strides.append(step)
        step *= extent
    return tuple(strides)
