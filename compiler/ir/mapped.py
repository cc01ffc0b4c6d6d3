"""Mapped graph: blocks, each one primitive on one tile kind, and nets between tile ports. Sparse and dense meet here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ...hw.arch.cgra import Arch
from ...hw.arch.errors import UserError
from ...hw.arch.mask import Mask
from ...hw.arch.op import OPS, Op
from ...hw.arch.presets import PRESETS
from ...hw.arch.primitive import ALU, PRIMITIVES, Flow
from ...hw.arch.tile import TileSpec

LOAD, STORE = "load", "store"
# Level of a tensor's values.
VALUES = -1


def level_name(tensor: str, level: int) -> str:
    """The name of a stream of a tensor's level, or of its values: ``B0``, ``C_vals``."""
    return f"{tensor}_vals" if level == VALUES else f"{tensor}{level}"


@dataclass(frozen=True)
class Block:
    """What occupies one tile.

    Parameters
    ----------
    name : str             Unique, e.g. ``B.k scan``.
    kind : str             Tile kind: ``pe``, ``mem`` or ``io``.
    primitive : str        The active primitive; empty for io.
    config : mapping       Field values of the primitive.
    slack : bool           The block only holds tokens (inserted by balancing).
    """

    name: str
    kind: str
    primitive: str
    config: Mapping[str, int | str | bool]
    slack: bool = False

    @property
    def operation(self) -> Op | None:
        """What an ALU computes."""
        return OPS[int(self.config.get("op", 0))] if self.primitive == ALU.name else None

    @property
    def latency(self) -> int:
        """Cycles from a token in front of a core input to the one that it causes, the input's register included."""
        own = PRIMITIVES[self.primitive].latency if self.primitive else 0
        return 1 + own + (self.operation.latency if self.operation else 0)


class Pin(NamedTuple):
    """A tile port of a block."""

    block: str
    port: str


@dataclass(frozen=True)
class Net:
    """One source and every sink of it, on one layer."""

    source: Pin
    sinks: tuple[Pin, ...]
    layer: str = "data"

    @property
    def name(self) -> str:
        return f"{self.source.block}.{self.source.port}"


@dataclass(frozen=True)
class Stream:
    """A stream between the global buffer and an io block.

    Parameters
    ----------
    block : str        The io block.
    direction : str    ``load`` or ``store``, seen from the array.
    name : str
    sections : int     Length-prefixed sections of a transaction: a level is segments and coordinates, a value array one.
    blocks : int       Blocks of so many sections each that a transaction stores, each behind its number; 0: there are none.
    order : str        The load stream that brings these numbers; the last word of a transaction of it is the last number.
    count : int        Words of a transaction, where the program knows them: then there are no lengths.
    """

    block: str
    direction: str
    name: str
    sections: int = 0
    count: int = 0
    blocks: int = 0
    order: str = ""


@dataclass(frozen=True)
class MappedGraph:
    """Blocks by name, nets, and the streams of the io blocks."""

    blocks: Mapping[str, Block]
    nets: tuple[Net, ...]
    streams: tuple[Stream, ...]

    def count(self, kind: str) -> int:
        """How many blocks are of a tile kind."""
        return sum(block.kind == kind for block in self.blocks.values())

    def to_text(self) -> str:
        """The graph for people, one line a block and a net."""
        lines = [f"{b.kind:3} {b.name}: {b.primitive or 'stream'} "
                 + " ".join(f"{k}={v}" for k, v in b.config.items()) for b in self.blocks.values()]
        lines += [f"net {net.name} -> " + ", ".join(f"{pin.block}.{pin.port}" for pin in net.sinks) for net in self.nets]
        return "\n".join(line.rstrip() for line in lines) + "\n"


class Demand(NamedTuple):
    """How much of a resource a program needs, and how much of it a machine has that programs may use."""

    what: str
    needed: int
    has: int


def demands(pes: int, mems: int, loads: int, stores: int, arch: Arch) -> tuple[Demand, ...]:
    """The demands of a program of so many tiles and streams: a GLB tile has one stream each way."""
    kinds, streams = [tile.kind for tile in arch.usable.values()], len(arch.stream_tiles)
    return (Demand("PE tiles", pes, kinds.count("pe")), Demand("MEM tiles", mems, kinds.count("mem")),
            Demand("load streams", loads, streams), Demand("store streams", stores, streams))


def graph_demands(graph: MappedGraph, arch: Arch) -> tuple[Demand, ...]:
    """The demands of a graph."""
    loads = sum(stream.direction == LOAD for stream in graph.streams)
    return demands(graph.count("pe"), graph.count("mem"), loads, len(graph.streams) - loads, arch)


def check_operations(names: Iterable[str], ops: tuple[Op, ...]) -> None:
    """UserError that names the operations that PEs with `ops` do not have."""
    if missing := sorted(set(names) - {op.name for op in ops}):
        raise UserError(f"the program needs operations that the PEs do not have: {', '.join(missing)}", "pe.ops",
                        "choose another machine, or add them to its description")


def larger(short: Iterable[Demand], arch: Arch) -> str:
    """What to try when a machine has less than is needed: the smallest preset of such PEs that has enough, else more tiles."""
    needs = [each.needed for each in short]
    enough = [other for other in PRESETS.values() if other.pe == arch.pe
              and all(each.has >= needed for each, needed in zip(demands(0, 0, 0, 0, other), needs, strict=True))]
    if enough:
        return f"use a larger machine (arch='{min(enough, key=lambda other: len(other.tiles)).name}')"
    return "describe a machine of more columns and rows"


def primitives_of(arch: Arch) -> set[str]:
    """The names of what tiles of a machine can be set to."""
    return {each.name for tile in (arch.pe, arch.mem) for each in tile.primitives}


def having(primitives: Sequence[str], arch: Arch) -> str:
    """What to try where a machine lacks primitives: another preset that has them, or to add them."""
    others = [other for other in PRESETS.values() if other.name != arch.name and primitives_of(other).issuperset(primitives)]
    # Rather a larger one than the smallest of all, which is for boards.
    others.sort(key=lambda other: (len(other.tiles) < len(arch.tiles), len(other.tiles)))
    use = f"use {others[0].name}, or " if others else ""
    return f"{use}add {'them' if len(primitives) > 1 else primitives[0]} to the machine's description"


def avoiding_less(short: Sequence[Demand], arch: Arch) -> str:
    """What to try when the tiles that a machine is not to avoid are less than is needed."""
    whole = replace(arch, avoid=Mask())
    if all(each.has >= need.needed for each, need in zip(demands(0, 0, 0, 0, whole), short, strict=True)):
        return "avoid fewer tiles: whole, the machine has enough"
    return larger(short, whole)


def tile_of(arch: Arch, kind: str) -> TileSpec:
    """The description of a tile kind."""
    tile = {"pe": arch.pe, "mem": arch.mem, "io": arch.io}[kind]
    return tile


def verify(graph: MappedGraph, arch: Arch) -> None:
    """Check that every net joins existing ports in the right direction, every input is driven once, every primitive
    exists on its tile, and every stream has its io block. A failure is a fault of a pass, not of the user."""
    driven: set[Pin] = set()
    sources: set[Pin] = set()
    for name, block in graph.blocks.items():
        assert name == block.name, f"block {block.name} is filed under {name}"
        tile = tile_of(arch, block.kind)
        if block.kind != "io":
            assert block.primitive in {p.name for p in tile.primitives}, f"a {block.kind} has no {block.primitive}"
            tile.config(PRIMITIVES[block.primitive]).numbers(block.config)
    for net in graph.nets:
        assert net.source not in sources, f"{net.name} is the source of two nets"
        sources.add(net.source)
        assert net.sinks, f"{net.name} has no sink"
        for pin, flow in ((net.source, Flow.OUT), *((sink, Flow.IN) for sink in net.sinks)):
            ports = tile_of(arch, graph.blocks[pin.block].kind).ports
            assert any(p.name == pin.port and p.flow is flow and p.layer == net.layer for p in ports), \
                f"{pin.block} has no {flow.value} port {pin.port} on layer {net.layer}"
        for sink in net.sinks:
            assert sink not in driven, f"{sink.block}.{sink.port} is driven twice"
            driven.add(sink)
    io = {name for name, block in graph.blocks.items() if block.kind == "io"}
    assert io == {stream.block for stream in graph.streams}, "every io block has one stream"
