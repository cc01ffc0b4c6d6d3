"""A node of a flat merger: of two sorted fibers many elements a cycle, by a matrix of comparators, equal coordinates added or
otherwise met."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import Component, In, Out

from ...arch.merger import Merger
from ...arch.reduction import ADD
from ..array.pe import applied
from .node import element


class MergeMatrix(Component):
    """Merges two fibers, up to `take` elements a cycle.

    Behaviour: each fiber is dealt to `take` streams in turn, whose heads are a window of it. Every x of the window is compared
    with every y that can leave in the same cycle. With i of x and j of y gone, element i + j of the merged fiber comes next:
    that is cell (i, j) of the *path* through the matrix, which goes on by an x where x[i] <= y[j], else by a y. Of equal
    keys both are taken, and one leaves with the sum, or what else the reduction makes of both. An operation is merged up to
    its end; what comes behind it waits a cycle. So does all behind an element that is not there yet, or finds no room. What
    leaves is dealt to `take` streams in turn.

    Example: of 1 2 5 7 and 2 3 4 9, four of each there, come 1 2 3 in one cycle, as the fourth of them, the other 2, is added
    to the first.

    Parameters
    ----------
    kind : Merger

    Members
    -------
    x0, y0, ... : In(stream)     Of an `element`, for each of `take`.
    o0, ... : Out(stream)        The same.

    Timing: combinational from inputs to outputs and their `ready`, so FIFOs stand around it. Which elements leave depends on
    the room at the outputs, of which FIFOs tell by registers.
    Source: SpArch (HPCA 2020) III-B, the comparator array; Stellar VI-D, Fig. 19b. Departures: only the cells that can lead to
    one of `take` elements are there, take * (take + 1) / 2; SpArch's two levels have as many comparators (128 for 16) and need
    chunks in order. Values are added on the way; equality is found on the path, not in the matrix.
    """

    def __init__(self, kind: Merger) -> None:
        self.kind, self.module_name = kind, f"merge_matrix_{kind.take}_k{kind.key_bits}_w{kind.bits}{kind.suffix}"
        elements = stream.Signature(element(kind))
        super().__init__({f"{side}{nth}": In(elements) for side in "xy" for nth in range(kind.take)}
                         | {f"o{nth}": Out(elements) for nth in range(kind.take)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        take = self.kind.take
        x_at, y_at, o_at = (Signal(range(take), name=f"{side}_at") for side in "xyo")
        cells = self._path(m, self._window(m, "x", x_at), self._window(m, "y", y_at))
        room = _turned(m, "room", [getattr(self, f"o{nth}").ready for nth in range(take)], o_at)
        # Whether each element of the merged fiber leaves, by x; and whether it has left already, added to an equal x before it.
        leaves, by_x, again = (Signal(take, name=name) for name in ("leaves", "by_x", "again"))
        added = Signal(take + 1)
        given = [Signal(element(self.kind), name=f"given{nth}") for nth in range(take)]
        for nth, (x_first, x, y) in enumerate(cells):
            same = x_first & y.there & (x.key == y.key)
            there = Mux(x_first, x.there & ~y.unknown, y.there & ~x.unknown)
            m.d.comb += [
                again[nth].eq(added[nth]), by_x[nth].eq(x_first), added[nth + 1].eq(leaves[nth] & same),
                leaves[nth].eq(added[nth] | (there & Cat(room[:nth + 1]).all() & leaves[:nth].all())),
                given[nth].key.eq(Mux(x_first, x.key, y.key)),
                given[nth].value.eq(self._value(x_first, same, x.value, y.value)),
            ]
        x_count, y_count, o_count = (Signal(range(take + 1), name=f"{side}_count") for side in "xyo")
        # The last element may be an x whose equal y has no place any more, but goes with it.
        m.d.comb += [x_count.eq(_count(leaves & by_x)), y_count.eq(_count(leaves & ~by_x) + added[take]),
                     o_count.eq(_count(leaves & ~again))]
        m.d.sync += [x_at.eq(x_at + x_count), y_at.eq(y_at + y_count), o_at.eq(o_at + o_count)]
        for side, at, count in (("x", x_at, x_count), ("y", y_at, y_count)):
            for nth, each in enumerate(_dealt(m, f"{side}_takes", [count > nth for nth in range(take)], at)):
                m.d.comb += getattr(self, f"{side}{nth}").ready.eq(each)
        words = _dealt(m, "word", _packed(m, given, again), o_at)
        valid = _dealt(m, "valid", [o_count > nth for nth in range(take)], o_at)
        for nth in range(take):
            port = getattr(self, f"o{nth}")
            m.d.comb += [Value.cast(port.payload).eq(words[nth]), port.valid.eq(valid[nth])]
        return m

    def _value(self, x_first: Value, same: Value, x: Value, y: Value) -> Value:
        """What leaves: an x, a y, or what both become."""
        if self.kind.reduction == ADD:
            # To a sum what is not taken is 0, which costs no choice behind the adder.
            return Mux(x_first, x, 0) + Mux(~x_first | same, y, 0)
        return Mux(same, applied(self.kind.reduction, [x.as_signed(), y.as_signed()]), Mux(x_first, x, y))

    def _window(self, m: Module, side: str, at: Value) -> list[Any]:
        """The next elements of a fiber."""
        ports = [getattr(self, f"{side}{nth}") for nth in range(self.kind.take)]
        words = _turned(m, f"{side}_word", [Value.cast(port.payload) for port in ports], at)
        valid = _turned(m, f"{side}_valid", [port.valid for port in ports], at)
        window = [Signal(self._slot, name=f"{side}_{nth}") for nth in range(self.kind.take)]
        # Nothing counts behind an end, nor behind what is not there yet.
        alive: Any = Const(1)
        ended: Any = Const(0)
        for slot, word, is_valid in zip(window, words, valid):
            m.d.comb += [Cat(slot.value, slot.key).eq(word), slot.there.eq(is_valid & alive),
                         slot.unknown.eq(~slot.there & ~ended)]
            ended = ended | (slot.there & slot.key[-1])
            alive = slot.there & ~slot.key[-1]
        return window

    @property
    def _slot(self) -> data.StructLayout:
        """An element of a window, or none: behind an end, or unknown as it is still to come."""
        return data.StructLayout({"value": self.kind.bits, "key": self.kind.key_bits, "there": 1, "unknown": 1})

    def _path(self, m: Module, xs: list[Any], ys: list[Any]) -> list[tuple[Value, Any, Any]]:
        """For each element of the merged fiber whether it is the x, and the x and y between which that is decided."""
        take = self.kind.take
        at = [(i, nth - i) for nth in range(take) for i in range(nth + 1)]
        # What is not there is above all that is: it never leaves, so it need not be told from its like.
        first = {(i, j): Signal(name=f"first_{i}_{j}") for i, j in at}
        on_path = {(i, j): Signal(name=f"path_{i}_{j}") for i, j in at}
        for i, j in at:
            m.d.comb += [first[i, j].eq(Cat(xs[i].key, ~xs[i].there) <= Cat(ys[j].key, ~ys[j].there)),
                         on_path[i, j].eq((first[i - 1, j] if i else 1) & (~first[i, j - 1] if j else 1))]
        found: list[tuple[Value, Any, Any]] = []
        for nth in range(take):
            cells = [(i, nth - i) for i in range(nth + 1)]
            x_first = Signal(name=f"x_first{nth}")
            x, y = Signal(self._slot, name=f"x_next{nth}"), Signal(self._slot, name=f"y_next{nth}")
            m.d.comb += [x_first.eq(Cat(on_path[cell] & first[cell] for cell in cells).any()),
                         x.eq(_either(on_path[i, j].replicate(len(Value.cast(x))) & Value.cast(xs[i]) for i, j in cells)),
                         y.eq(_either(on_path[i, j].replicate(len(Value.cast(y))) & Value.cast(ys[j]) for i, j in cells))]
            found.append((x_first, x, y))
        return found


def _either(values: Iterable[Value]) -> Value:
    return reduce(or_, values)


def _count(bits: Value) -> Value:
    """How many bits are 1."""
    return sum((bits[nth] for nth in range(len(bits))), start=Const(0, 1))


def _turned(m: Module, name: str, words: Sequence[Any], at: Value) -> list[Value]:
    """Word ``at + n`` as the n-th, for each n: a rotation, which has a layer of choices for each bit of `at`."""
    for layer in range(len(at)):
        turned = [Signal(len(word), name=f"{name}_turned{layer}_{nth}") for nth, word in enumerate(words)]
        m.d.comb += [out.eq(Mux(at[layer], words[(nth + (1 << layer)) % len(words)], words[nth]))
                     for nth, out in enumerate(turned)]
        words = turned
    return list(words)


def _dealt(m: Module, name: str, words: Sequence[Value], at: Value) -> list[Value]:
    """The n-th word as word ``at + n``, for each n."""
    return _turned(m, name, words, (-at)[:len(at)])


def _packed(m: Module, given: Sequence[Any], again: Value) -> list[Value]:
    """Elements without those that have left already: each goes down by as many as these are before it, by 1, 2, 4, ..."""
    take = len(given)
    words = [Value.cast(each) for each in given]
    holes = [again[nth] for nth in range(take)]
    # At most every second element has left already.
    by = [Signal(range(take // 2 + 1), name=f"down{nth}") for nth in range(take)]
    m.d.comb += [each.eq(_count(again[:nth + 1])) for nth, each in enumerate(by)]
    downs: list[Value] = list(by)
    for layer in range(len(by[0])):
        step = 1 << layer
        made = [(Signal(len(word), name=f"packed{layer}_{nth}"), Signal(name=f"hole{layer}_{nth}"),
                 Signal(len(by[0]), name=f"down{layer}_{nth}")) for nth, word in enumerate(words)]
        for nth, (word, hole, down) in enumerate(made):
            above = nth + step
            comes = ~holes[above] & downs[above][layer] if above < take else Const(0)
            goes = holes[nth] | downs[nth][layer]
            m.d.comb += [word.eq(Mux(comes, words[min(above, take - 1)], words[nth])), hole.eq(~comes & goes),
                         down.eq(Mux(comes, downs[min(above, take - 1)], downs[nth]))]
        words, holes, downs = ([each[part] for each in made] for part in range(3))
    return words
