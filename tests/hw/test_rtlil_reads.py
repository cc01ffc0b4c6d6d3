"""Processes read whole wires, for parts of vectors as well."""

import pytest

from sardonyx.hw.rtlil_reads import read_wires

OPEN = """\
  process $1
    switch \\s [2:1]
      case 2'01
        assign \\x [0] \\s [3]
      case
        assign \\x [0] \\s [3]
    end
  end
"""


def test_parts_of_vectors_that_processes_read_get_wires() -> None:
    module = f"module \\top\n  wire width 4 input 1 \\s\n  wire width 1 output 2 \\x\n{OPEN}end"
    found = read_wires(module)
    assert "    switch \\s_2_1\n      case 2'01\n        assign \\x [0] \\s_3\n" in found
    assert "  wire width 2 \\s_2_1\n" in found and "  connect \\s_2_1 \\s [2:1]\n" in found
    assert "\\x_0" not in found


@pytest.mark.parametrize("wire", ["wire width 4 signed \\s", "wire width 4 input 1  signed \\s"])
def test_parts_of_numbers_with_a_sign_get_wires_like_others(wire: str) -> None:
    # As of a variable of a PE whose low bits another one takes.
    found = read_wires(f"module \\top\n  {wire}\n  wire width 1 output 2 \\x\n{OPEN}end")
    assert "  wire width 2 \\s_2_1\n" in found and "  connect \\s_2_1 \\s [2:1]\n" in found


LOOSE = """\
  process $1
    switch { \\t \\s [2:1] \\s [0] }
      case 4'1---
        assign \\x \\t
      case 4'-1--
        assign \\x \\s [3]
      case
        assign \\x 1'0
    end
  end
"""


def test_decisions_in_which_bits_do_not_matter_read_every_bit_as_a_wire() -> None:
    wires = "  wire width 4 input 1 \\s\n  wire input 2 \\t\n  wire output 3 \\x\n"
    found = read_wires(f"module \\top\n{wires}{LOOSE}end")
    assert "switch { \\t \\s_2 \\s_1 \\s_0 }\n" in found
    assert "  wire width 1 \\s_1\n" in found and "  connect \\s_1 \\s [1]\n" in found


def test_what_is_connected_to_a_part_of_what_a_process_assigns_reads_whole_wires() -> None:
    wires = "  wire width 4 input 1 \\s\n  wire width 2 output 2 \\x\n"
    found = read_wires(f"module \\top\n{wires}{OPEN}  connect \\x [1] \\s [2]\nend")
    assert "  connect \\x [1] \\s_2\n" in found and "  connect \\s_2 \\s [2]\n" in found
    found = read_wires(f"module \\top\n{wires}{OPEN}  connect {{ \\x [1] \\t }} {{ \\s [2] \\s [3] }}\nend")
    assert "  connect { \\x [1] \\t } { \\s_2 \\s_3 }\n" in found
