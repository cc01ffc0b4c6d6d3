"""Words do what Yosys' own words of flops do, as latches and as flops: proven by induction, on the rules that users get, the
clock being an input."""

from pathlib import Path

import pytest

from sardonyx.flow.asic.synthesis import GATE, GATE_STEPS, LATCH_RULES, RESET_RULES
from sardonyx.hw.yosys import YosysError, run_yosys

# Latches that are open while the clock is low decide whether it passes.
CLOCK_GATE = f"""
module {GATE} (input CK, E, output GCK);
  reg open;
  always @* if (!CK) open = E;
  assign GCK = CK & open;
endmodule
"""
ONE_PORT = """
module m (input clk, we, input [1:0] wa, ra, input [1:0] wd, output [1:0] rd, output [5:0] all);
  reg [1:0] mem [0:2];
  always @(posedge clk) if (we) mem[wa] <= wd;
  assign rd = mem[ra];
  assign all = {mem[2], mem[1], mem[0]};
endmodule
"""
TWO_PORTS = """
module m (input clk, input [1:0] we, input [3:0] wa, wd, output [7:0] all);
  reg [1:0] mem [0:3];
  always @(posedge clk) begin
    if (we[0]) mem[wa[1:0]] <= wd[1:0];
    if (we[1]) mem[wa[3:2]] <= wd[3:2];
  end
  assign all = {mem[3], mem[2], mem[1], mem[0]};
endmodule
"""
REGISTERS = """
module m (input clk, rst, we, input [1:0] wa, input [4:0] wd, output reg [8:0] q);
  always @(posedge clk) if (rst || we) begin
    if (rst || wa == 0) q[4:0] <= rst ? 0 : wd;
    if (rst || wa == 1) q[8:5] <= rst ? 0 : wd;
  end
endmodule
"""


READS = """
module m (input clk, input [1:0] we, input [3:0] wa, ra, wd, output [3:0] rd, output [7:0] all);
  reg [1:0] mem [0:3];
  always @(posedge clk) begin
    if (we[0]) mem[wa[1:0]] <= wd[1:0];
    if (we[1]) mem[wa[3:2]] <= wd[3:2];
  end
  assign rd = {mem[ra[3:2]], mem[ra[1:0]]};
  assign all = {mem[3], mem[2], mem[1], mem[0]};
endmodule
"""


def proven(verilog: str, folder: Path, rules: str, flops: bool = False) -> int:
    """How many latches, or flops, a module gets; YosysError if words differ at any time, whatever comes in when."""
    (folder / LATCH_RULES.name).write_text(rules)
    (folder / "m.v").write_text(verilog)
    (folder / "gate.v").write_text(CLOCK_GATE)
    (folder / "run.ys").write_text(f"""
read_verilog -sv m.v
rename m gold
proc
opt
memory_dff
memory_collect
dffunmap -srst-only
copy gold gate
techmap {"-D FLOPS " if flops else ""}-map {LATCH_RULES.name} gate/t:$mem_v2 {"" if flops else "gate/t:$dffe"}
read_verilog -sv gate.v
proc
memory_map gold
flatten gate
opt -fast
select -assert-none {"gate/t:$dlatch*" if flops else "gate/t:$*dff*"} gate/t:$mem_v2
simplemap gate
tee -o latches.txt select -count gate/t:{"$_DFFE_PP_" if flops else "$_DLATCH_P_"}
miter -equiv -flatten -make_assert gold gate miter
clk2fflogic miter
opt -fast miter
sat -verify -prove-asserts -tempinduct -set-init-zero -seq 1 -maxsteps 8 miter
""")
    run_yosys(["run.ys"], folder)
    return int((folder / "latches.txt").read_text().split()[0])


@pytest.mark.parametrize("verilog,bits", [(ONE_PORT, 6), (TWO_PORTS, 8), (REGISTERS, 9)], ids=["port", "ports", "registers"])
def test_words_of_latches_are_those_of_flops_at_all_times(verilog: str, bits: int, tmp_path: Path) -> None:
    assert proven(verilog, tmp_path, LATCH_RULES.read_text()) == bits


@pytest.mark.parametrize("verilog,bits", [(ONE_PORT, 6), (READS, 8)], ids=["port", "ports"])
def test_words_of_flops_are_those_that_yosys_makes(verilog: str, bits: int, tmp_path: Path) -> None:
    assert proven(verilog, tmp_path, LATCH_RULES.read_text(), flops=True) == bits


@pytest.mark.parametrize("verilog,right,wrong", [
    (READS, "write[0] & !write[1]", "write[0]"), (READS, "WR_DATA[WIDTH +: WIDTH]", "WR_DATA[0 +: WIDTH]"),
    (ONE_PORT, ".EN(|write)", ".EN(1'b1)"), (ONE_PORT, "here[n] & words", "words")])
def test_the_proof_fails_for_rules_of_flops_that_are_wrong(verilog: str, right: str, wrong: str, tmp_path: Path) -> None:
    rules = LATCH_RULES.read_text()
    assert right in rules
    with pytest.raises(YosysError, match=r"proof did fail|reached maximum number of time steps"):
        proven(verilog, tmp_path, rules.replace(right, wrong), flops=True)


@pytest.mark.parametrize("verilog,right,wrong", [
    (TWO_PORTS, ".D(write[1])", ".D(write[0])"), (TWO_PORTS, "== n)", "== n + 1)"), (ONE_PORT, ".E(|write)", ".E(1'b1)"),
    (ONE_PORT, "$_DLATCH_N_ first (.D(WR_DATA[b])", "$_DLATCH_P_ first (.D(WR_DATA[b])"),
    (REGISTERS, "EN_POLARITY ? EN : !EN", "1'b1"), (REGISTERS, ".D(held), .E(gated)", ".D(held), .E(CLK)")])
def test_the_proof_fails_for_rules_that_are_wrong(verilog: str, right: str, wrong: str, tmp_path: Path) -> None:
    rules = LATCH_RULES.read_text()
    assert right in rules
    with pytest.raises(YosysError, match=r"proof did fail|reached maximum number of time steps"):
        proven(verilog, tmp_path, rules.replace(right, wrong))


@pytest.mark.parametrize("what,body", {
    "two words": "reg [3:0] mem [0:1]; always @(posedge clk) if (we) mem[a[0]] <= d; assign q = mem[b[0]];",
    "an SRAM": "reg [3:0] mem [0:127]; always @(posedge clk) if (we) mem[{a, b}] <= d; assign q = mem[{b, a}];",
    "a read that waits for the clock": "reg [3:0] mem [0:15]; reg [3:0] r; assign q = r;"
                                       "always @(posedge clk) begin if (we) mem[a] <= d; r <= mem[b]; end",
    "bits written alone": "reg [3:0] mem [0:15]; assign q = mem[b];"
                          "always @(posedge clk) begin if (we) mem[a][0] <= d; if (d[3]) mem[a][3:1] <= d; end",
    "a table": "reg [3:0] mem [0:15]; integer i; initial for (i = 0; i < 16; i = i + 1) mem[i] = i ^ 5; assign q = mem[b];",
    "words with a beginning": "reg [3:0] mem [0:15]; initial mem[3] = 1; always @(posedge clk) if (we) mem[a] <= d;"
                              "assign q = mem[b];",
}.items())
def test_no_latches_are_made_of(what: str, body: str, tmp_path: Path) -> None:
    (tmp_path / LATCH_RULES.name).write_text(LATCH_RULES.read_text())
    (tmp_path / "m.v").write_text(f"module m (input clk, we, input [3:0] a, b, d, output [3:0] q); {body} endmodule")
    (tmp_path / "run.ys").write_text("read_verilog -sv m.v\nproc\nopt\nmemory -nomap\nselect -assert-count 1 t:$mem_v2\n"
                                     f"techmap -map {LATCH_RULES.name} t:$mem_v2\nselect -assert-count 1 t:$mem_v2\n")
    run_yosys(["run.ys"], tmp_path)


# A reset that wins over an enable, to each value, and one that waits for it.
RESETS = """
module m (input clk, rst, we, input [7:0] wd, output reg [7:0] first, output reg [4:0] second);
  always @(posedge clk) if (rst) first <= 8'h0f; else if (we) first <= wd;
  always @(posedge clk) if (!we) begin second <= wd; if (rst) second <= 0; end
endmodule
"""


def gated(folder: Path, rules: str) -> None:
    """Prove that registers behind clock gates are those with enables; YosysError if they ever differ."""
    (folder / RESET_RULES.name).write_text(rules)
    (folder / "m.v").write_text(RESETS)
    (folder / "gate.v").write_text(CLOCK_GATE)
    (folder / "run.ys").write_text("\n".join([
        "read_verilog -sv m.v", "proc", "opt", "copy m gold", "rename m gate", "cd gate", *GATE_STEPS, "cd ..",
        f"select -assert-min 2 gate/t:{GATE}", "select -assert-none gate/t:$*DFF*E*", "read_verilog -sv gate.v", "proc",
        "flatten gate", "simplemap", "miter -equiv -flatten -make_assert gold gate miter", "clk2fflogic miter",
        "opt -fast miter", "sat -verify -prove-asserts -tempinduct -set-init-zero -seq 1 -maxsteps 8 miter"]) + "\n")
    run_yosys(["run.ys"], folder)


def test_registers_behind_clock_gates_are_those_with_enables_at_all_times(tmp_path: Path) -> None:
    gated(tmp_path, RESET_RULES.read_text())


@pytest.mark.parametrize("right,wrong", [(".D(D & ~R), .C(C), .E(E | R)", ".D(D), .C(C), .E(E | R)"),
                                         (".D(D | R), .C(C), .E(E | R)", ".D(D | R), .C(C), .E(E)")])
def test_the_proof_fails_for_resets_that_are_wrong(right: str, wrong: str, tmp_path: Path) -> None:
    rules = RESET_RULES.read_text()
    assert right in rules
    with pytest.raises(YosysError, match=r"proof did fail|reached maximum number of time steps"):
        gated(tmp_path, rules.replace(right, wrong))
