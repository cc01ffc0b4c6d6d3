"""SRAMs as black boxes: estimates of area and timing, since no open library of this kind has memories of our sizes.

Area grows with the bits, from the FakeRAM 2.0 view of 256 x 64 bits for ASAP7 that OpenROAD's flow scripts have
(687.971 um2; its timing is one point: 218 ps from clock to output, 50 ps of setup). Other families have no estimate.

The energy of an access grows with the bits of a word, from the macro of 512 x 32 bits for SKY130 that OpenRAM characterised
(sky130_sram_2kbyte_1rw_32x512_8, TT, 1.8 V, 25 C: 4.82 mW while it reads and 4.97 mW while it writes, at its least period of
6.562 ns). A larger memory is taken as banks of 512 lines, of which one is accessed. FakeRAM's views have one and the same
number for all sizes, which is no estimate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...hw.emitted import ports

ACCESS_FJ_PER_BIT: Mapping[str, tuple[float, float]] = {"sky130hd": (988.0, 1018.0)}
UM2_PER_BIT = 687.971 / (256 * 64)
ACCESS_PS, SETUP_PS = 218, 50
_NAME = re.compile(r"sram_(\d+)x(\d+)x(\d+)$")


def is_sram(module: str) -> bool:
    """Whether a module is one of `hw.memory.sram`."""
    return _NAME.match(module) is not None


def area(module: str, family: str) -> float:
    """The estimate in um2; 0 where there is none."""
    found = _NAME.match(module)
    assert found is not None, "asked for SRAMs only"
    lines, lanes, bits = map(int, found.groups())
    return lines * lanes * bits * UM2_PER_BIT if family == "asap7" else 0.0


def access_fj(module: str, family: str, reads: int, writes: int) -> float:
    """The estimate in femtojoules for accesses to whole words; 0 where there is none."""
    found = _NAME.match(module)
    assert found is not None, "asked for SRAMs only"
    _, lanes, bits = map(int, found.groups())
    read, write = ACCESS_FJ_PER_BIT.get(family, (0.0, 0.0))
    return lanes * bits * (reads * read + writes * write)


def view(module: str, verilog: str) -> str:
    """A Liberty library with this one cell: every output follows the clock, every input is set up to it. In picoseconds."""
    def table(kind: str, value: float) -> str:
        return f'{kind} (scalar) {{ values ("{value}"); }}'

    types, pins = [], []
    for port in ports(verilog):
        if port.name == "clk":
            pins.append("pin (clk) { direction : input; clock : true; capacitance : 1; }")
            continue
        if port.flow == "input":
            arc = ("timing () { related_pin : clk; timing_type : setup_rising; "
                   f'{table("rise_constraint", SETUP_PS)} {table("fall_constraint", SETUP_PS)} }}')
            body = f"direction : input; capacitance : 1; {arc}"
        else:
            values = " ".join(table(kind, value) for kind, value in (
                ("cell_rise", ACCESS_PS), ("cell_fall", ACCESS_PS), ("rise_transition", 20), ("fall_transition", 20)))
            body = f"direction : output; timing () {{ related_pin : clk; timing_type : rising_edge; {values} }}"
        if port.bits == 1:
            pins.append(f"pin ({port.name}) {{ {body} }}")
            continue
        kind = f"b{port.bits}"
        types.append(f"type ({kind}) {{ base_type : array; data_type : bit; bit_width : {port.bits}; "
                     f"bit_from : {port.bits - 1}; bit_to : 0; downto : true; }}")
        pins.append(f"bus ({port.name}) {{ bus_type : {kind}; {body} }}")
    head = ('delay_model : table_lookup; time_unit : "1ps"; voltage_unit : "1V"; current_unit : "1mA"; '
            "capacitive_load_unit (1, ff); nom_voltage : 0.7; nom_process : 1; nom_temperature : 25; "
            "input_threshold_pct_rise : 50; input_threshold_pct_fall : 50; output_threshold_pct_rise : 50; "
            "output_threshold_pct_fall : 50; slew_lower_threshold_pct_rise : 20; slew_lower_threshold_pct_fall : 20; "
            "slew_upper_threshold_pct_rise : 80; slew_upper_threshold_pct_fall : 80;")
    body = "\n".join([*dict.fromkeys(types), f"cell ({module}) {{ area : 0;", *pins, "}"])
    return f"library ({module}) {{\n{head}\n{body}\n}}\n"
