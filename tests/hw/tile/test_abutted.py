"""Tiles that abut do what tiles beside a column do, cycle by cycle, and touch none but their neighbours."""

import random
from dataclasses import replace
from itertools import product
from pathlib import Path

import checks
import pytest
from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.sim import Simulator, SimulatorContext

from sardonyx.hw import emit
from sardonyx.hw.arch.config import config_segment
from sardonyx.hw.arch.interconnect import STEP, Interconnect
from sardonyx.hw.arch.presets import get
from sardonyx.hw.arch.primitive import PASS_THROUGH
from sardonyx.hw.arch.tile import PE, TileSpec
from sardonyx.hw.array import Array
from sardonyx.hw.column import Column
from sardonyx.hw.component import module_name, ports
from sardonyx.hw.configuration import CHANNEL, REQUEST
from sardonyx.hw.connectivity import BORDER, Wire, connections, reports, tile_name
from sardonyx.hw.tile.abutted import AbuttedTile, Feed
from sardonyx.hw.yosys import run_yosys

PORTS = ("flush", "reset", "active", "overflow")
# Of a machine with regions.
REPORTS = reports(replace(get("tiny"), regions=2))
MESH = replace(get("tiny"), columns=2, rows=3, mem_every=0, config_rows=2, feed_through=True,
               pe=TileSpec("pe", PE.ports, (PASS_THROUGH,)), interconnect=Interconnect(1))


class Answers:
    """Tiles of a column without anything but answers: each to reads at its row, with the request's data and its row."""

    def __init__(self, m: Module, tiles: int) -> None:
        self.m = m
        self.reports = {name: Signal(tiles, name=name) for name in REPORTS}

    def join(self, row: int, asked: "wiring.PureInterface", answered: "wiring.PureInterface") -> None:
        with self.m.If(asked.valid & ~asked.write & (asked.addr == row)):
            self.m.d.comb += [answered.rvalid.eq(1), answered.rdata.eq(asked.wdata + row)]


def column(tiles: int, rows: int) -> "tuple[Module, Answers, dict[str, Value], list[Value], list[Value]]":
    """A column with tiles beside it: inputs, what leaves at the top, what is at the tiles."""
    m = Module()
    answers = Answers(m, tiles)
    m.submodules.column = made = Column(tiles, rows, REPORTS, True)
    m.d.comb += [getattr(made, f"tiles_{name}").eq(said) for name, said in answers.reports.items()]
    inside: list[Value] = []
    for row in range(tiles):
        n = config_segment(row, rows)
        segment = getattr(made, f"segment{n}")
        answers.join(row, segment, getattr(made, f"tile{row}"))
        inside += [made.tiles_flush, made.tiles_stall, getattr(made, f"reset{n}"),
                   *(getattr(segment, name) for name in REQUEST)]
    inputs = {"flush": made.flush, "stall": made.stall, "reset": made.reset,
              **{name: getattr(made.config, name) for name in REQUEST}}
    return m, answers, inputs, [made.config.rvalid, made.config.rdata, *(getattr(made, name) for name in REPORTS)], inside


def chain(tiles: int, rows: int) -> "tuple[Module, Answers, dict[str, Value], list[Value], list[Value]]":
    """The same of tiles that abut."""
    m = Module()
    answers = Answers(m, tiles)
    feeds = [Feed(not row, REPORTS, True) for row in range(tiles)]
    inside: list[Value] = []
    for row, feed in enumerate(feeds):
        m.submodules[f"feed{row}"] = feed
        answers.join(row, feed.config, feed.config)
        m.d.comb += [getattr(feed, name).eq(said[row]) for name, said in answers.reports.items()]
        inside += [feed.s_flush, feed.s_stall, feed.s_reset, *(getattr(feed.config, name) for name in REQUEST)]
        if row:
            above = feeds[row - 1]
            wiring.connect(m, above.s_config, feed.n_config)
            m.d.comb += [feed.cut.eq(config_segment(row, rows) != config_segment(row - 1, rows)),
                         feed.n_flush.eq(above.s_flush), feed.n_stall.eq(above.s_stall), feed.n_reset.eq(above.s_reset),
                         *(getattr(above, f"s_{name}").eq(getattr(feed, f"n_{name}")) for name in REPORTS)]
    first = feeds[0]
    inputs = {"flush": first.n_flush, "stall": first.n_stall, "reset": first.n_reset,
              **{name: getattr(first.n_config, name) for name in REQUEST}}
    top = [first.n_config.rvalid, first.n_config.rdata, *(getattr(first, f"n_{name}") for name in REPORTS)]
    return m, answers, inputs, top, inside


@pytest.mark.parametrize("tiles,rows", [(1, 1), (4, 1), (6, 2), (5, 8)])
def test_what_goes_through_tiles_is_what_stands_beside_them_cycle_by_cycle(tiles: int, rows: int) -> None:
    traces = []
    for build in (column, chain):
        m, answers, inputs, top, inside = build(tiles, rows)
        simulator, draw, trace = Simulator(m), random.Random(tiles), []
        simulator.add_clock(1e-9)

        async def bench(sim: SimulatorContext, answers=answers, inputs=inputs, shown=(*top, *inside), draw=draw,
                        trace=trace) -> None:
            for _ in range(300):
                for name, width in (("flush", 0.1), ("stall", 0.4), ("reset", 0.05), ("valid", 0.4), ("write", 0.3)):
                    sim.set(inputs[name], draw.random() < width)
                sim.set(inputs["addr"], draw.randrange(tiles + 1))
                sim.set(inputs["wdata"], draw.randrange(1 << 16))
                for report in answers.reports.values():
                    sim.set(report, draw.getrandbits(tiles) if draw.random() < 0.5 else 0)
                _, _, *values = await sim.tick().sample(*shown)
                trace.append(values)

        simulator.add_testbench(bench)
        simulator.run()
        traces.append(trace)
    assert traces[0] == traces[1]
    assert any(row[0] for row in traces[0]), "something was answered"
    assert all(any(row[2 + n] for row in traces[0]) for n in range(len(REPORTS))), "and all that is reported"


def test_a_tile_that_abuts_is_joined_with_its_neighbours_and_the_border_only() -> None:
    sites = {tile_name(site): site for site in MESH.tiles}
    steps = {*STEP.values()}
    for wire in connections(replace(MESH, column_stall=True), MESH.tiles, True, abutted=True):
        if not isinstance(wire, Wire):
            continue
        ends = [end.instance for end in (wire.source, wire.sink)]
        if BORDER in ends:
            site = sites[next(end for end in ends if end != BORDER)]
            assert site[1] == 0, wire
            continue
        (x0, y0), (x1, y1) = (sites[end] for end in ends)
        assert (x1 - x0, y1 - y0) in steps, wire


@pytest.mark.parametrize("feed_through", [False, True])
def test_tiles_of_a_kind_and_parity_are_one_module_wherever_they_are(feed_through: bool) -> None:
    """Six of them in the largest machine: PE, MEM and IO, odd and even. Pins that are tied outside say where they are."""
    parts, wires = Array(replace(get("onyx"), feed_through=feed_through)).netlist()
    tiles = {name: module_name(part) for name, part in parts.items() if name.startswith("x")}
    form = "abutted" if feed_through else "tile"
    assert set(tiles.values()) == {f"{form}_{kind}_{parity}" for kind, parity in product(("pe", "mem", "io"), ("odd", "even"))}
    assert len(tiles) == 32 * 17 and len({id(part) for part in parts.values()}) == 6 + (not feed_through)
    places = {(wire.sink.instance, wire.sink.port): wire.value for wire in wires
              if not isinstance(wire, Wire) and wire.sink.port == "tile_y"}
    assert places == {(tile_name(site), "tile_y"): site[1] for site in get("onyx").tiles}


def test_the_array_of_tiles_that_abut_is_without_loops_and_lint(tmp_path: Path) -> None:
    files = emit.emit(Array(replace(MESH, column_stall=True)), tmp_path)
    assert not list(tmp_path.glob("column_*"))
    reads = "".join(f"read_verilog -sv {file.name}; " for file in files)
    run_yosys(["-q", "-p", f"{reads}hierarchy -check -top array; proc; flatten; opt_clean; check -assert"], tmp_path)
    checks.lint(files, "array")


@pytest.mark.parametrize("stalls", [False, True])
def test_ports_of_a_tile_that_abuts_name_their_sides(stalls: bool) -> None:
    names = ports(AbuttedTile(replace(MESH, column_stall=stalls), MESH.pe, 0))
    assert {name for name in names if name.partition("_")[0] not in ("n", "e", "s", "w")} == {"cut", "tile_y"}
    assert {f"{side}_config__{part}" for side in "ns" for part in CHANNEL.members} < set(names)
