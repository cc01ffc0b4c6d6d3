"""Packed configuration in hardware: the writes that its bytes mean, however its lines come."""

from functools import cache

from amaranth.sim import Simulator, SimulatorContext
from hypothesis import given, settings
from hypothesis import strategies as st
from packed_words import Write, lines, unpacked

from sardonyx.hw.glb.unpacker import HELD, Unpacker

# Any bytes mean something; those of items that programs have come more often.
ITEMS = [b"\x1f\1\2\3\4", b"\x0f\1\2\3\4", b"\x0c", b"\x0d\x21\7"]
BYTES = st.lists(st.binary(min_size=1, max_size=9) | st.sampled_from(ITEMS), min_size=1, max_size=12).map(b"".join)


class Bench:
    """An unpacker in a simulator, which begins anew with each use."""

    def __init__(self) -> None:
        self.dut = Unpacker()
        self._simulator = Simulator(self.dut)
        self._simulator.add_clock(1e-9)
        self._simulator.add_testbench(self._bench)
        self._used = False

    def run(self, given: "list[int]", waits: "list[int]", stops: "int | None" = None) -> "tuple[list[Write], int]":
        """The writes of lines, of which each waits for so many cycles more, and in how many cycles; stops: after so many it
        begins anew."""
        self._given, self._waits, self._stops = given, waits, stops
        if self._used:
            self._simulator.reset()
        self._used = True
        self._simulator.run()
        return self._found, self._cycles

    async def _bench(self, sim: SimulatorContext) -> None:
        dut, self._found = self.dut, []
        if self._stops is not None:
            await self._pass(sim, self._stops)
            sim.set(dut.stop, 1)
            await sim.tick()
            sim.set(dut.stop, 0)
            assert not sim.get(dut.busy)
            self._found = []
        self._cycles = await self._pass(sim, 10_000)
        assert self._cycles < 10_000, "it ends"

    async def _pass(self, sim: SimulatorContext, most: int) -> int:
        dut, left, waits, cycles = self.dut, list(self._given), list(self._waits), 0
        sim.set(dut.start, 1)
        await sim.tick()
        sim.set(dut.start, 0)
        wait = 0
        while cycles < most and (left or sim.get(dut.busy)):
            comes = bool(left) and wait == 0 and sim.get(dut.held) < HELD
            sim.set(dut.line_valid, comes)
            sim.set(dut.last, not left)
            if comes:
                sim.set(dut.line, left.pop(0))
                wait = waits.pop(0) if waits else 0
            else:
                wait = max(0, wait - 1)
            if sim.get(dut.o_valid):
                where = sim.get(dut.o.address)
                self._found.append((sim.get(dut.o.column), where >> 16, where & 0xFFFF, sim.get(dut.o.data)))
            await sim.tick()
            cycles += 1
        sim.set(dut.line_valid, 0)
        return cycles


bench = cache(Bench)


@settings(max_examples=60)
@given(given=BYTES, waits=st.lists(st.integers(0, 5), max_size=12))
def test_writes_are_those_of_the_bytes_and_a_cut_item_is_dropped(given: bytes, waits: "list[int]") -> None:
    found, cycles = bench().run(lines(given), waits)
    assert found == unpacked(b"".join(line.to_bytes(8, "little") for line in lines(given)))
    # A byte a cycle at least, once its line is there.
    assert cycles <= 9 * len(lines(given)) + sum(waits) + 3


@settings(max_examples=20)
@given(given=BYTES, stops=st.integers(0, 30))
def test_after_a_stop_it_begins_at_the_first_place(given: bytes, stops: int) -> None:
    found, _ = bench().run(lines(given), [], stops)
    assert found == unpacked(b"".join(line.to_bytes(8, "little") for line in lines(given)))


def test_an_item_a_cycle() -> None:
    given = bytes([0x11, 7] * 40)
    found, cycles = bench().run(lines(given), [])
    assert len(found) == 40 and cycles == 40 + 2
