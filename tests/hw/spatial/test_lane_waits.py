"""Counters say for what lanes wait: as a model does under random stalls, in reports, and to C on a core."""

import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from amaranth.sim import Simulator
from riscv import needs_compiler

from sardonyx import spatial as sp
from sardonyx.hw.arch.command import LANE_STALLS, REGISTERS, STALLS
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.outer_product import BOTH, MERGE, MULTIPLY, OuterProduct
from sardonyx.hw.emit import macro
from sardonyx.hw.spatial.merge.node import MergeNode
from sardonyx.hw.spatial.outer import merge, product, run_merge
from sardonyx.hw.spatial.outer.lane_waits import LANE_CAUSES
from sardonyx.hw.spatial.outer.lane_work import NEXT
from sardonyx.hw.spatial.outer.ledger import Ledger
from sardonyx.hw.spatial.outer.port_share import PortShare
from sardonyx.hw.spatial.outer.product import OuterProductArray
from sardonyx.hw.spatial.outer.run_merge import RunMerge
from sardonyx.hw.spatial.system import SpatialSystem
from sardonyx.runtime import spatial_firmware, spatial_outer
from sardonyx.runtime.data.outer_lists import laid_lists
from sardonyx.runtime.data.outer_product import Laid, laid
from sardonyx.runtime.spatial_header import header
from sardonyx.sim.rtl.accelerator import SimulatedAccelerator

# Two lanes share a port; a row of the result has up to 15 elements.
KIND = OuterProduct("lane_waits", lanes=2, ports=1, rows=16, pairs=32, queue=16, counters=True)


def placed(kind: OuterProduct) -> Laid:
    draw = np.random.default_rng(3)
    a, b = (draw.integers(-99, 99, size) * (draw.random(size) < 0.5) for size in ((9, 8), (8, 12)))
    if kind.phases == MERGE:
        runs = [[np.stack([np.flatnonzero(b[k]), a[row, k] * b[k, b[k] != 0]], 1) for k in np.flatnonzero(a[row])]
                for row in range(9)]
        return laid_lists(kind, runs, 9 * 12)
    return laid(kind, scipy.sparse.csc_array(a), scipy.sparse.csr_array(b), 9 * 12)


class Lane:
    """What a lane waits for, cycle by cycle, at its share of a port, at the ledger, and where its runs are merged."""

    def __init__(self, lane: int, parts: "list[Any]", kind: OuterProduct) -> None:
        shares = [each for each in parts if isinstance(each.component, PortShare)]
        self._ledger, = (each for each in parts if isinstance(each.component, Ledger))
        merges = [each for each in parts if isinstance(each.component, RunMerge)]
        nodes = [each for each in parts if isinstance(each.component, MergeNode)]
        share, user = shares[lane % kind.ports], lane // kind.ports
        self._streams = {name: getattr(share, f"{name}{user}") for name in ("request", "load", "store")}
        self._streams["ask"] = getattr(self._ledger, f"i{lane}")
        self._ended, self._lane = getattr(share, f"ended{user}"), lane
        self._merge, self._node = (merges[lane], nodes[lane]) if merges else (None, None)
        self._stores, self._asked, self._merges, self._next, self._share = False, False, False, False, share
        self.done = False

    def step(self, get: "Callable[[Any], int]", numbers: int) -> "Counter[str]":
        """What it waits for in a cycle; numbers: how many there are in this phase."""
        shaken = {name: (bool(get(each.valid)), bool(get(each.ready))) for name, each in self._streams.items()}
        held = {name: valid and not ready for name, (valid, ready) in shaken.items()}
        answered = bool(get(self._ledger.answered) >> self._lane & 1)
        found = Counter({
            "operand_late": shaken["load"] == (False, True), "operand_held": held["load"],
            "result_late": self._stores and not shaken["store"][0], "result_held": held["store"],
            "port_held": held["request"], "answer_late": held["ask"] or (self._asked and not answered), "run_late": False})
        if get(self._ended):
            self._stores = False
        if shaken["request"] == (True, True):
            self._stores = bool(get(self._streams["request"].payload.stores))
        if answered and self._next:
            self.done = get(self._ledger.answer) >= numbers
        if shaken["ask"] == (True, True):
            self._next = get(self._streams["ask"].payload.kind) == NEXT
        self._asked = shaken["ask"] == (True, True) or (self._asked and not answered)
        if self._merge is not None:
            found["run_late"] = self._merges and not (get(self._node.x.valid) and get(self._node.y.valid))
            self._merges = bool(get(self._merge.start)) or (self._merges and not get(self._merge.done))
        return found


class Stalling:
    """A memory behind the bus whose channels stall at random, one burst of each direction after the other."""

    def __init__(self, content: bytes, seed: int) -> None:
        self.content, self._draw = bytearray(content), random.Random(seed)
        self._reads: deque[tuple[int, int, bool]] = deque()        # identity, address, last
        self._writes: deque[tuple[int, int, int]] = deque()        # identity, address, words
        self._answers: deque[int] = deque()

    async def step(self, dut: Any, context: Any) -> None:
        """A cycle: what is shaken in it is done, and there is something else in the next one."""
        def get(name: str) -> int:
            return int(context.get(getattr(dut, f"m_axi_{name}")))

        def both(channel: str) -> bool:
            return bool(get(f"{channel}valid") and get(f"{channel}ready"))

        if both("ar"):
            beats = get("arlen") + 1
            self._reads += [(get("arid"), get("araddr") + 8 * n, n == beats - 1) for n in range(beats)]
        if both("aw"):
            self._writes.append((get("awid"), get("awaddr"), get("awlen") + 1))
        if both("w"):
            identity, at, words = self._writes.popleft()
            data, lanes = get("wdata").to_bytes(8, "little"), get("wstrb")
            for byte in range(8):
                if lanes >> byte & 1:
                    self.content[at + byte] = data[byte]
            if words > 1:
                self._writes.appendleft((identity, at + 8, words - 1))
            else:
                self._answers.append(identity)
        if both("r"):
            self._reads.popleft()
        if both("b"):
            self._answers.popleft()
        offers = {"r": bool(self._reads) and ((get("rvalid") and not both("r")) or self._goes()),
                  "b": bool(self._answers) and ((get("bvalid") and not both("b")) or self._goes())}
        values: dict[str, int] = {f"{name}valid": int(offer) for name, offer in offers.items()}
        values |= {"arready": self._goes(), "awready": self._goes(), "wready": bool(self._writes) and self._goes()}
        if self._reads:
            identity, at, last = self._reads[0]
            values |= {"rid": identity, "rdata": int.from_bytes(self.content[at:at + 8], "little"), "rlast": last}
        if self._answers:
            values["bid"] = self._answers[0]
        await context.tick()
        for name, value in values.items():
            context.set(getattr(dut, f"m_axi_{name}"), int(value))

    def _goes(self) -> bool:
        return self._draw.random() > 0.3


@pytest.mark.parametrize("phases,lanes,ports", [
    (BOTH, 2, 1), (MERGE, 2, 2), pytest.param(BOTH, 4, 2, marks=pytest.mark.slow),
    pytest.param(MULTIPLY, 4, 1, marks=pytest.mark.slow)])
def test_lanes_that_wait_are_those_of_a_model_under_random_stalls(phases: str, lanes: int, ports: int,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    kind = replace(KIND, lanes=lanes, ports=ports, phases=phases)
    place, parts = placed(kind), list[Any]()

    def recorded(component: Any, **more: Any) -> Any:
        parts.append(macro(component, **more))
        return parts[-1]

    for module in (product, run_merge, merge):
        monkeypatch.setattr(module, "macro", recorded)
    array, memory, sums = OuterProductArray(kind), Stalling(place.content, lanes), Counter(dict.fromkeys(LANE_CAUSES, 0))

    async def testbench(context: Any) -> None:
        watched = [Lane(lane, parts, kind) for lane in range(lanes)]
        # A lane has none left when it is told one behind them; the last one ends the phase.
        numbers = deque(place.job[each] for each in {MULTIPLY: ["terms"], MERGE: ["height"]}.get(phases, ["terms", "height"]))
        for name in kind.job:
            context.set(getattr(array.job, name), place.job[name])
        context.set(array.begins, 1)
        for _ in range(40_000):
            wanted: Counter[str] = Counter(dict.fromkeys(LANE_CAUSES, 0))
            if all(lane.done for lane in watched):
                numbers.popleft()
                for lane in watched:
                    lane.done = False
            wanted["lane_idle"] = sum(lane.done for lane in watched)
            for lane in watched:
                wanted.update(lane.step(lambda signal: int(context.get(signal)), numbers[0] if numbers else 0))
            found = {name: int(context.get(getattr(array, f"is_{name}"))) for name in LANE_CAUSES}
            assert found == dict(wanted)
            sums.update(found)
            if context.get(array.trap):
                break
            await memory.step(array, context)
        assert context.get(array.trap) and not context.get(array.status), sums

    simulator = Simulator(array)
    simulator.add_clock(1e-9)
    simulator.add_testbench(testbench)
    simulator.run()
    # Each cause is one in some cycle, where there is what it is about.
    merging = {"operand_held", "run_late"}
    assert {name for name in LANE_CAUSES if sums[name]} == set(LANE_CAUSES) - (merging if phases == MULTIPLY else set()) - (
        {"port_held"} if lanes == ports else set()), sums


def test_reports_have_them_and_memory_that_is_late_is_waited_for() -> None:
    design = sp.OuterProductDesign(replace(KIND, queue=0, counters=False)).accelerator(counters=True)
    assert design.kind == KIND
    draw = np.random.default_rng(4)
    matrices = {name: draw.integers(-9, 9, shape) * (draw.random(shape) < 0.5)
                for name, shape in (("A", (9, 8)), ("B", (8, 12)))}
    soon, late = (design.run(latency=latency, **matrices).report for latency in (2, 200))
    for report in (soon, late):
        assert report["waits"].keys() == LANE_STALLS.keys()
        assert all(value <= KIND.lanes * report["cycles"] for value in report["waits"].values())
    assert late["waits"]["operand_late"] > 10 * soon["waits"]["operand_late"] > 0
    assert late["waits"]["run_late"] == soon["waits"]["run_late"] > 0
    assert "waits" not in sp.OuterProductDesign(replace(KIND, counters=False)).run(**matrices).report


@needs_compiler
def test_c_on_a_core_reads_them(tmp_path: Path) -> None:
    kind = replace(KIND, ram_bytes=4096)
    place = placed(kind)
    text = spatial_outer.FIRMWARE.read_text()
    end = '    __asm__ volatile("ebreak");\n'
    assert text.count(end) == 1
    source = tmp_path / "waits.c"
    source.write_text(text.replace(end, "    if (spatial_operand_late() > 500u && spatial_port_held() > spatial_run_late() "
                                        "&& spatial_run_late())\n    " + end))
    requests = spatial_outer.requests(kind, place)
    content = spatial_firmware.compiled(kind, source, {"product.h": requests}) + place.content[kind.ram_bytes:]
    with SimulatedAccelerator(SpatialSystem(kind), len(content), 20, kind.stalls) as system:
        system.write(0, content)
        waits = system.run([], 100_000).stalls
    assert waits.keys() == LANE_STALLS.keys() and waits["operand_late"] > 500


def test_each_has_a_register_and_a_function_of_c() -> None:
    assert [each.name for each in REGISTERS[-9:]] == [*LANE_STALLS] and [*LANE_STALLS][:5] == [*STALLS]
    for kind, count in ((KIND, 2), (replace(KIND, counters=False), 0)):
        assert all(header(kind).count(f"uint32_t spatial_{name}(void)") == count for name in LANE_STALLS)
    said = [line for line in header(KIND).splitlines() if line.startswith("/* Cycles")]
    once = f"/* Cycles since reset in which {STALLS['command_held']}. */"
    assert len(said) == len(LANE_STALLS) and [line for line in said if " of all lanes " not in line] == [once]


def test_without_commands_there_is_nothing_to_read_them() -> None:
    with pytest.raises(UserError) as refused:
        replace(KIND, queue=0)
    assert "counters are registers beside commands, of which there are none\n  try: give it a queue" in str(refused.value)
