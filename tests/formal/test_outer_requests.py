"""Requests of an outer product are what commands say, all that is wrong is told, and no command waits for what never ends.

What commands set is kept beside the component as their documents say (`arch.command`). What ends, and what the array meets, has
any value in every cycle.
"""

from dataclasses import replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from prover import Harness, Side, Verdict, always, cover, free, prove, reachable

from sardonyx.hw.arch import command
from sardonyx.hw.arch.dma import ADDRESS_BITS, NODE_BYTES, SPAN_BITS
from sardonyx.hw.arch.outer_product import MERGE, MULTIPLY, OuterProduct
from sardonyx.hw.emit import macro
from sardonyx.hw.spatial.outer import requests
from sardonyx.hw.spatial.outer.requests import OuterRequests

KIND = OuterProduct("both", lanes=2, ports=1, rows=16, pairs=16, queue=16)
KINDS = {"both": replace(KIND, ram_bytes=4096), "multiply": replace(KIND, name="multiply", phases=MULTIPLY),
         "merge": replace(KIND, name="merge", phases=MERGE, ram_bytes=4096)}
WORD_BYTES = 4
FLAGS = {"known": 1, "sized": 1, "typed": 1}
FIELDS = {"address": ADDRESS_BITS, "first": ADDRESS_BITS, "last": ADDRESS_BITS, "span": SPAN_BITS}


class Requested(Harness):
    """Any commands, which may change before they are taken."""

    def __init__(self, kind: OuterProduct, made: "type[OuterRequests]" = OuterRequests) -> None:
        self.kind, self.made = kind, made
        super().__init__({"which": ("requests.which", 2), "later": ("requests.later", requests.ERROR_BITS),
                          "told": ("requests.told", 1)}
                         | {name: (f"requests.{name}", bits) for name, bits in (FLAGS | FIELDS).items()})

    def build(self, m: Module) -> None:
        m.submodules.requests = part = macro(self.made(self.kind))
        word = part.i.payload
        for name in ("ended", "happened", "clear"):
            port = getattr(part, name)
            m.d.comb += port.eq(free(m, len(port), name))
        m.d.comb += [part.i.valid.eq(free(m, 1, "comes")), word.as_value().eq(free(m, len(word.as_value()), "word"))]
        streams, tensors = self.kind.streams, self.kind.tensors
        fine = part.error == 0
        given = part.given
        goes = Signal()     # all tensors are asked for
        m.d.comb += goes.eq(given[:len(tensors)].all())
        told = {name: Signal(bits, name=f"{name}_told") for name, bits in FIELDS.items()}
        begun, sized, typed, stream = Signal(), Signal(), Signal(), Signal(range(4))
        mine = [stream == n for n in range(len(streams))]
        of_ram = stream == len(tensors)
        wrong, waits = self._judged(m, part, mine, goes, (begun, sized, typed), told)
        done = Signal()
        m.d.comb += done.eq(part.i.valid & fine & (wrong == 0) & ~waits)
        always(m, "behind an error every command is dropped", fine | part.i.ready)
        always(m, "a command waits for what it names, and else is done or refused",
               ~fine | ~part.i.valid | (part.i.ready == ((wrong != 0) | ~waits)))
        # Of what it names either nothing or all is under way.
        ends = Mux(word.number == command.WAIT, ~(self._named(word) & given[:len(tensors)]).any() | goes,
                   Mux(of_ram, goes | given[-1], goes | (given[-1] if self.kind.ram_bytes else 0)))
        always(m, "no command waits for what waits for other commands", part.i.ready | ~part.i.valid | ends)
        self._told(m, part, done, mine, begun, sized, typed, stream, told)
        # What was asked for, and what of it is there.
        issued = done & (word.number == command.ISSUE)
        for n, each in enumerate(streams):
            asked = Signal(name=f"asked{n}")
            kept = {name: Signal(bits, name=f"{name}_of_{n}") for name, bits in FIELDS.items()}
            with m.If(issued & mine[n]):
                m.d.sync += [asked.eq(1), *(kept[name].eq(told[name]) for name in FIELDS)]
            with m.If(part.ended[n] | (~fine & ~goes if n < len(tensors) else 0)):
                m.d.sync += asked.eq(0)
            always(m, f"{each.name} is there from its request until it ends, or others are not asked for", given[n] == asked)
            always(m, f"{each.name} is what was told", ~asked | self._is_told(part, n, kept))
            always(m, f"{each.name} has fibers, and lies where words do", ~asked | (
                (kept["span"] != 0) & (kept["address"][:2] == 0) & (kept["first"][:2] == 0)))
        always(m, "nodes of the result lie at multiples of their heads",
               ~given[len(tensors) - 1] | (getattr(part.job, tensors[-1].arrays[0])[:NODE_BYTES.bit_length() - 1] == 0))
        self._errors(m, part, wrong, fine)
        reachable(m, "all are asked for", goes)
        reachable(m, "a command waits", part.i.valid & ~part.i.ready)

    def _named(self, word: Any) -> Value:
        """The streams that `wait` names."""
        return word.rs1[1:1 + len(self.kind.streams)] | word.rs1[0].replicate(len(self.kind.streams))

    def _judged(self, m: Module, part: Any, mine: list[Value], goes: Value, flags: tuple[Signal, ...],
                told: dict[str, Signal]) -> tuple[Value, Value]:
        """What is wrong with a command, and whether it waits."""
        streams, tensors, word, given = self.kind.streams, self.kind.tensors, part.i.payload, part.given
        begun, sized, typed = flags
        of_ram = Cat(mine[len(tensors):]).any()
        axis, array, value = word.rs1[:8], word.rs1[16:24], word.rs2
        joined = [(command.region(command.BUFFER, n), command.region(command.MEMORY)) if each.is_result else
                  (command.region(command.MEMORY), command.region(command.BUFFER, n)) for n, each in enumerate(streams)]
        asked, named = given[:len(tensors)], self._named(word)
        # Those that the others have to be asked for.
        stands = asked & ~goes.replicate(len(tensors))
        shared = [mine[n] & given[other] & (told["span"] != getattr(part.job, each.fibers)) for n, each in enumerate(tensors)
                  for other, has in enumerate(tensors) if other != n and has.fibers == each.fibers]
        odd = (told["address"][:2] != 0) | (told["first"][:2] != 0) | (mine[len(tensors) - 1] & told["first"][2])
        again = Cat(mine[n] & stands[n] for n in range(len(tensors))).any()
        refused: dict[int, Value] = {
            command.ISSUE: Mux(~begun, command.REGIONS, Mux(
                ~sized | ~(typed | of_ram), command.VALUE, Mux(
                    (told["span"] == 0) | odd | reduce(or_, shared, Const(0)), command.SHAPE, Mux(again, command.ORDER, 0)))),
            command.SET_SRC_AND_DST: Mux(Cat((word.rs1 == one) & (value == other) for one, other in joined).any(),
                                         0, command.REGIONS),
            command.SET_CONSTANT: Mux((word.rs1 == command.ELEMENT) & (value == 2), 0, command.VALUE),
            command.SET_ADDRESS: Const(0),
            command.SET_METADATA_ADDRESS: Mux((axis == 0) & Cat(
                mine[n] & (array < each.before) for n, each in enumerate(streams)).any(), 0, command.VALUE),
            command.SET_SPAN: Mux((axis == ~of_ram) & (value >> SPAN_BITS == 0), 0, command.VALUE),
            command.SET_STRIDE: Mux(of_ram & (axis == 0) & (value == 1), 0, command.VALUE),
            command.SET_AXIS_TYPE: Mux((axis == 0) & Cat(
                mine[n] & (value == command.AXIS_TYPES[each.kind]) for n, each in enumerate(tensors)).any(), 0, command.VALUE),
            command.WAIT: Mux(word.rs1 >> 1 + len(streams) != 0, command.VALUE,
                              Mux((named & stands).any(), command.ORDER, 0))}
        wrong = Signal.like(part.error, name="wrong_by_the_documents")
        waits = Signal()
        apart = Mux(of_ram, goes, given[-1]) if self.kind.ram_bytes else Const(0)
        m.d.comb += wrong.eq(command.UNKNOWN)
        with m.Switch(word.number):
            for number, why in refused.items():
                with m.Case(number):
                    m.d.comb += wrong.eq(why)
            with m.Default():
                pass
        with m.If(word.number == command.ISSUE):
            m.d.comb += waits.eq(Cat(mine[n] & given[n] for n in range(len(streams))).any() | apart)
        with m.If(word.number == command.WAIT):
            m.d.comb += waits.eq((named & given).any())
        return wrong, waits

    def _told(self, m: Module, part: Any, done: Value, mine: list[Value], begun: Signal, sized: Signal, typed: Signal,
              stream: Signal, told: dict[str, Signal]) -> None:
        """What commands say of the request that is being made."""
        word, probe, fine = part.i.payload, self, part.error == 0
        result = mine[len(self.kind.tensors) - 1]
        outside = Mux(result, (word.rs1 & command.DESTINATION).any(), (word.rs1 & command.SOURCE).any())
        index = Mux(word.rs1 == command.region(command.MEMORY), word.rs2, word.rs1)[:command.INDEX_BITS]
        with m.If(done):
            with m.Switch(word.number):
                with m.Case(command.SET_SRC_AND_DST):
                    m.d.sync += [begun.eq(1), stream.eq(index), *(each.eq(0) for each in (sized, typed, *told.values()))]
                with m.Case(command.SET_CONSTANT):
                    m.d.sync += sized.eq(1)
                with m.Case(command.SET_AXIS_TYPE):
                    m.d.sync += typed.eq(1)
            for name, number, array in (("address", command.SET_ADDRESS, None), ("span", command.SET_SPAN, None),
                                        ("first", command.SET_METADATA_ADDRESS, 0), ("last", command.SET_METADATA_ADDRESS, 1)):
                with m.If((word.number == number) & outside & (1 if array is None else word.rs1[16:24] == array)):
                    m.d.sync += told[name].eq(word.rs2)
        with m.If(~fine):
            m.d.sync += begun.eq(0)
        always(m, "a request is known from its beginning to an error", ~fine | (probe.known == begun))
        always(m, "it is known which stream it is of", (probe.which == stream) & (stream < len(self.kind.streams)))
        always(m, "it is known what was told", Cat(getattr(probe, name) == each for name, each in told.items()).all()
               & (probe.sized == sized) & (probe.typed == typed))

    def _is_told(self, part: Any, n: int, kept: dict[str, Signal]) -> Value:
        """Whether the job has what was told of a stream."""
        if n == len(self.kind.tensors):
            return (part.base == kept["address"]) & (part.words == kept["span"])
        tensor = self.kind.tensors[n]
        *before, values = tensor.arrays
        places = dict(zip(before, (kept["first"], kept["last"]))) | {values: kept["address"], tensor.fibers: kept["span"]}
        return Cat(getattr(part.job, name) == value for name, value in places.items()).all()

    def _errors(self, m: Module, part: Any, wrong: Value, fine: Value) -> None:
        """The first error stays, what happens behind it is there when it is cleared, each once."""
        probe: Any = self
        refuses = part.i.valid & fine & (wrong != 0)
        lasts, error, later = Signal(), Signal.like(part.error), Signal.like(part.error)
        happens = (part.happened != 0) & ~lasts
        number, known = Signal(command.NUMBER_BITS), Signal()
        m.d.sync += lasts.eq(part.happened != 0)
        left = Mux(part.clear, later, error)
        behind = Mux(part.clear, 0, later)
        with m.If(happens):
            m.d.sync += [error.eq(Mux(left == 0, part.happened, left)), later.eq(Mux(left == 0, behind, part.happened))]
        with m.Else():
            m.d.sync += [error.eq(Mux(refuses, wrong, left)), later.eq(behind)]
        with m.If(refuses & ~happens):
            m.d.sync += [number.eq(part.i.payload.number), known.eq(1)]
        always(m, "the first error is there until it is cleared, and then what has happened behind it", part.error == error)
        always(m, "it is known what has happened", (probe.later == later) & (probe.told == lasts))
        always(m, "there is no later error without a first one", (error != 0) | (later == 0))
        always(m, "the command that was refused last is told", ~known | (part.refused == number))
        reachable(m, "an error follows another one", part.clear & (later != 0))


def others() -> Side:
    return Side({name: Requested(kind) for name, kind in KINDS.items() if name != "both"})


def test_requests_are_what_commands_say_and_none_waits_for_ever(tmp_path: Path) -> None:
    assert prove(Requested(KINDS["both"]), tmp_path) == Verdict(True)


@pytest.mark.slow
def test_requests_of_a_phase_are_what_commands_say(tmp_path: Path) -> None:
    assert prove(others(), tmp_path) == Verdict(True)


@pytest.mark.slow
def test_all_are_asked_for_and_errors_follow_each_other(tmp_path: Path) -> None:
    assert cover(Side({name: Requested(kind) for name, kind in KINDS.items()}), tmp_path, 20)


class Patient(OuterRequests):
    """A second request of a tensor waits, though the first one waits for other tensors."""

    def _issue(self, m: Module, which: Signal, stands: Value, *rest: Any) -> None:
        super()._issue(m, which, Const(0), *rest)


class Lasting(OuterRequests):
    """An error drops nothing."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.error != 0):
            m.d.sync += self.given.eq(self.given & ~self.ended)
        return m


class Forgetful(OuterRequests):
    """What happens behind an error is forgotten with it."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.clear):
            m.d.sync += self.error.eq(0)
        return m


class Lavish(OuterRequests):
    """Whatever is said of an axis is taken."""

    def _axis(self, m: Module, which: Signal, setting: Value, outside: Value, wrong: Signal) -> None:
        super()._axis(m, which, setting, outside, Signal.like(wrong))


@pytest.mark.slow
@pytest.mark.parametrize("broken,claim", [
    (Patient, "no command waits for what waits for other commands"),
    (Lasting, "A is there from its request until it ends, or others are not asked for"),
    (Forgetful, "the first error is there until it is cleared, and then what has happened behind it"),
    (Lavish, "the first error is there until it is cleared, and then what has happened behind it")])
def test_requests_that_are_otherwise_are_found(broken: "type[OuterRequests]", claim: str, tmp_path: Path) -> None:
    assert prove(Requested(KINDS["both"], broken), tmp_path, bound=9, only=claim).failed == (claim,)
