"""Arch: the whole machine as one frozen value, and what follows from it.

Coordinates (x, y) have their origin in the north-west; row 0 holds one IO tile a column, rows 1..rows the array.
The parity (x + y) & 1 of a tile decides the register of its switch-box outputs (see `interconnect`).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from .buffer import MEM_SIZES
from .config import ConfigMap, ConfigSet, Field
from .errors import UserError
from .glb import Glb
from .interconnect import Interconnect, RoutingGraph
from .primitive import PRIMITIVES
from .tile import IO, MEM, PE, TileSpec

FORMAT = 1


@dataclass(frozen=True)
class Timing:
    """Delays in picoseconds for the static timing report.

    Defaults follow the delay table of the public 12 nm flow (order of magnitude; relative weights matter).
    """

    pe: int = 700
    mem: int = 1000
    glb: int = 1000
    switch_box: int = 160
    connection_box: int = 240
    register: int = 230


@dataclass(frozen=True)
class Arch:
    """A machine: columns x rows of tiles, interconnect, global buffer.

    Parameters
    ----------
    name : str
    columns, rows : int       Size of the array, 1..256 and 1..255; the IO row comes on top.
    mem_every : int           Every so-maniest column is of MEM tiles (4: columns 3, 7, 11, ...); 0: none.
    pe, mem, io : TileSpec    The tile kinds.
    interconnect, glb, timing
    """

    name: str
    columns: int
    rows: int
    mem_every: int = 4
    pe: TileSpec = PE
    mem: TileSpec = MEM
    io: TileSpec = IO
    interconnect: Interconnect = field(default_factory=Interconnect)
    glb: Glb = field(default_factory=Glb)
    timing: Timing = field(default_factory=Timing)

    def __post_init__(self) -> None:
        if not (1 <= self.columns <= 256 and 1 <= self.rows <= 255):
            raise UserError(f"an array of {self.columns} x {self.rows} tiles", self.name, "give 1..256 columns and 1..255 rows")
        if self.columns % self.glb.columns_per_tile:
            raise UserError(f"{self.columns} columns do not divide into GLB tiles of {self.glb.columns_per_tile} columns",
                            self.name, "change glb.columns_per_tile or the number of columns")

    @property
    def glb_tiles(self) -> int:
        """Tiles of the global buffer, each with one load and one store stream."""
        return self.columns // self.glb.columns_per_tile

    @cached_property
    def tiles(self) -> dict[tuple[int, int], TileSpec]:
        """Every tile by its coordinates, row by row."""
        return {(x, y): self._tile(x, y) for y in range(self.rows + 1) for x in range(self.columns)}

    def _tile(self, x: int, y: int) -> TileSpec:
        if y == 0:
            return self.io
        return self.mem if self.mem_every and x % self.mem_every == self.mem_every - 1 else self.pe

    @cached_property
    def graph(self) -> RoutingGraph:
        """The routing graph; nothing outside the array is in it."""
        return RoutingGraph(self.interconnect, self.tiles)

    def config_map(self, kind: str) -> ConfigMap:
        """The configuration space of a tile kind: mode of the core, its primitives, its boxes."""
        return self._config_maps[kind]

    @cached_property
    def _config_maps(self) -> dict[str, ConfigMap]:
        maps = {}
        for tile in (self.pe, self.mem, self.io):
            modes = ("off", *(primitive.name for primitive in tile.primitives))
            core = ConfigSet("core", Field("mode", max(1, (len(modes) - 1).bit_length()), "the active primitive", modes))
            sets = [core, *(tile.config(primitive) for primitive in tile.primitives), *self.interconnect.config_sets(tile)]
            maps[tile.kind] = ConfigMap(tuple(each for each in sets if each.fields))
        return maps

    def to_json(self) -> dict[str, Any]:
        """The description as plain data; `from_json` reads it back."""
        def plain(value: Any) -> Any:
            if dataclasses.is_dataclass(value):
                return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
            return value

        def tile(spec: TileSpec, names: tuple[str, ...]) -> dict[str, Any]:
            return {name: getattr(spec, name) for name in names} | {"primitives": [p.name for p in spec.primitives]}

        return {"format": FORMAT, "name": self.name, "columns": self.columns, "rows": self.rows, "mem_every": self.mem_every,
                "pe": tile(self.pe, ("pass_depth", "ops", "register_words")),
                "mem": tile(self.mem, MEM_SIZES),
                "interconnect": plain(self.interconnect), "glb": plain(self.glb), "timing": plain(self.timing)}

    @cached_property
    def fingerprint(self) -> int:
        """64 bits that tell machines apart: of everything that changes configuration or hardware, not of name or timing."""
        relevant = {key: value for key, value in self.to_json().items() if key not in ("name", "timing")}
        maps = {kind: [(s.name, [(f.name, f.bits) for f in s.fields.values()]) for s in each.sets.values()]
                for kind, each in self._config_maps.items()}
        text = json.dumps([relevant, maps], sort_keys=True)
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def from_json(raw: dict[str, Any], where: str = "arch") -> Arch:
    """An `Arch` from plain data; UserError naming the unknown or missing field."""
    def build(cls: Any, values: Any, place: str, base: Any = None) -> Any:
        if not isinstance(values, dict):
            raise UserError(f"{place} is not a table of fields", where)
        legal = {f.name for f in dataclasses.fields(cls)}
        for name in values:
            if name not in legal:
                raise UserError(f"unknown field '{name}' in {place}", where, f"fields are {', '.join(sorted(legal))}")
        try:
            return dataclasses.replace(base, **values) if base is not None else cls(**values)
        except TypeError as error:
            raise UserError(f"{place}: {error}", where, "start from the arch.json of a preset") from None

    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise UserError(f"not a machine description of format {FORMAT}", where, "start from the arch.json of a preset")
    fields = {key: value for key, value in raw.items() if key != "format"}
    for name, base in (("pe", PE), ("mem", MEM)):
        if name in fields:
            if not isinstance(fields[name], dict):
                raise UserError(f"{name} is not a table of fields", where, "start from the arch.json of a preset")
            tile = dict(fields[name])
            listed = tile.get("primitives", [])
            if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed) \
                    or len(set(listed)) < len(listed):
                raise UserError(f"the primitives of {name} are no list of different names", where,
                                f"choose among {', '.join(PRIMITIVES)}")
            unknown = [each for each in listed if each not in PRIMITIVES]
            if unknown:
                raise UserError(f"unknown primitive '{unknown[0]}' in {name}", where, f"choose among {', '.join(PRIMITIVES)}")
            if "primitives" in tile:
                tile["primitives"] = tuple(PRIMITIVES[each] for each in listed)
            fields[name] = build(TileSpec, tile, name, base)
    for name, cls in (("interconnect", Interconnect), ("glb", Glb), ("timing", Timing)):
        if name in fields:
            fields[name] = build(cls, fields[name], name)
    return build(Arch, fields, "the description")


def load(path: str | Path) -> Arch:
    """An `Arch` from a JSON file, such as the arch.json beside generated Verilog."""
    try:
        raw = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read the machine description: {error.strerror}", str(path),
                        "name a preset, or a file such as the arch.json beside generated Verilog") from None
    except json.JSONDecodeError as error:
        raise UserError(f"not JSON: {error.msg}", f"{path}:{error.lineno}", "start from the arch.json of a preset") from None
    except (ValueError, RecursionError):
        # Other bytes than UTF-8, an integer of thousands of digits, or a table in a table in a table and so on.
        raise UserError("not JSON", str(path), "start from the arch.json of a preset") from None
    return from_json(raw, str(path))
