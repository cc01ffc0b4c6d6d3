"""The emitted Verilog in Icarus, a simulator with other rules than Verilator: four states, and an event for every change."""

import random
import string
import subprocess
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from sardonyx.hw import emit
from sardonyx.hw.arch.presets import get
from sardonyx.hw.arch.primitive import JOINER, REDUCER, Primitive
from sardonyx.hw.arch.soc import CONTROLLER, offsets
from sardonyx.hw.arch.token import DONE, parse_stream, stop
from sardonyx.hw.component import module_name
from sardonyx.hw.soc.top import Sardonyx
from sardonyx.hw.sparse.joiner import Joiner
from sardonyx.hw.sparse.reducer import Reducer
from sardonyx.sim.rtl.bench import Bench

pytestmark = pytest.mark.icarus

BENCH = """
module bench;
  reg clk = 0, rst = 1;
  always #5 clk = ~clk;
  {signals}
  {top} dut (.clk(clk), .rst(rst), .cfg({cfg}), {ports});
  {reads}
  always @(posedge clk) if (!rst) begin
    {moves}
  end
  initial begin
    #22 rst = 0;
    #{time} $finish;
  end
endmodule
"""

MACHINE_BENCH = """
module bench;
  reg clk = 0, rst = 1;
  wire valid;
  wire [31:0] data;
  always #5 clk = ~clk;
  sardonyx dut (.clk(clk), .rst(rst), .s_axil_araddr(16'd$address), .s_axil_arprot(3'd0), .s_axil_arvalid(!rst),
    .s_axil_rdata(data), .s_axil_rvalid(valid), .s_axil_rready(1'b1), .s_axil_awvalid(1'b0), .s_axil_wvalid(1'b0),
    .s_axil_bready(1'b1), .s_axi_awvalid(1'b0), .s_axi_wvalid(1'b0), .s_axi_bready(1'b1), .s_axi_arvalid(1'b0),
    .s_axi_rready(1'b1));
  always @(posedge clk) if (!rst && valid) begin
    $$display("%0d", data);
    $$finish;
  end
  initial begin
    #22 rst = 0;
    #1000 $$finish;
  end
endmodule
"""


class Parts(wiring.Component):
    """Two times a default of which a decision replaces parts, and another decision on what comes of it."""

    some: In(1)
    way: In(2)
    left: Out(2)
    right: Out(2)
    lefts: Out(4)
    rights: Out(4)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        for bits in self.left, self.right:
            with m.If(self.some):
                m.d.comb += bits[0].eq(self.way[0])
                with m.If(self.way[1]):
                    m.d.comb += bits[1].eq(1)
        for bits, chosen in (self.left, self.lefts), (self.right, self.rights):
            with m.Switch(bits):
                for value in range(4):
                    with m.Case(value):
                        m.d.comb += chosen.eq(1 << value)
        return m


PARTS_BENCH = """
module bench;
  reg some = 0;
  reg [1:0] way = 2;
  wire [3:0] lefts, rights;
  parts dut (.some(some), .way(way), .lefts(lefts), .rights(rights));
  initial begin
    #1 some = 1;
    #1 $display("%0d %0d", lefts, rights);
    way = 3;
    #1 $display("%0d %0d", lefts, rights);
    some = 0;
    #1 $display("%0d %0d", lefts, rights);
    $finish;
  end
endmodule
"""


def simulate(component: wiring.Component, primitive: Primitive, cfg: int, inputs: "dict[str, list[int]]",
             folder: Path) -> dict[str, list[int]]:
    """Run a primitive in Icarus: inputs one after the other, outputs taken in two cycles of three."""
    top, files = module_name(component), emit.emit(component, folder)
    signals, ports, reads, moves = ["reg [1:0] phase = 0;"], [], [], ["phase <= phase == 2 ? 0 : phase + 1;"]
    for port in primitive.ports:
        name, width = port.name, port.width
        signals += [f"wire [{width - 1}:0] {name}_p; wire {name}_v, {name}_r;"]
        ports += [f".{name}__payload({name}_p), .{name}__valid({name}_v), .{name}__ready({name}_r)"]
        if port in primitive.inputs:
            tokens = inputs.get(name, [])
            (folder / f"{name}.hex").write_text("".join(f"{token:x}\n" for token in [*tokens, 0]))
            signals += [f"reg [{width - 1}:0] {name}_m [0:{len(tokens)}]; integer {name}_n = 0;",
                        f"assign {name}_p = {name}_m[{name}_n]; assign {name}_v = !rst && {name}_n < {len(tokens)};"]
            reads += [f'initial $readmemh("{folder}/{name}.hex", {name}_m);']
            moves += [f"if ({name}_v && {name}_r) {name}_n <= {name}_n + 1;"]
        else:
            signals += [f"assign {name}_r = phase != 2;"]
            moves += [f'if ({name}_v && {name}_r) $display("{name} %0d", {name}_p);']
    cycles = 100 + 4 * sum(map(len, inputs.values()))
    text = BENCH.format(top=top, cfg=f"{len(Value.cast(component.cfg))}'d{cfg}", signals="\n  ".join(signals),
                        ports=", ".join(ports), reads="\n  ".join(reads), moves="\n    ".join(moves), time=10 * cycles)
    (folder / "bench.sv").write_text(text)
    found: dict[str, list[int]] = {port.name: [] for port in primitive.outputs}
    for line in run_icarus(files, folder).splitlines():
        name, _, token = line.partition(" ")
        if name in found:
            found[name].append(int(token))
    return found


def run_icarus(files: "list[Path]", folder: Path) -> str:
    """What ``bench.sv`` of a folder prints with files."""
    compiled = subprocess.run(["iverilog", "-g2012", "-s", "bench", "-o", str(folder / "bench.vvp"), str(folder / "bench.sv"),
                               *map(str, files)], capture_output=True, text=True)
    assert compiled.returncode == 0 and not compiled.stdout + compiled.stderr, compiled.stdout + compiled.stderr
    return subprocess.run(["vvp", "-n", str(folder / "bench.vvp")], capture_output=True, text=True, timeout=120).stdout


def fibers(draw: random.Random, count: int, values: bool) -> list[int]:
    """A random stream: fibers of rising coordinates, or of values, some of them empty; two levels."""
    tokens: list[int] = []
    for number in range(count):
        size = draw.choice((0, 1, 2, 5))
        tokens += [draw.randrange(1 << 16) for _ in range(size)] if values else sorted(draw.sample(range(12), size))
        tokens.append(stop(1 if number == count - 1 or draw.random() < 0.2 else 0))
    return [*tokens, DONE]


def test_the_tiny_machine_tells_its_fingerprint(tmp_path: Path) -> None:
    # It passes time at all: tiles that read each other's tracks must not wake each other for ever.
    files = emit.emit(Sardonyx(get("tiny")), tmp_path)
    (tmp_path / "bench.sv").write_text(string.Template(MACHINE_BENCH).substitute(
        address=offsets(CONTROLLER)["fingerprint_low"]))
    assert int(run_icarus(files, tmp_path)) == get("tiny").fingerprint & 0xFFFF_FFFF


def test_blocks_that_are_woken_for_nothing_come_to_rest(tmp_path: Path) -> None:
    # In Icarus 11 what wakes the block of `lefts` or `rights` wakes those of `left` and `right`, too: if these show a default
    # for a moment, they wake each other for ever.
    files = emit.emit(Parts(), tmp_path)
    (tmp_path / "bench.sv").write_text(PARTS_BENCH)
    assert run_icarus(files, tmp_path).split() == ["4", "4", "8", "8", "1", "1"]


def test_a_reducer_gives_the_tokens_that_it_gives_in_verilator(tmp_path: Path) -> None:
    inputs = {"val": fibers(random.Random(1), 60, values=True)}
    found = simulate(Reducer(), REDUCER, 0, inputs, tmp_path)
    assert found == Bench(Reducer()).run(inputs).outputs
    assert len(found["val_o"]) > 60


@pytest.mark.parametrize("op", ["intersect", "union"])
def test_a_joiner_gives_the_tokens_that_it_gives_in_verilator(op: str, tmp_path: Path) -> None:
    inputs = {"crd0": parse_stream("1 2 5 S0 S0 3 4 S1 0 S1 D"), "ref0": parse_stream("0 1 2 S0 S0 3 4 S1 5 S1 D"),
              "crd1": parse_stream("2 3 5 S0 1 S0 4 S1 S1 D"), "ref1": parse_stream("0 1 2 S0 3 S0 4 S1 S1 D")}
    cfg = JOINER.config.encode(op=op, use_ref0=1, use_ref1=1)
    found = simulate(Joiner(), JOINER, cfg, inputs, tmp_path)
    assert found == Bench(Joiner()).run(inputs, cfg).outputs
    assert found["crd"][-1] == DONE
