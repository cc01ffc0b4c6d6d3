"""Modules of random statements: decisions in decisions, patterns, numbers with signs, arrays, parts, those of no bits, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from amaranth.hdl import Array, C, Cat, Module, Mux, Shape, Signal, Value, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Inside(wiring.Component):
    """What is drawn into its parent: it reads a part of what is there, and gives a part."""

    def __init__(self) -> None:
        super().__init__({"i": In(3), "o": Out(2)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        with m.Switch(self.i[1:]):
            with m.Case("1-"):
                m.d.comb += self.o.eq(self.i)
            with m.Case("-1"):
                m.d.comb += self.o[1].eq(1)
        return m


class RandomModule(wiring.Component):
    """The same module for the same seed. Late signals may read early ones, so that there is no loop.

    Nothing decides on no bits: there Yosys, with which it is compared, takes another case than Amaranth's simulator.
    """

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        width = random.choice((1, 2, 3, 5, 8))
        self.shape: Shape = signed(width) if random.random() < 0.5 else unsigned(width)
        super().__init__({"s": In(6), "t": In(3), "a": In(self.shape), "b": In(self.shape), "x": Out(self.shape),
                          "y": Out(self.shape), "z": Out(signed(7)), "q": Out(self.shape), "after": Out(4)})

    def elaborate(self, platform: Any) -> Module:
        m, random = Module(), self.random
        m.submodules.inside = inside = Inside()
        elements = [Signal(3, name=f"e{at}") for at in range(3)]
        early = [Signal(self.shape, name="n"), Signal(4, name="following"), Signal(9, name="wide", init=77),
                 Signal(signed(5), name="least", init=-3), inside.i]
        late = [self.x, self.y, self.z, Signal(6, name="last")]
        lone = Signal(self.shape, name="lone", reset_less=random.random() < 0.5)
        registers = [Signal(4, name="count", init=5), lone, self.q]
        known = [self.a, self.b, self.s, self.t, *registers, C(random.getrandbits(4), 4), C(-1, signed(3))]
        joined = Cat(early[1], early[3])
        parts = Array([early[2][:3], early[2][3:5], early[1][1:], early[0]])
        self._statements(m, [*early, joined, Array(elements)[self.t], parts[self.s[:2]]], known, registers)
        self._statements(m, [*late, Array([late[3][4:], self.z[1:3]])[self.t]], [*known, *early, *elements, inside.o], [])
        m.d.comb += self.after.eq(Cat(*elements) ^ late[3])
        m.d.sync += registers[0].eq(early[1])
        return m

    def _statements(self, m: Module, targets: Sequence[Any], known: Sequence[Any], registers: Sequence[Any],
                    depth: int = 0) -> None:
        """Statements that assign the targets, and the registers, of values made of what is known."""
        random = self.random

        def value() -> Value:
            found, other = random.choice(known), random.choice(known)
            made = (found, found, self._part(found), Cat(found, other), found + 1, Mux(self.s[0], found, other),
                    Cat(found[:1], C(2, 2), other[:1]), found.as_signed(), found.bit_select(self.t, 2))
            return random.choice(made)

        def target(of: Sequence[Any]) -> Value:
            found = random.choice(of)
            kind = random.randrange(10)
            if kind < 4:
                return self._part(found)
            if kind == 4:
                return found.bit_select(self.t, 1)
            if kind == 5 and len(found) > 2:
                return found.word_select(self.t[:2], 2)
            return found.as_unsigned() if kind == 6 else found

        def inner() -> None:
            if random.random() < 0.85:
                self._statements(m, targets, known, registers, depth + 1)

        def asked() -> Value:
            found = random.choice(known)
            return random.choice((self.s[random.randrange(6)], self.t == random.randrange(8), found.any(), found.as_unsigned()))

        for _ in range(random.randint(1, 2 if depth else 5)):
            kind = random.random()
            if depth > 2 or kind < 0.4:
                if registers and random.random() < 0.2:
                    m.d.sync += target(registers).eq(value())
                else:
                    m.d.comb += target(targets).eq(value())
            elif kind < 0.65:
                with m.If(asked()):
                    inner()
                for _ in range(random.choice((0, 0, 1, 2))):
                    with m.Elif(asked()):
                        inner()
                if random.random() < 0.4:
                    with m.Else():
                        inner()
            else:
                self._switch(m, random.choice((self.t, self.s[1:4], random.choice(known))), inner)

    def _switch(self, m: Module, on: Value, inner: Callable[[], None]) -> None:
        random = self.random
        with m.Switch(on):
            for _ in range(random.randint(1, 4)):
                with m.Case(*("".join(random.choice("01--") for _ in range(len(on))) for _ in range(random.randint(0, 3)))):
                    inner()
            if random.random() < 0.4:
                with m.Default():
                    inner()

    def _part(self, found: Value) -> Value:
        low = self.random.randint(0, len(found))
        return found[low:self.random.randint(low, len(found))]
