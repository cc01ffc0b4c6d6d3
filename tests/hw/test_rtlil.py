"""Names are changed, functions are not: the rest is seen in tests/hw/test_emit.py and in every simulation."""

from pathlib import Path
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from sardonyx.hw.rtlil import plain_names, readable
from sardonyx.hw.yosys import YosysError, run_yosys

FLATTEN = ("proc", "memory", "flatten", "opt_clean")


class Part(wiring.Component):
    """Registers, a memory, aliases, unread results, processes, names twice, a submodule without a name."""

    a: In(4)
    b: In(4)
    x: Out(5)
    y: Out(4)
    z: Out(1)

    def __init__(self, rom: bool = False) -> None:
        self.rom = rom
        super().__init__()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        state = Signal(4)
        other = Signal(4, name="state")
        alias = Signal(4)
        unread = Signal(4)
        m.d.comb += [alias.eq(state), unread.eq(alias + other), self.z.eq(alias.any() & (self.a < self.b))]
        m.d.sync += [state.eq(self.a + other), other.eq(alias ^ self.b)]
        with m.Switch(self.a):
            with m.Case(1, 2):
                m.d.comb += self.x.eq(state - other)
            with m.Case("11--"):
                m.d.sync += self.y.eq(self.y + 1)
        if not self.rom:
            inner = Part(rom=True)
            m.submodules += inner
            m.d.comb += [inner.a.eq(self.b), inner.b.eq(alias)]
            with m.If(inner.z):
                m.d.comb += self.x.eq(inner.x)
        m.submodules.store = store = memory.Memory(shape=4, depth=4, init=[])
        read = store.read_port(domain="comb")
        if not self.rom:
            write = store.write_port()
            m.d.comb += [write.addr.eq(self.a), write.data.eq(self.b), write.en.eq(self.z)]
        m.d.comb += read.addr.eq(state)
        with m.If(self.b == 5):
            m.d.comb += self.x.eq(read.data)
        return m


def text() -> str:
    return rtlil.convert(Part(), name="part", emit_src=False)


def test_the_function_stays_the_same(tmp_path: Path) -> None:
    (tmp_path / "before.il").write_text(text())
    (tmp_path / "after.il").write_text(readable(text()))
    script = []
    for each in "before", "after":
        script += [f"read_rtlil {each}.il", "hierarchy -top part", f"rename part {each}", *FLATTEN,
                   f"design -stash {each}"]
    script += ["design -copy-from before before", "design -copy-from after after",
               "miter -equiv -flatten before after both",
               "sat -verify -prove trigger 0 -seq 8 -set-init-zero both"]
    run_yosys(["-q", "-p", "; ".join(script)], tmp_path)
    (tmp_path / "after.il").write_text(readable(text()).replace("cell $add", "cell $sub"))
    with pytest.raises(YosysError, match="proof did fail"):
        run_yosys(["-q", "-p", "; ".join(script)], tmp_path)


def test_unread_results_and_aliases_are_gone() -> None:
    for name in ("\\state ", "\\unread "):
        assert name in text()
        assert name not in readable(text())


def test_names_are_plain_and_stay_apart() -> None:
    names = plain_names("  wire width 1 \\n$1\n  wire width 1 \\n_1\n  cell \\a.U$0 \\U$0\n"
                        '    parameter \\TEXT "\\n$1"\n')
    assert names == ("  wire width 1 \\n_1_\n  wire width 1 \\n_1\n  cell \\a__u0 \\u0\n"
                     '    parameter \\TEXT "\\n$1"\n')


def test_only_memories_that_are_written_lose_their_zeros() -> None:
    part, inner = readable(text()).split("module \\part__")
    assert "$meminit" not in part
    assert "$meminit" in inner
