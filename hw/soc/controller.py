"""Controller: identity, the sequence of a run and its limits, events and interrupt, and access to the configuration network."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arch.cgra import Arch
from ..arch.config import MEMORY_REGISTER, STATUS_REGISTER, config_segment
from ..arch.soc import (
    ASTRAY,
    AT_WALL,
    BUSY,
    CONFIG_BUSY,
    CONFIGURED,
    CONFIGURING,
    CONTROLLER,
    CYCLE_LIMIT,
    ENDS_BITS,
    FINISHED,
    FLUSH_CYCLES,
    LOAD_ENDED,
    MOVED_BITS,
    MOVED_WINDOW,
    OVERFLOW,
    QUEUED_BITS,
    RW,
    STORE_ENDED,
    STORE_LIMIT,
    STORE_LOST,
    WATCHDOG,
    controller_registers,
    named,
    offsets,
)

# Of a run, and of a configuration.
EVENTS = (FINISHED, OVERFLOW, WATCHDOG, STORE_LIMIT, STORE_LOST, CYCLE_LIMIT)
CONFIG_EVENTS = (CONFIGURED, ASTRAY)
COMMANDS = tuple(name for name, *_ in named(CONTROLLER)["control"].fields)
# Where one of these comes, a run is not done, whatever has ended.
FAILURES = (OVERFLOW, STORE_LIMIT, STORE_LOST, AT_WALL)


def folded(bits: Value, count: int) -> Value:
    """At most `count` bits: each is the OR of those whose number is its own modulo `count`."""
    return Cat(Cat(bits[first::count]).any() for first in range(min(count, len(bits))))


class Controller(wiring.Component):
    """The registers of a region and what they do: its runs and what is in it are nobody else's.

    Behaviour: writing control.start clears the status, holds `flush` for some cycles, pulses `start` to the global
    buffer and counts cycles until `running` ends (event done), a level overflows, a store reaches its limit or loses a
    word, a tile leads one at a wall, nothing moved for watchdog_limit cycles, or the run is not done after cycle_limit cycles
    (events of these names; the global buffer is stopped, the array keeps its tokens so that its status registers tell where
    they wait). A run that moves for ever shows in moved_columns where. Where `running` ends and fewer than `runs` have followed
    the first one, there is no event: flush is held again, and `start` pulses with `again`.

    With `Glb.queue` a run whose loads and stores have all ended goes on while `hold` is 1: more may be queued. If `runs` is
    raised it ends, and what is queued begins with the next one.

    Writing control.configure ends a run, pulses `configure` to the global buffer and holds `flush` until all words that
    `configuring` announces are in their registers (event configured). A run that is started with it or meanwhile begins there.

    With `Arch.column_stall` columns are frozen as the register `stall` says, but not while flush is held and not before loads
    have come to their first words, so that static programs begin as if nothing were stalled. A change waits until requests of
    `cfg_valid` are at their tiles. Meanwhile the time of the run stands still: `cycles`, and what its limits count. What the
    last words took to their banks while columns stood still passes once more before the run ends, as without a stall.

    Members
    -------
    register_write, register_index, register_data : In     Write of a register; index = offset / 4. One that is `refused` does
                                        nothing.
    register_value : Out(32)
    commands : In(3)                    With `Arch.regions`: the commands of `control`, given to several regions at once.
    flush, start, stop : Out(1)         To array and global buffer.
    again : Out(1)                      With start: of a further run.
    configure, config_stop : Out(1)     To the configuration DMAs.
    configuring, astray : In(1)         Words of them are on their way; one was dropped.
    running, moving : In(1)             A DMA runs; something moved anywhere.
    active : In(columns)                A token moved in a tile of the column.
    beyond, lost : In(1)                A store reached its limit; a static store lost a word.
    load_ends, store_ends : In(glb_tiles)      A load or a store of a tile ends.
    load_queued, store_queued : In(glb_tiles)  With `Glb.queue`: a descriptor waits there.
    overflow : In(columns)              A level of the column overflowed.
    walled : In(columns)                With `Arch.regions`: a tile of the column led a word at a wall.
    stall : Out(columns)                With `Arch.column_stall`: columns of this region that are frozen, from registers.
    whole : In(1)                       With it: they are frozen all at once or not at all, as the program is static.
    crossed : In(1)                     With it: a word passed between a column and its GLB tile.
    cfg_valid, cfg_write, cfg_address, cfg_data : Out      To the configuration channels.
    cfg_answer, cfg_value : In          Read-back: valid and word.
    foreign : In(1)                     The column of cfg_address is of another region.
    refused : Out(1)                    The register at register_index is not to be accessed: DMAs use the channels, or it is
                                        of a foreign column, or of the memory of one that is stalled and cannot be reached or
                                        is to be stalled.
    mine : In(glb_tiles)                Tiles of this region.
    occupied : Out(1)                   A run or a configuration goes on, or what a stop left behind; from registers.
    irq : Out(1)

    Timing: DMAs start one cycle after flush ends; `cycles` counts from there, to the last word moved included. A further run
    starts FLUSH_CYCLES + 2 cycles after the last word of the one before. `stop` follows what ends a run in the next cycle, so a
    command in the cycle of `start` stops what starts; both come from registers.
    Source: a design of its own; the papers leave what it does to a processor beside the array.
    """

    def __init__(self, arch: Arch) -> None:
        self.arch = arch
        super().__init__({
            "register_write": In(1), "register_index": In(10), "register_data": In(32), "register_value": Out(32),
            "flush": Out(1), "start": Out(1), "again": Out(1), "stop": Out(1), "running": In(1), "moving": In(1),
            "active": In(arch.columns), "beyond": In(1), "lost": In(1), "overflow": In(arch.columns),
            "load_ends": In(arch.glb_tiles), "store_ends": In(arch.glb_tiles),
            **({"load_queued": In(arch.glb_tiles), "store_queued": In(arch.glb_tiles)} if arch.glb.queue else {}),
            "cfg_valid": Out(1), "cfg_write": Out(1), "cfg_address": Out(32), "cfg_data": Out(32),
            "cfg_answer": In(1), "cfg_value": In(32), "refused": Out(1),
            "configure": Out(1), "config_stop": Out(1), "configuring": In(1), "astray": In(1), "irq": Out(1),
            "foreign": In(1), "mine": In(arch.glb_tiles), "occupied": Out(1),
            **({"walled": In(arch.columns), "commands": In(len(COMMANDS))} if arch.regions > 1 else {}),
            **({"stall": Out(arch.columns), "whole": In(1), "crossed": In(1)} if arch.column_stall else {})})

    module_name = "controller"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        registers = controller_registers(self.arch)
        values = {register.name: Signal(32, name=register.name) for register in registers}
        written = {register.name: Signal(name=f"{register.name}_written") for register in registers}
        with m.Switch(self.register_index):
            for register in registers:
                with m.Case(register.offset // 4):
                    m.d.comb += [self.register_value.eq(values[register.name]),
                                 written[register.name].eq(self.register_write)]
                    if register.access == RW:
                        with m.If(self.register_write):
                            m.d.sync += values[register.name].eq(self.register_data)
        shape = named(CONTROLLER)["shape"].word(columns=self.arch.columns, rows=self.arch.rows, glb_tiles=self.arch.glb_tiles,
                                         regions=self.arch.regions)
        m.d.comb += [values["fingerprint_high"].eq(self.arch.fingerprint >> 32),
                     values["fingerprint_low"].eq(self.arch.fingerprint & 0xFFFFFFFF), values["shape"].eq(shape),
                     values["tiles"].eq(self.mine)]
        # Columns that are to be frozen, of others as it comes.
        self._wanted = Signal(self.arch.columns, name="wanted")
        self._run(m, values, written)
        self._configure(m, values, written)
        return m

    def _run(self, m: Module, values: dict[str, Signal], written: dict[str, Signal]) -> None:
        status = values["status"]
        quiet = Signal(32)
        flushing = Signal(range(FLUSH_CYCLES + 1))
        starting = Signal()
        walls = self.arch.regions > 1
        events = {event: Signal(name=f"event{event}") for event in (*EVENTS, *[AT_WALL] * walls)}
        ends = Signal()
        command_start, command_stop, command_configure = (
            written["control"] & self.register_data[named(CONTROLLER)["control"].bits(command)] for command in COMMANDS)
        if walls:
            command_start, command_stop, command_configure = (
                own | given for own, given in zip((command_start, command_stop, command_configure), self.commands, strict=True))
        loading, loaded = self._load(m, values, command_configure, command_stop)
        busy = status[BUSY]
        active = Signal()   # the DMAs have been started
        passes: tuple[Value, ...] = ()      # the time of a run
        goes: Value = self.running
        if self.arch.column_stall:
            passes = ~self._stall(m, values, self.flush | starting, starting),
            stands = Signal()       # tiles do, a cycle after they are told
            m.d.sync += stands.eq(~passes[0])
            goes = goes | stands | self._owed(m, starting, stands)
        if self.arch.glb.queue:
            m.d.sync += values["queued"].eq(Cat(folded(self.load_queued, QUEUED_BITS),
                                                Const(0, max(0, QUEUED_BITS - self.arch.glb_tiles)),
                                                folded(self.store_queued, QUEUED_BITS)))
        between = self.again    # two runs
        more = Signal()
        ended = Signal()
        going = Signal()
        stops = Signal()
        goes = goes | values["hold"][0] & ~more if self.arch.glb.queue else goes
        failed = reduce(or_, (signal for event, signal in events.items() if event in FAILURES))
        m.d.comb += [
            more.eq(values["runs_done"] < values["runs"]), going.eq(active & (goes | between | more)),
            ended.eq(active & ~goes & ~between & ~failed),
            # A start during a run ends it first: what the new one does not enable must not run on.
            self.flush.eq((flushing != 0) | loading), stops.eq(ends | command_stop | command_start | command_configure),
            self.start.eq(starting),
            events[OVERFLOW].eq(active & self.overflow.any()),
            events[STORE_LIMIT].eq(active & self.beyond),
            events[STORE_LOST].eq(active & self.lost),
            events[WATCHDOG].eq(active & (values["watchdog_limit"] != 0) & (quiet == values["watchdog_limit"])),
            events[CYCLE_LIMIT].eq(going & (values["cycle_limit"] != 0) & (values["cycles"] == values["cycle_limit"])),
            events[FINISHED].eq(ended & ~more),
            ends.eq(active & Cat(events.values()).any()),
        ]
        m.d.comb += events[AT_WALL].eq(active & self.walled.any()) if walls else []
        if self.arch.column_stall:
            # The end of a run that another one follows is a cycle of the run; at once behind it no column stands still.
            passes = passes[0] | ended,
        # What reaches all DMAs comes from registers: a path from a write, or from the tiles, ends here.
        m.d.sync += [starting.eq((flushing == 1) & ~loading & ~stops), self.stop.eq(stops),
                     active.eq((active | starting) & ~stops)]
        with m.If((flushing != 0) & ~loading & ~command_configure):
            m.d.sync += flushing.eq(flushing - 1)
        with m.If(starting | self.moving):
            m.d.sync += quiet.eq(0)
        with m.Elif(reduce(and_, passes, active)):
            m.d.sync += quiet.eq(quiet + 1)
        with m.If(reduce(and_, passes, going)):
            m.d.sync += values["cycles"].eq(values["cycles"] + 1)
        # Two ends of runs are a flush apart, so the sum is there, and its carry does not wait for the end.
        done_next = Signal(len(values["runs_done"]))
        m.d.sync += done_next.eq(values["runs_done"] + 1)
        with m.If(ended):
            m.d.sync += values["runs_done"].eq(done_next)
            with m.If(more):
                m.d.sync += [between.eq(1), flushing.eq(FLUSH_CYCLES)]
        with m.If(starting):
            m.d.sync += between.eq(0)
        moved = values["moved_columns"]
        with m.If(reduce(and_, passes, active & ~ends)):
            columns = folded(self.active, MOVED_BITS)
            m.d.sync += moved.eq(Mux(values["cycles"] % MOVED_WINDOW == 0, 0, moved) | columns)

        column = values["overflow_column"]
        with m.If(written["irq_status"]):
            m.d.sync += values["irq_status"].eq(values["irq_status"] & ~self.register_data)
        happens = {event: signal & active for event, signal in events.items()}
        happens |= {CONFIGURED: loaded, ASTRAY: loading & self.astray}
        for event, signal in happens.items():    # after the clearing: one in the same cycle is not lost
            with m.If(signal):
                m.d.sync += [status[event].eq(1), values["irq_status"][event].eq(1)]
        self._ends(m, values, written)
        blamed = Mux(self.overflow.any(), self.overflow, self.walled) if walls else self.overflow
        with m.If(active & blamed.any() & ~status[OVERFLOW]):
            for number in reversed(range(self.arch.columns)):
                with m.If(blamed[number]):
                    m.d.sync += column.eq(number)
        with m.If(ends | command_stop | command_configure):
            m.d.sync += [busy.eq(0), flushing.eq(0), between.eq(0)]
        with m.If(command_start):
            m.d.sync += [flushing.eq(FLUSH_CYCLES), between.eq(0), busy.eq(1), values["cycles"].eq(0),
                         values["runs_done"].eq(0), column.eq(0), moved.eq(0), *(status[event].eq(0) for event in events)]
        if self.arch.column_stall:
            with m.If(going & ~passes[0]):
                m.d.sync += values["stalled_cycles"].eq(values["stalled_cycles"] + 1)
            with m.If(command_start):
                m.d.sync += values["stalled_cycles"].eq(0)
        m.d.comb += self.irq.eq((values["irq_status"] & values["irq_enable"]).any())

    def _stall(self, m: Module, values: dict[str, Signal], begins: Value, starting: Value) -> Value:
        """Freeze columns; whether one is frozen. begins: a run does, and no column may be; starting: its loads are started."""
        arch = self.arch
        chosen = Signal(arch.columns)
        asked = Signal(range(self._way + 1))    # requests of the host are on their way for so many cycles
        opening = Signal(range(arch.glb.load_latency + 1))
        own = Cat(self.mine[x // arch.glb.columns_per_tile] for x in range(arch.columns))
        m.d.comb += [self._wanted.eq(Mux(self.whole, (values["stall"] & own).any().replicate(arch.columns), values["stall"])),
                     self.stall.eq(Mux(begins | (opening != 0), 0, chosen & own)), values["stalled"].eq(self.stall)]
        m.d.sync += [asked.eq(Mux(self.cfg_valid, self._way, asked - (asked != 0))),
                     opening.eq(Mux(starting, arch.glb.load_latency, opening - (opening != 0)))]
        with m.If((asked == 0) & ~self.cfg_valid):
            m.d.sync += chosen.eq(self._wanted)
        return self.stall.any()

    def _owed(self, m: Module, starting: Value, stands: Value) -> Value:
        """Whether the run has cycles to wait: as many as tiles stood still since the last word left them and the global buffer
        was at work, which is the way to a bank."""
        owed = Signal(range(2 * self.arch.glb.ring + 8))
        with m.If(starting | self.crossed):
            m.d.sync += owed.eq(0)
        with m.Elif(self.running & stands & ~owed.all()):
            m.d.sync += owed.eq(owed + 1)
        with m.Elif(~self.running & ~stands & (owed != 0)):
            m.d.sync += owed.eq(owed - 1)
        return owed != 0

    def _ends(self, m: Module, values: dict[str, Signal], written: dict[str, Signal]) -> None:
        """Which loads and stores have ended, and the events of those that are chosen."""
        for event, unit, ends in ((LOAD_ENDED, "loads", self.load_ends), (STORE_ENDED, "stores", self.store_ends)):
            name, now = f"{unit}_ended", folded(ends, ENDS_BITS)
            m.d.sync += values[name].eq(values[name] & ~Mux(written[name], self.register_data, 0) | now)
            with m.If((now & values[f"irq_{unit}"]).any()):
                m.d.sync += values["irq_status"][event].eq(1)

    @property
    def _way(self) -> int:
        """Cycles that a configuration word takes from the shell or the global buffer to the last segment of a column."""
        return config_segment(self.arch.rows, self.arch.config_rows) + 1

    def _load(self, m: Module, values: dict[str, Signal], begin: Value, stop: Value) -> tuple[Value, Value]:
        """Configuration by DMAs: whether it goes on, and whether it ends in this cycle."""
        status, cycles = values["status"], values["config_cycles"]
        loading = status[CONFIGURING]
        loaded = Signal()
        left = Signal(range(self._way + 1))
        m.d.comb += [self.configure.eq(begin), self.config_stop.eq(stop),
                     loaded.eq(loading & ~self.configuring & (left == 0) & ~begin & ~stop)]
        m.d.sync += left.eq(Mux(self.configuring | begin, self._way, left - (left != 0)))
        with m.If(loading):
            m.d.sync += cycles.eq(cycles + 1)
        with m.If(loaded | stop):
            m.d.sync += loading.eq(0)
        with m.If(begin):
            m.d.sync += [loading.eq(1), cycles.eq(0), *(status[event].eq(0) for event in CONFIG_EVENTS)]
        return loading, loaded

    def _configure(self, m: Module, values: dict[str, Signal], written: dict[str, Signal]) -> None:
        reading = values["status"][CONFIG_BUSY]
        m.d.comb += [
            self.cfg_valid.eq((written["config_write"] | written["config_read"]) & ~self.refused),
            self.cfg_write.eq(written["config_write"]),
            self.cfg_address.eq(values["config_address"]), self.cfg_data.eq(self.register_data),
        ]
        asks = Cat(self.register_index == named(CONTROLLER)[name].offset // 4 for name in ("config_write", "config_read")).any()
        # A word of a DMA is at its channel no later than a cycle after `configuring`, also of those that a stop left behind.
        follows = Signal()
        ran = Signal()
        m.d.sync += [follows.eq(self.configuring), ran.eq(self.running | self.start)]
        streams = Signal()
        closed = self.foreign
        if self.arch.column_stall:
            register = self.cfg_address[:16]
            memory = (register >= MEMORY_REGISTER) & (register < STATUS_REGISTER)
            # With `Arch.memory_readback` tiles that are frozen lead configuration to their memories.
            shut = self._wanted & ~self.stall if self.arch.memory_readback else self._wanted | self.stall
            closed |= memory & shut.bit_select(self.cfg_address[24:], 1)
        m.d.comb += [streams.eq(values["status"][CONFIGURING] | follows), self.refused.eq(asks & (streams | closed)),
                     self.occupied.eq(values["status"][BUSY] | streams | ran)]
        # A tile that does not exist does not answer: after a round trip to the last row the read ends with 0.
        round_trip = 2 * (self.arch.rows + 4)
        patience = Signal(range(round_trip + 1))
        with m.If(written["config_read"] & ~self.refused):
            m.d.sync += [reading.eq(1), values["config_data"].eq(0), patience.eq(round_trip)]
        with m.Elif(reading):
            m.d.sync += patience.eq(patience - 1)
            with m.If(self.cfg_answer | (patience == 0)):
                m.d.sync += [reading.eq(0), values["config_data"].eq(self.cfg_value)]


assert offsets(CONTROLLER)["fingerprint_high"] == 0, "software finds the fingerprint at address 0"
