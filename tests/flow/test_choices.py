"""What a select chooses by ANDs and ORs is what Yosys' own multiplexers give: proven. An even stage is smaller for it."""

from pathlib import Path

import pytest

from sardonyx.flow.asic.library import Library
from sardonyx.flow.asic.measure import component
from sardonyx.flow.asic.synthesis import CHOICE_RULES, INVERSE, Registers, areas
from sardonyx.hw.emit import emit
from sardonyx.hw.interconnect.stage import PassStage
from sardonyx.hw.yosys import YosysError, run_yosys

INVERTER = f"module {INVERSE} (input A, output Y); assign Y = ~A; endmodule\n"
CHOICE = "module m (input s, input [3:0] a, b, output [3:0] y); assign y = s ? b : a; endmodule\n"


def proven(verilog: str, folder: Path, rules: str) -> int:
    """How many inverters a module gets; YosysError if what it gives differs."""
    (folder / CHOICE_RULES.name).write_text(rules)
    (folder / "m.v").write_text(verilog)
    (folder / "inverter.v").write_text(INVERTER)
    (folder / "run.ys").write_text(f"""
read_verilog m.v
rename m gold
proc
opt
copy gold gate
techmap -map {CHOICE_RULES.name} gate/t:$mux
tee -o inverters.txt select -count gate/t:{INVERSE}
read_verilog inverter.v
flatten gate
miter -equiv -flatten -make_assert gold gate miter
sat -verify -prove-asserts miter
""")
    run_yosys(["run.ys"], folder)
    return int((folder / "inverters.txt").read_text().split()[0])


def test_a_word_chosen_by_a_select_and_its_inverse_is_that_of_a_multiplexer(tmp_path: Path) -> None:
    assert proven(CHOICE, tmp_path, CHOICE_RULES.read_text()) == 1


def test_three_bits_stay_a_multiplexer(tmp_path: Path) -> None:
    assert proven(CHOICE.replace("[3:0]", "[2:0]"), tmp_path, CHOICE_RULES.read_text()) == 0


@pytest.mark.parametrize("right,wrong", [("A & {WIDTH{other}}", "A & {WIDTH{S}}"), (".A(S)", ".A(A[0])")])
def test_the_proof_fails_for_rules_that_are_wrong(right: str, wrong: str, tmp_path: Path) -> None:
    rules = CHOICE_RULES.read_text()
    assert right in rules
    with pytest.raises(YosysError, match="proof did fail"):
        proven(CHOICE, tmp_path, rules.replace(right, wrong))


@pytest.mark.opensta
@pytest.mark.parametrize("registers", Registers)
def test_a_word_passes_an_even_stage_by_one_cell_a_bit(library: Library, registers: Registers, tmp_path: Path) -> None:
    emit(PassStage(17, shares=True), tmp_path)
    found = areas(component(tmp_path, "stage_pass_17_shared"), library, registers)["stage_pass_17_shared"]
    assert found.total < 17 * 0.175 + found.flops + 1, "two cells a bit take as much alone"
