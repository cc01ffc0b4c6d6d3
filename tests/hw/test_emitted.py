"""What is read back from emitted modules."""

from pathlib import Path

import pytest

from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.emit import emit
from sardonyx.hw.emitted import Port, Register, below, instances, ports, registers
from sardonyx.hw.memory.sram import Sram
from sardonyx.hw.stream.fifo import Fifo2

TEXT = """\
module outer (
  input  wire [3:0] a,
  input  wire clk,
  output reg  [3:0] q = 4'h0,
  output reg  next
);
  reg [3:0] kept = 4'h0;
  reg [1:0] words [7:0];
  reg none;
  inner one (
    .i(a)
  );
  always_ff @(posedge clk)
    q <= a;
  always_ff @(posedge clk) begin
    if (a <= q)
      words[a][0] <= q[0];
    kept <= a;
  end
  always_comb begin
    none = a <= q;
    next = none;
  end
endmodule
"""


def test_ports_are_read_with_flow_and_width(tmp_path: Path) -> None:
    [file] = emit(Sram(512, 4), tmp_path)
    assert sorted(ports(file.read_text()), key=lambda port: port.name) == [
        Port("address", "input", 9), Port("clk", "input", 1), Port("data", "input", 64),
        Port("enable", "input", 1), Port("word", "output", 64), Port("write", "input", 4)]


def test_ports_that_are_registers_with_an_initial_value_are_ports_too() -> None:
    assert ports(TEXT) == [Port("a", "input", 4), Port("clk", "input", 1), Port("q", "output", 4), Port("next", "output", 1)]


def test_a_file_without_ports_is_refused() -> None:
    with pytest.raises(UserError) as error:
        ports("module nothing; endmodule\n")
    assert str(error.value) == "this module has no ports that can be read\n  try: give Verilog that `sardonyx verilog` wrote"


def test_registers_are_what_a_clock_edge_changes() -> None:
    found = registers(TEXT)
    assert found == {"q": Register(4, 1), "kept": Register(4, 1), "words": Register(2, 8)}
    assert found["words"].bits == 16


def test_registers_of_an_emitted_module_are_those_that_its_class_has(tmp_path: Path) -> None:
    text = emit(Fifo2(5), tmp_path)[0].read_text()
    # Two words, and a bit for each that says whether it is there.
    assert sum(each.bits for each in registers(text).values()) == 2 * (5 + 1)


def test_instances_are_found_on_every_level() -> None:
    assert instances(TEXT) == {"one": "inner"}
    texts = {"outer": TEXT, "inner": "module inner (\n  input  wire i\n);\nendmodule\n"}
    assert list(below("outer", texts)) == [(("outer",), ("outer",)), (("outer", "one"), ("outer", "inner"))]
