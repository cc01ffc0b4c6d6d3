"""Switch boxes and connection boxes of one layer of a tile, built from the fan-in tables of the description.

A source (an entering track or a core output) may be selected by several multiplexers: a lazy fork. It moves
when all that select it can take it, in one cycle:

    ready of the source   = every multiplexer does not select it, or its sink is ready
    valid offered to each = valid and ready of the source

so a sink is offered what it takes in that cycle, and a source that nothing selects never waits. That an offer follows the ready
of its own sink closes no loop: the ready of a stage, or of the FIFO at a core input, follows registers and the ready behind it,
never its valid.

In machines with power domains (`domains`) words pass a `OneHotMux`, and valid and ready of a neighbour an `Isolation`: whatever
a bitstream selects, nothing is seen of a tile that is off but words on its tracks, where a static stream selects these.
Where there are valid and ready, `Boxes` then has an input ``{side}_awake`` a side: the neighbour there is awake (`TilePower`).

Source: Amber JSSC (Canal interconnect; III-A for power domains); Onyx JSSC III-D. Departures: off is select code 0, not an
enable bit; an offer does not leave out the ready of its own sink, which would change no register and take 2 % of a PE tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.interconnect import Interconnect
from ..arch.tile import TileSpec
from ..emit import Macro, macro
from .one_hot import Isolation, OneHotMux
from .stage import ODD, PARITIES, stage, word_register

Members = dict[str, wiring.Member]


@dataclass(frozen=True)
class Wire:
    """A stream as three signals, or slices of signals."""

    payload: Value
    valid: Value
    ready: Value


def track_members(interconnect: Interconnect, spec: TileSpec, layer: str, prefix: str) -> Members:
    """The ports of one layer of a tile: per side entering (i) and leaving (o) tracks, track t in word t.

    ``{side}_{prefix}i_payload``, ``..i_valid``, ``..i_ready``, and the same with o; no valid and ready
    without FIFOs.
    """
    tracks, members = interconnect.tracks, Members()
    for side in spec.sides:
        for way, flow, back in (("i", In, Out), ("o", Out, In)):
            members[f"{side}_{prefix}{way}_payload"] = flow(tracks * interconnect.widths[layer])
            if interconnect.fifo != "none":
                members[f"{side}_{prefix}{way}_valid"] = flow(tracks)
                members[f"{side}_{prefix}{way}_ready"] = back(tracks)
    return members


class Boxes(wiring.Component):
    """All multiplexers of one layer of a tile, with the registers of its switch-box outputs.

    Behaviour: ``Interconnect.fanin`` lists the sources of each multiplexer: code = position + 1, 0 is off. Leaving tracks that
    have one and the same source alone share the word that they hold, so they are either all elastic or all not: a stream
    is one or the other on all its ways.

    Parameters
    ----------
    interconnect : Interconnect
    spec : TileSpec
    layer : str       ``data`` or ``bit``.
    parity : int      (x + y) & 1 of the tile.

    Members
    -------
    {side}_i_payload, .. : In       Entering tracks, see `track_members`.
    {side}_o_payload, .. : Out      Leaving tracks.
    {port} : Out(stream)            Of each core input; not registered here.
    {port} : In(stream)             Of each core output.
    sb, cb : In                     Configuration sets of switch boxes and connection boxes.

    Timing: a switch box is one multiplexer and its stage (`stage`). Without FIFOs core streams are always
    valid and taken to be always ready.
    Source: Amber JSSC (Canal interconnect); Onyx JSSC III-D.
    """

    def __init__(self, interconnect: Interconnect, spec: TileSpec, layer: str, parity: int, domains: bool = False) -> None:
        self.interconnect, self.spec, self.layer, self.parity, self._domains = interconnect, spec, layer, parity, domains
        self.width = interconnect.widths[layer]
        token = stream.Signature(self.width)
        sets = {each.name: each for each in interconnect.config_sets(spec)}
        members = track_members(interconnect, spec, layer, "")
        members |= {port.name: Out(token) for port in spec.inputs(layer)}
        members |= {port.name: In(token) for port in spec.outputs(layer)}
        members |= {f"{side}_awake": In(1) for side in spec.sides if domains and interconnect.fifo != "none"}
        members |= {box: In(sets[f"{box}_{layer}"].layout) for box in ("sb", "cb")}
        super().__init__(members)

    @property
    def emit_key(self) -> object:
        return self.interconnect, self.spec, self.layer, self.parity, self._domains

    @property
    def module_name(self) -> str:
        return f"boxes_{self.spec.kind}_{self.layer}_{PARITIES[self.parity]}"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fanin = self.interconnect.fanin(self.spec, self.layer)
        self._sharing: dict[str, list[Macro]] = {}
        self._isolated = self._isolate(m)
        select = {sink: (self.cb if sink in self._inputs else self.sb)[f"{sink}_sel"] for sink in fanin}
        sources = self._sources()
        sinks = {sink: self._sink(m, sink) for sink in fanin}
        chosen = {sink: Signal(len(sources), name=f"{sink}_chosen") for sink in fanin}
        place = {source: at for at, source in enumerate(sources)}
        for sink, names in fanin.items():
            shares = sink not in self._inputs and self._only_source(sink) is not None
            if shares:      # with others that show the same word anyway
                m.d.comb += sinks[sink].payload.eq(sources[names[0]].payload)
            with m.Switch(select[sink]):
                for code, source in enumerate(names, start=1):
                    with m.Case(code):
                        m.d.comb += chosen[sink].eq(1 << place[source])
                        if not shares and not self._domains:
                            m.d.comb += sinks[sink].payload.eq(sources[source].payload)
            if self._domains and not shares:
                # A connection box in halves: in one piece it takes 20 ps more, in four parts 0.5 % of a PE tile.
                size = 2 * self.interconnect.tracks if sink in self._inputs else len(names)
                parts = [names[at:at + size] for at in range(0, len(names), size)]
                muxes = [macro(OneHotMux(len(part), self.width)) for part in parts]
                for number, (mux, part) in enumerate(zip(muxes, parts, strict=True)):
                    m.submodules[f"mux_{sink}_{number}"] = mux
                    m.d.comb += [mux.select.eq(Cat(chosen[sink][place[source]] for source in part)),
                                 mux.i.eq(Cat(sources[source].payload for source in part))]
                m.d.comb += sinks[sink].payload.eq(reduce(or_, (mux.o for mux in muxes)))
        if self.interconnect.fifo != "none":
            self._forks(m, chosen, list(sources.values()), sinks)
        for source, stages in self._sharing.items():
            word = word_register(self.width)
            m.d.comb += [each.word.eq(word) for each in stages]
            with m.If(Cat(each.takes for each in stages).any()):
                m.d.sync += word.eq(sources[source].payload)
        return m

    @property
    def _inputs(self) -> tuple[str, ...]:
        return tuple(port.name for port in self.spec.inputs(self.layer))

    def _only_source(self, sink: str) -> str | None:
        """The source of a leaving track that has no other and is not the only one of it: in an IO tile. Their stages share a
        word."""
        fanin = self.interconnect.fanin(self.spec, self.layer)
        source, *others = fanin[sink]
        alike = sum(names == (source,) and name not in self._inputs for name, names in fanin.items())
        return source if not others and alike > 1 and self.interconnect.fifo == "split" else None

    def _isolate(self, m: Module) -> dict[str, Value]:
        """What neighbours say of readiness, by the names of the ports: masked where they may be off."""
        if self.interconnect.fifo == "none":
            return {}
        found = {name: getattr(self, name) for name in (f"{side}_o_ready" for side in self.spec.sides)}
        for name, said in found.items() if self._domains else ():
            m.submodules[f"isolation_{name}"] = isolation = macro(Isolation(self.interconnect.tracks))
            m.d.comb += [isolation.awake.eq(getattr(self, f"{name[0]}_awake")), isolation.i.eq(said)]
            found[name] = isolation.o
        return found

    def _track(self, side: str, way: str, track: int) -> Wire:
        """One track of a side."""
        name = f"{side}_{way}"
        payload = getattr(self, f"{name}_payload").word_select(track, self.width)
        if self.interconnect.fifo == "none":
            return Wire(payload, Const(1), Signal(name="unused_ready"))
        ready = self._isolated.get(f"{name}_ready", getattr(self, f"{name}_ready"))[track]
        return Wire(payload, getattr(self, f"{name}_valid")[track], ready)

    def _sources(self) -> dict[str, Wire]:
        """Everything a multiplexer may select, by the names of the fan-in table."""
        wires = {f"{side}_in{track}": self._track(side, "i", track)
                 for side in self.spec.sides for track in range(self.interconnect.tracks)}
        for port in self.spec.outputs(self.layer):
            core = getattr(self, port.name)
            wires[port.name] = Wire(core.payload, core.valid, core.ready)
        return wires

    def _sink(self, m: Module, sink: str) -> Wire:
        """What the multiplexer of a sink drives: the core input itself, or the stage of the leaving track."""
        if sink in self._inputs:
            core = getattr(self, sink)
            return Wire(core.payload, core.valid, core.ready)
        track = self._track(sink[0], "o", int(sink[1:]))
        if self.interconnect.fifo == "none":
            mux, register = (Signal(self.width, name=f"{sink}_{name}") for name in ("mux", "register"))
            m.d.sync += register.eq(mux)
            passes = Const(0) if self.parity == ODD else ~self.sb[f"{sink}_delay"]
            m.d.comb += track.payload.eq(Mux(passes, mux, register))
            return Wire(mux, Signal(name="unused_valid"), Signal(name="unused_ready"))
        only = self._only_source(sink)
        half = macro(stage(self.interconnect, self.parity, self.width, shares=only is not None))
        m.submodules[f"stage_{sink}"] = half
        if only is not None:
            self._sharing.setdefault(only, []).append(half)
        m.d.comb += [half.mode.eq(self.sb[f"{sink}_mode"]), track.payload.eq(half.o.payload),
                     track.valid.eq(half.o.valid), half.o.ready.eq(track.ready)]
        return Wire(half.i.payload, half.i.valid, half.i.ready)

    def _forks(self, m: Module, chosen: dict[str, Value], sources: list[Wire], sinks: dict[str, Wire]) -> None:
        """Drive the ready of every source and the valid of every sink.

        In words with a bit for each source, although most of their bits are 0: synthesis takes those out, and a simulation does
        all sources of a multiplexer in one step. Where neighbours may be off, one gate masks their valid for all of this: it is
        late, and what masks it is not.
        """
        blocked = Signal(len(sources))
        moves = Signal(len(sources))
        m.d.comb += [
            blocked.eq(reduce(or_, (Mux(wire.ready, 0, chosen[sink]) for sink, wire in sinks.items()))),
            Cat(wire.ready for wire in sources).eq(~blocked),
            moves.eq(self._passing(m, Cat(wire.valid for wire in sources), ~blocked)),
            *(wire.valid.eq((chosen[sink] & moves).any()) for sink, wire in sinks.items())]

    def _passing(self, m: Module, valid: Value, may: Value) -> Value:
        """Which sources move a word: they are valid and may, and those of sides have power. The sides' tracks come first."""
        if not self._domains:
            return valid & may
        tracks, rest = self.interconnect.tracks, len(self.spec.sides) * self.interconnect.tracks
        parts: list[Value] = []
        for number, side in enumerate(self.spec.sides):
            m.submodules[f"isolation_{side}_i_valid"] = isolation = macro(Isolation(tracks, each=True))
            m.d.comb += [isolation.awake.eq(may.word_select(number, tracks) & getattr(self, f"{side}_awake").replicate(tracks)),
                         isolation.i.eq(valid.word_select(number, tracks))]
            parts.append(isolation.o)
        return Cat(*parts, valid[rest:] & may[rest:])
