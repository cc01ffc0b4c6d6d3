"""What is written from a list of wires is what Amaranth makes of it; a list that cannot be one machine is refused."""

import json
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from amaranth.back import rtlil

from sardonyx.hw import emit
from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.arch.presets import get
from sardonyx.hw.arch.primitive import BUFFER, PASS_THROUGH
from sardonyx.hw.array import Array
from sardonyx.hw.component import ports
from sardonyx.hw.connectivity import BORDER, Constant, End, Wire
from sardonyx.hw.emit_platform import EmitPlatform
from sardonyx.hw.netlist import Face, netlist
from sardonyx.hw.rtlil import readable
from sardonyx.hw.yosys import run_yosys

# The trees of its multipliers are most of its logic, of which nothing is asked here.
TINY = get("tiny")
TINY = replace(TINY, pe=replace(TINY.pe, multiplier_tree=False), mem=replace(TINY.mem, multiplier_tree=False))
PART = Face("part", {"a": 2, "b": 1}, {"x": 2}, ("clk",))
TOP = Face("top", {"i": 2, "j": 1}, {"o": 2, "p": 2}, ("clk", "rst"))


def written(*wires: "Wire | Constant") -> str:
    return netlist(TOP, {"one": PART, "two": PART}, wires)


def test_outputs_are_wires_and_inputs_read_them_whole_in_bits_or_as_numbers() -> None:
    text = written(Wire(End(BORDER, "i"), End("one", "a")), Wire(End("one", "x", 1), End("two", "a", 0)),
                   Wire(End(BORDER, "j"), End("two", "a", 1)), Constant(End("one", "b"), 1),
                   Wire(End("two", "x"), End(BORDER, "o")), Wire(End("one", "x", 0), End(BORDER, "p", 1)))
    assert text == r"""module \top
  wire width 2 input 1 \i
  wire width 1 input 2 \j
  wire width 1 input 3 \clk
  wire width 1 input 4 \rst
  wire width 2 output 5 \o
  wire width 2 output 6 \p
  wire width 2 \one__x
  wire width 2 \two__x
  cell \part \one
    connect \clk \clk
    connect \a \i
    connect \b 1'1
    connect \x \one__x
  end
  cell \part \two
    connect \clk \clk
    connect \a { \j \one__x [1] }
    connect \b 1'0
    connect \x \two__x
  end
  connect \o \two__x
  connect \p { \one__x [0] 1'0 }
end
"""


@pytest.mark.parametrize("wires,reason", [
    ([Wire(End(BORDER, "i"), End("one", "a"))] * 2, "is driven twice"),
    ([Wire(End(BORDER, "i"), End("one", "a")), Wire(End(BORDER, "j"), End("one", "a", 0))], "driven whole and in part"),
    ([Wire(End(BORDER, "j"), End("one", "a"))], "has another width"),
    ([Constant(End("one", "a"), 4)], "has more bits"),
])
def test_wires_that_cannot_be_are_refused(wires: Any, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        written(*wires)


def nets(platform: EmitPlatform, top: str, folder: Path) -> "tuple[set[Any], set[Any]]":
    """The ports of a module, and for each bit of a wire, or a constant, all ends that it joins."""
    modules = [module for name, module in platform.modules.items() if name != "array"]
    Path(folder, "all.il").write_text("\n".join([*(module.outside for module in modules), top]))
    # What Amaranth joins by statements are other names of one net.
    script = "read_rtlil all.il; hierarchy -check -top array; proc; opt_clean; write_json found.json"
    run_yosys(["-q", "-p", script], folder)
    module = json.loads((folder / "found.json").read_text())["modules"]["array"]
    ends = [(bit, ("", name, at)) for name, port in module["ports"].items() for at, bit in enumerate(port["bits"])]
    ends += [(bit, (name, cell["type"], port, at)) for name, cell in module["cells"].items()
             for port, bits in cell["connections"].items() for at, bit in enumerate(bits)]
    found = defaultdict(set)
    for bit, end in ends:
        found[bit].add(end)
    ports = {(name, port["direction"], len(port["bits"])) for name, port in module["ports"].items()}
    return ports, {(bit if isinstance(bit, str) else "", frozenset(joined)) for bit, joined in found.items()}


@pytest.mark.parametrize("special", [False, True], ids=["whole", "special"])
def test_the_array_is_joined_as_amaranth_joins_it(special: bool, tmp_path: Path) -> None:
    # Tiles of little, as only what joins them is looked at.
    arch = replace(TINY, interconnect=Interconnect(1), pe=replace(TINY.pe, primitives=(PASS_THROUGH,)),
                   mem=replace(TINY.mem, primitives=(BUFFER,), read_loops=1, write_loops=1))
    # Tiles are missing, and settings differ.
    program = {site: 3 * x + 5 * y for site in arch.tiles if site != (1, 1) for x, y in [site]} if special else None
    platform = emit.collect(Array(arch, program))
    array = Array(arch, program)
    made = readable(rtlil.convert(array, name="array", platform=platform, ports=ports(array), emit_src=False))
    text = platform.modules["array"].rtlil
    assert not re.search(r"\$", text) and text != made
    assert nets(platform, text, tmp_path) == nets(platform, made, tmp_path)
