"""The energy of what was counted."""

from dataclasses import replace
from pathlib import Path

import pytest
from amaranth.hdl import Fragment
from amaranth.lib import wiring

from sardonyx.cache import home
from sardonyx.flow.asic import power
from sardonyx.flow.asic.power import Rates, Share, Spent, energies, estimate, rates
from sardonyx.flow.asic.variants import with_options
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.glb import HYBRID, Glb
from sardonyx.hw.arch.presets import PRESETS
from sardonyx.hw.clock_gate import ClockGate
from sardonyx.hw.component import module_name
from sardonyx.hw.describe import Description
from sardonyx.hw.emit import collect
from sardonyx.hw.emit_platform import EmitPlatform
from sardonyx.hw.glb.tile import GlbTile
from sardonyx.hw.verilog import EmittedModule
from sardonyx.sim.rtl.activity import Activity, Count, is_sram
from sardonyx.sim.rtl.library import modules

TILE = """\
module tile_pe_odd (
  input  wire a,
  input  wire clk
);
  alu alu (
    .a(a)
  );
endmodule
"""
ALU = """\
module alu (
  input  wire a,
  input  wire clk
);
  reg [9:0] word = 10'h000;
  always_ff @(posedge clk)
    word <= a;
endmodule
"""
SRAM = "module sram_512x4x16 (\n  input  wire enable\n);\nendmodule\n"
TEXTS = {"tile_pe_odd": TILE, "alu": ALU, "sram_512x4x16": SRAM}
ACTIVITY = Activity(100, {"x1_y1": "tile_pe_odd", "x1_y2": "tile_pe_odd"}, {
    "x1_y1": {"tile_pe_odd": Count(7), "alu": Count(50, 40)}, "x1_y2": {"tile_pe_odd": Count(), "alu": Count()}})


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {"alu": Rates(2.0, 3.0, 5.0), "tile_pe_odd": Rates(0.0, 1.0, 0.0), "fifo2_w1": Rates(1.0, 2.0, 3.0),
             "fifo2_w17": Rates(3.0, 4.0, 5.0), "controller": Rates(9.0, 9.0, 9.0)}
    monkeypatch.setattr(power, "energies", lambda library: table)


@pytest.mark.usefixtures("known")
def test_clock_changes_and_leakage_add_up_by_kind_of_tile_and_part() -> None:
    found = estimate(ACTIVITY, TEXTS, [(1, 1)], "asap7", 2.0)
    # 10 flops x 100 cycles x 2 fJ; of 40 bits of registers that changed 2 fJ each; 50 changes x 3 fJ; 5 nW x 200 ns.
    used = Spent(clock=2000, gated=80, switching=150, leakage=1.0)
    assert found.shares["pe"] == Share(1, {"tile": Spent(switching=7.0), "alu": used})
    assert found.shares["pe, idle"].spent == Spent(clock=2000, leakage=1.0)
    assert found.spent.total == 2000 + 150 + 7 + 1 + 2001
    assert found.spent.total_gated == 80 + 150 + 7 + 1 + 1


@pytest.mark.usefixtures("known")
def test_accesses_to_memories_take_what_the_memory_takes() -> None:
    activity = Activity(1, {"x1_y1": "tile_pe_odd"}, {"x1_y1": {"sram_512x4x16": Count(reads=2, writes=1)}})
    texts = {**TEXTS, "tile_pe_odd": TILE.replace("alu alu", "sram_512x4x16 memory")}
    assert estimate(activity, texts, [(1, 1)], "sky130hd", 1.0).spent.memory == 64 * (2 * 988 + 1018)


@pytest.mark.usefixtures("known")
def test_a_module_of_other_sizes_takes_the_mean_of_its_like() -> None:
    assert rates("any", "fifo2_w5") == rates("any", "fifo2_w5_enabled") == Rates(2.0, 3.0, 4.0)
    assert rates("any", "controller") == Rates(9.0, 9.0, 9.0)
    with pytest.raises(UserError) as error:
        rates("any", "controller_2x3")
    assert str(error.value) == (
        "power: the energy of module 'controller_2x3' was not measured\n"
        "  try: measure this machine: make silicon LIBERTY=folder ARGS='energy --preset FILE --write'")


def test_a_library_without_energies_is_refused() -> None:
    with pytest.raises(UserError) as error:
        energies("gf180")
    assert str(error.value) == ("power: there are no energies of a library 'gf180'\n"
                                "  try: choose sky130hd or asap7, or measure it: make silicon LIBERTY=folder ARGS=energy")


def gated(arch: Arch) -> Arch:
    """A machine of which parts of the global buffer are clocked in part."""
    return replace(arch, glb=replace(arch.glb, clock_gating=HYBRID))


class Names(EmitPlatform):
    """The modules of components by their names alone: they are elaborated and not converted, in a fifth of the time."""

    def add(self, component: wiring.Component) -> EmittedModule:
        name = module_name(component)
        if name not in self.modules:
            outer, self.clock_on = self.clock_on, None
            if hasattr(component, "netlist"):
                for part in dict.fromkeys(component.netlist()[0].values()):
                    self.add(part)
            elif not any(isinstance(getattr(component, text, None), str) for text in ("verilog", "rtlil")):
                Fragment.get(component, self)
            self.clock_on = outer
            self.modules[name] = EmittedModule(name, None, "", (), (), None, (), Description("", ()))
        component._MustUse__used = True
        return self.modules[name]


@pytest.mark.parametrize("arch", [*PRESETS.values(), gated(with_options(PRESETS["tiny"])[1])],
                         ids=[*PRESETS, "tiny with all options"])
def test_every_module_of_every_preset_and_option_has_energies(arch: Arch) -> None:
    found = Names()
    for component in modules(arch):
        found.add(component)
    assert len(found.modules) > 40
    for name in found.modules:
        for library in ("sky130hd", "asap7"):
            assert is_sram(name) or name == ClockGate.module_name or rates(library, name).change_fj >= 0


def test_names_of_modules_are_those_that_are_converted() -> None:
    least = GlbTile(Glb(columns_per_tile=1, load_loops=1, store_loops=1, configuration_dma=False, clock_gating=HYBRID))
    found = Names()
    found.add(least)
    assert found.modules.keys() == collect(least, home()).modules.keys()
    assert any(name.endswith("_enabled") for name in found.modules)


def test_what_is_measured_stands_beside_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "energies.toml"
    file.write_text("[asap7]\nalu = [1, 2, 3]\n")
    monkeypatch.setattr(power, "ENERGIES", file)
    power.write("asap7", {"adder": Rates(0.51239, 2.0, 0.0)})
    power.write("sky130hd", {"alu": Rates(4.0, 5.0, 6.0)})
    assert file.read_text().partition("[")[2] == ("asap7]\nadder = [0.5124, 2, 0]\nalu = [1, 2, 3]\n\n"
                                                  "[sky130hd]\nalu = [4, 5, 6]\n")
    energies.cache_clear()
