"""Planted bugs, one for every kind of promise: a proof that does not find its bug proves nothing."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from sardonyx.hw.emit import macro
from sardonyx.hw.interconnect.boxes import Boxes
from sardonyx.hw.interconnect.stage import stage


class _Broken(wiring.Component):
    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__({"i": In(stream.Signature(width)), "o": Out(stream.Signature(width))})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        self.build(m, Signal(name="held"), Signal(self.width, name="word"))
        return m

    def build(self, m: Module, held: Signal, word: Signal) -> None:
        raise NotImplementedError


class NoSkid(_Broken):
    """A pass stage that takes a word whether or not it can pass it on."""

    def build(self, m: Module, held: Signal, word: Signal) -> None:
        m.d.comb += [self.o.valid.eq(self.i.valid), self.o.payload.eq(self.i.payload), self.i.ready.eq(1)]


class Wire(_Broken):
    """No stage at all: the output waits, and stops waiting, as the source likes."""

    def build(self, m: Module, held: Signal, word: Signal) -> None:
        wiring.connect(m, wiring.flipped(self.i), wiring.flipped(self.o))


class Echo(_Broken):
    """A register stage that offers a word again when no other follows."""

    def build(self, m: Module, held: Signal, word: Signal) -> None:
        m.d.comb += [self.i.ready.eq(~held | self.o.ready), self.o.valid.eq(held), self.o.payload.eq(word)]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [held.eq(1), word.eq(self.i.payload)]


class Overwritten(_Broken):
    """A register stage that takes the next word onto one that waits."""

    def build(self, m: Module, held: Signal, word: Signal) -> None:
        m.d.comb += [self.i.ready.eq(1), self.o.valid.eq(held), self.o.payload.eq(word)]
        with m.If(self.i.valid):
            m.d.sync += [held.eq(1), word.eq(self.i.payload)]
        with m.Elif(self.o.ready):
            m.d.sync += held.eq(0)


class HalfRate(_Broken):
    """A register stage that is not ready while it is being emptied."""

    def build(self, m: Module, held: Signal, word: Signal) -> None:
        m.d.comb += [self.i.ready.eq(~held), self.o.valid.eq(held), self.o.payload.eq(word)]
        with m.If(~held):
            m.d.sync += [held.eq(self.i.valid), word.eq(self.i.payload)]
        with m.Elif(self.o.ready):
            m.d.sync += held.eq(0)


class Pushed(_Broken):
    """A register stage whose word leaves only when another pushes it."""

    def build(self, m: Module, held: Signal, word: Signal) -> None:
        m.d.comb += [self.o.valid.eq(held & self.i.valid), self.o.payload.eq(word),
                     self.i.ready.eq(~held | (self.o.ready & self.i.valid))]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [held.eq(1), word.eq(self.i.payload)]


class LastFirst(_Broken):
    """Two entries, of which the younger leaves first."""

    def build(self, m: Module, held: Signal, word: Signal) -> None:
        top, top_held = Signal(self.width), Signal()
        m.d.comb += [self.i.ready.eq(~top_held), self.o.valid.eq(held | top_held),
                     self.o.payload.eq(Mux(top_held, top, word))]
        enters = self.i.valid & self.i.ready
        with m.If(top_held):
            with m.If(self.o.ready):
                m.d.sync += top_held.eq(0)
        with m.Elif(held & ~self.o.ready):
            m.d.sync += [top_held.eq(enters), top.eq(self.i.payload)]
        with m.Else():
            m.d.sync += [held.eq(enters), word.eq(self.i.payload)]


class DropsZero(_Broken):
    """A wire that reads what it moves."""

    def build(self, m: Module, held: Signal, word: Signal) -> None:
        m.d.comb += [self.i.ready.eq(self.o.ready), self.o.payload.eq(self.i.payload)]
        m.d.comb += self.o.valid.eq(self.i.valid & self.i.payload.any())


class PlainBoxes(Boxes):
    """Boxes written as their rule, without a thought for area; `blocks` and `offers` are for bugs to change."""

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        fanin = self.interconnect.fanin(self.spec, self.layer)
        sinks = {sink: self._target(m, sink) for sink in fanin}
        for source in dict.fromkeys(name for names in fanin.values() for name in names):
            payload, valid, ready = self._bits(source, "i")
            users = [(fanin[sink].index(source) + 1, sinks[sink]) for sink in fanin if source in fanin[sink]]
            blocked = [self.blocks((select == code) & ~room) for code, (select, _, _, room) in users]
            m.d.comb += ready.eq(~Cat(blocked).any())
            for n, (code, (select, word, offered, _)) in enumerate(users):
                with m.If(select == code):
                    m.d.comb += [word.eq(payload), offered.eq(self.offers(valid, blocked, n))]
        return m

    def blocks(self, wants: Value) -> Value:
        """Whether a source waits for a branch that selects it and has no room."""
        return wants

    def offers(self, valid: Value, blocked: list[Value], n: int) -> Value:
        """The valid that a source offers to its branch n."""
        return valid & ~Cat(blocked).any()

    def _target(self, m: Module, sink: str) -> tuple[Value, Value, Value, Value]:
        """Select code, payload, valid and ready of what a multiplexer drives."""
        payload, valid, ready = self._bits(sink, "o")
        if sink in [port.name for port in self.spec.ports]:
            return self.cb[f"{sink}_sel"], payload, valid, ready
        m.submodules[f"stage_{sink}"] = half = macro(stage(self.interconnect, self.parity, self.width))
        m.d.comb += [half.mode.eq(self.sb[f"{sink}_mode"]), payload.eq(half.o.payload),
                     valid.eq(half.o.valid), half.o.ready.eq(ready)]
        return self.sb[f"{sink}_sel"], half.i.payload, half.i.valid, half.i.ready

    def _bits(self, name: str, way: str) -> tuple[Value, Value, Value]:
        """Payload, valid and ready of a core port, or of track 0 of a side."""
        if name in [port.name for port in self.spec.ports]:
            port = getattr(self, name)
            return port.payload, port.valid, port.ready
        payload, valid, ready = (getattr(self, f"{name[0]}_{way}_{part}") for part in ("payload", "valid", "ready"))
        return payload, valid, ready


class EagerBoxes(PlainBoxes):
    """A fork that offers its word to one branch whether or not the others can take it."""

    def offers(self, valid: Value, blocked: list[Value], n: int) -> Value:
        return valid


class HastyBoxes(PlainBoxes):
    """A fork whose source does not wait for its branches."""

    def blocks(self, wants: Value) -> Value:
        return Const(0, 1)


class HopefulBoxes(PlainBoxes):
    """A fork that offers its word to a branch without room, if the others have it."""

    def offers(self, valid: Value, blocked: list[Value], n: int) -> Value:
        return valid & ~Cat(blocked[:n], blocked[n + 1:]).any()


def lazy_fork(m: Module, there: Value, *offers: tuple[Any, Value]) -> Value:
    """In place of `interface.fork`: one output is offered a token only while the others are ready."""
    for output, want in offers:
        others: Value = Const(1)
        for other, also in offers:
            if other is not output:
                others &= ~also | other.ready
        m.d.comb += output.valid.eq(there & want & others)
    over: Value = Const(1)
    for output, want in offers:
        over &= ~(there & want) | output.ready
    return over
