"""Level: a MEM tile's level writer, buffer and scanner as one primitive."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from ..arch.primitive import LEVEL, LOCATE
from ..arch.tile import TileSpec
from ..emit import macro
from ..sparse.interface import members
from .level_buffer import HALVES, LevelBuffer
from .level_scanner import LevelScanner
from .level_writer import LevelWriter
from .sram import Sram, SramPort


class Level(wiring.Component):
    """Hold a level of a fibertree, or its values: written on one side, read on the other.

    Behaviour: writing follows `LevelWriter`, reading `LevelScanner`, transaction by transaction; the next
    level is written while one is read (`LevelBuffer`). With input `stream` and output `scan`:

        wr ``4 7 S0 S0 9 S1 D``, ref ``2 0 S0 D``     crd ``9 S0 4 7 S1 D``, ref_o ``2 S0 0 1 S1 D``

    With output `locate`, if the tile has it, the level comes as a block, is dense, and `wr` has the coordinates whose
    references are wanted, in step with `ref`. With extent 5:

        wr ``4 0 S0 3 S1 D``, ref ``1 1 S0 2 S1 D``   ref_o ``9 5 S0 13 S1 D``

    Parameters
    ----------
    spec : TileSpec     Its SRAM: `sram_lines` and `sram_lanes`, powers of two from 4 and 2; its `multiplier_tree`
                        and `locate`; `early`.
    shared : bool       The SRAM is outside, on `sram`; else it is inside.

    Members
    -------
    cfg : In
    ref, wr, block : In           Streams, see `LEVEL`.
    crd, ref_o, block_o : Out
    sram : Out(SramPort)          If shared.
    overflow : Out(1)             A level has more segments, coordinates or values than half the SRAM. Sticky
                                  until reset: the level and all that follow are neither taken nor given.
    fault : Out(1)                A block that is none, or a reference that the level does not have (`LevelWriter`,
                                  `LevelScanner`). Sticky until reset; what leaves is undefined.

    Timing: one word or token is written per cycle and one token is read per cycle, stops included, however
    short the fibers. Six cycles from the first reference to the first token, 7 if the fiber's segments
    straddle two lines. From the end of writing to the first token of a root scan: 9. The next transaction
    follows done in the next cycle if it is buffered. `crd` and `ref_o` are taken independently. A level is written up to
    its last step while the two before it are held, so transactions of about one size, from two words in a vector that is
    read and four in one that is written, take no cycle but for the words of their blocks; shorter ones have 8 to 12 cycles
    from the end of one to the end of the second one after it.

    With `early` a level that comes as a block is read while its coordinates or values arrive. A root scan gives its first token
    4 cycles after the first line of coordinates, of a dense level 7 cycles after the extent, a look-up 4 cycles after the line
    of its value; others follow as lines come. Two transactions shorter than that have 7 to 10 cycles from end to end.

    The SRAM has one port. References in sequence, or over and over, take one read per line of four segments
    and per line of four entries. In random order a fiber takes one read for its segments, two if they
    straddle lines (one fiber in four), and one per line of its entries: with one entry in each, 0.89 tokens
    per cycle at random, 0.67 at worst. A look-up takes at most one read. Writing takes one access per line;
    reading and writing take turns, reading first.
    Source: Onyx JSSC III-B.
    """

    def __init__(self, spec: TileSpec, shared: bool = False) -> None:
        self.lines, self.lanes, self.shared = spec.sram_lines, spec.sram_lanes, shared
        self.multiplier_tree, self.locates, self.early = spec.multiplier_tree, spec.locate, spec.early
        port = {"sram": Out(SramPort(self.lines, self.lanes))} if shared else {}
        super().__init__(members(LEVEL) | {"overflow": Out(1), "fault": Out(1)} | port)

    @property
    def emit_key(self) -> object:
        return self.lines, self.lanes, self.multiplier_tree, self.locates, self.early, self.shared

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.writer = writer = LevelWriter(self.early)
        m.submodules.buffer = buffer = LevelBuffer(self.lines, self.lanes, self.early)
        if self.shared:
            wiring.connect(m, buffer.sram, wiring.flipped(self.sram))
        else:
            m.submodules.sram = sram = macro(Sram(self.lines, self.lanes))
            wiring.connect(m, buffer.sram, sram)
        m.submodules.scanner = scanner = LevelScanner(self.lines // HALVES, self.lanes, self.multiplier_tree,
                                                      self.locates)
        wiring.connect(m, writer.o, buffer.i)
        m.d.comb += writer.count.eq(buffer.count)
        if self.early:
            m.d.comb += [buffer.length.eq(writer.length), buffer.ends.eq(writer.ends)]
        wiring.connect(m, buffer.level, scanner.level)
        wiring.connect(m, scanner.segments, buffer.segments)
        wiring.connect(m, scanner.entries, buffer.entries)
        if self.locates:
            m.d.comb += [each.eq(self.wr.payload) for each in (writer.wr.payload, scanner.at.payload)]
            m.d.comb += [each.eq(self.wr.valid) for each in (writer.wr.valid, scanner.at.valid)]
            # One of them does not read it.
            m.d.comb += self.wr.ready.eq(writer.wr.ready | scanner.at.ready)
        else:
            wiring.connect(m, wiring.flipped(self.wr), writer.wr)
        wiring.connect(m, wiring.flipped(self.block), writer.block)
        wiring.connect(m, wiring.flipped(self.ref), scanner.ref)
        for name in ("crd", "ref_o", "block_o"):
            wiring.connect(m, getattr(scanner, name), wiring.flipped(getattr(self, name)))

        inputs, outputs = (LEVEL.config.fields[name].choices for name in ("input", "output"))
        m.d.comb += [
            writer.from_stream.eq(self.cfg.input == inputs.index("stream")),
            writer.values.eq(self.cfg.values), writer.dense.eq(self.cfg.dense), buffer.values.eq(self.cfg.values),
            buffer.dense.eq(self.cfg.dense),
            buffer.lead.eq(writer.from_stream & ~self.cfg.values),
            scanner.lookup.eq(self.cfg.output == outputs.index("lookup")),
            scanner.block.eq(self.cfg.output == outputs.index("block")),
            scanner.root.eq(self.cfg.root), scanner.dense.eq(self.cfg.dense),
            scanner.values.eq(self.cfg.values),
            scanner.extent.eq(buffer.extent), buffer.free.eq(scanner.free), self.overflow.eq(buffer.overflow),
        ]
        if self.locates:
            m.d.comb += scanner.locate.eq(self.cfg.output == outputs.index(LOCATE))
        with m.If(writer.wrong | scanner.wrong):
            m.d.sync += self.fault.eq(1)
        return m
