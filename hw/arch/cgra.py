"""Arch: the whole machine as one frozen value, and what follows from it.

Coordinates (x, y) have their origin in the north-west; row 0 holds one IO tile a column, rows 1..rows the array.
The parity (x + y) & 1 of a tile decides the register of its switch-box outputs (see `interconnect`).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, TypeVar

from .check import Misfit, Misfits, Text, Whole, check, misfits, shown
from .config import EVERY_ROW, WORD_BITS, ConfigMap, ConfigSet, Field
from .errors import UserError
from .glb import Glb
from .interconnect import Interconnect, RoutingGraph, pieces
from .mask import Mask
from .op import BY_NAME
from .primitive import PRIMITIVES
from .soc import (
    DATA_ADDRESS_BITS,
    GLB_REGISTER_STRIDE,
    GLB_REGISTERS,
    MOST_CLAIMED,
    MOST_REGIONS,
    MOST_STALLED,
    REGISTER_ADDRESS_BITS,
    glb_registers,
)
from .system import System
from .tile import IO, MEM, PE, POWER, SIZES, TileSpec
from .timing import Timing

FORMAT = 2
T = TypeVar("T")


@dataclass(frozen=True)
class Arch:
    """A machine: columns x rows of tiles, interconnect, global buffer.

    Parameters
    ----------
    name : str                1..100 characters.
    columns, rows : int       Size of the array, 1..256 and 1..254; the IO row comes on top.
    mem_every : int           Every so-maniest column is of MEM tiles (4: columns 3, 7, 11, ...); 0: none.
    config_rows : int         Rows that a configuration word goes in a cycle, 1..256: the channel of a column has a register
                              every so many.
    feed_through : bool       Tiles abut: clock, reset, flush, configuration and reports go through them, and nothing stands
                              beside a column. Cycles are the same.
    operand_isolation : bool  Primitives that a tile is not set to see zeros, so that nothing switches in them; else what
                              arrives, which takes fewer gates. Cycles are the same.
    config_readback : bool    Registers of configuration can be read, for debugging; else they read as 0. The status register
                              is read in either case, and no program reads others.
    memory_readback : bool    What the SRAMs of MEM tiles hold can be read over configuration, to be kept while another program
                              has them (`runtime/memories.py`). Cycles and words are the same.
    power_domains : bool      Every tile has a bit of configuration that switches its core and boxes off, and multiplexers that
                              let nothing of a tile that is off into another one. Cycles and words are the same.
    regions : int             Groups of GLB tiles with their columns, 1..16, each with run control of its own: the host says at
                              any time which tiles are whose (register ``claim``). Between two tiles of different regions is a
                              wall, through which nothing passes. With 1 there are no walls. Cycles and words are the same.
    column_stall : bool       The host can freeze columns, 32 at most, in the middle of a run and let them go on: all that is in
                              their tiles but the registers of configuration. Words are the same, and so are cycles where
                              nothing is stalled.
    counter_bits : int        Bits of the performance counters of every tile, 1..32: of tokens, and of cycles in which it is
                              busy, starved or blocked (`hw/arch/counters.py`), to be read over configuration; 0: there are
                              none. Cycles and words are the same.
    pe, mem, io : TileSpec    The tile kinds.
    interconnect, glb, timing
    system : System           What stands in front of the machine's buses.
    avoid : Mask              Tiles that are there, but which no program may use, such as defective ones of a chip.
    """

    name: Annotated[str, Text(1, 100)]
    columns: Annotated[int, Whole(1, 256)]
    rows: Annotated[int, Whole(1, EVERY_ROW - 1)]
    mem_every: Annotated[int, Whole(0, 256)] = 4
    config_rows: Annotated[int, Whole(1, 256)] = 8
    feed_through: bool = False
    operand_isolation: bool = True
    config_readback: bool = True
    memory_readback: bool = False
    power_domains: bool = False
    regions: Annotated[int, Whole(1, MOST_REGIONS)] = 1
    column_stall: bool = False
    counter_bits: Annotated[int, Whole(0, WORD_BITS)] = 0
    pe: TileSpec = PE
    mem: TileSpec = MEM
    io: TileSpec = IO
    interconnect: Interconnect = field(default_factory=Interconnect)
    glb: Glb = field(default_factory=Glb)
    timing: Timing = field(default_factory=Timing)
    system: System = field(default_factory=System)
    avoid: Mask = field(default_factory=Mask)

    def __post_init__(self) -> None:
        check(self, "arch", self._misfits)

    def _misfits(self) -> Iterator[Misfit]:
        for kind, spec in (("pe", self.pe), ("mem", self.mem), ("io", self.io)):
            if spec.kind != kind:
                yield Misfit(f"{kind}.kind", f"is {spec.kind}", f"give a tile of kind {kind}")
        if self.columns % self.glb.columns_per_tile:
            yield Misfit("columns", f"are {self.columns}, which do not divide into GLB tiles of {self.glb.columns_per_tile} "
                                    "columns", "change glb.columns_per_tile or the number of columns")
        elif self.glb_tiles > (most_tiles := ((1 << REGISTER_ADDRESS_BITS) - GLB_REGISTERS) // GLB_REGISTER_STRIDE):
            yield Misfit("columns", f"are {self.columns} in {self.glb_tiles} GLB tiles, but {most_tiles} tiles have addresses",
                         "give more glb.columns_per_tile")
        elif self.glb_tiles * self.glb.tile_bytes > 1 << DATA_ADDRESS_BITS:
            yield Misfit("glb", f"has {self.glb_tiles} tiles of {self.glb.tile_bytes} bytes, "
                                f"more than {1 << DATA_ADDRESS_BITS} in all", "give less glb.bank_bytes or glb.banks")
        elif self.regions > self.glb_tiles:
            yield Misfit("regions", f"are {self.regions}, but there are {self.glb_tiles} GLB tiles to have one each",
                         "give fewer regions or more columns")
        elif self.regions > 1 and self.glb_tiles > MOST_CLAIMED:
            yield Misfit("regions", f"are {self.regions} of {self.glb_tiles} GLB tiles, but a register names {MOST_CLAIMED}",
                         "give more glb.columns_per_tile or one region")
        if self.regions > 1 and self.interconnect.fifo == "inputs":
            yield Misfit("regions", f"are {self.regions}, but a word that is led at a wall is seen by the register of "
                         "its track, and tracks have none", "give one region, or another interconnect.fifo")
        if self.column_stall and self.columns > MOST_STALLED:
            yield Misfit("column_stall", f"is for {self.columns} columns, but a register names {MOST_STALLED}",
                         "give fewer columns or no column_stall")
        if self.counter_bits and self.interconnect.fifo == "none":
            yield Misfit("counter_bits", f"is {self.counter_bits}, but without FIFOs in the interconnect words move in every "
                         "cycle", "give 0, or an interconnect with FIFOs")
        if self.glb.kept_bytes and not self.memory_readback:
            yield Misfit("glb.kept_bytes", f"are {self.glb.kept_bytes}, but what memories hold cannot be read",
                         "give 0, or memory_readback")
        registers = len(glb_registers(self.glb))
        if registers > GLB_REGISTER_STRIDE // 4:
            yield Misfit("glb", f"needs {registers} registers a tile, more than {GLB_REGISTER_STRIDE // 4}",
                         "give fewer glb.load_loops or glb.store_loops")
        if strange := [site for site in self.avoid.tiles if site[0] >= self.columns or site[1] > self.rows]:
            yield Misfit("avoid.tiles", f"have {strange[0]}, which the machine has not",
                         f"give columns 0..{self.columns - 1} and rows 0..{self.rows}, row 0 being the IO tiles")
        if strange_glb := [tile for tile in self.avoid.glb if tile >= self.glb_tiles]:
            yield Misfit("avoid.glb", f"has {strange_glb[0]}, which the machine has not",
                         f"give GLB tiles 0..{self.glb_tiles - 1}")

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Fields that say nothing about this machine: features that it does not have."""
        return () if self.power_domains else MAPPED

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
    def usable(self) -> dict[tuple[int, int], TileSpec]:
        """The tiles that programs may use, row by row: those that are not avoided and that wires lead to.

        Where avoided tiles part the others, those of one piece: the one of the most tiles among those that have a stream.
        """
        if not self.avoid:
            return self.tiles
        avoided = set(self.avoid.tiles)
        left = {site: tile for site, tile in self.tiles.items() if site not in avoided}
        found = max(pieces(left), key=lambda piece: (any(self._streams(site) for site in piece), len(piece)), default=set())
        return {site: tile for site, tile in left.items() if site in found}

    def _streams(self, site: tuple[int, int]) -> bool:
        """Whether a tile is the link of a GLB tile that programs may use."""
        return site[1] == 0 and site[0] // self.glb.columns_per_tile not in self.avoid.glb

    @cached_property
    def stream_tiles(self) -> tuple[int, ...]:
        """The GLB tiles whose streams programs may use."""
        return tuple(sorted({x // self.glb.columns_per_tile for x, y in self.usable if self._streams((x, y))}))

    @cached_property
    def graph(self) -> RoutingGraph:
        """The routing graph of the tiles that programs may use; no other wire is in it."""
        return RoutingGraph(self.interconnect, self.usable)

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
            if self.power_domains:
                sets.insert(0, POWER)
            maps[tile.kind] = ConfigMap(tuple(each for each in sets if each.fields))
        return maps

    def to_json(self) -> dict[str, Any]:
        """The description as plain data; `from_json` reads it back."""
        def plain(value: Any) -> Any:
            return [plain(each) for each in value] if isinstance(value, tuple) else getattr(value, "name", value)

        parts = {name: {field: plain(getattr(getattr(self, name), field)) for field in fields}
                 for name, (_, _, fields) in PARTS.items()}
        return {"format": FORMAT} | {name: parts.get(name, getattr(self, name)) for name in MACHINE
                                     if name != AVOID or self.avoid}

    def __reduce__(self) -> tuple[Any, ...]:
        # Primitives are what they are by identity, which bytes do not keep.
        return from_json, (self.to_json(),)

    @cached_property
    def fingerprint(self) -> int:
        """64 bits that tell machines apart: of everything that changes configuration or what hardware does in a cycle, not of
        name, timing, how tiles are joined, what multiplies, what idle primitives see, when clocks are gated, how many regions
        there may be, whether columns can be stalled, what is counted, what stands in front or what programs avoid."""
        relevant = {key: value for key, value in self.to_json().items() if key not in UNSEEN + MAPPED}
        for part, unseen in UNSEEN_IN.items():
            relevant[part] = {key: value for key, value in relevant[part].items() if key not in unseen}
        for part, absent in UNSEEN_AS.items():
            relevant[part] = {key: value for key, value in relevant[part].items() if absent.get(key) != value}
        maps = {kind: [(s.name, [(f.name, f.bits) for f in s.fields.values()]) for s in each.sets.values()]
                for kind, each in self._config_maps.items()}
        text = json.dumps([relevant, maps], sort_keys=True)
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def with_processor(arch: Arch) -> Arch:
    """The machine, with a processor in front of it if it has none."""
    return arch if arch.system.processor else dataclasses.replace(arch, system=dataclasses.replace(arch.system, processor=True))


# Of programs rather than of the machine: in JSON only where there are such tiles.
AVOID = "avoid"
# The parts of a description in JSON: class, value of what is left out, fields.
PARTS: Mapping[str, tuple[type, Any, tuple[str, ...]]] = {
    "pe": (TileSpec, PE, (*SIZES["pe"], "primitives")), "mem": (TileSpec, MEM, (*SIZES["mem"], "primitives")),
    **{name: (each, each(), tuple(field.name for field in dataclasses.fields(each)))
       for name, each in (("interconnect", Interconnect), ("glb", Glb), ("timing", Timing), ("system", System),
                            (AVOID, Mask))}}
# Fields of the machine that no cycle of a program and no bit of configuration shows.
UNSEEN = ("name", "timing", "feed_through", "operand_isolation", "config_readback", "memory_readback", "regions",
          "column_stall", "counter_bits", "system", AVOID)
UNSEEN_IN = {"pe": ("multiplier_tree",), "mem": ("multiplier_tree",), "glb": ("clock_gating", "clock_gates")}
# Values with which a feature is not there: such a machine is the one of before there was the field.
UNSEEN_AS: Mapping[str, Mapping[str, Any]] = {"glb": {"ring": 1, "numbered": False, "listed": False, "kept_bytes": 0,
                                                      "packed": False},
                                              "mem": {"locate": False, "early": False},
                                              "pe": {"reduce_max": False}}
# Fields of which the configuration maps say all.
MAPPED = ("power_domains",)
MACHINE = tuple(field.name for field in dataclasses.fields(Arch) if field.name != "io")
NEEDED = ("name", "columns", "rows")


def from_json(raw: dict[str, Any], where: str = "arch") -> Arch:
    """An `Arch` from plain data; UserError with the path of every field that is unknown, missing or does not fit."""
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise UserError(f"not a machine description of format {FORMAT}", where, "start from the arch.json of a preset")
    machine = {key: value for key, value in raw.items() if key != "format"}
    _known(machine, "the description", MACHINE, where)
    if missing := [name for name in NEEDED if name not in machine]:
        raise UserError(f"the description lacks {', '.join(missing)}", where, "start from the arch.json of a preset")
    parts = {}
    for name in PARTS:
        if name not in machine:
            continue
        _known(machine[name], name, PARTS[name][2], where)
        parts[name] = values = dict(machine[name])
        for each, known, what in (("primitives", PRIMITIVES, "primitive"), ("ops", BY_NAME, "operation")):
            if each in values:
                values[each] = _chosen(values[each], known, what, name, where)
        if name == AVOID:
            parts[name] = {field: _tuples(value) for field, value in values.items()}
    found = misfits(Arch, {name: value for name, value in machine.items() if name not in PARTS})
    for name, values in parts.items():
        found += _inside(name, misfits(PARTS[name][0], values))
    if found:
        raise Misfits(found, where)
    for name, values in parts.items():
        try:
            machine[name] = dataclasses.replace(PARTS[name][1], **values)
        except Misfits as error:
            found += _inside(name, error.misfits)
    if found:
        raise Misfits(found, where)
    try:
        return Arch(**machine)
    except Misfits as error:
        raise Misfits(error.misfits, where) from None


def _known(values: object, place: str, legal: tuple[str, ...], where: str) -> None:
    if not isinstance(values, dict):
        raise UserError(f"{place} is not a table of fields", where, f"fields are {', '.join(sorted(legal))}")
    for name in values:
        if name not in legal:
            raise UserError(f"unknown field {shown(name)} in {place}", where, f"fields are {', '.join(sorted(legal))}")


def _inside(part: str, found: Iterable[Misfit]) -> list[Misfit]:
    """What does not fit in a part, by its path in the whole."""
    return [dataclasses.replace(each, path=f"{part}.{each.path}") for each in found]


def _tuples(value: object) -> object:
    """A value with tuples for the lists of JSON."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _chosen(listed: object, known: Mapping[str, T], what: str, part: str, where: str) -> tuple[T, ...]:
    """The values with the names of a list."""
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed) or len(set(listed)) < len(listed):
        raise UserError(f"the {what}s of {part} are no list of different names", where, f"choose among {', '.join(known)}")
    if unknown := [each for each in listed if each not in known]:
        raise UserError(f"unknown {what} {shown(unknown[0])} in {part}", where, f"choose among {', '.join(known)}")
    return tuple(known[each] for each in listed)
