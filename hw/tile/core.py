"""Tile cores: what stands between the connection boxes and the switch boxes of a tile."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.cgra import Arch
from ..arch.primitive import Flow, Primitive
from ..arch.tile import DATA, Port, TileSpec
from ..arch.token import TOKEN
from ..emit import Macro, macro
from ..interconnect.boxes import Members, Wire
from ..memory.sram import Sram, SramPort, contents_members
from ..stream.fifo import Fifo2


def build(primitive: Primitive, spec: TileSpec, **options: bool) -> wiring.Component:
    """The hardware that a description names, sized by the tile where it asks for it; `options` are of its class."""
    module, _, name = primitive.component.partition(":")
    component = getattr(import_module(module), name)
    return component(spec, **options) if primitive.sized else component(**options)


def decided_by(arch: Arch, spec: TileSpec) -> tuple[object, ...]:
    """All of a machine that the logic of a tile depends on: the key of its modules (`component.emit_key`)."""
    return (spec, arch.interconnect, arch.operand_isolation, arch.config_readback, arch.memory_readback and spec.has_memory,
            arch.power_domains, arch.regions > 1, arch.column_stall and arch.glb.clock_gates, arch.counter_bits)


def beside_core(arch: Arch, spec: TileSpec) -> bool:
    """Whether the SRAM of a tile stands beside its core: configuration reaches it while the core stands still."""
    return spec.has_memory and arch.memory_readback and arch.column_stall


def link_members(spec: TileSpec) -> Members:
    """The streams between an IO tile and the global buffer, ``link_{port}``; other tiles have none."""
    if spec.kind != "io":
        return {}
    flows = {Flow.IN: Out, Flow.OUT: In}
    return {f"link_{port.name}": flows[port.flow](stream.Signature(TOKEN if port.layer == DATA else 1))
            for port in spec.ports}


def event_members(arch: Arch, spec: TileSpec) -> Members:
    """What counters of a tile count; machines without `Arch.counter_bits` have none."""
    return {"moved": Out(len(spec.ports)), "waits": Out(1)} if arch.counter_bits else {}


class TileCore(wiring.Component):
    """The registers on all core inputs, and the primitives of a tile, one of which is active.

    Behaviour: the primitive that ``cfg.core.mode`` names owns the core's ports; the others are held in reset and see zeros.
    A port that it does not use neither takes nor gives tokens. An IO tile has no primitives: its ports are
    links with the global buffer. Without FIFOs in the interconnect, inputs are always valid, outputs always taken
    and the primitives static.

    Streams that move every cycle say nothing about progress: inputs set to static and the outputs of a static primitive
    are neither active nor waiting, nor are any without FIFOs in the interconnect. A static run is alive as long as its
    loads and stores move words, and hangs, for the watchdog, when they do not.

    Parameters
    ----------
    arch : Arch
    spec : TileSpec

    Members
    -------
    {port} : In(stream)             Each core input, from its connection box, of the interconnect's width.
    {port} : Out(stream)            Each core output.
    link_{port} : Out(stream)       IO only: each core input, registered, to the global buffer.
    link_{port} : In(stream)        IO only: each core output, from the global buffer.
    contents : In(SramPort)         MEM only: configuration that fills the SRAM, or reads it; nothing runs then.
    sram : Out(SramPort)            In its place where the SRAM is beside the core (`beside_core`): to that.
    cfg : In                        The configuration space of the tile.
    active : Out(1)                 A token moved into or out of the core in the cycle before, static streams aside.
    waiting : Out(ports)            Inputs that hold tokens, then outputs that are valid and not taken, static ones aside.
    moved : Out(ports)              With `Arch.counter_bits`: inputs, then outputs, at which a token moved in the cycle before,
                                    static ones aside.
    waits : Out(1)                  With `Arch.counter_bits`: an output was valid and not taken in the cycle before, likewise.
    overflow : Out(1)               A level grew beyond its buffer, a schedule asked for more than the SRAM can do, or `fault`.
    fault : Out(1)                  The active primitive was given streams that do not belong together.

    Timing: an input has a FIFO of two entries (`Fifo2`); as configured, or without FIFOs in the interconnect,
    a plain register. Outputs are those of the primitive or, with `output_registers`, come from such a FIFO or register.
    Source: Onyx JSSC III-C (primitives), III-D (two-entry FIFOs where streams enter a core).
    """

    def __init__(self, arch: Arch, spec: TileSpec) -> None:
        self.arch, self.spec = arch, spec
        self.isolated, self.registered = arch.operand_isolation, arch.interconnect.output_registers
        self.readback = arch.memory_readback
        self.widths, self.elastic = arch.interconnect.widths, arch.interconnect.fifo != "none"
        flows = {Flow.IN: In, Flow.OUT: Out}
        members: Members = {port.name: flows[port.flow](stream.Signature(self.widths[port.layer]))
                            for port in spec.ports}
        members |= link_members(spec)
        beside = beside_core(arch, spec)
        members |= {"sram": Out(SramPort(spec.sram_lines, spec.sram_lanes))} if beside else contents_members(spec)
        members |= event_members(arch, spec)
        super().__init__(members | {"cfg": In(arch.config_map(spec.kind).layout), "active": Out(1),
                                    "waiting": Out(len(spec.ports)), "overflow": Out(1), "fault": Out(1)})

    @property
    def module_name(self) -> str:
        return f"core_{self.spec.kind}"

    @property
    def emit_key(self) -> object:
        return decided_by(self.arch, self.spec)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inputs = {port.name: self._input(m, port) for port in self._ports(Flow.IN)}
        outputs = {port.name: self._output(m, port) for port in self._ports(Flow.OUT)}
        is_static = Signal(name="static_primitive")     # the active one is
        if self.spec.kind == "io":
            self._links(m, inputs, outputs)
        else:
            m.d.comb += is_static.eq(self._primitives(m, inputs, outputs))

        if self.elastic:
            ins = [(wire, ~self._static_field(port)) for port, wire in zip(self._ports(Flow.IN), inputs.values(), strict=True)]
            outs = [(getattr(self, name), ~is_static) for name in outputs]
            m.d.sync += self.active.eq(Cat(wire.valid & wire.ready & counts for wire, counts in (*ins, *outs)).any())
            stuck = [wire.valid & ~wire.ready & counts for wire, counts in outs]
            m.d.comb += self.waiting.eq(Cat([wire.valid & counts for wire, counts in ins], stuck))
            if self.arch.counter_bits:
                m.d.sync += [self.moved.eq(Cat(wire.valid & wire.ready & counts for wire, counts in (*ins, *outs))),
                             self.waits.eq(Cat(stuck).any())]
        return m

    def _ports(self, flow: Flow) -> list[Port]:
        return [port for port in self.spec.ports if port.flow is flow]

    def _static_field(self, port: Port) -> Value:
        """Whether the register of a core input is set to be a pipeline stage."""
        field: Value = self.cfg[f"cb_{port.layer}"][f"{port.name}_static"]
        return field

    def _input(self, m: Module, port: Port) -> Wire:
        """The register of a core input; what it returns is a stream of tokens."""
        core = getattr(self, port.name)
        if self.elastic:
            m.submodules[f"fifo_{port.name}"] = fifo = macro(Fifo2(self.widths[port.layer]))
            wiring.connect(m, wiring.flipped(core), fifo.i)
            m.d.comb += fifo.is_static.eq(self._static_field(port))
            return Wire(fifo.o.payload, fifo.o.valid, fifo.o.ready)
        register = Signal(self.widths[port.layer], name=f"{port.name}_register")
        m.d.sync += register.eq(core.payload)
        return Wire(register, Const(1), Signal(name=f"{port.name}_taken"))

    def _output(self, m: Module, port: Port) -> Wire:
        """Where tokens are given: the core output, or the register in front of it. A static route takes a word every cycle,
        so its FIFO never fills and is a plain register."""
        core = getattr(self, port.name)
        if self.registered and self.elastic:
            m.submodules[f"fifo_{port.name}"] = fifo = macro(Fifo2(self.widths[port.layer]))
            wiring.connect(m, fifo.o, wiring.flipped(core))
            return Wire(fifo.i.payload, fifo.i.valid, fifo.i.ready)
        if self.registered:
            given = Signal(self.widths[port.layer], name=f"{port.name}_given")
            m.d.sync += core.payload.eq(given)
            return Wire(given, Signal(name=f"{port.name}_always"), Const(1))
        return Wire(core.payload, core.valid, core.ready if self.elastic else Const(1))

    def _links(self, m: Module, inputs: dict[str, Wire], outputs: dict[str, Wire]) -> None:
        """Join the core's ports to the global buffer."""
        for name, wire in inputs.items():
            link = getattr(self, f"link_{name}")
            m.d.comb += [link.payload.eq(wire.payload), link.valid.eq(wire.valid), wire.ready.eq(link.ready)]
        for name, wire in outputs.items():
            link = getattr(self, f"link_{name}")
            m.d.comb += [wire.payload.eq(link.payload), wire.valid.eq(link.valid), link.ready.eq(wire.ready)]

    def _primitives(self, m: Module, inputs: dict[str, Wire], outputs: dict[str, Wire]) -> Value:
        """Give the ports to the active primitive; whether that is static."""
        mode, overflows, faults, statics = self.cfg["core"]["mode"], [], [], []
        has_contents = "contents" in self.signature.members
        if has_contents:
            m.submodules.sram = sram = macro(Sram(self.spec.sram_lines, self.spec.sram_lanes))
        elif self.spec.has_memory:
            sram = self.sram
        built = {}
        readies: dict[str, list[Value]] = {name: [] for name in inputs}
        for primitive in self.spec.primitives:
            chosen = Signal(name=f"{primitive.name}_chosen")
            m.submodules[primitive.name] = built[primitive.name] = hardware = macro(
                build(primitive, self.spec, **({"shared": True} if primitive.memory else {})), flush=~chosen)
            m.d.comb += chosen.eq(mode == self.spec.mode(primitive.name))
            for port in primitive.inputs:
                readies[port.tile_port].append(chosen & getattr(hardware, port.name).ready)
            if primitive.memory:
                m.d.comb += hardware.sram.word.eq(sram.word & chosen.replicate(len(sram.word)) if self.isolated else sram.word)
            if primitive.config.fields:
                m.d.comb += hardware.cfg.eq(self.cfg[primitive.config.name])
            if "static" in primitive.config.fields:
                statics.append(chosen & hardware.cfg.static)
                if not self.elastic:
                    m.d.comb += hardware.cfg.static.eq(1)
            elif primitive.static:
                statics.append(chosen)
            if "overflow" in hardware.signature.members:
                overflows.append(hardware.overflow)
            if "fault" in hardware.signature.members:
                faults.append(hardware.fault)
        # Readiness is late: one AND and an OR, where a choice by mode would be a chain.
        m.d.comb += [inputs[name].ready.eq(Cat(ready).any()) for name, ready in readies.items()]
        # What is not chosen sees zeros, so that nothing switches in it, or else is in reset at least.
        if not self.isolated:
            m.d.comb += [_offered(getattr(built[primitive.name], port.name), inputs[port.tile_port])
                         for primitive in self.spec.primitives for port in primitive.inputs]
        with m.Switch(mode):
            for primitive in self.spec.primitives:
                hardware = built[primitive.name]
                with m.Case(self.spec.mode(primitive.name)):
                    for port in primitive.inputs:
                        taken, wire = getattr(hardware, port.name), inputs[port.tile_port]
                        m.d.comb += _offered(taken, wire) if self.isolated else []
                    for port in primitive.outputs:
                        given, wire = getattr(hardware, port.name), outputs[port.tile_port]
                        m.d.comb += [wire.payload.eq(given.payload), wire.valid.eq(given.valid),
                                     given.ready.eq(wire.ready)]
                    if primitive.memory:
                        m.d.comb += _access(sram, hardware.sram)
        if has_contents:
            with m.If(self.contents.enable):
                m.d.comb += _access(sram, self.contents)
            if self.readback:
                m.d.comb += self.contents.word.eq(sram.word)
        m.d.comb += [self.fault.eq(Cat(faults).any()), self.overflow.eq(Cat(*overflows, *faults).any())]
        return Cat(statics).any()


def _offered(taken: wiring.PureInterface, wire: Wire) -> list[Any]:
    """Show a primitive what arrives at an input."""
    return [taken.payload.eq(wire.payload), taken.valid.eq(wire.valid)]


def _access(sram: Macro | wiring.PureInterface, user: wiring.PureInterface) -> list[Any]:
    """Give the port of the SRAM to a user."""
    return [getattr(sram, name).eq(getattr(user, name)) for name in ("enable", "address", "write", "data")]
