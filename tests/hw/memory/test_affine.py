import functools
from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nests import Nest, nests

from sardonyx.hw.arch.soc import EXTENT_BITS, STRIDE_BITS
from sardonyx.hw.emit import macro
from sardonyx.hw.memory.affine import AffineGenerator, loop_layout
from sardonyx.sim.rtl.bench import Bench, Case

LEVELS, ADDRESS_BITS = 5, 12


class Walk(wiring.Component):
    """Every token n on `go` restarts the generator and takes n addresses, each with its `last` above it."""

    module_name = "walk"

    loops: In(loop_layout(LEVELS).size)
    start: In(ADDRESS_BITS)
    go: In(stream.Signature(16))
    o: Out(stream.Signature(ADDRESS_BITS + 1))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.generator = generator = macro(AffineGenerator(LEVELS, ADDRESS_BITS))
        left = Signal(16)
        m.d.comb += [
            Value.cast(generator.loops).eq(self.loops), generator.start.eq(self.start),
            self.go.ready.eq(left == 0), generator.restart.eq(self.go.valid & self.go.ready),
            self.o.valid.eq(left != 0), self.o.payload.eq(generator.address | generator.last << ADDRESS_BITS),
            generator.step.eq(self.o.valid & self.o.ready),
        ]
        with m.If(generator.restart):
            m.d.sync += left.eq(self.go.payload)
        with m.Elif(generator.step):
            m.d.sync += left.eq(left - 1)
        return m


@functools.cache
def bench() -> Bench:
    return Bench(Walk())


def settings_of(nest: Nest) -> dict[str, int]:
    pairs = nest.registers(LEVELS)
    loops = loop_layout(LEVELS).const({"extent": [extent for extent, _ in pairs], "stride": [stride for _, stride in pairs]})
    return {"loops": loops.as_bits(), "start": nest.start}


def expected(nest: Nest, count: int) -> list[int]:
    words = nest.addresses(1 << ADDRESS_BITS).tolist()
    return [*words[:-1], words[-1] | 1 << ADDRESS_BITS][:count]


@settings(max_examples=150)
@example(Nest((2, 3), (2, 10), 0), None, [])
@example(Nest((1,), (0,), 4094), None, [])
@example(Nest((4, 4, 4), (-2, 64, -256), 2048), 5, [])
@given(nest=nests(LEVELS, 1 << ADDRESS_BITS), stalls=st.none() | st.integers(1, 99),
       cuts=st.lists(st.floats(0.01, 1), max_size=2))
def test_addresses_are_those_of_the_loop_nest_whole_and_restarted(nest: Nest, stalls: int, cuts: "list[float]") -> None:
    counts = [*(max(1, int(cut * nest.size)) for cut in cuts), nest.size]
    result = bench().run({"go": counts}, settings_of(nest), stalls)
    assert result.outputs["o"] == [word for count in counts for word in expected(nest, count)]


def test_one_address_a_cycle() -> None:
    nest = Nest((3, 5, 7), (2, -6, 100), 1000)
    result = bench().run({"go": [nest.size]}, settings_of(nest))
    assert result.stamps["o"] == list(range(1, 1 + nest.size))


def test_settings_of_zero_are_one_iteration() -> None:
    result = bench().run({"go": [1]}, {"start": 12})
    assert result.outputs["o"] == [12 | 1 << ADDRESS_BITS]


def test_extents_and_strides_take_their_whole_range() -> None:
    largest, lowest = (1 << EXTENT_BITS) - 1, -(1 << STRIDE_BITS - 1) + 2
    loops = loop_layout(LEVELS).const({"extent": [largest] + [0] * (LEVELS - 1), "stride": [lowest] + [0] * (LEVELS - 1)})
    result = bench().run_many([Case({"go": [60000]}, {"loops": loops.as_bits(), "start": 6})])[0]
    assert result.outputs["o"] == [(6 + n * lowest) % (1 << ADDRESS_BITS) for n in range(60000)]
    assert not any(word >> ADDRESS_BITS for word in result.outputs["o"])
