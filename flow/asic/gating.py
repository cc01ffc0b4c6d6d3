"""What clock gates spare the global buffer: clocks that parts get, times what a clock of a flop and of a bank takes.

The workload is that of Onyx JSSC Fig. 14: buffers go in over one tile and out over another, each with two banks. While the load
DMA streams a buffer from one bank to the array, the host writes the next into the other; while the store DMA writes what comes
back into one bank, the host reads the last from the other. The array is a delay line, as a pointwise program is. All other
tiles are idle. Registers are written over a port of the bus for all of them. With a ring each of both tiles is the first of a
chain of two. One simulation serves every way to gate, because cycles are the same.

Input:   a `Glb`; energies of a library (`power.rates`, `sram.access_fj`).
Output:  `Events` of each tile and of the port by part; `Energy` of a way to gate, and of bounds.
Left out: leakage, the clock tree and the gates themselves, what switches behind registers.
Cost:    half a minute, in Amaranth's simulator.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Fragment, Module, Signal, Value
from amaranth.hdl._xfrm import LHSMaskCollector
from amaranth.lib import wiring
from amaranth.sim import Simulator, SimulatorContext

from ...hw.arch.glb import DYNAMIC, ENABLE, HYBRID, LANES, LINE_BYTES, STATIC, Glb
from ...hw.arch.soc import glb_registers, named, offsets
from ...hw.clock_gate import lasting
from ...hw.glb.tile import GlbTile
from ...hw.soc.axi_lite import AxiLite
from ...hw.soc.shell import PORT_MARGIN, registers_are_used
from . import sram
from .power import rates

BUFFERS, WORDS = 8, 1024
ARRAY_CYCLES = 16           # of the delay line that stands for the array
REGISTER_CYCLES = 4         # a write of a register over the bus
LOAD, STORE, CONFIG, SWITCH, RING, REGISTERS, BANKS, REST, PORT = PARTS = (
    "load DMA", "store DMA", "configuration DMA", "configuration switch", "ring switch", "registers", "banks", "rest",
    "register port")
# Which kind of gate a part has, and the module whose flops it has most of.
KINDS: Mapping[str, str | None] = {
    LOAD: STATIC, STORE: STATIC, CONFIG: STATIC, SWITCH: DYNAMIC, RING: STATIC, REGISTERS: DYNAMIC, BANKS: DYNAMIC, REST: None,
    PORT: DYNAMIC}
MODULES = {LOAD: "load_dma", STORE: "store_dma", CONFIG: "config_dma", SWITCH: "config_switch", RING: "ring_switch",
           REGISTERS: "glb_tile", BANKS: "glb_tile", REST: "glb_tile", PORT: "axi_lite"}
# Registers of a tile with the clock of its load.
BESIDE_LOAD = {"ring_word"}
PART_BOUND, WORD_BOUND, FLOP_BOUND = BOUNDS = ("parts that change", "words that change", "flops that change")


@dataclass(frozen=True)
class Events:
    """What was counted of a part of a tile; of banks for all together.

    Parameters
    ----------
    flops : int        That it has.
    cycles : int       Of the run.
    clocked : int      Flops that its gate clocked, over all cycles.
    moved : int        The same, if it were clocked in cycles only in which one of its bits changes.
    words : int        The same, if each word of it were.
    bits : int         The same, if each flop were.
    banks : int        SRAMs that it has.
    clocks, accesses : int     Clocks that its gates let through to them; accesses to them.
    """

    flops: int
    cycles: int
    clocked: int
    moved: int
    words: int
    bits: int
    banks: int
    clocks: int
    accesses: int

    def __add__(self, other: Events) -> Events:
        """Of both, in the same run."""
        found = {name: getattr(self, name) + getattr(other, name) for name in vars(self)}
        return Events(**found | {"cycles": max(self.cycles, other.cycles)})


NOTHING = Events(0, 0, 0, 0, 0, 0, 0, 0, 0)


@dataclass(frozen=True)
class Energy:
    """Energy in femtojoules: clocks of flops by part, and clocks of banks."""

    flops: Mapping[str, float]
    banks: float

    @property
    def total(self) -> float:
        return sum(self.flops.values()) + self.banks

    def __add__(self, other: Energy) -> Energy:
        return Energy({part: self.flops[part] + other.flops[part] for part in self.flops}, self.banks + other.banks)


Tile = Mapping[str, Events]


def energy(tile: Tile, way: str, library: str, glb: Glb, unused: float = 1.0) -> Energy:
    """What a tile takes with a way to gate clocks, or at a bound.

    unused: what a clock of a bank without an access takes, as a part of one with.
    """
    each = sram.access_fj(f"sram_{glb.bank_bytes // LINE_BYTES // glb.bank_macros}x8x8", library, 1, 0)
    flops, banks = {}, 0.0
    for part, found in tile.items():
        kind = KINDS[part]
        gated = way in BOUNDS or (kind is not None and replace(glb, clock_gating=way).gates(kind))
        bound = {PART_BOUND: found.moved, WORD_BOUND: found.words, FLOP_BOUND: found.bits}
        events = bound[way] if way in BOUNDS else found.clocked if gated else found.flops * found.cycles
        flops[part] = events * rates(library, MODULES[part]).flop_fj
        clocks = found.accesses if way in BOUNDS else found.clocks if gated else found.banks * found.cycles
        banks += each * (found.accesses + (clocks - found.accesses) * unused)
    return Energy(flops, banks)


def machine(found: Mapping[str, Tile], way: str, library: str, glb: Glb, tiles: int, unused: float = 1.0) -> Energy:
    """All tiles of a global buffer, of which some work, and the port."""
    spent = {name: energy(each, way, library, glb, unused) for name, each in found.items()}
    idle, others = spent.pop("idle"), tiles - len(found) + 2
    return sum(spent.values(), Energy({part: others * each for part, each in idle.flops.items()}, others * idle.banks))


def workload(glb: Glb, buffers: int = BUFFERS, words: int = WORDS) -> dict[str, Tile]:
    """The events of the tile that loads, of the one that stores, of an idle one and of the register port, in a run with double
    buffering; with a ring of those to the east of the first two as well."""
    assert 2 * words <= glb.bank_bytes and glb.banks >= 2, "a buffer fits a bank, and the next has another"
    glb = replace(glb, clock_gating=HYBRID, clock_gates=ENABLE)
    heads = ("loads", "stores")
    tiles = {name: GlbTile(glb) for name in (*heads, "idle", *(f"{head}_east" for head in heads if glb.ring > 1))}
    top = Module()
    for name, tile in tiles.items():
        top.submodules[name] = tile
    for head in heads if glb.ring > 1 else ():
        wiring.connect(top, tiles[head].ring_east, tiles[f"{head}_east"].ring_west)
        top.d.comb += [tiles[head].east_connected.eq(tiles[f"{head}_east"].connected), tiles[f"{head}_east"].west_open.eq(1)]
    top.submodules.port = port = AxiLite()
    on = Signal()
    top.d.comb += on.eq(lasting(top, "port", registers_are_used(port), PORT_MARGIN))
    fragment = Fragment.get(top, None)
    counters = {name: _counters(_inside(fragment, name), glb) for name in tiles}
    counters["port"] = [_Counter(PORT, registers(_inside(fragment, "port")), on, ())]
    run = _Run(tiles, port, glb, buffers, words, [each for found in counters.values() for each in found])
    simulator = Simulator(fragment)
    simulator.add_clock(1e-9)
    simulator.add_testbench(run.drive)
    simulator.run()
    sent = [word for buffer in range(buffers) for line in _lines(buffer, words) for word in _split(line)]
    assert run.received == sent, "buffers leave as they entered"
    return {name: {part: sum((each.events(run.cycles) for each in found if each.part == part), NOTHING) for part in PARTS}
            for name, found in counters.items()}


def _lines(buffer: int, words: int) -> list[int]:
    """A buffer as lines of a bank: any words."""
    first, most = buffer * words + 1, (1 << 8 * LINE_BYTES) - 1
    return [(first + line) * 0x9E37_79B9_7F4A_7C15 & most for line in range(words // LANES)]


def _split(line: int) -> list[int]:
    return [line >> 16 * lane & 0xFFFF for lane in range(LANES)]


class _Run:
    """The host and the array around two tiles, cycle by cycle."""

    def __init__(self, tiles: Mapping[str, GlbTile], port: AxiLite, glb: Glb, buffers: int, words: int,
                 counters: Iterable[_Counter]) -> None:
        self.loads, self.stores, self.port, self.glb, self.buffers, self.words = (
            tiles["loads"], tiles["stores"], port, glb, buffers, words)
        self.chained = [tile for name, tile in tiles.items() if name.endswith("_east")]
        self.counters, self.cycles, self.received = list(counters), 0, list[int]()
        self._array: deque[tuple[int, int]] = deque()

    async def drive(self, sim: SimulatorContext) -> None:
        tiles = (self.loads, self.stores)
        for answer in (self.port.s_axil_bready, self.port.s_axil_rready):
            sim.set(answer, 1)
        for tile, name in ((self.loads, "load"), (self.stores, "store")):
            for register, value in self._settings(name):
                await self._write(sim, tile, register, value)
        if self.chained:
            control = named(glb_registers(self.glb))["ring_control"]
            for tile in tiles:
                await self._write(sim, tile, control.name, control.word(hops=1))
            for tile in self.chained:
                await self._write(sim, tile, control.name, control.word(connected=1))
        for phase in range(self.buffers + 2):
            runs = 0 < phase <= self.buffers
            if runs:
                for tile, name in ((self.loads, "load"), (self.stores, "store")):
                    await self._write(sim, tile, f"{name}_start", (phase - 1) % 2 * self.glb.bank_bytes)
            await self._cycle(sim, [(tile.start, runs) for tile in tiles])
            if phase < self.buffers:
                for line, word in enumerate(_lines(phase, self.words)):
                    await self._access(sim, self.loads, self._line(phase, line), word)
            if phase >= 2:
                for line in range(self.words // LANES):
                    self.received += _split(await self._access(sim, self.stores, self._line(phase, line)))
            while any(sim.get(tile.busy) for tile in tiles):
                await self._cycle(sim)

    def _settings(self, name: str) -> Iterator[tuple[str, int]]:
        """All registers of a DMA, for buffers one behind the other."""
        registers = named(glb_registers(self.glb))
        control = registers[f"{name}_control"]
        yield control.name, control.word(enable=1) if name == "load" else control.word(enable=1, affine=1)
        if name == "store":
            yield "store_limit", self.words
        for register in registers:
            if register.startswith((f"{name}_extent", f"{name}_stride")):
                yield register, {f"{name}_extent0": self.words - 1, f"{name}_stride0": 2}.get(register, 0)

    def _line(self, phase: int, line: int) -> int:
        return phase % 2 * self.glb.bank_bytes // LINE_BYTES + line

    async def _write(self, sim: SimulatorContext, tile: GlbTile, register: str, value: int) -> None:
        place = offsets(glb_registers(self.glb))[register] // 4
        bus = [(self.port.s_axil_awvalid, 1), (self.port.s_axil_awaddr, 4 * place), (self.port.s_axil_wvalid, 1),
               (self.port.s_axil_wdata, value & 0xFFFFFFFF), (self.port.s_axil_wstrb, 15)]
        await self._cycle(sim, [(tile.register_write, 1), (tile.register_index, place), (tile.register_data, value), *bus])
        for _ in range(REGISTER_CYCLES - 1):
            await self._cycle(sim)

    async def _access(self, sim: SimulatorContext, tile: GlbTile, line: int, word: int | None = None) -> int:
        """Write a line, or read it: the word."""
        if word is None:
            wires, ready = [(tile.host_read_valid, 1), (tile.host_read_line, line)], tile.host_read_ready
        else:
            wires, ready = [(tile.host_write_valid, 1), (tile.host_write_line, line), (tile.host_write_strobe, 255),
                            (tile.host_write_data, word)], tile.host_write_ready
        while not await self._cycle(sim, wires, ready):
            pass
        for _ in range(self.glb.read_latency - 1 if word is None else 0):
            await self._cycle(sim)
        found: int = sim.get(tile.host_read_word)
        return found

    async def _cycle(self, sim: SimulatorContext, wires: Sequence[tuple[Any, int]] = (), shown: Any = 0) -> int:
        """A cycle in which wires have these values; the value of one then. The array takes every word, and gives each later."""
        for wire, driven in wires:
            sim.set(wire, driven)
        give = bool(self._array) and self._array[0][0] <= self.cycles
        sim.set(self.stores.f2g0.valid, give)
        sim.set(Value.cast(self.stores.f2g0.payload), self._array[0][1] if give else 0)
        sim.set(self.loads.g2f0.ready, 1)
        value = sim.get(Value.cast(shown))
        if sim.get(self.loads.g2f0.valid):
            self._array.append((self.cycles + ARRAY_CYCLES, sim.get(self.loads.g2f0.payload.data)))
        if give and sim.get(self.stores.f2g0.ready):
            self._array.popleft()
        for each in self.counters:
            each.before(sim)
        await sim.tick()
        self.cycles += 1
        for each in self.counters:
            each.after(sim)
        for wire, _ in wires:
            sim.set(wire, 0)
        return value


class _Counter:
    """Counts the events of what one gate serves, or of what none does.

    srams : the enables of the SRAMs in it.
    """

    def __init__(self, part: str, registers: Iterable[Signal], on: Signal | None, srams: Iterable[Signal]) -> None:
        self.part, self._registers, self._on, self._srams = part, list(registers), on, list(srams)
        self._flops = sum(map(len, self._registers))
        self._values: list[int] = []
        self._clocked = self._moved = self._words = self._bits = self._clocks = self._accesses = 0

    def before(self, sim: SimulatorContext) -> None:
        """Just before a clock edge."""
        self._values = [sim.get(each) for each in self._registers]
        on = self._on is None or sim.get(self._on)
        self._clocked += self._flops if on else 0
        self._clocks += len(self._srams) if on else 0
        self._accesses += sum(map(sim.get, self._srams))

    def after(self, sim: SimulatorContext) -> None:
        """Just after it."""
        changed = [(len(each), was ^ now) for each, was in zip(self._registers, self._values, strict=True)
                   if (now := sim.get(each)) != was]
        self._moved += self._flops if changed else 0
        self._words += sum(width for width, _ in changed)
        self._bits += sum((bits & (1 << width) - 1).bit_count() for width, bits in changed)

    def events(self, cycles: int) -> Events:
        return Events(self._flops, cycles, self._clocked, self._moved, self._words, self._bits,
                      len(self._srams), self._clocks, self._accesses)


def _inside(fragment: Fragment, name: str) -> Fragment:
    return next(inner for inner, each, _ in fragment.subfragments if each == name)


def _counters(tile: Fragment, glb: Glb) -> list[_Counter]:
    """Counters of all that has flops or SRAMs in a tile."""
    own, driven = [*_driven(tile, "sync")], {each.name: each for each in _driven(tile, "comb")}
    configured = {each.name for each in glb_registers(glb)}
    found = [
        _Counter(REGISTERS, [each for each in own if each.name in configured], driven["registers_clock_on"], ()),
        _Counter(REST, [each for each in own if each.name not in configured | BESIDE_LOAD], None, ())]
    configures = ((CONFIG, "config"), (SWITCH, "switch")) if glb.configuration_dma else ()
    chains = ((RING, "ring"),) if glb.ring > 1 else ()
    for part, name in ((LOAD, "load"), (STORE, "store"), *configures, *chains,
                       *((BANKS, f"bank{number}") for number in range(glb.banks))):
        inner = _inside(tile, name)
        # In a bank, what combinational logic drives under this name are the enables of its SRAMs.
        srams = [each for each in _driven(inner, "comb") if each.name == "enable"] if part == BANKS else []
        beside = [each for each in own if each.name in BESIDE_LOAD] if part == LOAD else []
        found.append(_Counter(part, [*registers(inner), *beside], driven[f"{name}_clock_on"], srams))
    return found


def registers(fragment: Fragment) -> Iterator[Signal]:
    """All registers in a part, those of memories apart."""
    yield from _driven(fragment, "sync")
    for inner, _, _ in fragment.subfragments:
        yield from registers(inner)


def _driven(fragment: Fragment, domain: str) -> Iterable[Signal]:
    """What the statements of a domain assign, not those of parts inside."""
    found = LHSMaskCollector()
    found.visit_stmt(fragment.statements.get(domain, ()))
    return found.lhs.keys()
