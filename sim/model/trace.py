"""From a decoded configuration back to a graph of primitives: which port feeds which, by following the multiplexers.

Nothing of the compiler's own graphs is used, so a difference between this graph and the compiler's is a fault in
placement, routing or encoding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...hw.arch.cgra import Arch
from ...hw.arch.interconnect import Node
from ...hw.arch.primitive import PRIMITIVES, Flow
from ...hw.arch.tile import LAYERS

Site = tuple[int, int]
Config = Mapping[str, Mapping[str, "int | str"]]
TilePort = tuple[int, int, str]


@dataclass(frozen=True)
class Traced:
    """The graph a configuration describes.

    primitives : {(x, y): (primitive, its configuration)}
    edges : {sink tile port: source tile port}, each (x, y, port); IO tiles have ports g2f and f2g.
    hops : {sink tile port: switch-box outputs passed}
    registers : {sink tile port: cycles to behind the register of the core input, if static: from the source's core output,
        or from what is in front of the register there}
    """

    primitives: Mapping[Site, tuple[str, Mapping[str, int | str]]]
    edges: Mapping[TilePort, TilePort]
    hops: Mapping[TilePort, int]
    registers: Mapping[TilePort, int]


def trace(config: Mapping[Site, Config], arch: Arch) -> Traced:
    """Follow every connection box that selects something back to a core output.

    Raises AssertionError for a configuration that no program has: a selected wire that nothing drives.
    """
    graph = arch.graph
    primitives = {}
    for site, sets in config.items():
        mode = sets.get("core", {}).get("mode", "off")
        if mode != "off":
            primitives[site] = (str(mode), sets.get(str(mode), {}))
    edges: dict[TilePort, TilePort] = {}
    hops: dict[TilePort, int] = {}
    registers: dict[TilePort, int] = {}
    for site, sets in config.items():
        for layer in LAYERS:
            for port in arch.tiles[site].inputs(layer):
                if not sets.get(f"cb_{layer}", {}).get(f"{port.name}_sel", 0):
                    continue
                index = graph.index[Node(*site, layer, "in", port.name)]
                sink, passed = (site[0], site[1], port.name), -1
                cycles = 1
                while graph.nodes[index].kind != "out":
                    node = graph.nodes[index]
                    box = "sb" if node.kind == "sb" else "cb"
                    code = int(config.get((node.x, node.y), {}).get(f"{box}_{layer}", {}).get(f"{node.name}_sel", 0))
                    source = graph.source_of(index, code)
                    assert source is not None, f"{node} selects code {code}, which nothing drives"
                    cycles += node.kind == "sb" and _registers(arch, config, node)
                    index, passed = source, passed + 1
                    assert passed <= len(graph.nodes), f"the route to {sink} is a ring"
                found = graph.nodes[index]
                edges[sink] = (found.x, found.y, found.name)
                hops[sink] = passed
                registers[sink] = cycles + arch.interconnect.output_registers
    return Traced(primitives, edges, hops, registers)


def _registers(arch: Arch, config: Mapping[Site, Config], node: Node) -> bool:
    """Whether a static switch-box output is a register: where it always is, and where it has one that is set to delay."""
    if arch.interconnect.fifo == "inputs":
        return False
    box = config[node.x, node.y][f"sb_{node.layer}"]
    delays = box.get(f"{node.name}_mode") == "delay" or bool(box.get(f"{node.name}_delay"))
    return delays or arch.interconnect.registers(node.x, node.y)


def stream_edges(traced: Traced, arch: Arch) -> list[tuple[tuple[Site, str], tuple[Site, str]]]:
    """Edges between stream ports of primitives (tile ports translated); IO tiles keep their tile ports.

    Tile ports that the active primitive does not have are left out.
    """
    def port(site: Site, tile_port: str, flow: Flow) -> str | None:
        if arch.tiles[site].kind == "io":
            return tile_port
        if site not in traced.primitives:
            return None
        ports = PRIMITIVES[traced.primitives[site][0]].ports
        return next((p.name for p in ports if p.tile_port == tile_port and p.flow is flow), None)

    found = []
    for (sx, sy, sink), (dx, dy, source) in traced.edges.items():
        a, b = port((dx, dy), source, Flow.OUT), port((sx, sy), sink, Flow.IN)
        if a is not None and b is not None:
            found.append((((dx, dy), a), ((sx, sy), b)))
    return found
