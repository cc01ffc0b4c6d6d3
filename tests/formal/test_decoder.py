"""Requests are what commands say, and whatever is wrong is told: of a decoder of any commands, for runs of any length.

What commands set is kept beside the decoder as its documents say (`arch.command`), of one loop of the request, any of them.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from prover import Harness, Verdict, always, assume, cover, free, prove, reachable

from sardonyx import designs
from sardonyx.hw.arch import command
from sardonyx.hw.arch.accelerator import Accelerator
from sardonyx.hw.arch.dma import ADDRESS_BITS, NODE_BYTES, NODES_AXIS, SPAN_BITS
from sardonyx.hw.dma.request import request_layout
from sardonyx.hw.emit import macro
from sardonyx.hw.spatial.command.decoder import Decoder


def accelerator(follows: bool = False) -> Accelerator:
    """Of two operands and a result. follows: lists in memory, too, with a watchdog."""
    return designs.design("tiled_matmul").accelerator(lists=follows, watchdog=follows).kind


class Told(Harness):
    """A decoder of any commands, which may change before they are taken."""

    def __init__(self, kind: Accelerator, more: "dict[str, tuple[str, int]] | None" = None) -> None:
        self.kind, self.layout = kind, request_layout(kind.dma.loops)
        super().__init__({"request": ("decoder.request", self.layout.size), "known": ("decoder.known", 1), **(more or {}),
                          "number": ("decoder.number", (len(kind.streams) - 1).bit_length())})

    def build(self, m: Module) -> None:
        kind = self.kind
        m.submodules.decoder = part = macro(Decoder(kind))
        word = part.i.payload
        for name in ("streams", "happened", "clear"):
            port = getattr(part, name)
            m.d.comb += port.eq(free(m, len(port), name))
        m.d.comb += [part.i.valid.eq(free(m, 1, "comes")), word.as_value().eq(free(m, len(word.as_value()), "word")),
                     part.o.ready.eq(free(m, 1, "ready"))]
        fine = part.error == 0
        taken, asked, issued = part.i.valid & part.i.ready & fine, part.o.valid & part.o.ready, word.number == command.ISSUE
        always(m, "nothing is asked for but by a command, and nothing behind an error",
               ~part.o.valid | (part.i.valid & issued & fine))
        always(m, "behind an error every command is dropped", fine | part.i.ready)
        named = (word.rs1[0] & (part.streams != 0)) | (word.rs1[1:] & part.streams).any()
        refused, error, number = Signal(), Signal.like(part.error), Signal.like(word.number)
        happens, clears = Signal(), Signal()
        m.d.sync += [refused.eq(taken & ((issued & ~asked) | ((word.number == command.WAIT) & named))), error.eq(part.error),
                     number.eq(word.number), happens.eq(part.happened != 0), clears.eq(part.clear)]
        always(m, "a command is done, or it is an error", ~refused | ~fine)
        always(m, "what happens is told", ~happens | ~fine)
        always(m, "the first error stays until it is cleared", (error == 0) | clears | (part.error == error))
        always(m, "the command that was refused is told", (error != 0) | fine | happens | (part.refused == number))
        always(m, "there is no later error without a first one", ~fine | (part.later == 0))
        self._request(m, part, taken, fine)
        reachable(m, "a request with a long loop is taken", asked & (part.o.payload.request.loops[1].span == 5))
        reachable(m, "a command is refused behind another error", ~fine & (error != 0) & (part.error != error))

    def _request(self, m: Module, part: Any, taken: Value, fine: Value) -> None:
        """What commands say of the request since it was begun."""
        streams, word, level = self.kind.streams, part.i.payload, free(m, 3, "level", constant=True)
        assume(m, "it is one of the loops", level < self.kind.dma.loops)
        begun, stores, linked, stream = Signal(), Signal(), Signal(), Signal(command.INDEX_BITS)
        base, size = Signal(ADDRESS_BITS), Signal(2)
        span, there, stride = Signal(SPAN_BITS), Signal(SPAN_BITS), Signal(ADDRESS_BITS)
        source, target = word.rs1[:command.INDEX_BITS], word.rs2[:command.INDEX_BITS]
        to_memory = word.rs2[command.KIND_LSB:] == command.MEMORY
        outside, inside = Mux(stores, word.rs1[31], word.rs1[30]), Mux(stores, word.rs1[30], word.rs1[31])
        mine = word.rs1[:command.AXIS_BITS] == level
        with m.If(~fine):
            m.d.sync += begun.eq(0)
        with m.Elif(taken & (word.number == command.SET_SRC_AND_DST)):
            m.d.sync += [begun.eq(1), stores.eq(to_memory), stream.eq(Mux(to_memory, source, target)), base.eq(0), size.eq(0),
                         span.eq(1), there.eq(1), stride.eq(0), linked.eq(0)]
        with m.Elif(taken & (word.number == command.SET_CONSTANT) & (word.rs1 == command.ELEMENT)):
            m.d.sync += size.eq(word.rs2)
        with m.Elif(taken & outside & (word.number == command.SET_ADDRESS)):
            m.d.sync += base.eq(word.rs2)
        with m.Elif(taken & mine & (word.number == command.SET_SPAN)):
            m.d.sync += [there.eq(Mux(outside, word.rs2, there)), span.eq(Mux(inside, word.rs2, span))]
        with m.Elif(taken & mine & outside & (word.number == command.SET_STRIDE)):
            m.d.sync += stride.eq(word.rs2)
        with m.Elif(taken & outside & (word.number == command.SET_AXIS_TYPE) & (word.rs1[:command.AXIS_BITS] == NODES_AXIS)):
            m.d.sync += linked.eq(word.rs2 == command.LINKED_LIST)
        if self.kind.watchdog:
            patience = Signal(command.PATIENCE_BITS)
            with m.If(taken & (word.number == command.SET_CONSTANT) & (word.rs1 == command.PATIENCE)):
                m.d.sync += patience.eq(word.rs2)
            always(m, "patience is what was told last, of requests or not", part.patience == patience)
        known: Any = self.known         # type: ignore[attr-defined]
        kept: Any = data.View(self.layout, self.request)        # type: ignore[attr-defined]
        begins: Any = self.number       # type: ignore[attr-defined]
        always(m, "a request is known from its beginning to an error", ~fine | (known == begun))
        always(m, "the decoder has what it was told", ~known | ~fine | (
            (kept.base == base) & (kept.size == size) & (kept.stores == stores) & (kept.linked == linked) & (begins == stream)
            & (Array(kept.loops[n].span for n in range(self.kind.dma.loops))[level] == span)
            & (Array(kept.loops[n].there for n in range(self.kind.dma.loops))[level] == there)
            & (Array(kept.loops[n].stride.as_unsigned() for n in range(self.kind.dma.loops))[level] == stride)))
        always(m, "no result is a list, and none is without lists", ~known | ~fine | ~(
            linked & stores if self.kind.dma.lists else kept.linked))
        ways = Cat((stream == n) & (stores == each.is_result) for n, each in enumerate(streams)).any()
        always(m, "what is known goes the way of its stream", ~known | ~fine | ways)
        told = SimpleNamespace(begun=begun, stream=stream, base=base, size=size, linked=linked, span=span, there=there,
                               stride=stride, stores=stores)
        self._offered(m, part, level, told)
        always(m, "nothing is asked for that was not begun", ~part.o.valid | begun)
        always(m, "what has two sides was told of one", ~part.o.valid | (part.o.payload.request.stores == stores))
        self._settings(m, part, taken)

    def _offered(self, m: Module, part: Any, level: Value, told: Any) -> None:
        """A request as it leaves is what was told."""
        given, of = part.o.payload.request, part.o.payload.stream
        loops = [given.loops[n] for n in range(self.kind.dma.loops)]
        right = (given.base == told.base) & (given.size == told.size) & (of == told.stream) & (given.linked == told.linked)
        right &= (Array(each.span for each in loops)[level] == told.span)
        right &= (Array(each.there for each in loops)[level] == told.there)
        right &= Array(each.stride.as_unsigned() for each in loops)[level] == (told.stride << told.size)[:ADDRESS_BITS]
        always(m, "a request is what was told since it was begun", ~part.o.valid | right)
        self._sound(m, part, level)

    def _sound(self, m: Module, part: Any, level: Value) -> None:
        """What holds of every request that leaves."""
        given = part.o.payload.request
        loops = [given.loops[n] for n in range(self.kind.dma.loops)]
        span, there = (Array(getattr(each, name) for each in loops)[level] for name in ("span", "there"))
        always(m, "it has elements, and no more in memory than at all", ~part.o.valid | ((span != 0) & (there <= span)))
        always(m, "lists are of operands, and their nodes lie at multiples of their heads",
               ~(part.o.valid & given.linked) | (~given.stores & (given.base[:NODE_BYTES.bit_length() - 1] == 0)))
        if self.kind.dma.lists:
            reachable(m, "a list is asked for", part.o.valid & given.linked)
        always(m, "it begins at an element", ~part.o.valid | ((given.base & ((1 << given.size) - 1)[:ADDRESS_BITS]) == 0))

    def _settings(self, m: Module, part: Any, taken: Value) -> None:
        """What commands say of operations, while none is under way."""
        kind, word, value = self.kind, part.i.payload, part.i.payload.rs2
        settings = [("parts", command.PARTS, 1, (1 << SPAN_BITS) - 1 if kind.sums else 1, 1, 0)]
        if kind.launches:
            settings.append(("launches", command.LAUNCHES, kind.least_launches, kind.launches, kind.launches, 0))
        if kind.shared > 1:
            settings.append(("shared", command.SHARED, 1, kind.shared, kind.shared, 1))
        waits = part.orphans.any() if kind.counts else Const(0)
        for name, number, least, most, begin, less in settings:
            kept = Signal(SPAN_BITS, name=f"{name}_told", init=begin)
            told = taken & (word.number == command.SET_CONSTANT) & (word.rs1 == number)
            goes = told & (value >= least) & (value <= most) & ~waits
            refused = Signal(name=f"{name}_refused")
            m.d.sync += refused.eq(told & ~goes)
            with m.If(goes):
                m.d.sync += kept.eq(value)
            always(m, f"{name} are what was told last", getattr(part, name) + less == kept)
            always(m, f"{name} change while nothing is under way", ~goes | (part.streams == 0))
            always(m, f"{name} that there are not are an error", ~refused | (part.error != 0))


@pytest.mark.parametrize("follows", [False, True], ids=["dense", "lists and a watchdog"])
def test_requests_are_what_commands_say(follows: bool, tmp_path: Path) -> None:
    assert prove(Told(accelerator(follows)), tmp_path) == Verdict(True)


@pytest.mark.parametrize("follows", [False, True], ids=["dense", "lists and a watchdog"])
def test_requests_are_made_and_errors_follow_each_other(follows: bool, tmp_path: Path) -> None:
    assert cover(Told(accelerator(follows)), tmp_path, 8)


def test_what_is_set_on_the_wrong_side_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Decoder, "_outside", lambda self, request: self.i.payload.rs1[30])
    claim = "a request is what was told since it was begun"
    assert prove(Told(accelerator()), tmp_path, bound=6, only=claim).failed == (claim,)
