"""Configuration of every used tile from a mapped, placed and routed graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from ...hw.arch.cgra import Arch
from ...hw.arch.tile import POWER
from ..ir.mapped import MappedGraph
from ..ir.program import Config, Site


def configure(graph: MappedGraph, arch: Arch, placement: Mapping[str, Site],
              routes: Mapping[str, Mapping[int, int]], static: bool = False) -> dict[Site, Config]:
    """Field values of every tile that a block or a route uses.

    placement: block -> (x, y). routes: net name -> routing tree as {node: the node that drives it}. static: registers on the
    way are pipeline stages, else FIFOs.
    """
    values: dict[Site, dict[str, dict[str, int | str]]] = defaultdict(lambda: defaultdict(dict))
    for name, block in graph.blocks.items():
        tile = values[placement[name]]
        if block.primitive:
            tile["core"]["mode"] = block.primitive
            tile[block.primitive].update(block.config)
    for tree in routes.values():
        for sink, source in tree.items():
            node = arch.graph.nodes[sink]
            box = "sb" if node.kind == "sb" else "cb"
            fields = values[node.x, node.y][f"{box}_{node.layer}"]
            fields[f"{node.name}_sel"] = arch.graph.select(sink, source)
            if static and arch.interconnect.fifo != "none":
                fields |= {f"{node.name}_mode": "static"} if box == "sb" else {f"{node.name}_static": 1}
    if arch.power_domains:
        for tile in values.values():
            tile[POWER.name]["on"] = 1
    # Through the words and back: every field of a used tile has a value, as on the machine.
    config: dict[Site, Config] = {}
    for site in sorted(values):
        space = arch.config_map(arch.tiles[site].kind)
        known = {name: fields for name, fields in values[site].items() if fields}
        config[site] = space.decode(space.encode(known))
    return config
