"""Random netlists on a machine, as mapped graphs; shared by the tests of the back end."""

from __future__ import annotations

import random

from sardonyx.compiler.ir.mapped import LOAD, STORE, Block, MappedGraph, Net, Pin, Stream, tile_of
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.interconnect import Interconnect


def machine(columns: int, rows: int, tracks: int = 5, switch_box: str = "wilton", per_glb: int = 1) -> Arch:
    return Arch(f"{columns}x{rows}", columns, rows, interconnect=Interconnect(tracks, switch_box),
                glb=Glb(columns_per_tile=per_glb))


def random_graph(arch: Arch, counts: dict[str, int], nets: int, sinks: int, seed: int = 0,
                 layer: str = "data") -> MappedGraph:
    """Blocks of each kind of slot, nets with random sources, sinks dealt at random, at least one to a net."""
    draw = random.Random(seed)
    direction = {f"{kind}{i}": kind for kind, count in counts.items() for i in range(count)}
    primitive = {"pe": "alu", "mem": "level"}
    blocks = {name: Block(name, kind if kind in primitive else "io", primitive.get(kind, ""), {})
              for name, kind in direction.items()}
    outs = [Pin(name, port.name) for name, block in blocks.items() if direction[name] != STORE
            for port in tile_of(arch, block.kind).outputs(layer)]
    ins = [Pin(name, port.name) for name, block in blocks.items() if direction[name] != LOAD
           for port in tile_of(arch, block.kind).inputs(layer)]
    nets = min(nets, len(outs), len(ins))
    ends = draw.sample(ins, min(max(nets, sinks), len(ins)))
    fans: list[list[Pin]] = [[end] for end in ends[:nets]]
    for end in ends[nets:] if nets else ():
        fans[draw.randrange(nets)].append(end)
    sources = draw.sample(outs, nets)
    made = tuple(Net(source, tuple(fan), layer) for source, fan in zip(sources, fans, strict=True))
    streams = tuple(Stream(name, kind, "T", 0) for name, kind in direction.items() if kind in (LOAD, STORE))
    return MappedGraph(blocks, made, streams)
