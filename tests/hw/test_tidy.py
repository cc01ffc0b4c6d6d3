"""Tidied Verilog says the same as before, by Yosys' proof, with names, and one way to write each thing."""

import re
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.hw import emit, verilog
from sardonyx.hw.arch.presets import PRESETS
from sardonyx.hw.describe import Field
from sardonyx.hw.lint import LINT
from sardonyx.hw.memory.controller import Controller
from sardonyx.hw.names import KEYWORDS
from sardonyx.hw.soc.top import Sardonyx
from sardonyx.hw.sparse.dropper import Dropper
from sardonyx.hw.sparse.reducer import Reducer
from sardonyx.hw.sparse.repeater import Repeater
from sardonyx.hw.tidy import LINE, tidy
from sardonyx.hw.yosys import run_yosys
from sardonyx.sim.rtl import verilator

SMALL = """\
module fifo(i, clk, rst, o);
  input [7:0] i;
  wire [7:0] i;
  input clk;
  wire clk;
  input rst;
  wire rst;
  output [7:0] o;
  wire [7:0] o;
  wire _0_;
  wire _1_;
  wire queue_clk;
  reg [7:0] _2_;
  always_ff @(posedge queue_clk)
    _2_ <= i;
  always_comb begin
    casez (i[1:0])
      2'h1:
          x = _1_;
      default:
          x = 1'h0;
    endcase
  end
  reg x = 1'h0;
  assign _0_ = | i;
  assign _1_ = ~ _0_;
  assign queue_clk = clk;
  assign o = _2_;
endmodule
"""


def same(before: str, after: str, others: str = "") -> None:
    """Both texts of a module do the same in every state; `others`: modules of which it has instances."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, text in (("gold", before), ("gate", after)):
            (folder / f"{kind}.sv").write_text(re.sub(r"^module \w+", f"module {kind}", text, count=1, flags=re.M))
        (folder / "others.sv").write_text(others)
        script = "read_verilog -sv -lib others.sv; read_verilog -sv gold.sv gate.sv; proc; memory; opt_clean; " \
                 "equiv_make gold gate both; hierarchy -top both; " \
                 "equiv_struct; equiv_simple; equiv_induct; equiv_status -assert"
        run_yosys(["-q", "-p", script], folder)


def test_a_wire_with_a_sign_is_one_without() -> None:
    assert "  reg [3:0] delta;\n" in tidy("module m(a);\n  input a;\n  wire a;\n  reg signed [3:0] delta;\nendmodule\n")


def test_a_small_module() -> None:
    assert tidy(SMALL, (Field("i", 3, 0, "low", False), Field("i", 7, 4, "high.part", False))) == """\
module fifo (
  input  wire [7:0] i,
  input  wire clk,
  input  wire rst,
  output reg  [7:0] o
);
  reg x = 1'h0;
  wire [3:0] i_low;
  assign i_low = i[3:0];
  always_ff @(posedge clk)
    o <= i;
  always_comb begin
    case (i_low[1:0])
      2'h1:
          x = ~(|i);
      default:
          x = 1'h0;
    endcase
  end
endmodule
"""


@pytest.mark.parametrize("component", [Reducer, Dropper, Repeater, lambda: Controller(6, 11, 16, 11)])
def test_modules_do_the_same_as_before(component: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(component)
    platform = emit.collect(component())
    with monkeypatch.context() as patch, verilog.Writer(None) as writer:
        patch.setattr(verilog, "tidy", lambda text, fields: text)
        for module in platform.modules.values():
            writer.take(module)
        before = list(writer.texts().values())[-1]
    before = before[before.index("module "):]
    after = tidy(before, platform.modules[list(platform.modules)[-1]].said.fields)
    same(before, after)
    assert not re.search(r"\b_\d+_", after)
    assert len(after.splitlines()) < len(before.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["tiny", "amber"])
def test_every_module_of_a_machine_does_the_same_as_before(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    platform = emit.collect(Sardonyx(PRESETS[preset]))
    with monkeypatch.context() as patch, verilog.Writer(None) as writer:
        patch.setattr(verilog, "tidy", lambda text, fields: text)
        for module in platform.modules.values():
            writer.take(module)
        texts = {name: text[text.index("\nmodule ") + 1:] for name, text in writer.texts().items()}
    proved = []
    for module in platform.modules.values():
        before = texts[module.name]
        # Left to simulation: SRAMs, whose state is large, and products, which SAT does not compare in hours.
        if not module.name.startswith("sram_") and not re.search(r"^[^/]* \* [a-zA-Z_]", before, re.M):
            same(before, tidy(before, module.said.fields), "".join(texts[name] for name in module.macros))
            proved.append(module.name)
    assert len(proved) >= len(platform.modules) - 4, "all but two SRAMs, the ALU and what multiplies references"


OPERATORS = ("&", "|", "^", "+", "-", "*", "==", "!=", "<", ">=", "<<", ">>", "&&", "||", "~", "!", "-u", "r|", "r&", "?", "{}")


@st.composite
def modules(draw: st.DrawFn) -> str:
    """A module of assignments of one operator each, of wires of a few bits."""
    inputs = {name: draw(st.integers(1, 4)) for name in "abc"}
    wires: dict[str, int] = {}
    lines: list[str] = []
    for at in range(draw(st.integers(2, 8))):
        def operand() -> str:
            known = inputs | wires
            name = draw(st.sampled_from([*known, *known, "2'h2"]))
            if name in known and known[name] > 1 and draw(st.integers(0, 5)) == 0:
                return f"{name}[{known[name] - 1}:1]" if known[name] > 2 else f"{name}[1]"
            return name

        sign = draw(st.sampled_from(OPERATORS))
        if sign == "?":
            right = f"{operand()} ? {operand()} : {operand()}"
        elif sign == "{}":
            right = f"{{ {operand()}, {operand()} }}"
        elif sign in ("~", "!", "-u", "r|", "r&"):
            right = f"{sign.replace('u', '').replace('r', '')} {operand()}"
        else:
            right = f"{operand()} {sign} {operand()}"
        wires[f"_{at}_"] = draw(st.integers(1, 6))
        lines.append(f"  assign _{at}_ = {right};")
    out = draw(st.integers(1, 8))
    last = list(wires)[-1]
    declared = [f"  {kind} [{width - 1}:0] {name};".replace("[0:0] ", "") for name, width in inputs.items()
                for kind in ("input", "wire")]
    declared += [f"  output [{out - 1}:0] o;\n  wire [{out - 1}:0] o;".replace("[0:0] ", "")]
    declared += [f"  wire [{width - 1}:0] {name};".replace("[0:0] ", "") for name, width in wires.items()]
    return "\n".join(["module random(a, b, c, o);", *declared, *lines, f"  assign o = {last} ^ a;", "endmodule", ""])


@settings(max_examples=50)
@given(modules())
def test_expressions_mean_the_same_among_operands_of_any_width(text: str) -> None:
    same(text, tidy(text))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> "list[Path]":
    # Two rows have every module; lint looks at every instance.
    return emit.emit(Sardonyx(replace(PRESETS["tiny"], rows=2)), tmp_path_factory.mktemp("tiny"))


def test_tiny_has_no_reserved_nor_escaped_nor_nameless_wires(tiny: "list[Path]") -> None:
    for file in tiny:
        text = re.sub(r"//.*", "", file.read_text())
        assert "\\" not in text and not re.search(r"\b_\d+|[$](?!signed)", text), file.name
        names = re.findall(r"^  (?:(?:in|out)put +)?(?:wire|reg) +(?:\[\d+:0\] )?(\w+)|^  \w+ (\w+) \($", text, re.M)
        assert names and not KEYWORDS & {name for pair in names for name in pair}, file.name
        assert max(map(len, text.splitlines())) <= LINE + 10


def test_tiny_passes_lint_from_anywhere_with_the_waivers_beside_it(tiny: "list[Path]", tmp_path: Path) -> None:
    tools, folder = verilator.tools(), tiny[-1].parent
    run = subprocess.run([*tools.verilator, "--lint-only", "-Wall", "-F", str(folder / "sardonyx.f"), str(folder / LINT)],
                         env=tools.environment, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0 and not run.stderr and "%" not in run.stdout, run.stdout + run.stderr


def test_an_sram_has_no_reset_and_says_where_a_macro_goes(tiny: "list[Path]") -> None:
    text = next(file for file in tiny if file.stem == "sram_512x4x16").read_text()
    assert not re.search(r"^[^/]*\brst\b", text, re.M) and "\n// Place of a macro: " in text


def test_tiny_has_one_clock_and_loose_cases_only_where_bits_are_loose(tiny: "list[Path]") -> None:
    for file in tiny:
        text = file.read_text()
        assert set(re.findall(r"posedge (\w+)", text)) <= {"clk"}, file.name
        for case in re.findall(r"casez .*?endcase", text, re.S):
            assert "?" in case, file.name


def test_tiny_reads_its_configuration_by_name(tiny: "list[Path]") -> None:
    texts = {file.stem: file.read_text() for file in tiny}
    assert "assign cfg_core_mode = cfg[2:0];" in texts["core_pe"]
    assert ".sb(cfg_sb_data)" in texts["pe_even"] and not re.search(r"\(cfg\[", texts["pe_even"])
