"""A request for a tensor whose elements are counted becomes one for each of its arrays, what counts before what is counted.

Of the addresses and distances of arrays, those of one of them are followed, any of them.
"""

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from chained_levels import design
from chains import keeps_contract
from prover import Verdict, always, assume, cover, free, prove, reachable
from test_decoder import Told
from without_zeros import accelerator

from sardonyx.hw.arch import command
from sardonyx.hw.arch.accelerator import Accelerator
from sardonyx.hw.arch.dma import ADDRESS_BITS
from sardonyx.hw.spatial.command import arrays
from sardonyx.hw.spatial.command.arrays import Arrays

KINDS = {
    "compressed": accelerator(watchdog=True).kind,
    "lists": accelerator("linked list", last="linked list").kind,
    "bits": accelerator("bitvector", last="bitvector").kind,
    "levels behind each other": design("lb").kind,
}


class ToldOfArrays(Told):
    """A decoder of the commands of a queue, which stay until they are taken."""

    def __init__(self, kind: Accelerator) -> None:
        self.most = max(each.before for each in kind.streams)
        more = {"whole": ("decoder.whole_tensor", 1), "nth": ("decoder.array_part", self.most.bit_length())}
        for n in range(self.most):
            more |= {f"place{n}": (f"decoder.array{n}_at", ADDRESS_BITS), f"pitch{n}": (f"decoder.array{n}_pitch", 4)}
        super().__init__(kind, more)

    def _offered(self, m: Module, part: Any, level: Value, told: Any) -> None:
        kind, word, streams, probe = self.kind, part.i.payload, self.kind.streams, self
        keeps_contract(m, "i", part.i, assume)
        m.d.comb += [part.orphans.eq(free(m, len(streams), "orphans")), part.stuck.eq(free(m, 1, "stuck"))]
        fine = part.error == 0
        taken = part.i.valid & part.i.ready & fine
        begins = taken & (word.number == command.SET_SRC_AND_DST)
        outside = Mux(told.stores, word.rs1[31], word.rs1[30])
        whole, nth = Signal(), Signal(self.most.bit_length())
        axis, to = word.rs1[:command.AXIS_BITS], word.rs1[command.METADATA_LSB:command.METADATA_LSB + 8]
        which = free(m, self.most.bit_length(), "which", constant=True)
        assume(m, "it is one of the arrays", which < self.most)
        placed, place, pitch = Signal(), Signal(ADDRESS_BITS), Signal(4)
        mine = outside & (to == which)
        tensors = [(n, each) for n, each in enumerate(streams) if each.before]
        own = Cat((told.stream == n) & (word.rs2 == command.AXIS_TYPES[each.kind]) for n, each in tensors).any()
        with m.If(begins):
            m.d.sync += [whole.eq(0), pitch.eq(1), placed.eq(0)]
        with m.Elif(taken & (word.number == command.SET_AXIS_TYPE) & (axis == 0)):
            m.d.sync += whole.eq(own)
        with m.Elif(taken & mine & (word.number == command.SET_METADATA_STRIDE)):
            m.d.sync += pitch.eq(word.rs2)
        with m.Elif(taken & mine & (axis == 0) & (word.number == command.SET_METADATA_ADDRESS)):
            m.d.sync += [place.eq(word.rs2), placed.eq(1)]
        before = Array(each.before for each in streams)[told.stream]
        last = ~whole | (nth == before)
        # An error between two arrays ends the request.
        with m.If(part.o.valid & part.o.ready):
            m.d.sync += nth.eq(Mux(last, 0, nth + 1))
        with m.Elif(begins):
            m.d.sync += nth.eq(0)
        asks = part.i.valid & (word.number == command.ISSUE) & fine
        known, going = told.begun & fine, told.begun & fine & (nth != 0)
        always(m, "between two arrays the command waits", ~going | asks)
        always(m, "what is whole has arrays, and each in its turn",
               ~known | Mux(whole, (before != 0) & (nth <= before), nth == 0))
        always(m, "arrays are as they were told", ~known | (
            (probe.whole == whole) & (probe.nth == nth) & (self._of("pitch", which) == pitch)
            & (~placed | (self._of("place", which) == place))))
        always(m, "distances are those that there are", ~known | Cat(
            Cat(getattr(self, f"pitch{n}") == each for each in command.PITCHES).any() for n in range(self.most)).all())
        given, of = part.o.payload.request, part.o.payload.stream
        loops = [given.loops[n] for n in range(kind.dma.loops)]
        always(m, "a command is done with its last array", ~(taken & (word.number == command.ISSUE)) | ~part.o.valid | last)
        always(m, "an array is of the stream in its turn",
               ~part.o.valid | (of == Mux(whole, told.stream - before + nth, told.stream)))
        is_front, counted = whole & (nth != before), Array(each.is_counted for each in streams)[of]
        size = Array((each.bits // 8).bit_length() - 1 for each in streams)[of]
        always(m, "an array is where it was told, of its own elements, at the distance that was told", ~part.o.valid | Mux(
            is_front, (nth != which) | ((given.base == place) | ~placed) & (given.size == size)
            & (loops[0].stride.as_unsigned() == pitch << size),
            (given.base == told.base) & (given.size == told.size)))
        elements = Array(each.elements for each in streams)[of]
        span = Array(each.span for each in loops)[level]
        there = Array(each.there for each in loops)[level]
        stride = Array(each.stride.as_unsigned() for each in loops)[level]
        fixed = is_front & ~counted
        always(m, "an array that counts has all its elements", ~part.o.valid | ~fixed | (
            (loops[0].span == elements) & (loops[0].there == elements)))
        always(m, "what is counted is told in no other way", ~part.o.valid | ~counted | ((span == 1) & (there == 1)))
        always(m, "its elements are at a distance that there is", ~part.o.valid | ~counted | Cat(
            loops[0].stride.as_unsigned() == each << given.size for each in (0, *command.PITCHES)).any())
        always(m, "arrays are one row", ~part.o.valid | ~whole | (level == 0) | ((span == 1) & (there == 1)))
        always(m, "other requests are what was told since they were begun", ~part.o.valid | is_front | (
            (span == told.span) & (there == told.there) & (stride == (told.stride << told.size)[:ADDRESS_BITS])))
        always(m, "what is counted is no list", ~part.o.valid | ~given.linked)
        waits = (part.orphans >> of)[0] | part.stuck
        always(m, "nothing is asked for that nothing counts", ~part.o.valid | ~waits)
        restarts = taken & (word.number == command.SET_CONSTANT) & (word.rs1 == command.RESTART)
        always(m, "it restarts where it is told, while nothing is under way", part.restart == (restarts & ~part.orphans.any()))
        always(m, "it restarts at what is told", ~part.restart | ((part.at == word.rs2) & (part.streams == 0)))
        self._sound(m, part, level)
        reachable(m, "values follow their arrays", part.o.valid & part.o.ready & whole & (nth == before))
        reachable(m, "an error comes between two arrays", ~fine & (nth != 0))

    def _of(self, name: str, which: Value) -> Value:
        return Array(getattr(self, f"{name}{n}") for n in range(self.most))[which]


@pytest.mark.parametrize("kind", ["compressed", *(pytest.param(name, marks=pytest.mark.slow)
                                                 for name in KINDS if name != "compressed")])
def test_a_tensor_is_asked_for_by_its_arrays_in_turn(kind: str, tmp_path: Path) -> None:
    assert prove(ToldOfArrays(KINDS[kind]), tmp_path) == Verdict(True)


@pytest.mark.slow
def test_arrays_are_asked_for_and_errors_come_between_them(tmp_path: Path) -> None:
    assert cover(ToldOfArrays(KINDS["compressed"]), tmp_path, 10)


def _forgets_nothing(self: Any, m: Module, setting: Value) -> None:
    """The arrays of the request before are those of the next one."""


def _is_never_odd(self: Any, request: Any, number: Value) -> Value:
    return Const(0)


def _takes_the_first(self: Any, m: Module, made: Any, number: int, part: int) -> None:
    """Whatever array is next, it lies where the first one does."""
    ARRAY(self, m, made, number, part)
    m.d.comb += made.base.eq(self._places[0])


def _goes_everywhere(self: Any, m: Module, word: Any, setting: Value) -> Value:
    """An address goes to every array."""
    known: Value = PLACE(self, m, word, setting)
    with m.If(setting):
        m.d.sync += [at.eq(word.rs2) for at in self._places]
    return known


ARRAY, PLACE = Arrays._array, Arrays.place
PLACED = "an array is where it was told, of its own elements, at the distance that was told"


@pytest.mark.slow
@pytest.mark.parametrize("name,broken,claim", [
    ("forget", _forgets_nothing, PLACED),
    ("is_odd", _is_never_odd, "what is counted is told in no other way"),
    ("_array", _takes_the_first, PLACED),
    ("place", _goes_everywhere, PLACED)])
def test_arrays_that_are_asked_for_otherwise_are_found(name: str, broken: Any, claim: str, tmp_path: Path,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Arrays, name, broken)
    assert prove(ToldOfArrays(KINDS["compressed"]), tmp_path, bound=10, only=claim).failed == (claim,)


@pytest.mark.slow
def test_elements_of_another_size_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "SIZES", dict.fromkeys(arrays.SIZES, 0))
    assert prove(ToldOfArrays(KINDS["compressed"]), tmp_path, bound=6, only=PLACED).failed == (PLACED,)
