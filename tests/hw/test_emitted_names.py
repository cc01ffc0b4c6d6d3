"""Names and clocks in the files of a machine with every option, behind a processor with a clock of its own.

What others have published as Verilog is as they wrote it. A second name of a port or of what an instance is joined to is gone
before (`hw/rtlil.py`).
"""

import re
from dataclasses import replace

import pytest

from sardonyx.cache import home
from sardonyx.flow.asic.variants import with_options
from sardonyx.hw import emit
from sardonyx.hw.arch.glb import HYBRID
from sardonyx.hw.arch.presets import get
from sardonyx.hw.arch.system import System
from sardonyx.hw.names import KEYWORDS
from sardonyx.hw.soc.system import SardonyxSystem
from sardonyx.hw.verilog import EmittedModule, Writer

OPTIONS = with_options(get("tiny"))[1]
MACHINE = replace(OPTIONS, feed_through=True, glb=replace(OPTIONS.glb, clock_gating=HYBRID),
                  system=System(processor=True, own_clock=True))
DECLARED = re.compile(r"^  (?:(?:in|out)put +)?(?:wire|reg) +(?:\[\d+:0\] +)?(\w+)|^  \w+ (?:#\([^;]*?\) )?(\w+) \($",
                      re.MULTILINE)
WIRES = re.compile(r"^  wire (?:width \d+ )?(?:(?:in|out)put \d+ )?\\(\S+)$", re.MULTILINE)
pytestmark = pytest.mark.slow       # to write it takes 10 s of processor time; tests/hw/test_tidy.py has `tiny`
Files = dict[str, tuple[EmittedModule, str]]


@pytest.fixture(scope="module")
def files() -> Files:
    """Every module that we write, and its Verilog without comments."""
    with Writer(home()) as writer:
        modules = emit.collect(SardonyxSystem(MACHINE), home(), writer.take).modules
        return {name: (modules[name], re.sub(r"//.*", "", text)) for name, text in writer.texts().items()
                if modules[name].verilog is None}


def test_no_name_is_reserved_or_escaped_and_every_wire_has_one(files: Files) -> None:
    for name, (_, text) in files.items():
        assert "\\" not in text and not re.search(r"\b_\d+|[$](?!signed)", text), name
        names = {each for pair in DECLARED.findall(text) for each in pair}
        assert len(names) > 1 and not KEYWORDS & {*names, name}, name


def test_names_of_signals_are_those_of_the_source(files: Files) -> None:
    for name, (module, text) in files.items():
        signals = set(WIRES.findall(module.rtlil[:module.rtlil.index("\nend\n")]))
        assert signals and signals <= set(re.findall(r"\w+", text)), name


def test_one_clock_is_called_clk_and_every_register_has_its_edge(files: Files) -> None:
    clocks = {name: set(re.findall(r"(?:pos|neg)edge (\w+)", text)) for name, (_, text) in files.items()}
    assert set().union(*clocks.values()) == {"clk"} and not any("negedge" in text for _, text in files.values())
    ports = {port for module, _ in files.values() for port in module.ports if "clk" in port}
    # That of the host beside a machine's own, and the clock that passes through a tile.
    assert ports == {"clk", "host_clk", "s_clk"}
