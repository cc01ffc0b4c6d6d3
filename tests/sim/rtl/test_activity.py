"""What is counted, against a VCD of the same machine in one piece, counted in Python."""

import random
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from machines import LEAST, copier
from one_piece import traced_machine
from waveform import Vcd

from sardonyx.hw.emitted import below, ports, registers
from sardonyx.sim import engines
from sardonyx.sim.rtl import simulator
from sardonyx.sim.rtl.activity import Activity, Count, control, is_sram, sources


def words(count: int) -> "list[dict[str, np.ndarray]]":
    """As many words, in one block."""
    rng = random.Random(3)
    return [{"a_vals": np.array([count, *(rng.randrange(1 << 16) for _ in range(count))], np.uint16)}]


def counted(data: "list[dict[str, np.ndarray]]") -> "tuple[Activity, Path]":
    """What the stitched machine counts, and its Verilog."""
    found = engines.run_on(simulator.counting_machine(LEAST), copier(LEAST), data, lambda block: None, bounds={"b_vals": 101})
    assert found.verilog is not None
    return found.activity, found.verilog


def expected(vcd: Vcd, scope: "tuple[str, ...]", top: str, texts: "dict[str, str]") -> "dict[str, Count]":
    """What `Activity` has to say of an instance."""
    total: dict[str, Count] = defaultdict(Count)

    def changes(at: "tuple[str, ...]", name: str) -> "list[list[int]]":
        return [[(one ^ other).bit_count() for one, other in pairwise(series)]
                for series in vcd.series_of(at, name)]

    for names, modules in below(top, texts):
        module, at = modules[-1], (*scope, *names[1:])
        there = ports(texts[module])
        if is_sram(module):
            (enable,), (write,) = vcd.series_of(at, "enable"), vcd.series_of(at, "write")
            used = [bool(mask) for on, mask in zip(enable[1:], write[1:], strict=True) if on]
            total[module] += Count(reads=used.count(False), writes=used.count(True))
        else:
            for port in there:
                if port.flow == "input" and port.name != "clk":
                    total[module] += Count(sum(map(sum, changes(at, port.name))))
            for name, register in registers(texts[module]).items():
                moved = changes(at, name)
                total[module] += Count(sum(map(sum, moved)),
                                       register.width * sum(sum(map(bool, word)) for word in moved))
        for port in there if len(names) > 1 else ():
            if port.flow == "output":
                total[modules[-2]] += Count(sum(map(sum, changes(at, port.name))))
    return total


def test_counts_are_those_of_a_vcd_of_the_machine_in_one_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = words(60)
    found, verilog = counted(data)
    monkeypatch.chdir(tmp_path)
    engines.run_on(traced_machine(LEAST), copier(LEAST), data, lambda block: None, bounds={"b_vals": 101})
    vcd = Vcd(tmp_path / "trace.vcd")
    texts = {file.stem: file.read_text() for file in verilog.glob("*.sv")}
    assert found.cycles == vcd.cycles - 1
    compared = 0
    for name, kind in found.kinds.items():
        scope = next(at for at in vcd.signals if at[-1] == name and len(at) <= 4)
        assert found.counts[name] == expected(vcd, scope, kind, texts), name
        compared += sum(count.changes for count in found.counts[name].values())
    assert compared > 1000


def test_nothing_is_counted_where_nothing_moves() -> None:
    with simulator.counting_machine(LEAST).start() as machine:
        assert not machine.wait(100)
        found = machine.activity
    assert found.cycles == 100
    assert {count for part in found.counts.values() for count in part.values()} == {Count()}


def test_twice_the_words_are_about_twice_the_changes() -> None:
    once, twice = (sum(count.changes for part in counted(words(number))[0].counts.values() for count in part.values())
                   for number in (50, 100))
    assert 1.8 < twice / once < 2.2


def test_activities_of_two_runs_add_up() -> None:
    one = Activity(3, {"a": "tile"}, {"a": {"alu": Count(5, 4, 1, 0)}})
    other = Activity(4, {"a": "tile"}, {"a": {"alu": Count(1, 1, 0, 2), "level": Count(7)}})
    assert one + other == Activity(7, {"a": "tile"}, {"a": {"alu": Count(6, 5, 1, 2), "level": Count(7)}})
    assert Activity() + one == one


OUTER = """\
module outer (
  input  wire [3:0] a__b,
  input  wire clk,
  output reg  [3:0] q = 4'h0
);
  inner one (
    .i(a__b)
  );
  always_ff @(posedge clk)
    q <= a__b;
endmodule
"""
INNER = """\
module inner (
  input  wire [3:0] i,
  output wire [3:0] o
);
  assign o = i;
endmodule
"""


def test_a_module_counts_its_inputs_its_registers_and_the_outputs_of_those_in_it() -> None:
    found = {(each.member, each.module) for each in sources("outer", {"outer": OUTER, "inner": INNER})}
    assert found == {("a___05Fb", "outer"), ("q", "outer"), ("outer__DOT__one__DOT__i", "inner"),
                     ("outer__DOT__one__DOT__o", "outer")}
    assert control([("inner", INNER)]) == ('`verilator_config\npublic_flat_rd -module "inner" -var "i"\n'
                                           'public_flat_rd -module "inner" -var "o"\n')
