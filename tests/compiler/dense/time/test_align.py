"""Whatever the routes, operands of one step meet in every PE, and flags of stores come with their words."""

from dataclasses import replace

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from routed import pe_graphs, seen, sinks
from stencils import BLUR, plane, stencil

from sardonyx.compiler.dense.map.delay_lines import OPERAND_PORT, StaticGraph, longest_line
from sardonyx.compiler.dense.map.grid import walk
from sardonyx.compiler.dense.map.storage import latency_of, store, with_passes
from sardonyx.compiler.dense.time.align import Misaligned, align, least_age, verify
from sardonyx.compiler.dense.time.settle import settle
from sardonyx.compiler.ir.dataflow import Ref
from sardonyx.compiler.ir.mapped import Pin
from sardonyx.compiler.ir.pe_graph import PeGraph, PeNode
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.op import BY_NAME

SMALL = presets.get("small")


def steps_meet(static: StaticGraph, latency: dict[Pin, int]) -> None:
    """Every operand of every PE, and every word of a store, is of the step it should be, found by following words back."""
    times = align(static, latency, SMALL)
    verify(static, times, latency, SMALL)
    each, graph = static.walk, static.walk.graph

    def maker(ref: Ref) -> tuple[str, str]:
        node = graph.nodes[ref.node]
        return (node.name, "g2f") if node.op == "input" else (f"{node.op} {ref.node}", "bit" if ref.port == "p" else "res0")

    for number, node in enumerate(graph.nodes):
        for port, ref in node.refs():
            sink = Pin(f"{node.op} {number}", OPERAND_PORT[port])
            start = next(start for pin, start in times.starts.items() if pin.block == sink.block)
            start -= latency_of(node, SMALL)
            for step in each.span(number):
                found = seen(static, times, latency, sink)(start + step)
                assert found == (*maker(ref), step + each.grid.steps(ref.offset)), f"{sink} in step {step}"
    for out in each.stores:
        first = each.grid.step(out.first)
        flagged = times.starts[Pin(static.valid[out.name], "bit")] + latency[Pin(out.name, "f2g_bit")]
        assert seen(static, times, latency, Pin(out.name, "f2g"))(flagged) == (*maker(out.value), first)
        assert times.starts[Pin(static.valid[out.name], "bit")] >= 0
    for pin, start in times.starts.items():
        assert pin.port != "g2f" or start == SMALL.glb.load_start_cycle


@settings(max_examples=150)
@given(pe_graphs(), st.integers(1, 60), st.integers(1, 4), st.data())
def test_operands_of_one_step_meet_whatever_the_routes(graph: PeGraph, width: int, height: int, data: st.DataObject) -> None:
    static = store(walk(graph, (width, height)), SMALL)
    ends = sinks(static)
    lengths = data.draw(st.lists(st.integers(2, 6), min_size=len(ends), max_size=len(ends)))
    try:
        steps_meet(static, dict(zip(ends, lengths, strict=True)))
    except Misaligned as error:
        event(error.what.split(" ")[-1])
        assume(False)


@pytest.mark.parametrize("width", [1, 7, 200, 2031, 2032, 2033, 2047, 2048, 2049, 4100, 6500])
def test_rows_of_any_length_meet(width: int) -> None:
    static = store(walk(stencil({(0, 0): 1, (0, 1): 2, (0, 2): 3}), (width, 2)), SMALL)
    for length in (2, 4, 7):
        steps_meet(static, dict.fromkeys(sinks(static), length))


@pytest.mark.parametrize("width", [7, 200, 2048])
def test_operations_take_the_cycles_that_the_table_says(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = stencil({(0, 0): 1, (0, 1): 2, (0, 2): 3})

    def starts() -> int:
        static = store(walk(graph, (width, 2)), SMALL)
        steps_meet(static, latency := dict.fromkeys(sinks(static), 2))
        return max(align(static, latency, SMALL).starts.values())

    plain = starts()
    for name, op in list(BY_NAME.items()):
        monkeypatch.setitem(BY_NAME, name, replace(op, latency=3))
    assert starts() > plain


def test_nodes_may_run_ahead_of_the_grid() -> None:
    nodes = (PeNode("input", name="photo"), PeNode("mult0", {"a": Ref(0, (5, 3)), "b": 2}),
             PeNode("adc", {"a": Ref(1, (0, 0)), "b": Ref(1, (0, 1)), "d": 0}))
    graph = PeGraph(("x", "y"), nodes, {"photo": plane("photo")}, {"out": Ref(2, (0, 0))}, {"out": plane("out")})
    static = store(walk(graph, (60, 4)), SMALL)
    steps_meet(static, dict.fromkeys(sinks(static), 3))


def test_flags_of_two_readers_come_just_in_time_for_both() -> None:
    """The reader that starts later decides, whichever is listed first."""
    for late in ((9, 0), (0, 9)):
        nodes = [PeNode("input", name="photo"), PeNode("sbc", {"a": Ref(0, (0,)), "b": 5, "d": 1}, cond="ult")]
        nodes += [PeNode("sel", {"a": Ref(0, (ahead,)), "b": 1, "d": Ref(1, (0,), "p")}) for ahead in late]
        graph = PeGraph(("x",), tuple(nodes), {"photo": plane("photo", 1)}, {"a": Ref(2, (0,)), "b": Ref(3, (0,))},
                        {"a": plane("a", 1), "b": plane("b", 1)})
        static = store(walk(graph, (20,)), SMALL)
        steps_meet(static, dict.fromkeys(sinks(static), 3))


def test_a_word_waits_for_a_flag_with_a_long_way_to_its_store() -> None:
    graph = PeGraph(("x",), (PeNode("input", name="photo"),), {"photo": plane("photo", 1)}, {"out": Ref(0, (0,))},
                    {"out": plane("out", 1)})
    static = store(walk(graph, (20,)), SMALL)
    latency = dict.fromkeys(sinks(static), 2) | {Pin("out", "f2g_bit"): 19}
    steps_meet(static, latency)
    assert align(static, latency, SMALL).starts[Pin("out valid", "bit")] == 0


def test_lines_are_read_as_late_as_one_tile_allows() -> None:
    static = store(walk(stencil({(0, 0): 1, (0, 1): 2}), (2100, 1)), SMALL)
    times = align(static, dict.fromkeys(sinks(static), 4), SMALL)
    ages = [times.starts[Pin(line, port)] - times.arrivals[Pin(line, "in0")]
            for line, ports in static.lines.items() for port in ports]
    assert max(ages) == longest_line(SMALL)
    assert min(ages) >= least_age(SMALL)


def test_an_operand_that_cannot_wait_is_named() -> None:
    static = store(walk(stencil({(0, 0): 1, (3, 0): 2}), (8, 1)), SMALL)
    ends = sinks(static)
    far = dict.fromkeys(ends, 2) | {Pin("muladd 2", "data2"): 60}
    with pytest.raises(Misaligned) as error:
        align(static, far, SMALL)
    assert str(error.value) == ("muladd 2: operands have to wait 59 cycles, 28 more than the 32 words and 2 channels of its "
                                "register file hold\n  try: use wider tiles, or try another seed")


def passed(count: int, far: int) -> tuple[StaticGraph, dict[Pin, int]]:
    """A word that goes through `count` PEs with one operand, and meets one that takes `far` cycles on its way."""
    nodes = [PeNode("input", name="photo"), *(PeNode("or", {"a": Ref(at, (0,)), "b": 0}) for at in range(count))]
    nodes.append(PeNode("adc", {"a": Ref(count, (0,)), "b": Ref(0, (0,)), "d": 0}))
    graph = PeGraph(("x",), tuple(nodes), {"photo": plane("photo", 1)}, {"out": Ref(count + 1, (0,))}, {"out": plane("out", 1)})
    static = store(walk(graph, (20,)), SMALL)
    return static, dict.fromkeys(sinks(static), 2) | {Pin(f"adc {count + 1}", "data1"): far}


@pytest.mark.parametrize(("count", "far", "waits"), [
    (1, 37, [0, 31]), (1, 38, [1, 31]), (1, 68, [31, 31]), (2, 73, [1, 31, 31]), (3, 138, [31, 31, 31, 31])])
def test_pes_with_one_operand_take_what_the_one_behind_them_cannot_hold(count: int, far: int, waits: list[int]) -> None:
    static, latency = passed(count, far)
    steps_meet(static, latency)
    times = align(static, latency, SMALL)
    assert [times.waits[Pin(f"or {at + 1}", "data0")] for at in range(count)] + [
        times.waits[Pin(f"adc {count + 1}", "data0")]] == waits
    if sum(waits) == 31 * (count + 1):
        with pytest.raises(Misaligned, match="operands have to wait 32 cycles"):
            align(*passed(count, far + 1), SMALL)


def test_operands_that_cannot_wait_are_named_for_pes_to_wait_in() -> None:
    static, latency = passed(0, 60)
    with pytest.raises(Misaligned) as error:
        align(static, latency, SMALL)
    assert error.value.waiting == (Pin("adc 1", "data0"),)
    again = store(with_passes(static, error.value.waiting), SMALL)
    late = dict.fromkeys(sinks(again), 2) | {Pin("adc 2", "data1"): 60}
    steps_meet(again, late)
    assert again.graph.count("pe") == static.graph.count("pe") + 1
    assert align(again, late, SMALL).waits[Pin("adc 2", "data0")] == 31


def test_operands_that_nearly_cannot_wait_are_named_too() -> None:
    """Other places make other wires."""
    nodes = [PeNode("input", name="photo")]
    nodes += [PeNode("adc", {"a": Ref(0, (0,)), "b": Ref(0, (0,)), "d": 0}) for _ in range(3)]
    results = {f"out{number}": Ref(number, (0,)) for number in (1, 2, 3)}
    graph = PeGraph(("x",), tuple(nodes), {"photo": plane("photo", 1)}, results, {name: plane(name, 1) for name in results})
    static = store(walk(graph, (20,)), SMALL)
    far = {Pin(f"adc {number}", "data1"): length for number, length in ((1, 40), (2, 33), (3, 20))}
    with pytest.raises(Misaligned) as error:
        align(static, dict.fromkeys(sinks(static), 2) | far, SMALL)
    assert error.value.where == "adc 1"
    assert error.value.waiting == (Pin("adc 1", "data0"), Pin("adc 2", "data0"))


def test_an_operand_without_a_channel_waits_in_the_pe_before_it() -> None:
    """Three operands wait for the flag of the store, in two channels."""
    nodes = (PeNode("input", name="photo"), PeNode("or", {"a": Ref(0, (0,)), "b": 0}),
             PeNode("taa", {"a": Ref(1, (0,)), "b": Ref(0, (0,)), "c": Ref(0, (1,))}))
    graph = PeGraph(("x",), nodes, {"photo": plane("photo", 1)}, {"out": Ref(2, (0,))}, {"out": plane("out", 1)})
    static = store(walk(graph, (20,)), SMALL)
    latency = dict.fromkeys(sinks(static), 2) | {Pin("out", "f2g_bit"): 14}
    steps_meet(static, latency)
    waits = align(static, latency, SMALL).waits
    assert (waits[Pin("taa 2", "data0")], waits[Pin("or 1", "data0")]) == (0, 3)
    assert min(waits[Pin("taa 2", "data1")], waits[Pin("taa 2", "data2")]) > 0


def test_what_gives_a_flag_as_well_starts_when_the_flag_is_needed() -> None:
    nodes = (PeNode("input", name="photo"), PeNode("sbc", {"a": Ref(0, (0,)), "b": 5, "d": 1}, cond="ult"),
             PeNode("sel", {"a": 3, "b": 4, "d": Ref(1, (0,), "p")}),
             PeNode("adc", {"a": Ref(1, (0,)), "b": Ref(0, (0,)), "d": 0}))
    graph = PeGraph(("x",), nodes, {"photo": plane("photo", 1)}, {"a": Ref(2, (0,)), "b": Ref(3, (0,))},
                    {"a": plane("a", 1), "b": plane("b", 1)})
    static = store(walk(graph, (20,)), SMALL)
    steps_meet(static, dict.fromkeys(sinks(static), 2) | {Pin("adc 3", "data1"): 30})
    with pytest.raises(Misaligned, match="operands have to wait 34 cycles"):
        align(static, dict.fromkeys(sinks(static), 2) | {Pin("adc 3", "data1"): 40}, SMALL)


def test_what_another_reader_needs_at_once_is_not_passed_on_later() -> None:
    nodes = (PeNode("input", name="photo"), PeNode("or", {"a": Ref(0, (0,)), "b": 0}),
             PeNode("adc", {"a": Ref(1, (0,)), "b": Ref(0, (0,)), "d": 0}), PeNode("mult0", {"a": Ref(1, (0,)), "b": 3}))
    graph = PeGraph(("x",), nodes, {"photo": plane("photo", 1)}, {"far": Ref(2, (0,)), "near": Ref(3, (0,))},
                    {"far": plane("far", 1), "near": plane("near", 1)})
    static = store(walk(graph, (20,)), SMALL)
    latency = dict.fromkeys(sinks(static), 2) | {Pin("adc 2", "data1"): 40}
    # Its result is stored when it is there.
    with pytest.raises(Misaligned, match="operands have to wait 34 cycles"):
        align(static, latency, SMALL)


def test_a_shifted_time_is_found() -> None:
    static = store(walk(BLUR, (40, 3)), SMALL)
    latency = dict.fromkeys(sinks(static), 3)
    times = align(static, latency, SMALL)
    for sink, wait in times.waits.items():
        with pytest.raises(AssertionError, match="not in step"):
            verify(static, replace(times, waits={**times.waits, sink: wait + 1}), latency, SMALL)
    for pin, start in times.starts.items():
        with pytest.raises(AssertionError):
            verify(static, replace(times, starts={**times.starts, pin: start + 1}), latency, SMALL)


def test_a_late_operand_takes_two_words_more_than_it_waits() -> None:
    """The file gives it in the third cycle of the operation: 30 cycles fill the 32 words, 31 are too many."""
    def late(far: int) -> tuple[StaticGraph, dict[Pin, int]]:
        nodes = (PeNode("input", name="photo"), PeNode("adc", {"a": Ref(0, (0,)), "b": Ref(0, (0,)), "d": 0}))
        graph = PeGraph(("x",), nodes, {"photo": plane("photo", 1)}, {"out": Ref(1, (0,))}, {"out": plane("out", 1)})
        static = store(walk(graph, (20,)), SMALL)
        return static, dict.fromkeys(sinks(static), 2) | {Pin("adc 1", "data0"): far}

    steps_meet(*late(32))
    static, latency = late(32)
    times = align(static, latency, SMALL)
    assert times.waits[Pin("adc 1", "data1")] == 30
    assert settle(static, times, SMALL).graph.blocks["adc 1"].config["depth0"] == 31
    with pytest.raises(Misaligned) as error:
        align(*late(33), SMALL)
    assert error.value.what == ("operands have to wait 31 cycles, 1 more than the 32 words and 2 channels of its "
                                "register file hold")
