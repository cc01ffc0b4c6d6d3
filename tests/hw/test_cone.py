"""What the outputs of small modules follow, also through modules in them and memories."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from sardonyx.hw.cone import CONSTANT, LOGIC, REGISTER, WIRE, Output, outputs
from sardonyx.hw.emit import collect, macro

MEMBERS = {"a": In(2), "b": In(1), "held": Out(2), "sum": Out(2), "gated": Out(1), "none": Out(1), "through": Out(2),
           "inverse": Out(2), "opposite": Out(2), "after": Out(1)}


class Inner(wiring.Component):
    def __init__(self) -> None:
        super().__init__(MEMBERS)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        register = Signal(2)
        m.d.sync += register.eq(self.a)
        m.d.comb += [self.held.eq(register), self.sum.eq(self.a + self.b), self.gated.eq(register[0] & self.b),
                     self.through.eq(self.a), self.after.eq(register.all()),
                     self.inverse.eq(~register), self.opposite.eq(~self.a)]
        return m


class Outer(wiring.Component):
    """Two of them, one behind the other, with a memory between."""

    def __init__(self, clocked: bool) -> None:
        self.clocked = clocked
        super().__init__(MEMBERS)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.one = one = macro(Inner())
        m.submodules.two = two = macro(Inner())
        m.submodules.memory = memory = Memory(shape=2, depth=4, init=[])
        write = memory.write_port()
        read = memory.read_port(domain="sync" if self.clocked else "comb")
        m.d.comb += [one.a.eq(self.a), one.b.eq(self.b), write.addr.eq(self.a), write.data.eq(self.a), write.en.eq(self.b),
                     read.addr.eq(one.through), two.a.eq(read.data), two.b.eq(one.gated), self.held.eq(two.held),
                     self.sum.eq(two.sum), self.gated.eq(two.gated), self.through.eq(two.through), self.after.eq(one.after),
                     self.inverse.eq(two.inverse), self.opposite.eq(two.opposite)]
        return m


class Ripple(wiring.Component):
    """Bits that follow each other, all in one word."""

    i: In(3)
    o: Out(3)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(self.i & Cat(self.i[2], self.o[:2]))
        return m


def test_registers_constants_logic_and_wires_are_told_apart() -> None:
    assert outputs(collect(Inner()))["inner"] == {
        "held": Output(REGISTER, ()), "sum": Output(LOGIC, ("a", "b")), "gated": Output(LOGIC, ("b",)),
        "none": Output(CONSTANT, ()), "through": Output(WIRE, ("a",)), "after": Output(LOGIC, ()),
        "inverse": Output(REGISTER, ()), "opposite": Output(LOGIC, ("a",))}


def test_paths_go_through_modules_and_memories_that_are_read_at_once() -> None:
    for clocked in (True, False):
        found = outputs(collect(Outer(clocked)))["outer"]
        path = () if clocked else ("a",)
        assert found == {
            "held": Output(REGISTER, ()), "sum": Output(LOGIC, (*path, "b")), "gated": Output(LOGIC, ("b",)),
            "none": Output(CONSTANT, ()), "through": Output(REGISTER if clocked else LOGIC, path), "after": Output(LOGIC, ()),
            "inverse": Output(REGISTER, ()), "opposite": Output(LOGIC, path)}


def test_a_word_whose_bits_follow_each_other_is_walked_to_its_end() -> None:
    assert outputs(collect(Ripple()))["ripple"] == {"o": Output(LOGIC, ("i",))}
