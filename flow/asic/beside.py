"""What stands beside the array and not in every machine: shells of several regions, the processor and its host, the crossing of
clocks.

Input:   the name of one, a library, a folder for its Verilog.
Output:  `Measurement`, as of the components of `onyx`.
Cost:    a shell or the host, nothing cached: two minutes on an idle core.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring

from ...hw import emit
from ...hw.arch.cgra import with_processor
from ...hw.arch.presets import get
from ...hw.component import module_name, ports
from ...hw.soc.crossing import HostSide, MachineSide
from ...hw.soc.host import Host
from ...hw.soc.picorv32 import PicoRv32
from ...hw.soc.shell import Shell
from .library import Library
from .measure import Measurement, measure
from .synthesis import Design, read_design

_ONYX = get("onyx")
_SYSTEM = with_processor(_ONYX).system
REGIONS = (1, 2, 4)
PROCESSOR = "processor"


def _shell(regions: int) -> Callable[[], wiring.Component]:
    return lambda: Shell(replace(_ONYX, regions=regions))


BESIDE: Mapping[str, Callable[[], wiring.Component]] = {
    **{f"shell_{regions}": _shell(regions) for regions in REGIONS}, "host": lambda: Host(_SYSTEM),
    PROCESSOR: lambda: PicoRv32(_SYSTEM.ram_bytes), "host_side": HostSide, "machine_side": MachineSide}
"""Each by the name of its measurement: a shell by its regions, the host without the processor."""


def design(name: str, folder: Path) -> Design:
    """The modules of one; Verilog is written below the folder."""
    part = BESIDE[name]()
    if isinstance(part, PicoRv32):
        return Design(PROCESSOR, {part.module_name: part.verilog, PROCESSOR: _set(part)})
    emit.emit(part, folder / name)
    found = read_design(folder / name, module_name(part))
    return _boxed(found) if isinstance(part, Host) else found


def beside(name: str, library: Library, folder: Path, area: bool = True, timing: bool = True) -> Measurement:
    """All areas and the paths of one, or some of it; Verilog is written below the folder."""
    return measure(design(name, folder), library, area, timing)


def _boxed(host: Design) -> Design:
    """The host with the processor as a box, without parameters: OpenSTA 2.0.17 reads none of an instance."""
    box = PicoRv32.module_name
    text = re.sub(rf"^(  {box}) #\($.*?^  \) ", r"\1 ", host.modules[host.top], flags=re.MULTILINE | re.DOTALL)
    return replace(host, modules={**host.modules, host.top: text}, boxes=frozenset({box}))


def _set(part: PicoRv32) -> str:
    """A module of nothing but the published one, as it is set: what synthesis has on top takes no parameters."""
    ways = {PortDirection.Input: "input", PortDirection.Output: "output"}
    faces = {name: f"{ways[flow]} [{len(value) - 1}:0] {name}" for name, (value, flow) in ports(part).items()}
    values = ", ".join(f".{name}({value})" for name, value in part.parameters.items())
    wires = ", ".join(f".{name}({name})" for name in ("clk", *faces))
    return (f"module {PROCESSOR} (input clk, {', '.join(faces.values())});\n"
            f"  {part.module_name} #({values}) cpu ({wires});\nendmodule\n")
