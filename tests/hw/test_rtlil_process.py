"""Every path of a rewritten process assigns once, and what it computes is the same."""

import re
from pathlib import Path
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from sardonyx.hw.rtlil_process import assign_once
from sardonyx.hw.rtlil_reads import read_wires
from sardonyx.hw.yosys import run_yosys


def process(body: str) -> str:
    return f"  process $1\n{body}  end\n"


def test_a_default_becomes_a_case() -> None:
    assert assign_once(process("""\
    assign \\x [0] 1'0
    switch \\s [1:0]
      case 2'01
        assign \\x [0] \\a [0]
      case 2'1-
    end
""")) == process("""\
    switch \\s [1:0]
      case 2'01
        assign \\x [0] \\a [0]
      case
        assign \\x [0] 1'0
    end
""")


def test_cases_that_say_what_the_default_says_are_left_out_unless_they_hide_another() -> None:
    assert assign_once(process("""\
    assign \\x [0] 1'0
    switch \\s [1:0]
      case 2'00
      case 2'1-
      case 2'-1 , 2'00
        assign \\x [0] \\a [0]
      case 2'01 , 2'10
    end
""")) == process("""\
    switch \\s [1:0]
      case 2'00
        assign \\x [0] 1'0
      case 2'1-
        assign \\x [0] 1'0
      case 2'-1 , 2'00
        assign \\x [0] \\a [0]
      case
        assign \\x [0] 1'0
    end
""")


def test_cases_of_several_patterns_as_amaranth_writes_them_hide_others() -> None:
    text = process("""\
    switch \\s [1:0]
      case 2'00, 2'1-
        assign \\x [0] 1'0
      case 2'1-
        assign \\x [0] \\a [0]
      case
        assign \\x [0] 1'0
    end
""")
    assert assign_once(text) == text


def test_a_decision_of_which_all_cases_say_the_same_is_none() -> None:
    assert assign_once(process("""\
    assign \\x [0] \\a [0]
    switch \\s [0]
      case 1'1
        assign \\x [0] \\a [0]
    end
""")) == process("    assign \\x [0] \\a [0]\n")


def test_many_decisions_one_after_the_other_take_as_long_as_they_are() -> None:
    # Whoever settles what is before each case of its own has 4 ** 100 bodies.
    text = process("    assign \\x [0] 1'0\n" + "".join(f"""\
    switch \\s{at} [2:0]
      case 3'--1
        assign \\x [0] \\a [{at}]
      case 3'-1-
      case 3'1--
    end
""" for at in range(100)))
    lines = assign_once(text).splitlines()
    assert [line.strip() for line in lines[1:5]] == ["switch \\s99 [2:0]", "case 3'--1", "assign \\x [0] \\a [99]", "case"]
    assert sum("switch" in line for line in lines) == 100


def test_what_comes_last_is_asked_first() -> None:
    assert assign_once(process("""\
    assign \\x [0] \\y [0]
    switch \\s [0]
      case 1'1
        assign \\x [0] \\a [0]
    end
    switch \\rst [0]
      case 1'1
        assign \\x [0] 1'0
    end
""")) == process("""\
    switch \\rst [0]
      case 1'1
        assign \\x [0] 1'0
      case
        switch \\s [0]
          case 1'1
            assign \\x [0] \\a [0]
          case
            assign \\x [0] \\y [0]
        end
    end
""")


# The first decision would be needed in two cases of the second.
TWICE = """\
    assign \\x [0] 1'0
    switch \\s [0]
      case 1'1
        assign \\x [0] \\a [0]
    end
    switch \\t [1:0]
      case 2'01
        switch \\u [0]
          case 1'1
            assign \\x [0] \\c [0]
        end
      case 2'10
        assign \\x [0] \\b [0]
    end
"""
PARTS = """\
    assign \\x [3:0] { \\a [1:0] 2'10 }
    switch \\s [0]
      case 1'1
        assign \\x [2:1] \\b [5:4]
    end
"""
REGISTER = "  wire width 4 \\x\n  cell $dff $2\n    connect \\D \\x\n    connect \\Q \\y\n  end\n"


@pytest.mark.parametrize("body", [TWICE, PARTS])
def test_what_only_registers_read_is_neither_cut_nor_asked_twice(body: str) -> None:
    assert assign_once(process(body) + REGISTER) == process(body) + REGISTER
    read = "  connect \\z \\x\n"
    assert assign_once(process(body) + REGISTER + read) == assign_once(process(body)) + REGISTER + read


@pytest.mark.parametrize("seen", [
    "  wire width 4 output 1 \\x\n", "  wire width 4 output 1  signed \\x\n"])
def test_what_leaves_by_a_port_is_read_by_others(seen: str) -> None:
    alone = REGISTER.partition("\n")[2]
    assert assign_once(seen + process(PARTS) + alone) == seen + assign_once(process(PARTS)) + alone


def test_a_port_of_an_instance_that_is_named_as_that_of_a_register_is_none() -> None:
    instance = REGISTER.replace("$dff", "\\other")
    assert assign_once(process(PARTS) + instance) == assign_once(process(PARTS)) + instance


def test_decisions_that_would_double_each_time_have_wires_of_their_own() -> None:
    # Ten such, one after the other, would be 39 MB.
    text = assign_once(process("    assign \\x [0] 1'0\n" + "".join(TWICE.split("\n", 1)[1] for _ in range(10))))
    assert text.count("switch") < 80 and not re.search(r"assign.*\n +switch", text)
    wires = re.findall(r"^  wire width 1 (\S+)$", text, re.M)
    assert wires[0] == "\\x_1_before" and all(text.count(f"assign {wire} [0]") > 1 for wire in wires)
    # Each is there before the process that reads it.
    assert all(text.index(f"wire width 1 {wire}\n") < text.index(f"{wire} [0]") for wire in wires)


def test_a_decision_is_asked_twice_where_others_would_see_two_values() -> None:
    text = assign_once(process(TWICE))
    assert text.count("switch \\s") == 2 and not re.search(r"assign.*\n +switch", text)


def test_parts_that_are_assigned_on_other_paths_become_processes() -> None:
    assert assign_once(process(PARTS)) == """\
  process $1
    assign \\x [3] \\a [1]
  end
  process $1_1
    switch \\s [0]
      case 1'1
        assign \\x [2:1] \\b [5:4]
      case
        assign \\x [2:1] { \\a [0] 1'1 }
    end
  end
  process $1_2
    assign \\x [0] 1'0
  end
"""


@pytest.mark.parametrize("body", [
    # Each bit is assigned once on every path.
    """\
    switch \\s [0]
      case 1'1
        assign \\x [1:0] 2'00
      case
        assign \\x [1] \\a [0]
        assign \\x [0] \\b [0]
    end
""",
    # No decision.
    """\
    assign \\x [1:0] 2'00
    assign \\x [0] \\a [0]
"""])
def test_others_stay(body: str) -> None:
    assert assign_once(process(body)) == process(body)


def test_what_has_no_bits_is_not_assigned() -> None:
    # Amaranth writes it, of parts of no bits.
    assert assign_once(process("""\
    assign \\x [1:0] 2'00
    assign {  } {  }
    switch \\s [0]
      case 1'1
        assign { } { }
        assign \\x [1] \\a [0]
    end
""")) == assign_once(process("""\
    assign \\x [1:0] 2'00
    switch \\s [0]
      case 1'1
        assign \\x [1] \\a [0]
    end
"""))


# Yosys would take the default.
NOTHING = """\
    assign \\x [3:0] 4'0000
    switch {  }
      case 0'
        assign \\x [3:0] \\a [3:0]
      case
        assign \\x [3:0] \\b [3:0]
    end
"""


def test_a_decision_on_no_bits_takes_its_first_case() -> None:
    assert assign_once(process(NOTHING)) == process("    assign \\x [3:0] \\a [3:0]\n")
    assert assign_once(process(PARTS + NOTHING) + REGISTER) == f"""\
  process $1
{PARTS}    assign \\x [3:0] 4'0000
    switch {{}}
      case
        assign \\x [3:0] \\a [3:0]
    end
  end
{REGISTER}"""


@pytest.mark.parametrize("on", ["{  }", "\\s [1:0]"])
def test_a_decision_without_cases_is_none(on: str) -> None:
    before = "    assign \\x [0] \\a [0]\n"
    assert assign_once(process(f"{before}    switch {on}\n    end\n")) == process(before)


def test_a_decision_of_a_default_alone_is_one_on_no_bits() -> None:
    # Yosys 0.70 writes `end` behind it without `begin` before.
    alone = "    switch \\s [1:0]\n      case\n        assign \\x [0] \\b [0]\n    end\n"
    assert assign_once(process(PARTS + alone) + REGISTER) == process(PARTS + alone.replace("\\s [1:0]", "{}")) + REGISTER


class Decisions(wiring.Component):
    """Nested decisions, decisions one after the other, parts of a signal, registers with reset."""

    s: In(4)
    a: In(4)
    x: Out(4)
    y: Out(4)
    z: Out(4)
    w: Out(signed(4))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        count = Signal(4, init=3)
        with m.If(self.s[0]):
            m.d.comb += self.x.eq(self.a)
            with m.Switch(self.s[1:]):
                with m.Case(1):
                    m.d.comb += self.x.eq(self.a + 1)
                with m.Case("1-1", "01-"):
                    m.d.comb += self.y[2:].eq(self.a)
                    m.d.sync += count.eq(count - 1)
        with m.Elif(self.s == 4):
            m.d.comb += [self.x.eq(7), self.y.eq(self.a)]
        with m.If(self.a == 9):
            m.d.comb += self.x.eq(1)
            m.d.sync += count.eq(self.a)
        with m.If(self.a[0]):
            m.d.comb += self.z.eq(count)
        for at in range(4):
            with m.Switch(self.a):
                with m.Case(at, at + 8):
                    with m.If(self.s[at]):
                        m.d.comb += self.w[1:].eq(self.a + at)
                with m.Case("--00", "1---"):
                    with m.If(self.s[3 - at]):
                        m.d.comb += self.w.eq(at)
        return m


def test_the_function_stays(tmp_path: Path) -> None:
    before = rtlil.convert(Decisions(), name="top", emit_src=False)
    after = re.sub(r"^module .*?^end$", lambda module: read_wires(module[0]), assign_once(before), flags=re.M | re.S)
    assert "connect \\a_0 \\a [0]" in after and "\\w_1_before" in after and after != before
    (tmp_path / "before.il").write_text(before)
    (tmp_path / "after.il").write_text(after)
    run_yosys(["-q", "-p", "read_rtlil before.il; rename top before; read_rtlil after.il; rename top after; proc; "
               "equiv_make before after equal; hierarchy -top equal; equiv_simple; equiv_induct; equiv_status -assert"],
              tmp_path)
