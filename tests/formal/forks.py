"""The boxes of a tile in every configuration at once, under sources and sinks that do as they like.

The select codes are any constants, also those that mean nothing, so a source may be selected by no
multiplexer, by one, or by several (a lazy fork), and what holds here holds for every fork. The words of each
source are numbered, as in `chains`; so are those that leave each multiplexer, which must be the words of the
source that it selects, each once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import and_
from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from chains import Link, keeps_contract, number_words, run, stage_link
from prover import Harness, always, free, reachable

from sardonyx.hw.arch.interconnect import MODES, Interconnect
from sardonyx.hw.arch.primitive import Flow
from sardonyx.hw.arch.tile import DATA, Port, TileSpec
from sardonyx.hw.emit import macro
from sardonyx.hw.interconnect.boxes import Boxes

# A result that may leave on all sides at once, and two operands.
SPEC = TileSpec("fork", (Port("a", Flow.IN, DATA, ""), Port("b", Flow.IN, DATA, ""), Port("r", Flow.OUT, DATA, "")))
ELASTIC = MODES.index("elastic")

# A connection box passes words to the FIFO of the tile core.
CONNECTION = Link(lambda width: None, 0, 0, lambda part, _: Const(0))


class Narrow(Interconnect):
    """An interconnect whose words are just wide enough to number what a stage holds."""

    @property
    def widths(self) -> dict[str, int]:
        return dict.fromkeys(super().widths, 2)


class Fork(Harness):
    """Boxes with numbered sources.

    Parameters
    ----------
    fifo : str            Kind of stages.
    parity : int
    tracks : int
    make : function       The boxes, if not `Boxes`.
    """

    def __init__(self, fifo: str, parity: int, tracks: int = 1, make: Callable[..., Boxes] = Boxes) -> None:
        self.boxes = boxes = make(Narrow(tracks, fifo=fifo), SPEC, DATA, parity)
        self.inputs = [port.name for port in SPEC.inputs(DATA)]
        self.link = stage_link(fifo, parity)
        self.leaving = [f"{side}{track}" for side in SPEC.sides for track in range(tracks)]
        wires = [("room", "i__ready", 1), ("offered", "i__valid", 1),
                 *((name, wire, boxes.width) for name, wire, _ in self.link.probes)]
        super().__init__({f"{sink}_{name}": (f"boxes.stage_{sink}.{wire}", width)
                          for sink in self.leaving for name, wire, width in wires})

    def build(self, m: Module) -> None:
        m.submodules.boxes = boxes = macro(self.boxes)
        fanin = self.boxes.interconnect.fanin(SPEC, DATA)
        select = {sink: self._select(m, boxes, sink) for sink in fanin}
        names = list(dict.fromkeys(name for sources in fanin.values() for name in sources))
        sources = {name: self._wire(m, boxes, name, "i") for name in names}
        sinks = {sink: self._wire(m, boxes, sink, "o") for sink in fanin}
        links = {sink: CONNECTION if sink in self.inputs else self.link for sink in fanin}

        users_of = {name: [sink for sink, each in fanin.items() if name in each] for name in names}
        room = {sink: stream.ready if sink in self.inputs else getattr(self, f"{sink}_room")
                for sink, stream in sinks.items()}

        numbers, moves = {}, {}
        for name, source in sources.items():
            m.d.comb += source.valid.eq(free(m, 1, f"{name}_offer"))
            numbers[name] = number_words(m, f"{name}_sent", source)
            m.d.comb += source.payload.eq(numbers[name])
        for sink, stream in sinks.items():
            m.d.comb += stream.ready.eq(free(m, 1, f"{sink}_accept"))
        accepts = {sink: run(m, f"{sink}_accepted", stream.ready, links[sink].refill)
                   for sink, stream in sinks.items()}
        for name, source in sources.items():
            users = users_of[name]
            goes = reduce(and_, ((select[sink] != fanin[sink].index(name) + 1) | accepts[sink] for sink in users))
            always(m, f"{name} moves when all that select it accept", goes <= source.ready)
            moves[name] = source.valid & goes
            forked = Cat(select[sink] == fanin[sink].index(name) + 1 for sink in users)
            reachable(m, f"{name} is forked to all", forked.all() & (numbers[name] == 1))

        for sink, stream in sinks.items():
            code = select[sink]
            on = (code != 0) & (code <= len(fanin[sink]))
            here = Array([Const(0, self.boxes.width), *(numbers[name] for name in fanin[sink])])[code]
            move = Array([Const(0, 1), *(moves[name] for name in fanin[sink])])[code]
            goes = [reduce(and_, [sources[name].valid, *((select[each] != fanin[each].index(name) + 1) | room[each]
                                                         for each in users_of[name])])
                    for name in fanin[sink]]
            offered = stream.valid if sink in self.inputs else getattr(self, f"{sink}_offered")
            always(m, f"{sink} is offered what all can take", offered == Array([Const(0, 1), *goes])[Mux(on, code, 0)])
            self._follows(m, sink, stream, links[sink], on, here, move)

    def _follows(self, m: Module, sink: str, stream: Any, link: Link, on: Value, number: Value, move: Value) -> None:
        """Assert that a multiplexer passes on the words of its source, whose number and moves are given."""
        left = number_words(m, f"{sink}_left", stream)
        inside = Signal(self.boxes.width, name=f"{sink}_inside")
        m.d.comb += inside.eq(number - left)
        always(m, f"{sink} is silent when off", on | ~stream.valid)
        always(m, f"{sink} in order", ~stream.valid | (stream.payload == left))
        always(m, f"{sink} offers what it holds", ~on | (inside == 0) | stream.valid)
        always(m, f"{sink} shows its oldest word", ~on | (inside == 0) | (stream.payload == left))
        always(m, f"{sink} gets a word in every cycle", ~on | (run(m, f"{sink}_moved", move, link.latency)
                                                               <= stream.valid))
        if link is CONNECTION:
            always(m, f"{sink} has had each word once", ~on | (inside == 0))
            return
        # A fork retracts its offer to a connection box, whose FIFO does not mind; leaving tracks never do.
        keeps_contract(m, sink, stream)
        probes = {name: getattr(self, f"{sink}_{name}") for name, _, _ in link.probes}
        part = SimpleNamespace(i=SimpleNamespace(ready=getattr(self, f"{sink}_room")), o=stream)
        held = link.held(part, probes)
        always(m, f"{sink} holds what it has not passed on", ~on | (inside == held))
        always(m, f"{sink} holds nothing when off", on | (held == 0))
        for name, fact in link.inside(part, probes, left).items():
            always(m, f"{sink} {name}", ~on | fact)

    def _select(self, m: Module, boxes: Any, sink: str) -> Signal:
        """The select code of a multiplexer, free; tracks are set to be elastic."""
        box = boxes.cb if sink in self.inputs else boxes.sb
        field = box[f"{sink}_sel"]
        m.d.comb += field.eq(free(m, len(field), f"{sink}_sel", constant=True))
        if sink not in self.inputs:
            m.d.comb += box[f"{sink}_mode"].eq(ELASTIC)
        return field

    def _wire(self, m: Module, boxes: Any, name: str, way: str) -> Any:
        """A source or sink as a stream: a core port, or one track of a side."""
        if name in [port.name for port in SPEC.ports]:
            return getattr(boxes, name)
        track = int(name.removeprefix(f"{name[0]}_in") if "_in" in name else name[1:])
        side = f"{name[0]}_{way}"
        return SimpleNamespace(payload=getattr(boxes, f"{side}_payload").word_select(track, self.boxes.width),
                               valid=getattr(boxes, f"{side}_valid")[track],
                               ready=getattr(boxes, f"{side}_ready")[track])
