"""GLB tile: banks, one load, one store and one configuration DMA, their registers, and the host's ports."""

from __future__ import annotations

from functools import reduce
from itertools import product
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.glb import DYNAMIC, LINE_BYTES, STATIC, Glb
from ..arch.soc import EXTENT_BITS, RW, STRIDE_BITS, glb_registers, named
from ..arch.token import TOKEN
from ..clock_gate import domain, follows, gated_clock
from ..configuration import ANSWER, REQUEST
from ..emit import Clock, Macro, macro
from ..interconnect.boxes import Members
from .banks import Asked, own_banks, share
from .config import LINK, ConfigDma, ConfigSwitch
from .load import LoadDma
from .packed_dma import config_dma
from .ring import RingSwitch, ring_link
from .saver import Saver
from .store import StoreDma

# Between a tile and each of its columns, of which it uses one at a time.
COLUMN_STREAMS = {"g2f": Out(stream.Signature(TOKEN)), "f2g": In(stream.Signature(TOKEN)), "f2g_bit": In(stream.Signature(1))}


def control_members(glb: Glb) -> Members:
    """The side of a tile that faces the controller and the host."""
    line_bits = (glb.tile_bytes // LINE_BYTES - 1).bit_length()
    configuration: Members = {"configure": In(1), "config_stop": In(1), "config_busy": Out(1), "config_astray": Out(1)}
    return {
        **(configuration if glb.configuration_dma else {}),
        "register_write": In(1), "register_index": In(6), "register_data": In(32), "register_value": Out(32),
        "start": In(1), "again": In(1), "stop": In(1), "busy": Out(1), "moved": Out(1), "beyond": Out(1), "lost": Out(1),
        "load_ends": Out(1), "store_ends": Out(1), **({"load_queued": Out(1), "store_queued": Out(1)} if glb.queue else {}),
        "host_write_valid": In(1), "host_write_line": In(line_bits), "host_write_data": In(64), "host_write_strobe": In(8),
        "host_write_ready": Out(1), "host_read_valid": In(1), "host_read_line": In(line_bits), "host_read_ready": Out(1),
        "host_read_word": Out(64)}


def link_members(glb: Glb) -> Members:
    """What is between tiles: words of configuration and of the ring, and whether there is a wall."""
    chain: Members = {"ring_west": In(wiring.Signature(ring_link(glb))), "ring_east": Out(wiring.Signature(ring_link(glb))),
                      "connected": Out(1), "east_connected": In(1)} if glb.ring > 1 else {}
    wall: Members = {"west_open": In(1)} if glb.ring > 1 and not glb.configuration_dma else {}
    return config_members(glb) | wall | chain


def config_members(glb: Glb) -> Members:
    """What configures: the way from the host to each column, and the links with the tiles to the west and to the east."""
    if not glb.configuration_dma:
        return {}
    columns = range(glb.columns_per_tile)
    return {**{f"request{column}": In(wiring.Signature(REQUEST)) for column in columns},
            **{f"config{column}": Out(wiring.Signature(REQUEST)) for column in columns},
            **({f"answer{column}": Out(wiring.Signature(ANSWER)) for column in columns} if glb.kept_bytes else {}),
            "west": In(wiring.Signature(LINK)), "east": Out(wiring.Signature(LINK)), "chained": Out(1), "east_chained": In(1),
            "west_open": In(1)}


def needed(enabled: Value, dma: LoadDma | StoreDma | ConfigDma) -> Value:
    """Whether a DMA needs its clock: it does while its bit is set, and a run goes on when that is cleared.

    Without both, it does not start, and nothing in it changes that anyone sees.
    """
    return enabled | dma.busy


class GlbTile(wiring.Component):
    """One tile of the global buffer.

    Members
    -------
    register_write, register_index, register_data : In     Write of a 32-bit register; index = offset / 4.
    register_value : Out(32)       The register at register_index, in the same cycle.
    start, stop : In(1)            To the load and the store DMA, if enabled.
    again : In(1)                  With start: of a further run, in which what is sliced goes on.
    busy, moved, beyond, lost : Out(1)     A DMA runs; a word moved; a store reached its limit; a static one lost a word.
    load_queued, store_queued : Out(1)     With `Glb.queue`: a descriptor waits, from registers.
    load_ends, store_ends : Out(1)         A unit came to the end of its part of the run, or with `Glb.queue` of a descriptor, a
                                   cycle before.
    host_write_valid, host_write_line, host_write_data, host_write_strobe : In     Write of a 64-bit word, byte strobes.
    host_write_ready : Out(1)      It is done.
    host_read_valid, host_read_line : In     Read of a 64-bit word.
    host_read_ready : Out(1)       It is done, and its word follows `Glb.read_latency` cycles later.
    host_read_word : Out(64)
    g2f{c} : Out(stream)           To column c of the tile; the load stream goes to the selected one.
    f2g{c}, f2g_bit{c} : In(stream)      From column c of the tile; the store stream, and the bits that mark the words of
                                   a static store, come from the selected one.

    With `Glb.configuration_dma`:

    configure, config_stop : In(1) To the configuration DMA, if enabled.
    config_busy, config_astray : Out(1)      Words are on their way; one was dropped (`ConfigSwitch`).
    request{c} : In(REQUEST)   What the host asks of column c; 0 while words are on their way.
    config{c} : Out(REQUEST)       To the configuration channel of column c.
    answer{c} : Out(ANSWER)        With `Glb.kept_bytes`: its answers.
    west, east, chained, east_chained      Links with the neighbours (`ConfigSwitch`); `chained`: words of `west` are taken.
    west_open : In(1)              The tile to the west is of the same region; else no words of it are taken.

    With `Glb.ring` of 2 or more, and `west_open`:

    ring_west, ring_east : In, Out     Links with the neighbours (`RingSwitch`).
    connected, east_connected : Out(1), In(1)      This tile belongs to the chain of the tile to the west; the one to the east
                                   to the chain of this one.

    In a chain the load and the store of the first tile reach the banks of all. They come first at each bank, whose words take
    as long from everywhere. The units of the other tiles do not start: if one is enabled, an access is for a tile beyond
    the last one, or a load counts on more tiles or fewer than the chain has, `lost` says so until the next start. `busy` and
    `store_ends` count what is on its way.

    Timing: a bank serves one access per cycle: the load first, then the store, then configuration, then the host. A linear load
    or store needs its bank once per four words. One that jumps from line to line needs it for every word, and the others wait
    till then; a static store cannot wait, so it needs a bank that no load uses. The host waits, too, in the cycles after a
    store has ended in which its last words are written, three at most. A read and a write of the host go on at once in
    different banks; at the same one they take turns, so that neither waits for more than one access of the other.
    Source: Onyx JSSC II and V-C.
    """

    def __init__(self, glb: Glb) -> None:
        self.glb = glb
        members = control_members(glb) | link_members(glb)
        for column, (name, member) in product(range(glb.columns_per_tile), COLUMN_STREAMS.items()):
            members[f"{name}{column}"] = member
        super().__init__(members)

    module_name = "glb_tile"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        columns = range(self.glb.columns_per_tile)

        def clock(name: str, kind: str) -> Clock | None:
            """The clock of a part, if parts of its kind are gated."""
            return gated_clock(m, name, self.glb.clock_gates, platform) if self.glb.gates(kind) else None

        load_clock, store_clock, registers_clock = clock("load", STATIC), clock("store", STATIC), clock("registers", DYNAMIC)
        m.submodules.load = load = macro(LoadDma(self.glb), clock=load_clock)
        m.submodules.store = store = macro(StoreDma(self.glb), clock=store_clock)
        values = self._registers(m, load, store, registers_clock)

        def field(name: str, part: str) -> Value:
            """A field of a register."""
            return values[name][named(glb_registers(self.glb))[name].bits(part)]

        load_sliced = field("load_control", "sliced")
        if self.glb.listed:
            listed = field("load_control", "listed")
            load_sliced &= ~listed
        load_on, store_on = field("load_control", "enable"), field("store_control", "enable")
        asked, starts, busy, lost = own_banks(load, store), self.start, load.busy | store.busy, store.lost
        if self.glb.ring > 1:
            connected = field("ring_control", "connected") & self.west_open
            m.d.comb += load.hops.eq(field("ring_control", "hops"))
            asked, astray, hops = self._ring(m, load, store, connected, clock("ring", STATIC), load_clock)
            with m.If(self.start):
                m.d.sync += astray.eq(connected & (load_on | store_on))
            # Nothing is on its way in the ring when a run ends.
            leaving = store.holds | self.ring_east.read | self.ring_east.write
            starts, busy, lost = starts & ~connected, busy | leaving, lost | astray
            # Words of a load that counts on another chain than there is would come in other cycles than it takes them. A chain
            # that was made just before the start is counted by then, and no word has come.
            counted = Signal(self.glb.ring)
            m.d.sync += counted.eq(Mux(self.stop, 0, counted << 1 | (starts & load_on)))
            with m.If(counted[-1] & ((hops != load.hops) | (hops == self.glb.ring))):
                m.d.sync += astray.eq(1)
        m.d.comb += [
            load.first.eq(values["load_start"]), load.start.eq(starts & load_on), load.stop.eq(self.stop),
            store.first.eq(values["store_start"]), store.start.eq(starts & store_on), store.stop.eq(self.stop),
            store.affine.eq(field("store_control", "affine")), store.is_static.eq(field("store_control", "static")),
            store.sections.eq(values["store_sections"]),
            store.limit.eq(values["store_limit"]),
            *([store.numbered.eq(field("store_control", "numbered")), store.blocks.eq(values["store_blocks"]),
               store.number.eq(values["store_number"])]
              if self.glb.numbered else []),
            *([load.listed.eq(listed)] if self.glb.listed else []),
            self.busy.eq(busy), self.beyond.eq(store.beyond), self.lost.eq(lost),
            *(dma.again.eq(self.again) for dma in (load, store)),
            load.sliced.eq(load_sliced), store.sliced.eq(field("store_control", "sliced")),
            self.moved.eq((load.o.valid & load.o.ready) | store.moves),
        ]
        for dma, name in ((load, "load"), (store, "store")):
            for level in range(len(dma.loops.extent)):
                m.d.comb += [dma.loops.extent[level].eq(values[f"{name}_extent{level}"][:EXTENT_BITS]),
                             dma.loops.stride[level].eq(values[f"{name}_stride{level}"][:STRIDE_BITS])]

        for dma, ends in ((load, self.load_ends), (store, self.store_ends)):
            if self.glb.queue:
                m.d.sync += ends.eq(dma.ends)
                m.d.comb += getattr(self, dma.module_name.replace("dma", "queued")).eq(
                    field(dma.module_name.replace("dma", "control"), "queued"))
                continue
            # Beside the unit, whose clock may rest as soon as it is not busy.
            ran = Signal.like(ends, name=f"{dma.module_name}_ran")
            m.d.sync += ran.eq(dma.busy & ~self.stop)
            ended = ran & ~dma.busy
            if self.glb.ring > 1 and dma is store:
                # With the last words in their banks: the host does not wait at those of other tiles.
                waits = Signal(name="store_waits")
                m.d.sync += waits.eq((ended | waits) & store.holds)
                ended = (ended | waits) & ~store.holds
            m.d.comb += ends.eq(ended)

        for dma, on, each in ((load, load_on, load_clock), (store, store_on | store.holds, store_clock)):
            m.d.comb += [] if each is None else each.on.eq(needed(on, dma))

        load_column, store_column = field("load_control", "column"), field("store_control", "column")
        if self.glb.queue:
            # Whether a unit took part in the start of the run that goes on.
            load_runs = Signal()
            store_runs = Signal()
            for dma, name, on, runs in ((load, "load", load_on, load_runs), (store, "store", store_on, store_runs)):
                with m.If(self.start):
                    m.d.sync += runs.eq(on)
                with m.Elif(self.stop):
                    m.d.sync += runs.eq(0)
                m.d.comb += [dma.next_column.eq(field(f"{name}_control", "column")),
                             dma.repeats.eq(field(f"{name}_control", "repeat")),
                             dma.queued.eq(runs & on & field(f"{name}_control", "queued"))]
            # The registers may be those of the next descriptor: what runs has its own.
            load_column, store_column, store_on = load.column, store.column, store_runs
        for column in columns:
            to_array, from_array = getattr(self, f"g2f{column}"), getattr(self, f"f2g{column}")
            bit_from_array = getattr(self, f"f2g_bit{column}")
            loads, stores = Signal(name=f"loads{column}"), Signal(name=f"stores{column}")
            m.d.comb += [loads.eq(load_column == column), stores.eq(store_on & (store_column == column)),
                         to_array.payload.eq(load.o.payload), to_array.valid.eq(load.o.valid & loads),
                         from_array.ready.eq(store.i.ready & stores), bit_from_array.ready.eq(store.mark.ready & stores)]
            with m.If(loads):
                m.d.comb += load.o.ready.eq(to_array.ready)
            with m.If(stores):
                m.d.comb += [store.i.valid.eq(from_array.valid), store.i.payload.eq(from_array.payload),
                             store.mark.valid.eq(bit_from_array.valid), store.mark.payload.eq(bit_from_array.payload)]
        config = saver = None
        if self.glb.configuration_dma:
            chained = field("config_control", "chained") & self.west_open
            config_on = field("config_control", "enable") & ~chained
            if self.glb.kept_bytes:
                saves_on = config_on & field("config_control", "saves")
                config_on &= ~field("config_control", "saves")
                m.submodules.saver = saver = macro(Saver(self.glb), clock=(saver_clock := clock("saver", STATIC)))
                m.d.comb += [saver.first.eq(values["config_start"][3:]), saver.count.eq(values["config_words"]),
                             saver.address.eq(values["config_save"] << 32), saver.start.eq(self.configure & saves_on),
                             saver.stop.eq(self.config_stop)]
                m.d.comb += [] if saver_clock is None else saver_clock.on.eq(saves_on | saver.busy | saver.flies | saver.other)
            m.submodules.config = config = macro(config_dma(self.glb), clock=(config_clock := clock("config", STATIC)))
            m.d.comb += [config.first.eq(values["config_start"][3:]), config.count.eq(values["config_words"]),
                         config.start.eq(self.configure & config_on), config.stop.eq(self.config_stop)]
            m.d.comb += config.unpacks.eq(field("config_control", "packed")) if self.glb.packed else []
            m.d.comb += [] if config_clock is None else config_clock.on.eq(needed(config_on, config))
            self._switch(m, config, saver, chained, clock("switch", DYNAMIC))
        bank_clocks = [clock(f"bank{number}", DYNAMIC) for number in range(self.glb.banks)]
        share(m, self, self.glb, asked, store, config, saver, bank_clocks)
        return m

    def _switch(self, m: Module, config: Macro, saver: Macro | None, chained: Value, clock: Clock | None) -> None:
        """Words of the DMA, of the tile to the west and of the host on their way to the columns, and reads of what is saved."""
        m.submodules.switch = switch = macro(ConfigSwitch(self.glb.columns_per_tile), clock=clock)
        busy, astray = config.busy | switch.busy, switch.astray
        if saver is not None:
            busy, astray = busy | saver.busy, astray | saver.missed
        m.d.comb += [switch.chained.eq(chained), self.chained.eq(chained), switch.own_valid.eq(config.o_valid),
                     switch.own.eq(config.o), switch.east_chained.eq(self.east_chained),
                     self.config_busy.eq(busy), self.config_astray.eq(astray)]
        # It passes nothing on while neither has words for it, but for one cycle.
        m.d.comb += [] if clock is None else clock.on.eq((chained & self.west.valid) | config.busy | switch.busy)
        wiring.connect(m, wiring.flipped(self.west), switch.west)
        wiring.connect(m, switch.east, wiring.flipped(self.east))
        for column in range(self.glb.columns_per_tile):
            asked, given = getattr(self, f"request{column}"), getattr(self, f"config{column}")
            takes = switch.takes[column]
            m.d.comb += [given.valid.eq(takes | asked.valid),
                         given.write.eq(takes | asked.write), given.addr.eq(Mux(takes, switch.word.address, asked.addr)),
                         given.wdata.eq(Mux(takes, switch.word.data, asked.wdata))]
        if saver is not None:
            self._saves(m, saver)

    def _saves(self, m: Module, saver: Macro) -> None:
        """Reads of a column, while none of its words are on their way, and its answers."""
        answers = [getattr(self, f"answer{column}") for column in range(self.glb.columns_per_tile)]
        asked = [getattr(self, f"request{column}") for column in range(self.glb.columns_per_tile)]
        m.d.comb += [saver.other.eq(Cat(each.valid & ~each.write for each in asked).any()),
                     saver.answered.eq(Cat(each.rvalid for each in answers).any()),
                     saver.answer.eq(reduce(or_, (each.rdata for each in answers)))]
        for column in range(self.glb.columns_per_tile):
            given = getattr(self, f"config{column}")
            with m.If(saver.asks & (saver.asked.column == column)):
                m.d.comb += [given.valid.eq(1), given.write.eq(0), given.addr.eq(saver.asked.address)]

    def _registers(self, m: Module, load: LoadDma, store: StoreDma, clock: Clock | None) -> dict[str, Signal]:
        """The register file, as the register table declares it; values by name."""
        registers = named(glb_registers(self.glb))
        values = {name: Signal(32, name=name) for name in registers}
        clocked = domain(m, "registers", clock)
        written: Value = self.register_write
        if self.glb.queue:
            m.d.comb += [values["ended"].eq(Cat(load.ended, store.ended)), values["store_words_before"].eq(store.words_before)]
            written = written | load.taken | store.taken
            for dma, name in ((load, "load_control"), (store, "store_control")):
                # Below it a write wins: what is queued in the cycle in which another is taken waits.
                with m.If(dma.taken):
                    m.d[clocked] += values[name][registers[name].bits("queued")].eq(0)
        m.d.comb += [] if clock is None else clock.on.eq(written)
        with m.Switch(self.register_index):
            for index, (register, value) in enumerate(zip(registers.values(), values.values(), strict=True)):
                with m.Case(index):
                    m.d.comb += self.register_value.eq(value)
                    if register.access == RW:
                        with m.If(self.register_write):
                            m.d[clocked] += value.eq(self.register_data)
        m.d.comb += values["store_words"].eq(store.words)
        return values

    def _ring(self, m: Module, load: Macro, store: Macro, connected: Value, clock: Clock | None,
              load_clock: Clock | None) -> tuple[Asked, Signal, Value]:
        """What the first tile of a chain asks of the banks here, a register that keeps that something was astray, and how many
        tiles follow in the chain."""
        m.submodules.ring = ring = macro(RingSwitch(self.glb), clock=clock)
        astray = Signal()
        with m.If(ring.astray):
            m.d.sync += astray.eq(1)
        m.d.sync += self.connected.eq(connected)
        # Words to the array come from registers of this tile, not of the one to the east. They have the clock of the load,
        # which takes a word more than a cycle after it asked for it, and is busy until then.
        word = Signal(8 * LINE_BYTES, name="ring_word", reset_less=True)
        follows(m, word, ring.load_word, load_clock)
        m.d.comb += [
            ring.connected.eq(connected), ring.east_connected.eq(self.east_connected),
            ring.load.read.eq(load.read), ring.load.read_line.eq(load.line), load.grant.eq(ring.load_grant),
            load.word.eq(word), ring.store.write.eq(store.write), ring.store.write_line.eq(store.line),
            ring.store.lanes.eq(store.lanes), ring.store.data.eq(store.data), store.grant.eq(ring.store_grant)]
        # It is not stopped with an access on its way, which would go on when the tile is in a chain again.
        m.d.comb += [] if clock is None else clock.on.eq(connected | self.east_connected | ring.busy)
        wiring.connect(m, wiring.flipped(self.ring_west), ring.west)
        wiring.connect(m, ring.east, wiring.flipped(self.ring_east))
        here = ring.here
        banks = Asked(here.read, here.read_line, ring.word, (), here.write, here.write_line, here.lanes, here.data, ())
        return banks, astray, ring.hops
