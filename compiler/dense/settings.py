"""The configuration of the blocks of an aligned graph: schedules of MEM tiles, register files of PEs.

Needs:   StaticGraph, Alignment.
Gives:   MappedGraph with every field set, ready for `configure`.
"""

from __future__ import annotations

from dataclasses import replace

from ...hw.arch.cgra import Arch
from ...hw.arch.errors import UserError
from ...hw.arch.register_file import DELAY, OPERANDS
from ..ir.mapped import Block, MappedGraph, Pin
from .affine import Pattern, fields
from .align import Alignment
from .storage import OPERAND_PORT, StaticGraph

Config = dict[str, "int | str | bool"]


def settle(static: StaticGraph, alignment: Alignment, arch: Arch) -> MappedGraph:
    """The graph with the settings that the alignment asks for."""
    flagged = {mem: store for store, mem in static.valid.items()}
    blocks = {}
    for name, block in static.graph.blocks.items():
        config: Config = dict(block.config)
        if block.kind == "pe":
            config |= _register_file(name, alignment)
        elif block.kind == "mem":
            config |= _line(name, static, alignment, arch)
            if name in flagged:
                config |= _flag(flagged[name], name, static, alignment, arch)
        blocks[name] = Block(name, block.kind, block.primitive, config)
    return replace(static.graph, blocks=blocks)


def _register_file(name: str, alignment: Alignment) -> Config:
    """Operands that wait take a channel each, one region behind the other."""
    config: Config = {}
    base = channel = 0
    for operand in OPERANDS:
        wait = alignment.waits.get(Pin(name, OPERAND_PORT[operand]), 0)
        if wait:
            config |= {f"operand_{operand}": f"channel{channel}", f"mode{channel}": DELAY, f"write{channel}": operand,
                       f"base{channel}": base, f"depth{channel}": wait - 1}
            base, channel = base + wait, channel + 1
    return config


def _line(name: str, static: StaticGraph, alignment: Alignment, arch: Arch) -> Config:
    """A delay line writes and reads every word that is needed in turn; the SRAM wraps."""
    config: Config = {}
    first, last = static.spans.get(name, (0, 0))
    loops = _count(last - first + 1, arch)
    for port in static.lines.get(name, ()):
        written = alignment.arrivals[Pin(name, "in0")] + first
        read = alignment.starts[Pin(name, port)] + first - arch.mem.read_latency
        config |= fields(arch.mem, "wr0", Pattern(loops, _ramp(loops), _ramp(loops), written, 0))
        config |= fields(arch.mem, port.replace("out", "rd"), Pattern(loops, _ramp(loops), _ramp(loops), read, 0))
    return config


def _flag(store: str, name: str, static: StaticGraph, alignment: Alignment, arch: Arch) -> Config:
    """The flag is 1 when an element of the result arrives at the store."""
    each = next(each for each in static.walk.stores if each.name == store)
    pitch = static.walk.grid.pitch
    loops = [loop for count, stride, step in zip(each.counts, each.stride, pitch, strict=True)
             for loop in _loops(count, stride * step, 1 << arch.mem.extent_bits)]
    extents, strides = zip(*loops, strict=True)
    pattern = Pattern(extents, strides, (0,) * len(loops), alignment.starts[Pin(name, "bit")], 0)
    try:
        return {**fields(arch.mem, "valid", pattern)}
    except UserError as error:
        raise UserError(f"tiles of {' x '.join(map(str, each.counts))} elements cannot be counted: {error.what}", store,
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
