"""A row of PE tiles, joined as in the array: its paths go from a core through boxes of two tiles to the next core."""

from __future__ import annotations

from ...hw.emitted import Port, ports

ROW = "row"
TILES = ("tile_pe_odd", "tile_pe_even", "tile_pe_odd", "tile_pe_even")


def row(modules: dict[str, str]) -> str:
    """The module `ROW`: tiles from west to east; every port that is not between two of them is a port of the row."""
    outer: list[str] = []
    wires: list[str] = []
    bodies = []
    for x, tile in enumerate(TILES):
        pins = []
        for port in ports(modules[tile]):
            name = _between(x, port) or (port.name if port.name in ("clk", "rst", "flush") else f"t{x}_{port.name}")
            pins.append(f".{port.name}({name})")
            if name.startswith("between"):
                wires.append(f"wire [{port.bits - 1}:0] {name};")
            else:
                outer.append(f"{port.flow} [{port.bits - 1}:0] {name}")
        bodies.append(f"  {tile} x{x} (\n  {', '.join(pins)});")
    heads = ",\n  ".join(dict.fromkeys(outer))
    lines = "\n".join(f"  {wire}" for wire in dict.fromkeys(wires))
    return f"module {ROW}(\n  {heads});\n{lines}\n" + "\n".join(bodies) + "\nendmodule\n"


def _between(x: int, port: Port) -> str | None:
    """The wire between this tile and a neighbour, named by who is in the west and which way the words go."""
    side, _, rest = port.name.partition("_")
    layer, _, part = rest.partition("_")
    if side == "e" and x < len(TILES) - 1:
        return f"between{x}_{layer}_{'east' if part[0] == 'o' else 'west'}{part[1:]}"
    if side == "w" and x > 0:
        return f"between{x - 1}_{layer}_{'east' if part[0] == 'i' else 'west'}{part[1:]}"
    return None
