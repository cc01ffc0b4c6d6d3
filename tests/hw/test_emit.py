import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import checks
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import enum, memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from sardonyx.hw import emit, emit_platform
from sardonyx.hw.component import emit_key
from sardonyx.hw.lint import WAIVERS
from sardonyx.hw.yosys import YosysError


class Kind(enum.Enum, shape=2):
    A = 0
    B = 2


class Adder(wiring.Component):
    """No clock."""

    def __init__(self) -> None:
        super().__init__({"a": In(8), "b": In(8), "sum": Out(8)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += self.sum.eq(self.a + self.b)
        return m


class Counter(wiring.Component):
    """Counts by `step`, through an adder, with a state machine and memory for good measure."""

    def __init__(self, step: int, key: bool = True) -> None:
        self.step = step
        self.module_name = f"counter_{step}"
        # A list cannot be hashed.
        self.unused = None if key else [step]
        super().__init__({"count": Out(8), "kind": Out(Kind),
                          "tap": In(stream.Signature(8, always_ready=True))})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.adder = adder = emit.macro(Adder())
        m.submodules.store = store = memory.Memory(shape=8, depth=600, init=[])
        write, read = store.write_port(), store.read_port(domain="comb")
        m.d.comb += [adder.a.eq(self.count), adder.b.eq(self.step), write.addr.eq(self.count),
                     write.data.eq(self.tap.payload), write.en.eq(self.tap.valid), read.addr.eq(self.count)]
        m.d.sync += self.count.eq(adder.sum)
        with m.FSM():
            with m.State("A"):
                with m.If(read.data[0]):
                    m.next = "B"
            with m.State("B"):
                m.d.comb += self.kind.eq(Kind.B)
        return m


class Inner(wiring.Component):
    """No macro; its processes read all of its inputs."""

    def __init__(self) -> None:
        super().__init__({"a": In(4), "choice": In(1), "result": Out(4)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        with m.If(self.choice):
            m.d.comb += self.result.eq(self.a)
        return m


class Outer(wiring.Component):
    """Gives parts of its input to what is drawn into it."""

    def __init__(self) -> None:
        super().__init__({"a": In(9), "result": Out(4)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.inner = inner = Inner()
        m.d.comb += [inner.a.eq(self.a[2:6]), inner.choice.eq(self.a[8]), self.result.eq(inner.result)]
        return m


class Pair(wiring.Component):
    """Two counters of one kind, one of another, one flushed apart."""

    def __init__(self, key: bool = True) -> None:
        self.key = key
        super().__init__({"a": Out(8), "b": Out(8), "c": Out(8), "flush": In(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.one = one = emit.macro(Counter(1, self.key))
        m.submodules.two = two = emit.macro(Counter(1, self.key), flush=self.flush)
        m.submodules.three = three = emit.macro(Counter(3, self.key))
        m.d.comb += [self.a.eq(one.count), self.b.eq(two.count), self.c.eq(three.count)]
        return m


class Same(wiring.Component):
    """Two components of one name that differ in `second`."""

    def __init__(self, second: int) -> None:
        self.second = second
        super().__init__({"a": Out(8)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        for step in (1, self.second):
            counter = Counter(step)
            counter.module_name = "counter"
            m.submodules += emit.macro(counter)
        return m


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> "list[Path]":
    return emit.emit(Pair(), tmp_path_factory.mktemp("emitted"))


def test_every_module_is_written_once_and_after_what_it_uses(files: "list[Path]") -> None:
    assert [file.name for file in files] == ["adder.sv", "counter_1.sv", "counter_3.sv", "pair.sv"]
    assert (files[0].parent / "pair.f").read_text() == "adder.sv\ncounter_1.sv\ncounter_3.sv\npair.sv\n"
    for file in files:
        assert re.findall(r"^module (\w+)", file.read_text(), re.M) == [file.stem]


def test_output_is_the_same_in_another_process_and_place(files: "list[Path]", tmp_path: Path) -> None:
    here = Path(__file__).parent
    code = f"import sys; sys.path[:0] = [{str(here)!r}, {str(here.parent)!r}]; import test_emit; " \
           f"test_emit.emit.emit(test_emit.Pair(), test_emit.Path({str(tmp_path)!r}))"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONHASHSEED": "1"})
    for file in (*files, files[0].parent / "pair.f"):
        assert (tmp_path / file.name).read_bytes() == file.read_bytes()


def test_output_names_no_path_and_no_tool(files: "list[Path]") -> None:
    for file in files:
        text = file.read_text()
        assert not re.search(r"\.py|/\w|[Yy]osys|[Aa]maranth", text)


def test_names_are_plain_identifiers(files: "list[Path]") -> None:
    for file in files:
        assert not re.search(r"[\\$](?!signed)", file.read_text())


def test_wires_are_named_after_their_drivers(files: "list[Path]") -> None:
    text = files[-1].read_text()
    assert "fsm_state_next" in files[1].read_text()
    assert ".count(a)" in text
    assert ".rst(rst)" in text


def test_constant_stream_members_and_absent_clocks_are_no_ports(files: "list[Path]") -> None:
    counter, adder = files[1].read_text(), files[0].read_text()
    assert "tap__valid" in counter and "tap__ready" not in counter
    assert "clk" in counter and "clk" not in adder


def test_components_that_cannot_be_hashed_are_compared_as_text(files: "list[Path]", tmp_path: Path) -> None:
    for file in emit.emit(Pair(key=False), tmp_path):
        # Its parameter is in the comment.
        assert file.read_text().replace("// key = False", "// key = True") == (files[0].parent / file.name).read_text()


def test_two_components_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="two different components are called counter; set module_name"):
        emit.collect(Same(2))
    assert len(emit.collect(Same(1)).modules) == 3


def test_equal_components_are_converted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    converted = []
    original = emit_platform.rtlil.convert

    def convert(component: wiring.Component, name: str, **options: Any) -> str:
        converted.append(name)
        return original(component, name=name, **options)

    monkeypatch.setattr(emit_platform.rtlil, "convert", convert)
    emit.collect(Pair())
    assert sorted(converted) == ["adder", "counter_1", "counter_3", "pair"]
    converted.clear()
    emit.collect(Pair(key=False))
    assert sorted(converted) == ["adder", "counter_1", "counter_1", "counter_3", "pair"]


def test_a_key_of_its_own_stands_for_a_component() -> None:
    one, two = Counter(1, key=False), Counter(1, key=False)
    assert emit_key(one) is None
    for each in one, two:
        each.emit_key = "one"
    assert emit_key(one) == emit_key(two)
    Simulator(one)
    Simulator(two)


def test_submodules_that_are_no_macros_are_drawn_into_their_parent(tmp_path: Path) -> None:
    class Parent(wiring.Component):
        count: Out(8)

        def elaborate(self, platform: Any) -> Module:
            m = Module()
            m.submodules.inner = inner = Counter(1)
            m.submodules += Counter(3)
            m.d.comb += [self.count.eq(inner.count), inner.tap.valid.eq(inner.count[0])]
            return m

    files = emit.emit(Parent(), tmp_path)
    assert [file.stem for file in files] == ["adder", "parent"]
    checks.lint(files, "parent")


def test_the_module_name_is_the_class_name_in_snake_case() -> None:
    class AXILite2Port(wiring.Component):
        a: In(1)

        def elaborate(self, platform: Any) -> Module:
            return Module()

    assert list(emit.collect(AXILite2Port()).modules) == ["axi_lite2_port"]


def test_amaranths_own_simulator_runs_macros_and_their_flush() -> None:
    pair = Pair()

    async def stimulus(ctx):  # type: ignore[no-untyped-def]
        await ctx.tick().repeat(5)
        assert [ctx.get(each) for each in (pair.a, pair.b, pair.c)] == [5, 5, 15]
        ctx.set(pair.flush, 1)
        await ctx.tick()
        ctx.set(pair.flush, 0)
        assert [ctx.get(each) for each in (pair.a, pair.b, pair.c)] == [6, 0, 18]

    simulator = Simulator(pair)
    simulator.add_clock(1e-6)
    simulator.add_testbench(stimulus)
    simulator.run()


def test_output_passes_verilator_and_yosys(files: "list[Path]") -> None:
    checks.lint(files, "pair")
    checks.check_yosys(files, "pair")


@pytest.mark.icarus
def test_output_passes_icarus(files: "list[Path]") -> None:
    checks.check_icarus(files, "pair")


@pytest.mark.icarus
def test_what_is_drawn_into_a_module_reads_whole_wires(tmp_path: Path) -> None:
    checks.check_icarus(emit.emit(Outer(), tmp_path), "outer")


@pytest.mark.icarus
def test_icarus_runs_output_from_reset_on(files: "list[Path]", tmp_path: Path) -> None:
    bench = tmp_path / "bench.sv"
    bench.write_text("""
module bench;
  reg clk = 0, rst = 1, flush = 0;
  wire [7:0] a, b, c;
  pair pair(.clk(clk), .rst(rst), .flush(flush), .a(a), .b(b), .c(c));
  always #5 clk = ~clk;
  initial begin
    #10 rst = 0;
    #50 $display("%d %d %d", a, b, c);
    $finish;
  end
endmodule
""")
    compile_it = ["iverilog", "-g2012", "-o", tmp_path / "bench", bench, *files]
    subprocess.run(compile_it, check=True, capture_output=True)
    run = subprocess.run(["vvp", tmp_path / "bench"], check=True, capture_output=True, text=True)
    assert run.stdout.split() == ["5", "5", "15"]


def test_check_reports_a_loop_and_a_missing_module(tmp_path: Path) -> None:
    loop = tmp_path / "loop.sv"
    loop.write_text("module loop(input a, output x); wire y; assign x = a ^ y; assign y = ~x; endmodule\n")
    with pytest.raises(YosysError, match="found logic loop"):
        checks.check_yosys([loop], "loop")
    hole = tmp_path / "hole.sv"
    hole.write_text("module hole(input a, output x); nowhere n(.a(a), .x(x)); endmodule\n")
    with pytest.raises(YosysError, match="nowhere"):
        checks.check_yosys([hole], "hole")


def test_every_waiver_gives_a_reason() -> None:
    assert all(waiver.reason for waiver in WAIVERS)
    assert "UNOPTFLAT" not in {waiver.rule for waiver in WAIVERS}


def test_macros_show_the_constants_of_their_component() -> None:
    counter = emit.macro(Counter(5))
    assert counter.step == 5
    assert isinstance(counter.count, Signal)
    with pytest.raises(AttributeError, match="steps"):
        _ = counter.steps
    Simulator(counter)
