"""The longest stretch between registers of a route, against sums by hand."""

from dataclasses import fields, replace

import pytest
from netlists import machine

from sardonyx.compiler.backend.timing import Timing as Critical
from sardonyx.compiler.backend.timing import timing
from sardonyx.compiler.ir.mapped import LOAD, Block, MappedGraph, Net, Pin, Stream
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.interconnect import Node
from sardonyx.hw.arch.timing import Timing

# Words from the GLB tile are late enough for a route of two boxes to be longer than what is inside of tiles, and one of one box
# not.
PLAIN = machine(2, 3)
BASE = replace(PLAIN, timing=replace(PLAIN.timing, glb=PLAIN.timing.pe_inside - 170, switch_box=136, switch_box_valid=90))
TIMES = BASE.timing


def down_a_column(arch: Arch) -> Critical:
    """Of a route from a load at (0, 0) through odd (0, 1) to a PE at even (0, 2)."""
    index = arch.graph.index
    nodes = [index[Node(0, 0, "data", "out", "g2f")], index[Node(0, 0, "data", "sb", "s0")],
             index[Node(0, 1, "data", "sb", "s0")], index[Node(0, 2, "data", "in", "data0")]]
    net = Net(Pin("load", "g2f"), (Pin("pe", "data0"),))
    blocks = {"load": Block("load", "io", "", {}), "pe": Block("pe", "pe", "alu", {})}
    graph = MappedGraph(blocks, (net,), (Stream("load", LOAD, "T", 0),))
    return timing(graph, [net], {net.name: dict(zip(nodes[1:], nodes[:-1], strict=True))}, arch)


def test_without_registers_on_tracks_a_word_passes_its_whole_route_in_one_stretch() -> None:
    found = down_a_column(replace(BASE, interconnect=replace(BASE.interconnect, fifo="inputs")))
    whole = TIMES.glb + 2 * TIMES.switch_box + TIMES.connection_box
    assert found == Critical(whole + TIMES.setup, "net load.g2f to data0 of tile (0, 2)")


@pytest.mark.parametrize("fifo,registers,delay,where", [
    # The register is in the odd tile.
    ("split", False, TIMES.glb + 2 * TIMES.switch_box, "net load.g2f to s0 of tile (0, 1)"),
    ("full", False, TIMES.pe_inside, "in a PE"),            # longer than from the GLB tile to the first one
    ("none", False, TIMES.glb + 2 * TIMES.switch_box, "net load.g2f to s0 of tile (0, 1)"),
    ("split", True, TIMES.pe_inside, "in a PE"),            # longer than two boxes between two registers
])
def test_the_period_is_the_longest_stretch_with_its_setup(fifo: str, registers: bool, delay: int, where: str) -> None:
    found = down_a_column(replace(BASE, interconnect=replace(BASE.interconnect, fifo=fifo, output_registers=registers)))
    assert found == Critical(delay + TIMES.setup, where) and found.period_ns == (delay + TIMES.setup) / 1000


@pytest.mark.parametrize("fifo,delay,end", [
    ("split", TIMES.register + 300 + 300, "s0 of tile (0, 1)"), ("full", TIMES.register + 500, "data0 of tile (0, 2)")])
@pytest.mark.parametrize("late", ["", "_valid"])
def test_behind_a_register_a_stretch_begins_anew(fifo: str, delay: int, end: str, late: str) -> None:
    """With registers at core outputs and cores that take no time, boxes decide, by their payload or by their validity."""
    quick = Timing(**(dict.fromkeys((field.name for field in fields(Timing)), 1) | {"register": TIMES.register} |
                      {f"switch_box{late}": 300, f"connection_box{late}": 500}))
    boxes = replace(BASE.interconnect, fifo=fifo, output_registers=True)
    found = down_a_column(replace(BASE, timing=quick, interconnect=boxes))
    assert found == Critical(delay + 1, f"net load.g2f to {end}")


@pytest.mark.parametrize("kinds,where", [
    (("pe", "mem", "io"), "in a PE"), (("mem", "io"), "in a MEM"), (("io",), "in a GLB tile"), ((), "in the boxes of a tile")])
def test_tiles_that_a_program_does_not_use_do_not_decide_its_period(kinds: tuple[str, ...], where: str) -> None:
    times = replace(TIMES, pe_inside=900, mem_inside=800, glb_inside=700, boxes_inside=600)
    graph = MappedGraph({kind: Block(kind, kind, "", {}) for kind in kinds}, (), ())
    found = timing(graph, (), {}, replace(PLAIN, timing=times))
    assert found == Critical({"in a PE": 900, "in a MEM": 800, "in a GLB tile": 700}.get(where, 600) + times.setup, where)


def test_with_registers_at_core_outputs_the_way_to_them_is_a_stretch() -> None:
    times = replace(TIMES, pe_bit=2000)
    arch = replace(PLAIN, timing=times, interconnect=replace(PLAIN.interconnect, output_registers=True))
    found = timing(MappedGraph({"pe": Block("pe", "pe", "alu", {})}, (), ()), (), {}, arch)
    assert found == Critical(2000 + times.setup, "in a PE, to an output")


def to_the_east(arch: Arch) -> Critical:
    """Of a route from a PE at even (0, 2) to one at (1, 2), if nothing inside of tiles takes longer."""
    index = arch.graph.index
    nodes = [index[Node(0, 2, "data", "out", "res0")], index[Node(0, 2, "data", "sb", "e0")],
             index[Node(1, 2, "data", "in", "data0")]]
    net = Net(Pin("a", "res0"), (Pin("b", "data0"),))
    graph = MappedGraph({name: Block(name, "pe", "alu", {}) for name in "ab"}, (net,), ())
    return timing(graph, [net], {net.name: dict(zip(nodes[1:], nodes[:-1], strict=True))}, arch)


@pytest.mark.parametrize("options,more,down", [
    ({}, 0, 0), ({"power_domains": True}, 7, 7), ({"regions": 2}, 50, 0), ({"power_domains": True, "regions": 2}, 57, 7)])
def test_power_domains_and_walls_are_on_the_way_into_a_tile(options: dict[str, int], more: int, down: int) -> None:
    slow = replace(TIMES, pe=2000, protection=7, wall=50, walled=1, glb=2000)
    arch = replace(BASE, timing=slow, **options)  # type: ignore[arg-type]
    boxes = slow.switch_box + slow.connection_box
    assert to_the_east(arch) == Critical(2000 + boxes + more + slow.setup, "net a.res0 to data0 of tile (1, 2)")
    assert down_a_column(arch).delay_ps == 2000 + 2 * slow.switch_box + down + slow.setup


def test_what_looks_for_routes_that_end_at_a_wall_is_a_stretch_of_every_track_to_a_side_with_walls() -> None:
    """A tile has a register for its own tracks to the west and the east; without FIFOs their configuration leads there."""
    times = replace(TIMES, walled=3000)
    split = replace(BASE, timing=times, regions=2)
    none = replace(split, interconnect=replace(BASE.interconnect, fifo="none"))
    late = times.pe_valid + times.switch_box_valid + 3000
    assert to_the_east(split) == Critical(late + times.setup, "net a.res0 to the wall of tile (0, 2)")
    for arch in (replace(split, regions=1), replace(none, regions=1), none):
        assert to_the_east(arch).where == "in a PE"
    assert down_a_column(split) == down_a_column(replace(split, regions=1))
