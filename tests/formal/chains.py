"""Chains of stream components under a source and a sink that do as they like.

Words are numbered: the source offers number `sent`, so the word that leaves must carry number `got`. If a word
is lost, repeated or overtaken, the next one that leaves has the wrong number (modulo a power of two larger
than what the chain can hold). Numbers take every value of the payload, and control does not read the payload
(`prover.connected`), so three bits stand for seventeen.

The source may retract: nothing here leans on the stream contract of its input. So each link is proved on its
own terms and links compose: a lazy fork, which retracts, may feed any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from prover import Harness, always, free, reachable

from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.arch.tile import PE
from sardonyx.hw.emit import macro
from sardonyx.hw.interconnect.stage import PARITIES, stage
from sardonyx.hw.sparse.pass_through import PassThrough
from sardonyx.hw.stream.fifo import Fifo, Fifo2

WIDTH = 3


@dataclass(frozen=True)
class Link:
    """A stream component, and what a proof has to know of it.

    Parameters
    ----------
    make : function        Of the payload width.
    latency : int          Cycles until a word that enters can be offered.
    refill : int           Cycles until ready at the output is ready at the input.
    held : function        Of the component and its probes: the words inside.
    probes : tuple         (name, wire inside, width or None for that of the payload).
    inside : function      Of probes and the number of the next word to leave: what must hold inside.
    """

    make: Callable[[int], wiring.Component]
    latency: int
    refill: int
    held: Callable[[Any, dict[str, Any]], Value]
    probes: tuple[tuple[str, str, int | None], ...] = ()
    inside: Callable[[Any, dict[str, Any], Value], dict[str, Value]] = field(default=lambda part, probes, next: {})


def _fifo2(make: Callable[[int], wiring.Component], tail: str) -> Link:
    return Link(make, 1, 1, lambda part, _: part.o.valid + ~part.i.ready, (("tail", tail, None),),
                lambda part, probes, number: {
                    "the tail is the last": part.i.ready | (probes["tail"] == (number + 1)[:len(number)]),
                    "the tail waits behind the head": part.i.ready | part.o.valid})


def stage_link(fifo: str, parity: int) -> Link:
    """A stage of `hw/interconnect/stage.py`."""
    def make(width: int) -> wiring.Component:
        return stage(Interconnect(fifo=fifo), parity, width)

    # `mode` is not driven, so it is 0, elastic.
    if fifo == "full":
        return _fifo2(make, "fifo.tail")
    if fifo == "inputs":
        return Link(make, 0, 0, lambda part, _: Const(0))
    if PARITIES[parity] == "odd":
        return Link(make, 1, 0, lambda part, _: part.o.valid)
    return Link(make, 0, 1, lambda part, _: ~part.i.ready)


FIFO2 = _fifo2(Fifo2, "tail")


def fifo_link(depth: int) -> Link:
    """A `Fifo`, which keeps its words in a memory and counts them."""
    address = (depth - 1).bit_length()
    rows = tuple((f"row{n}", rf"queue.storage[{n}]", None) for n in range(depth))
    pointers = (("level", "queue.level", depth.bit_length()),
                ("consume", "queue.r_port__addr", address), ("produce", "queue.w_port__addr", address))

    def inside(part: Any, probes: dict[str, Any], number: Value) -> dict[str, Value]:
        consume, level = probes["consume"], probes["level"]
        return {"the level is at most the depth": level <= depth,
                "produce follows": _wrapped(consume + level, depth) == probes["produce"],
                **_in_rows(depth, probes, level, number)}

    return Link(lambda width: Fifo(width, depth), 1, 1, lambda part, probes: probes["level"], rows + pointers, inside)


def pass_through_link(depth: int = PE.pass_depth) -> Link:
    """The pass-through of a PE, with tokens of full width: places, and whether equal ones are those of a full one."""
    address = (depth - 1).bit_length()
    rows = tuple((f"row{n}", rf"tokens[{n}]", None) for n in range(depth))
    pointers = (("consume", "front", address), ("produce", "back", address), ("came", "came", 1))

    def held(part: Any, probes: dict[str, Any]) -> Value:
        consume, produce = probes["consume"], probes["produce"]
        between = Mux(produce < consume, produce + depth - consume, produce - consume)[:depth.bit_length()]
        return Mux((consume == produce) & probes["came"], depth, between)

    def inside(part: Any, probes: dict[str, Any], number: Value) -> dict[str, Value]:
        return {"produce is a row": probes["produce"] < depth, **_in_rows(depth, probes, held(part, probes), number)}

    return Link(lambda width: PassThrough(replace(PE, pass_depth=depth)), 1, 1, held, rows + pointers, inside)


def _in_rows(depth: int, probes: dict[str, Any], level: Value, number: Value) -> dict[str, Value]:
    """The words that a memory holds are in their rows, beginning where the next one is read."""
    address, consume = (depth - 1).bit_length(), probes["consume"]
    facts = {"consume is a row": consume < depth}
    if depth == 1 << address:
        # Rows are numbers, which spares the solver the way around the pointers.
        facts["consume is the number"] = consume == number[:address]
    for n in range(depth):
        ahead = ((n - number)[:address] if depth == 1 << address else
                 Mux(consume <= n, n - consume, n + depth - consume)[:address])
        facts[f"row {n}"] = (ahead >= level) | (probes[f"row{n}"] == (number + ahead)[:len(number)])
    return facts


def _wrapped(address: Value, depth: int) -> Value:
    return Mux(address >= depth, address - depth, address)


class Static(Harness):
    """A link used as a pipeline register: what enters leaves a fixed number of cycles later."""

    def __init__(self, make: Callable[[int], wiring.Component], setting: tuple[str, int], latency: int) -> None:
        self.make, self.setting, self.latency = make, setting, latency
        super().__init__()

    def build(self, m: Module) -> None:
        m.submodules.link = link = macro(self.make(WIDTH))
        name, value = self.setting
        m.d.comb += [getattr(link, name).eq(value), link.i.valid.eq(free(m, 1, "offer")),
                     link.i.payload.eq(free(m, WIDTH, "word")), link.o.ready.eq(free(m, 1, "accept"))]
        valid, payload = link.i.valid, link.i.payload
        for n in range(self.latency):
            before = Signal(name=f"valid{n}"), Signal(WIDTH, name=f"payload{n}", reset_less=True)
            m.d.sync += [before[0].eq(valid), before[1].eq(payload)]
            valid, payload = before
        always(m, "valid moves every cycle", link.o.valid == valid)
        always(m, "payload moves every cycle", link.o.payload == payload)
        always(m, "static is always ready", link.i.ready)


class Chain(Harness):
    """Links behind each other, between a source and a sink without any habits."""

    def __init__(self, links: Sequence[Link], width: int = WIDTH) -> None:
        assert width > 1, "a word more than a register holds must have a number of its own"
        self.links, self.width = links, width
        # The windows of the promises of rate lie in the past: induction must see all of it.
        self.k = max(sum(link.latency for link in links), sum(link.refill for link in links)) + 1
        super().__init__({f"{name}_{n}": (f"link{n}.{wire}", bits or width)
                          for n, link in enumerate(links) for name, wire, bits in link.probes})

    def build(self, m: Module) -> None:
        parts = []
        for n, link in enumerate(self.links):
            m.submodules[f"link{n}"] = part = macro(link.make(self.width))
            parts.append(part)
        source, sink = parts[0].i, parts[-1].o
        sent, got = number_words(m, "sent", source), number_words(m, "got", sink)
        m.d.comb += [source.valid.eq(free(m, 1, "offer")), Value.cast(source.payload).eq(sent),
                     sink.ready.eq(free(m, 1, "accept"))]
        for before, after in pairwise(parts):
            wiring.connect(m, before.o, after.i)

        always(m, "in order", ~sink.valid | (Value.cast(sink.payload) == got))
        keeps_contract(m, "o", sink)
        latency, refill = (sum(getattr(link, name) for link in self.links) for name in ("latency", "refill"))
        always(m, "a word leaves in every cycle", run(m, "offered", source.valid, latency) <= sink.valid)
        always(m, "a word enters in every cycle", run(m, "accepted", sink.ready, refill) <= source.ready)
        reachable(m, "full after the first word", (got == 1) & source.valid & ~source.ready)

        numbers = [sent, *(number_words(m, f"passed{n}", part.o) for n, part in enumerate(parts[:-1])), got]
        for n, (link, part) in enumerate(zip(self.links, parts)):
            probes = {name: getattr(self, f"{name}_{n}") for name, _, _ in link.probes}
            inside = (numbers[n] - numbers[n + 1])[:self.width]
            always(m, f"link {n} holds what entered and has not left", inside == link.held(part, probes))
            always(m, f"link {n} offers what it holds", (inside == 0) | part.o.valid)
            if n:
                always(m, f"link {n} is offered the next word", ~part.i.valid | (Value.cast(part.i.payload) == numbers[n]))
            for name, fact in link.inside(part, probes, numbers[n + 1]).items():
                always(m, f"link {n} {name}", fact)
            # What a link that holds a word shows is that word, also where its ready hides it.
            always(m, f"link {n} shows its oldest word",
                   (inside == 0) | (Value.cast(part.o.payload) == numbers[n + 1]))


def number_words(m: Module, name: str, words: Any, domain: str = "sync") -> Signal:
    """The number of words that have passed a stream, modulo what its payload can say."""
    number = Signal(len(Value.cast(words.payload)), name=name)
    with m.If(words.valid & words.ready):
        m.d[domain] += number.eq(number + 1)
    return number


def keeps_contract(m: Module, name: str, words: Any, say: Callable[[Module, str, Value], None] = always,
                   domain: str = "sync") -> Signal:
    """Assert, or assume: an offer stands, unchanged, until it is taken. Returns whether one was not taken before."""
    waits, payload = Signal(name=f"{name}_waits"), Signal(len(Value.cast(words.payload)), name=f"{name}_waiting")
    m.d[domain] += [waits.eq(words.valid & ~words.ready), payload.eq(words.payload)]
    say(m, f"{name} is not retracted", ~waits | words.valid)
    say(m, f"{name} does not change", ~waits | ~words.valid | (Value.cast(words.payload) == payload))
    return waits


def run(m: Module, name: str, condition: Value, cycles: int) -> Value:
    """Whether a condition held in each of the last `cycles` cycles; with 0, whether it holds."""
    if not cycles:
        return condition
    past = Signal(cycles, name=f"{name}_past")
    m.d.sync += past.eq(Cat(condition, past[:-1]))
    return past.all()
