"""A tile: boxes of both layers and the core; and the same with configuration registers around it.

`TileLogic` takes its configuration as an input, so that a simulator can give it constants; `Tile` is that
very module with registers on the input. What is simulated for one bitstream is what a reconfigurable array
contains.

With power domains `TileLogic` is one: while `TilePower` says that it is not awake, `Tile` holds it in reset, and all that it
says but on tracks is 0. Both have ports of `awake_members` besides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from operator import and_

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arch.cgra import Arch
from ..arch.config import STATUS_FAULT, STATUS_OVERFLOW, STATUS_WALLED
from ..arch.counters import EVENTS
from ..arch.primitive import Flow
from ..arch.tile import LAYERS, WALLED, TileSpec
from ..clock_gate import gated_clock
from ..component import ports
from ..configuration import CHANNEL, ID_BITS, REQUEST, ConfigRegisters, MemoryWindow
from ..connectivity import SRAM_REQUEST, reports, stall_sides
from ..emit import Macro, macro
from ..interconnect.boxes import Boxes, Members, track_members
from ..interconnect.one_hot import Isolation
from ..interconnect.stage import PARITIES
from ..memory.readable import ReadableSram
from ..memory.sram import contents_members
from .core import TileCore, beside_core, decided_by, event_members, link_members
from .counters import TileCounters
from .power import TilePower, awake_members


def wall_members(arch: Arch, spec: TileSpec) -> Members:
    """Whether the neighbour on a side is of the same region; machines of one region have none."""
    return {f"{side}_open": In(1) for side in spec.sides if side in WALLED and arch.regions > 1}


def stall_members(arch: Arch, spec: TileSpec) -> Members:
    """Whether the column is frozen, and the one on a side; others than machines with `Arch.column_stall` have none."""
    return {"stall": In(1), **{f"{side}_stall": In(1) for side in stall_sides(arch, spec)}} if arch.column_stall else {}


def tile_members(arch: Arch, spec: TileSpec) -> Members:
    """The ports every form of a tile has: tracks, links, flush, and what it reports.

    ``{side}_{layer}_{i,o}_{payload,valid,ready}`` are tracks (`track_members`), e.g. ``e_data_o_payload``. With `Arch.regions`
    there are ``e_open`` and ``w_open``: what the neighbour on that side says counts, and ``walled``: see `TileLogic`. With
    `Arch.column_stall` there is ``stall``, and ``e_stall`` and ``w_stall``, `stall` of the neighbours.
    """
    members: Members = {"flush": In(1), **{report: Out(1) for report in reports(arch)}}
    members |= wall_members(arch, spec) | stall_members(arch, spec)
    for layer in LAYERS:
        members |= track_members(arch.interconnect, spec, layer, f"{layer}_")
    return members | link_members(spec)


def logic_name(spec: TileSpec, parity: int) -> str:
    """The name of the module `TileLogic`."""
    return f"{spec.kind}_{PARITIES[parity]}"


class TileLogic(wiring.Component):
    """A tile without configuration registers; the module is called ``{kind}_{parity}``.

    Parameters
    ----------
    arch : Arch
    spec : TileSpec
    parity : int        (x + y) & 1 of the tile.

    Members
    -------
    {side}_{layer}_{way}_{part}, link_{port}, active, overflow : see `tile_members` and `TileCore`.
    flush : In(1)             Resets everything in the tile, as reset does.
    stall : In(1)             With `Arch.column_stall`: every register and the SRAM keep what they hold, but `walled` and what
                              configuration writes, and links with the global buffer show neither valid nor ready.
                              0 during a flush.
    {side}_stall : In(1)      With `Arch.column_stall`: valid and ready of the neighbour on that side do not count.
    cfg : In(layout)          ``ConfigMap.layout`` of the tile kind.
    contents : In(SramPort)   MEM only: see `TileCore`; where the SRAM is beside the core, also while the column is frozen.
    walled : Out(1)           With `Arch.regions`: in the cycle before, a track to a closed side had a valid word; without valid
                              and ready, where words are there in every cycle: a switch box selected one for such a track.
    waiting : Out(ports)      Inputs that hold tokens, then outputs that wait.
    moved, waits : Out        With `Arch.counter_bits`: what is counted, see `TileCore`.
    fault : Out(1)            Why `overflow` is 1: see `TileCore`.

    Timing: a word leaves an odd tile from a register, and an even one in the cycle in which it enters; readiness the other way
    round (`Boxes`). Reports come from registers, but `overflow`, which follows registers. `cfg` is at rest while words move.
    Source: Onyx JSSC II and III-D.
    """

    def __init__(self, arch: Arch, spec: TileSpec, parity: int) -> None:
        self.arch, self.spec, self.parity = arch, spec, parity
        super().__init__(tile_members(arch, spec) | awake_members(arch, spec, "i") | contents_members(spec) |
                         event_members(arch, spec) | {
            "cfg": In(arch.config_map(spec.kind).layout), "waiting": Out(len(spec.ports)), "fault": Out(1)})

    @property
    def module_name(self) -> str:
        return logic_name(self.spec, self.parity)

    @property
    def emit_key(self) -> object:
        return *decided_by(self.arch, self.spec), self.parity

    def elaborate(self, platform: object) -> Module:
        m = Module()
        clock = None
        if self.arch.column_stall:
            clock = gated_clock(m, "tile", self.arch.glb.clock_gates, platform)
            m.d.comb += clock.on.eq(~self.stall)
        m.submodules.core = core = macro(TileCore(self.arch, self.spec), flush=self.flush, clock=clock)
        m.d.comb += [core.cfg.eq(self.cfg), self.active.eq(core.active), self.overflow.eq(core.overflow),
                     self.waiting.eq(core.waiting), self.fault.eq(core.fault),
                     *(getattr(self, name).eq(getattr(core, name)) for name in event_members(self.arch, self.spec))]
        links = link_members(self.spec)
        if beside_core(self.arch, self.spec):
            m.submodules.readable = readable = macro(ReadableSram(self.spec.sram_lines, self.spec.sram_lanes))
            wiring.connect(m, core.sram, readable.user)
            wiring.connect(m, wiring.flipped(self.contents), readable.contents)
            m.d.comb += readable.stall.eq(self.stall)
        else:
            links |= contents_members(self.spec)
        if clock is None or self.spec.kind != "io":
            pass_on(m, self, core, {name: name for name in links}, links)
        else:
            self._link(m, core)
        for layer in LAYERS:
            boxes = Boxes(self.arch.interconnect, self.spec, layer, self.parity, self.arch.power_domains)
            m.submodules[f"boxes_{layer}"] = layer_boxes = macro(boxes, flush=self.flush, clock=clock)
            self._join(m, layer, layer_boxes, core)
        if self.arch.regions > 1:
            m.d.sync += self.walled.eq(Cat(self._at_walls()).any())
        return m

    def _counts(self, name: str) -> Value | None:
        """Whether what enters on a track counts; None if it always does. A word means nothing without its valid."""
        wall, stall = f"{name[0]}_open", f"{name[0]}_stall"
        conditions = [getattr(self, wall)] if wall in wall_members(self.arch, self.spec) else []
        if stall in stall_members(self.arch, self.spec) and not name.endswith("_payload"):
            conditions.append(~getattr(self, stall))
        return reduce(and_, conditions) if conditions else None

    def _at_walls(self) -> Iterator[Value]:
        """Of both layers and every side that may have a wall: whether it is closed and a track leads a word there."""
        interconnect = self.arch.interconnect
        for layer in LAYERS:
            for name in wall_members(self.arch, self.spec):
                side = name[0]
                led: Value = (Cat(self.cfg[f"sb_{layer}"][f"{side}{track}_sel"].any() for track in range(interconnect.tracks))
                              if interconnect.fifo == "none" else getattr(self, f"{side}_{layer}_o_valid"))
                yield ~getattr(self, name) & led.any()

    def _link(self, m: Module, core: Macro) -> None:
        """Connect the links of an IO tile whose column may be frozen: the global buffer goes on, and is to see nothing."""
        for port in self.spec.ports:
            outer, inner = (getattr(part, f"link_{port.name}") for part in (self, core))
            if port.flow is Flow.IN:
                m.d.comb += [outer.payload.eq(inner.payload), outer.valid.eq(inner.valid & ~self.stall),
                             inner.ready.eq(outer.ready)]
            else:
                m.d.comb += [inner.payload.eq(outer.payload), inner.valid.eq(outer.valid),
                             outer.ready.eq(inner.ready & ~self.stall)]

    def _join(self, m: Module, layer: str, boxes: Macro, core: Macro) -> None:
        """Connect the boxes of a layer to the tile's sides, to the core and to their configuration."""
        ours, theirs = (track_members(self.arch.interconnect, self.spec, layer, prefix)
                        for prefix in (f"{layer}_", ""))
        names = dict(zip(ours, theirs, strict=True))
        walled = {name: counts for name in names if ours[name].flow is In if (counts := self._counts(name)) is not None}
        for name, counts in walled.items():
            said = getattr(self, name)
            m.submodules[f"wall_{name}"] = wall = macro(Isolation(len(said)))
            m.d.comb += [wall.awake.eq(counts), wall.i.eq(said), getattr(boxes, names[name]).eq(wall.o)]
        pass_on(m, self, boxes, {name: inner for name, inner in names.items() if name not in walled}, ours)
        awake = awake_members(self.arch, self.spec, "i")
        pass_on(m, self, boxes, {name: name.removesuffix("_i") for name in awake}, awake)
        for port in (*self.spec.inputs(layer), *self.spec.outputs(layer)):
            wiring.connect(m, getattr(boxes, port.name), getattr(core, port.name))
        m.d.comb += [boxes.sb.eq(self.cfg[f"sb_{layer}"]), boxes.cb.eq(self.cfg[f"cb_{layer}"])]


class Tile(wiring.Component):
    """A tile with configuration registers; the module is called ``tile_{kind}_{parity}``.

    Members
    -------
    {side}_{layer}_{way}_{part}, link_{port}, active, overflow : as `TileLogic`.
    flush : In(1)                  Resets everything but the configuration.
    config : In(CHANNEL)           From the column's configuration channel, see `ConfigRegisters`.
    tile_y : In(8)                 Row of the tile.

    The status register holds `waiting` from bit 0 on, `fault` in bit 30 and `overflow` in bit 31, all of the cycle before; with
    `Arch.regions` `walled` in bit 29. With `Arch.counter_bits` registers from `COUNTER_REGISTER` on hold what `TileCounters`
    counts, and a write to that one clears them.

    Timing: as of `TileLogic`; a configuration request is answered in its cycle, a read of the SRAM in the next one, and what it
    writes is in force in the next one.
    Source: Onyx JSSC II, III-D and IV-F; Amber JSSC VII (a tile's place by pins).
    """

    def __init__(self, arch: Arch, spec: TileSpec, parity: int) -> None:
        self.arch, self.spec, self.parity = arch, spec, parity
        super().__init__(tile_members(arch, spec) | awake_members(arch, spec) | {
            "config": In(CHANNEL), "tile_y": In(ID_BITS)})

    @property
    def module_name(self) -> str:
        return f"tile_{logic_name(self.spec, self.parity)}"

    @property
    def emit_key(self) -> object:
        return *decided_by(self.arch, self.spec), self.parity

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.tile_logic = logic = macro(TileLogic(self.arch, self.spec, self.parity))
        space = self.arch.config_map(self.spec.kind)
        m.submodules.registers = registers = macro(
            ConfigRegisters(space, self.spec.kind, self.arch.config_readback, self.arch.counter_bits))
        readback = self.spec.has_memory and self.arch.memory_readback
        if not readback:
            wiring.connect(m, wiring.flipped(self.config), registers.config)
        said = self._isolated(m, logic, registers) if self.arch.power_domains else {}
        # Registered, as what waits follows streams in the same cycle and answers leave the tile at once.
        waiting = Signal.like(logic.waiting)
        overflow = Signal()
        fault = Signal()
        m.d.sync += [register.eq(said.get(name, getattr(logic, name)))
                     for name, register in (("waiting", waiting), ("overflow", overflow), ("fault", fault))]
        m.d.comb += [registers.tile_y.eq(self.tile_y), registers.status.eq(waiting), registers.status[STATUS_FAULT].eq(fault),
                     registers.status[STATUS_OVERFLOW].eq(overflow), logic.cfg.eq(registers.cfg)]
        if self.arch.regions > 1:
            m.d.comb += registers.status[STATUS_WALLED].eq(said.get("walled", logic.walled))
        if self.arch.counter_bits:
            self._count(m, logic, registers, said)
        if contents_members(self.spec):
            m.submodules.window = window = macro(MemoryWindow(self.spec.sram_lines, self.spec.sram_lanes, readback))
            if readback:
                self._read(m, logic, registers, window, said)
            else:
                wiring.connect(m, window.sram, logic.contents)
            m.d.comb += [getattr(window, name).eq(getattr(self.config, name)) for name in REQUEST]
            m.d.comb += window.tile_y.eq(self.tile_y)
        members = tile_members(self.arch, self.spec)
        if not self.arch.power_domains:
            pass_on(m, self, logic, {name: name for name in members}, members)
        return m

    def _count(self, m: Module, logic: Macro, registers: Macro, said: Mapping[str, Value]) -> None:
        """Count what the logic tells of the cycle before."""
        m.submodules.counters = counters = macro(TileCounters(len(self.spec.ports), self.arch.counter_bits))
        m.d.comb += [getattr(counters, name).eq(said.get(name, getattr(logic, name)))
                     for name in event_members(self.arch, self.spec)]
        m.d.comb += [counters.flush.eq(self.flush), counters.clear.eq(registers.clear)]
        # A tile that stands still goes on telling of the last cycle in which it did not.
        if self.arch.column_stall:
            m.d.comb += counters.pause.eq(self.stall)
        m.d.comb += [getattr(registers, event).eq(getattr(counters, event)) for event in EVENTS]

    def _read(self, m: Module, logic: Macro, registers: Macro, window: Macro, said: Mapping[str, Value]) -> None:
        """Join window and SRAM, and answer for both: the registers know of no read of the SRAM, and would say 0 at once."""
        m.d.comb += [getattr(logic.contents, name).eq(getattr(window.sram, name)) for name in SRAM_REQUEST]
        m.d.comb += [getattr(registers.config, name).eq(getattr(self.config, name)) for name in REQUEST]
        m.d.comb += [window.sram.word.eq(said.get("contents__word", logic.contents.word)),
                     self.config.rvalid.eq(registers.config.rvalid & ~window.reads | window.rvalid),
                     self.config.rdata.eq(registers.config.rdata | window.rdata)]

    def _isolated(self, m: Module, logic: Macro, registers: Macro) -> dict[str, Value]:
        """Connect the logic as a power domain; what leaves it but on tracks, isolated, by the names of its ports."""
        m.submodules.power = power = macro(TilePower())
        outer, inner = ports(self), ports(logic.component)
        tracks = {name for layer in LAYERS for name in track_members(self.arch.interconnect, self.spec, layer, f"{layer}_")}
        said: dict[str, Value] = {}
        for name, (value, flow) in inner.items():
            if flow is PortDirection.Output and name not in tracks:
                m.submodules[f"isolation_{name}"] = isolation = macro(Isolation(len(value)))
                m.d.comb += [isolation.awake.eq(power.awake), isolation.i.eq(value)]
                said[name] = isolation.o
        m.d.comb += [power.on.eq(registers.cfg.power.on), power.flush.eq(self.flush), logic.flush.eq(self.flush | ~power.awake)]
        for name, (value, flow) in outer.items():
            if name.endswith("_awake_o"):
                m.d.comb += value.eq(power.awake)
            elif name in inner and name != "flush":
                within = said.get(name, inner[name][0])
                m.d.comb += value.eq(within) if flow is PortDirection.Output else within.eq(value)
        return said


def pass_on(m: Module, outer: wiring.Component, inner: Macro | wiring.Component, names: Mapping[str, str],
            members: Members) -> None:
    """Connect ports of a component with those of a part of it, whose names may differ ({outer: inner})."""
    for name, part in names.items():
        ours, theirs = getattr(outer, name), getattr(inner, part)
        if not members[name].is_port:
            wiring.connect(m, wiring.flipped(ours), theirs)
        elif members[name].flow is Out:
            m.d.comb += ours.eq(theirs)
        else:
            m.d.comb += theirs.eq(ours)
