"""Random netlists on a machine, as mapped graphs, and what is legal of them; shared by the tests of the back end."""

from __future__ import annotations

import random
from collections import Counter

from sardonyx.compiler.ir.mapped import LOAD, STORE, Block, MappedGraph, Net, Pin, Stream, tile_of
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.interconnect import Interconnect, Node


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


def check_placed(kinds, slots, tiles, allowed=None):
    """Every block on a slot of its kind, one block a slot and a group."""
    at = {(slot.kind, slot.x, slot.y): slot for slot in slots}
    assert tiles.keys() == kinds.keys()
    used = [at[(kind, *tiles[name])] for name, kind in kinds.items()]
    assert len(set(used)) == len(used)
    groups = Counter((slot.kind, slot.group) for slot in used if slot.group >= 0)
    assert all(count == 1 for count in groups.values())
    assert all(tiles[name] in sites for name, sites in (allowed or {}).items())


def check_trees(graph, nets, tiles, routing):
    """Every tree leads from its source to exactly its sinks over edges of the graph; hops are as walked."""
    for net in nets:
        tree = routing.trees[net.name]
        source = graph.index[Node(*tiles[net.source.block], net.layer, "out", net.source.port)]
        sinks = [graph.index[Node(*tiles[pin.block], net.layer, "in", pin.port)] for pin in net.sinks]
        assert {node for node in tree if graph.nodes[node].kind == "in"} == set(sinks)
        reached = {source}
        for node, driver in tree.items():
            assert driver in graph.sources[node]
            assert driver in reached, "a tree is listed from its source outwards"
            reached.add(node)
        assert not set(tree) - set(sinks) - set(tree.values()), "every switch box in a tree leads on"
        for sink, hops in zip(sinks, routing.hops[net.name], strict=True):
            node, walked = sink, 0
            while node != source:
                walked += graph.nodes[node].kind == "sb"
                node = tree[node]
            assert walked == hops


def check_routed(graph, nets, tiles, routing):
    check_trees(graph, nets, tiles, routing)
    used = [node for tree in routing.trees.values() for node in tree]
    assert len(used) == len(set(used)) == routing.wirelength
    assert routing.shared == {}
