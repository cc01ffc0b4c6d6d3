"""Every output of the modules that are hardened by themselves is a register, or follows inputs by a path that is listed."""

import re
from dataclasses import replace
from typing import Any

import pytest
from machines import LEAST

from sardonyx.cache import home
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.glb import CLOCK_GATES, HYBRID
from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.arch.presets import get
from sardonyx.hw.arch.primitive import BUFFER
from sardonyx.hw.cone import LOGIC, REGISTER, Output, outputs
from sardonyx.hw.emit import collect
from sardonyx.hw.enabled import ENABLED
from sardonyx.hw.paths import Path, around_paths, column_paths, feed_paths, judged, listed, tile_paths
from sardonyx.hw.soc.top import Sardonyx
from sardonyx.hw.tile.tile import logic_name

TINY = get("tiny")


def judge(arch: Arch) -> None:
    """All outputs are as listed, and every path of the list is there."""
    found = listed(arch, home())
    assert {each.source for each in found if not each.follows} >= {REGISTER, LOGIC}
    assert all(bool(each.follows) == bool(each.reasons) for each in found)
    kinds = {(spec, x + y & 1) for (x, y), spec in arch.tiles.items()}
    lists = around_paths(arch) | ({} if arch.feed_through else {f"column_{arch.rows + 1}": column_paths(arch)})
    for spec, parity in kinds:
        lists[f"tile_{logic_name(spec, parity)}"] = tile_paths(arch, spec, parity)
        if arch.feed_through:
            lists[f"abutted_{logic_name(spec, parity)}"] = feed_paths(arch, spec.kind == "io")
    for module, paths in lists.items():
        mine = [each for each in found if each.module == module]
        for path in paths:
            assert any(re.fullmatch(path.outputs, each.output) and re.fullmatch(path.inputs, name)
                       for each in mine for name in each.follows), (module, path)


def test_walls_and_who_owns_what_are_listed() -> None:
    judge(replace(LEAST, columns=4, regions=2, interconnect=Interconnect(2)))
    judge(replace(LEAST, columns=4, regions=2, interconnect=Interconnect(2, fifo="none")))


def test_what_answers_for_a_memory_is_listed() -> None:
    little = replace(TINY.mem, primitives=(BUFFER,), sram_lines=8, read_loops=1, write_loops=1, replay=False)
    judge(replace(LEAST, mem_every=2, mem=little, memory_readback=True, column_stall=True))


def test_the_ring_of_the_global_buffer_is_listed() -> None:
    judge(replace(LEAST, columns=3, glb=replace(LEAST.glb, ring=3)))


@pytest.mark.parametrize("form", CLOCK_GATES)
def test_clock_gates_are_in_no_path(form: str) -> None:
    def paths(arch: Arch) -> "set[tuple[str, str, tuple[str, ...]]]":
        return {(each.module.removesuffix(ENABLED), each.output, each.follows) for each in listed(arch, home())}

    assert paths(replace(LEAST, glb=replace(LEAST.glb, clock_gating=HYBRID, clock_gates=form))) == paths(LEAST)


@pytest.mark.parametrize("feed_through", [False, True])
def test_the_outputs_of_a_small_machine_are_as_listed(feed_through: bool) -> None:
    judge(replace(LEAST, feed_through=feed_through))


@pytest.mark.parametrize("feed_through", [False, True])
def test_buses_and_what_resets_and_flushes_tiles_come_from_registers(feed_through: bool) -> None:
    found = outputs(collect(Sardonyx(replace(LEAST, feed_through=feed_through, column_stall=True)), home()))
    head = found["feed_first"] if feed_through else found["column_2"]
    ports = {name: found["sardonyx"][name] for name in found["sardonyx"] if name != "irq"}
    assert {name[:6] for name in ports} == {"s_axi_", "s_axil"} and len(ports) > 15
    for name in ("reset", "flush", "stall", "config"):
        names = rf"(s_|tiles_)?{name}\d*(__\w+)?$|segment\d+__"
        each = {port: output for port, output in head.items() if re.match(names, port)}
        assert each
        ports |= each
    assert [name for name, output in ports.items() if output != Output(REGISTER, ())] == []


def test_counters_leave_the_outputs_as_listed() -> None:
    judge(replace(LEAST, counter_bits=8))


@pytest.mark.parametrize("feed_through", [False, True])
def test_the_outputs_of_a_machine_with_power_domains_are_as_listed(feed_through: bool) -> None:
    judge(replace(LEAST, power_domains=True, feed_through=feed_through))


@pytest.mark.parametrize("feed_through,interconnect", [
    (False, Interconnect(1)), (True, Interconnect(1)), (False, Interconnect(1, fifo="full")),
    (False, Interconnect(1, fifo="none"))])
def test_what_freezes_columns_is_listed(feed_through: bool, interconnect: Interconnect) -> None:
    judge(replace(LEAST, column_stall=True, feed_through=feed_through, interconnect=interconnect))


@pytest.mark.parametrize("more", [{}, {"power_domains": True}, {"column_stall": True}],
                         ids=["plain", "domains", "stalls"])
def test_the_outputs_of_a_machine_without_registers_on_tracks_are_as_listed(more: dict[str, Any]) -> None:
    judge(replace(LEAST, interconnect=Interconnect(1, fifo="inputs"), **more))


def test_the_outputs_of_a_machine_with_registers_everywhere_are_as_listed() -> None:
    judge(replace(LEAST, interconnect=Interconnect(1, fifo="full", output_registers=True)))


@pytest.mark.slow
@pytest.mark.parametrize("arch", [TINY, get("onyx"), replace(TINY, interconnect=Interconnect(2, fifo="none"))],
                         ids=["tiny", "onyx", "without FIFOs"])
def test_the_outputs_of_machines_are_as_listed(arch: Arch) -> None:
    judge(arch)


def test_a_path_that_is_not_listed_is_refused_by_its_name() -> None:
    paths = {"tile": (Path("[ns]_o", "[ns]_i", "words pass"),), "shell": ()}
    legal = {"n_o": Output(LOGIC, ("s_i",)), "done": Output(REGISTER, ())}
    first, second = judged({"tile": legal}, paths)
    assert (first.reasons, second.reasons) == (("words pass",), ())
    with pytest.raises(UserError) as refused:
        judged({"tile": {**legal, "s_o": Output(LOGIC, ("n_i", "e_i", "w_i"))}, "shell": {"irq": Output(LOGIC, ("rst",))}},
               paths)
    assert str(refused.value) == (
        "tile.s_o follows e_i, w_i; shell.irq follows rst: outputs follow inputs in the same cycle by no path that is listed\n"
        "  try: end the path at a register, or list it with its reason in hw/paths.py")
