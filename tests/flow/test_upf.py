"""The power intent beside the Verilog: Tcl reads it, and what it names is what the array and its Verilog have."""

import json
import subprocess
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from machines import LEAST

from sardonyx.emission import emit_arch
from sardonyx.flow.asic import upf
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.config import ConfigMap
from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.arch.tile import LAYERS
from sardonyx.hw.connectivity import tile_name
from sardonyx.hw.emitted import below, ports
from sardonyx.hw.tile.tile import logic_name

# A tool that knows the commands, and says in which scope it is told what.
STUBS = r"""
set scope {}
proc upf_version {version} { if {$version ne "3.0"} { error "version $version" } }
proc load_upf {file flag where} {
  global scope
  if {$flag ne "-scope"} { error "load_upf $flag" }
  set before $scope
  set scope $where
  source $file
  set scope $before
}
proc said {args} { global scope; puts [join [list $scope {*}$args] "\t"] }
foreach name {create_supply_port create_supply_net connect_supply_net create_supply_set create_power_domain
              create_power_switch set_isolation add_power_state} {
  proc $name {args} "said $name {*}\$args"
}
"""
ARCH = replace(presets.get("tiny"), name="domains", power_domains=True)

Told = dict[str, dict[str, list[list[str]]]]


def machine(arch: Arch, folder: Path) -> dict[str, str]:
    """The Verilog of a machine by module, with all that stands beside it in a folder."""
    folder.mkdir()
    given = folder.parent / f"{folder.name}.json"
    given.write_text(json.dumps(arch.to_json()))
    emit_arch(str(given), folder)
    return {file.stem: file.read_text() for file in folder.glob("*.sv")}


def told(folder: Path) -> Told:
    """What the power intent in a folder says: by scope and command, the words of each."""
    (folder / "run.tcl").write_text(f"{STUBS}\nsource {upf.TOP}\n")
    done = subprocess.run(["tclsh", "run.tcl"], cwd=folder, capture_output=True, text=True, check=True)
    found: Told = defaultdict(lambda: defaultdict(list))
    for line in done.stdout.splitlines():
        scope, command, *words = line.split("\t")
        found[scope][command].append(words)
    return found


def option(words: list[str], name: str) -> list[str]:
    """What stands behind an option, as a list."""
    return words[words.index(f"-{name}") + 1].replace("{", " ").replace("}", " ").split()


@pytest.mark.tcl
@pytest.mark.parametrize("arch", [ARCH, replace(LEAST, power_domains=True, feed_through=True),
                                  replace(LEAST, power_domains=True, interconnect=Interconnect(1, fifo="none"))],
                         ids=["tiny", "abutting", "without FIFOs"])
def test_every_tile_of_the_array_is_a_domain_with_a_switch_and_isolation(arch: Arch, tmp_path: Path) -> None:
    modules = machine(arch, tmp_path / "machine")
    found = told(tmp_path / "machine")
    inside = "/tile" if arch.feed_through else ""
    scopes = {f"array/{tile_name(site)}{inside}": site for site in arch.tiles}
    assert found.keys() == {"", *scopes}
    instances = {"/".join(names[1:]): path[-1] for names, path in below("sardonyx", modules)}
    supplied = {words[-1] for words in found[""]["connect_supply_net"]}
    for scope, (x, y) in scopes.items():
        here, spec = found[scope], arch.tiles[x, y]
        domains = {words[0]: option(words, "elements") for words in here["create_power_domain"]}
        assert domains == {"ALWAYS_ON": ["."], "LOGIC": ["tile_logic"]}
        logic = logic_name(spec, x + y & 1)
        assert instances[f"{scope}/tile_logic"] == logic
        switch, = here["create_power_switch"]
        on, bit = option(switch, "control_port")[1].rstrip("]").split("[")
        assert option(switch, "domain") == ["LOGIC"] and on == "registers/cfg"
        assert instances[f"{scope}/registers"] == f"config_registers_{spec.kind}"
        assert switched(arch.config_map(spec.kind), 1 << int(bit)) and not switched(arch.config_map(spec.kind), 0)
        isolated, tracks = here["set_isolation"]
        assert option(isolated, "isolation_signal") == ["power/awake"] and option(isolated, "isolation_sense") == ["low"]
        assert "awake" in {port.name for port in ports(modules[instances[f"{scope}/power"]])}
        pairs = option(isolated, "instance")
        assert pairs[1::2] == option(isolated, "elements")
        assert pairs[::2] == [f"isolation_{port.removeprefix('tile_logic/')}" for port in pairs[1::2]]
        assert all(instances[f"{scope}/{name}"].startswith("isolation_") for name in pairs[::2])
        left = [*option(isolated, "elements"), *option(tracks, "elements")]
        assert sorted(left) == sorted(f"tile_logic/{port.name}" for port in ports(modules[logic]) if port.flow == "output")
        assert "-no_isolation" in tracks and all(name.split("_")[2] in LAYERS for name in option(tracks, "elements"))
        assert {f"{scope}/VDD", f"{scope}/VSS"} <= supplied
    assert len(supplied) == 2 * len(scopes) + 2


def switched(space: ConfigMap, number: int) -> bool:
    """Whether a tile with this configuration is on."""
    return bool(space.layout.from_bits(number)["power"]["on"])


@pytest.mark.tcl
def test_supplies_that_are_used_are_created(tmp_path: Path) -> None:
    machine(replace(LEAST, power_domains=True), tmp_path / "machine")
    for here in told(tmp_path / "machine").values():
        nets = {words[0] for words in here["create_supply_net"]}
        assert {name for words in here["create_supply_set"] for name in words if " " in name} <= {
            f"{function} {net}" for function in ("power", "ground") for net in nets}
        sets = {words[0] for words in here["create_supply_set"]}
        assert {option(words, "supply")[1] for words in here["create_power_domain"]} <= sets
        assert all(option(words, "output_supply_port")[1] in nets for words in here["create_power_switch"])


def test_a_machine_without_power_domains_has_no_power_intent(tmp_path: Path) -> None:
    assert upf.power_intent(presets.get("tiny"), {}) == {}
