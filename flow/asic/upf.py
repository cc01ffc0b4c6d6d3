"""What tools for low power need of a machine with power domains: its power intent in UPF (IEEE 1801-2015).

Input:   Arch; the Verilog of the machine by module, for the ports of what is switched.
Output:  ``tile_{kind}_{parity}.upf``, the two domains of a tile, with the switch, the isolation and the states of its supplies;
         and ``sardonyx.upf``, which loads these for every tile of the array and joins their supplies.

In a tile ``LOGIC`` is what is switched: the instance ``tile_logic``, core and boxes with the SRAM. ``ALWAYS_ON`` is all else
(`hw/tile/power.py`). The isolation of a tile stands in its Verilog and is named where it stands. Tracks leave without: what
protects them is in the boxes of the neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...hw.arch.cgra import Arch
from ...hw.arch.tile import LAYERS, POWER, TileSpec
from ...hw.connectivity import tile_name
from ...hw.emitted import Port, ports
from ...hw.interconnect.boxes import track_members
from ...hw.interconnect.stage import PARITIES
from ...hw.soc.around import ARRAY
from ...hw.tile.tile import logic_name

TOP = "sardonyx.upf"
_VERSION = "upf_version 3.0"


def tile_file(kind: str, parity: str) -> str:
    """The name of the power intent of a tile."""
    return f"tile_{kind}_{parity}.upf"


NAMES = (TOP, *(tile_file(kind, parity) for kind in ("pe", "mem", "io") for parity in PARITIES))
"""Every file that there may be."""


def power_intent(arch: Arch, modules: Mapping[str, str]) -> dict[str, str]:
    """Every file by its name, for a machine with its Verilog by module; nothing without power domains."""
    if not arch.power_domains:
        return {}
    kinds = {(spec.kind, x + y & 1): spec for (x, y), spec in arch.tiles.items()}
    made = {tile_file(kind, PARITIES[parity]): _tile(arch, spec, ports(modules[logic_name(spec, parity)]))
            for (kind, parity), spec in kinds.items()}
    return made | {TOP: _machine(arch)}


def _tile(arch: Arch, spec: TileSpec, logic: list[Port]) -> str:
    """The domains of a tile whose logic has these ports."""
    tracks = {name for layer in LAYERS for name in track_members(arch.interconnect, spec, layer, f"{layer}_")}
    leaving = [port.name for port in logic if port.flow == "output"]
    layout = arch.config_map(spec.kind).layout
    switch = f"registers/cfg[{layout[POWER.name].offset + POWER.layout['on'].offset}]"
    isolated, bare = ([name for name in leaving if (name in tracks) is among] for among in (False, True))
    cells = " ".join(f"{{isolation_{name} tile_logic/{name}}}" for name in isolated)
    reports = "Reports and links" if spec.kind == "io" else "Reports"
    return f"""\
# Power domains of a tile: what is always on, and the logic, which a bit of configuration switches.
{_VERSION}

create_supply_port VDD
create_supply_port VSS
create_supply_net VDD
create_supply_net VSS
create_supply_net VDD_LOGIC
connect_supply_net VDD -ports VDD
connect_supply_net VSS -ports VSS
create_supply_set SS_ON -function {{power VDD}} -function {{ground VSS}}
create_supply_set SS_LOGIC -function {{power VDD_LOGIC}} -function {{ground VSS}}

create_power_domain ALWAYS_ON -elements {{.}} -supply {{primary SS_ON}}
create_power_domain LOGIC -elements {{tile_logic}} -supply {{primary SS_LOGIC}}

# {POWER.name}.on: a flop of configuration, 0 after reset.
create_power_switch SWITCH -domain LOGIC \\
  -output_supply_port {{out VDD_LOGIC}} -input_supply_port {{in VDD}} -control_port {{on {switch}}} \\
  -on_state {{closed in {{on}}}} -off_state {{open {{!on}}}}

# {reports}: 0 from the cycle in which the switch opens to the first flush behind its closing.
set_isolation REPORTS -domain LOGIC -elements {_listed(isolated)} \\
  -isolation_supply SS_ON -clamp_value 0 -isolation_signal power/awake -isolation_sense low -location parent \\
  -instance {{{cells}}}
# Tracks: multiplexers with one-hot selects and the isolation of valid and ready stand in the boxes that they enter.
set_isolation TRACKS -domain LOGIC -elements {_listed(bare)} -no_isolation

add_power_state SS_ON -supply -state {{ON -supply_expr {{power == {{FULL_ON}} && ground == {{FULL_ON}}}}}}
add_power_state SS_LOGIC -supply -state {{ON -supply_expr {{power == {{FULL_ON}} && ground == {{FULL_ON}}}}}} \\
  -state {{OFF -supply_expr {{power == {{OFF}}}}}}
"""


def _machine(arch: Arch) -> str:
    """The power intent of the machine: one supply, and every tile with its own intent."""
    return "\n".join([
        "# Power intent of the machine: everything is always on but what is switched in each tile.", _VERSION, "",
        "create_supply_port VDD", "create_supply_port VSS", "create_supply_net VDD", "create_supply_net VSS",
        "connect_supply_net VDD -ports VDD", "connect_supply_net VSS -ports VSS",
        "create_supply_set SS_ON -function {power VDD} -function {ground VSS}",
        "create_power_domain ALWAYS_ON -elements {.} -supply {primary SS_ON}", "", *_tiles(arch)]) + "\n"


def _tiles(arch: Arch) -> Iterator[str]:
    for (x, y), spec in arch.tiles.items():
        scope = f"{ARRAY}/{tile_name((x, y))}{'/tile' if arch.feed_through else ''}"
        yield f"load_upf {tile_file(spec.kind, PARITIES[x + y & 1])} -scope {scope}"
        yield from (f"connect_supply_net {net} -ports {scope}/{net}" for net in ("VDD", "VSS"))


def _listed(ports: Iterable[str]) -> str:
    return "{" + " ".join(f"tile_logic/{name}" for name in ports) + "}"
