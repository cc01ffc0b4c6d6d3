"""Buffer: a MEM tile as a unified buffer of dense programs."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arch.buffer import READS, VALID, WRITES
from ..arch.primitive import BUFFER
from ..arch.tile import TileSpec
from ..emit import Macro, macro
from ..sparse.interface import members
from .controller import Controller
from .piso import Piso
from .sipo import Sipo
from .sram import Sram, SramPort


class Buffer(wiring.Component):
    """Store words and give them again, in cycles and at addresses that loops count.

    Behaviour: cycle 0 is the first one after reset. In every cycle of its schedule a write port takes the word at its input; a
    read port gives a word `read_latency` cycles after every cycle of its schedule; the flag `valid` is 1 in the very cycles of
    its own. Valid and ready of the streams play no part. Addresses count modulo the words of the SRAM.

    A read and a write of the same word must be `write_to_read` cycles apart or more, and a word must be written before it is
    read; `sim/model/cycles/buffer.py` checks a configuration for both. Then a read gives what was written last. With four lanes
    `read_latency` is 6 and `write_to_read` 5. The flag has no latency.

    A delay line of D cycles, 11 <= D <= 2049, is a write port and a read port with the same loops, the read D - 6 cycles later.
    Longer ones are chained, out of one MEM tile into the next, without more ado: a stream has a word in every cycle,
    so the second is a delay line of its own, and address bits need not select between them (as they do in Onyx).

    As a ROM, rd0 reads in every cycle the address that arrives on wr0, with the same latency. Configuration fills it (registers
    of `MemoryWindow`, before the reset), or wr1 does.

    Parameters
    ----------
    spec : TileSpec     Its sizes (`MemSizes`).
    shared : bool       The SRAM is outside, on `sram`; else it is inside.

    Members
    -------
    cfg : In
    wr0, wr1 : In               Always ready.
    rd0, rd1, valid : Out       Always valid; rd0 and rd1 are undefined between the words of their schedules.
    sram : Out(SramPort)        If shared.
    overflow : Out(1)           The schedules ask for more than the port of the SRAM can do, and words were lost. Sticky until
                                reset.

    Timing: one word per cycle on each of the four ports for ever, if successive words share lines; the SRAM is then busy in
    every cycle. A write needs one access per line that it enters (and per `lanes` cycles), a read one per line that it
    enters, and another if the line was written since. The most urgent access comes first: the one with the fewest cycles left.
    Source: Amber JSSC V (wide-fetch SRAM, SIPO, PISO), Onyx JSSC V-B. Onyx delays the addresses of a read port for the write
    port of an accumulator; here the write port walks the loops of the read port from a start of its own, which saves the
    same configuration and allows any delay.
    """

    def __init__(self, spec: TileSpec, shared: bool = False) -> None:
        self.sizes, self.shared = spec, shared
        port = {"sram": Out(SramPort(spec.sram_lines, spec.sram_lanes))} if shared else {}
        super().__init__(members(BUFFER) | {"cfg": In(spec.config(BUFFER).layout), "overflow": Out(1)} | port)

    @property
    def emit_key(self) -> object:
        return self.sizes, self.shared

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lines, lanes = self.sizes.sram_lines, self.sizes.sram_lanes
        sram = self.sram if self.shared else macro(Sram(lines, lanes))
        if not self.shared:
            m.submodules.sram = sram
        m.d.comb += [getattr(self, port).ready.eq(1) for port in WRITES]
        m.d.comb += [getattr(self, port).valid.eq(1) for port in (*READS, VALID)]
        m.d.comb += self.valid.payload.eq(self._controller(m, VALID).fire)

        sipos = [self._sipo(m, port) for port in WRITES]
        pisos = [self._piso(m, port) for port in READS]
        ports = [*sipos, *pisos]
        grants = earliest(m, [port.request for port in ports], [port.slack for port in ports])
        m.d.comb += [port.grant.eq(grant) for port, grant in zip(ports, grants)]
        m.d.comb += sram.enable.eq(Cat(port.request for port in ports).any())
        for port in reversed(ports):
            with m.If(port.grant):
                m.d.comb += sram.address.eq(port.line)
        for sipo in sipos:
            with m.If(sipo.grant):
                m.d.comb += [sram.write.eq(sipo.mask), sram.data.eq(sipo.words)]
        # What the port did is told a cycle later, as who has it is known late.
        written = Signal()
        written_line = Signal.like(sram.address, reset_less=True)
        m.d.sync += [written.eq(Cat(sipo.grant for sipo in sipos).any()), written_line.eq(sram.address)]
        for piso in pisos:
            m.d.comb += [piso.words.eq(sram.word), piso.written.eq(written), piso.written_line.eq(written_line)]
        with m.If(Cat(port.lost for port in ports).any()):
            m.d.sync += self.overflow.eq(1)
        return m

    def _controller(self, m: Module, port: str) -> Macro:
        """The controller of a port, with its settings."""
        sizes, replay = self.sizes, self.sizes.can_replay(port)
        own = sizes.loops(port)
        loops = max(own, sizes.read_loops) if replay else own
        m.submodules[f"{port}_controller"] = controller = macro(Controller(
            loops, sizes.extent_bits, sizes.cycle_bits, 0 if port == VALID else sizes.address_bits))

        def setting(name: str, loop: int) -> Value | int:
            mine = self.cfg[f"{port}_{name}{loop}"] if loop < own else 0
            if not replay:
                return mine
            other = self.cfg[f"rd{port[-1]}_{name}{loop}"] if loop < sizes.read_loops else 0
            return Mux(self.cfg[f"{port}_replay"], other, mine)

        names = ("extent", "gap") if port == VALID else ("extent", "gap", "delta")
        m.d.comb += [getattr(controller.cfg, name)[loop].eq(setting(name, loop)) for name in names for loop in range(loops)]
        m.d.comb += [controller.cfg.on.eq(self.cfg[f"{port}_on"]), controller.cfg.cycle.eq(self.cfg[f"{port}_cycle"])]
        if port != VALID:
            m.d.comb += controller.cfg.address.eq(self.cfg[f"{port}_address"])
        return controller

    def _sipo(self, m: Module, port: str) -> Macro:
        sizes, controller = self.sizes, self._controller(m, port)
        m.submodules[f"{port}_sipo"] = sipo = Sipo(
            sizes.sram_lines, sizes.sram_lanes, sizes.cycle_bits, sizes.sipo_lines)
        m.d.comb += [getattr(sipo, name).eq(getattr(controller, name)) for name in ("fire", "more", "countdown", "address")]
        m.d.comb += sipo.word.eq(getattr(self, port).payload.data)
        return sipo

    def _piso(self, m: Module, port: str) -> Macro:
        sizes, controller = self.sizes, self._controller(m, port)
        m.submodules[f"{port}_piso"] = piso = Piso(sizes.sram_lines, sizes.sram_lanes)
        rom = self.cfg.rom if port == READS[0] else 0
        m.d.comb += [piso.fire.eq(controller.fire | rom), piso.address.eq(Mux(rom, self.wr0.payload.data, controller.address)),
                     getattr(self, port).payload.data.eq(piso.word)]
        return piso


def earliest(m: Module, requests: list[Value], slacks: list[Value]) -> list[Value]:
    """Grant the request with the least slack; of equal ones the first."""
    grants = []
    for n, (request, slack) in enumerate(zip(requests, slacks)):
        before = [other & (its < slack if k > n else its <= slack)
                  for k, (other, its) in enumerate(zip(requests, slacks)) if k != n]
        grant = Signal(name=f"grant{n}")
        m.d.comb += grant.eq(request & ~Cat(before).any())
        grants.append(grant)
    return grants
