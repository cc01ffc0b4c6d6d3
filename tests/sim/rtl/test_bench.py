import functools
from typing import Any

import pytest
from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw import kept, verilog
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.stream.fifo import Fifo2
from sardonyx.sim.rtl.bench import Bench, Case, run_component, run_many, run_primitive

WORD = stream.Signature(8)


class Chosen(wiring.Component):
    """A wire that breaks the contract as `cfg` says, from the third token on."""

    RETRACTS, CHANGES, WAITS_FOR_READY, BABBLES = 1, 2, 3, 4

    i: In(WORD)
    o: Out(WORD)
    cfg: In(3)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        toggle, seen = Signal(), Signal(2)
        m.d.sync += toggle.eq(~toggle)
        wiring.connect(m, wiring.flipped(self.i), wiring.flipped(self.o))
        with m.If(self.i.valid & self.i.ready & (seen != 2)):
            m.d.sync += seen.eq(seen + 1)
        with m.If(seen == 2):
            with m.Switch(self.cfg):
                with m.Case(self.RETRACTS):
                    m.d.comb += self.o.valid.eq(self.i.valid & toggle)
                    m.d.comb += self.i.ready.eq(self.o.ready & toggle)
                with m.Case(self.CHANGES):
                    m.d.comb += self.o.payload.eq(self.i.payload ^ toggle)
                with m.Case(self.WAITS_FOR_READY):
                    m.d.comb += self.o.valid.eq(self.i.valid & self.o.ready)
                with m.Case(self.BABBLES):
                    m.d.comb += self.o.valid.eq(1)
        return m


class Shapes(wiring.Component):
    """Streams of arrays, structures and constants; wide configuration and status."""

    def __init__(self) -> None:
        pair = data.StructLayout({"low": 30, "high": 34})
        super().__init__({"bank": In(wiring.Signature({"word": Out(stream.Signature(pair)), "on": Out(1)})),
                          "twice": Out(stream.Signature(8)).array(2), "o": Out(stream.Signature(pair)),
                          "slow": In(stream.Signature(8, always_ready=True)),
                          "cfg": In(100), "empty": In(0), "double": Out(101)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        word, out, pick = self.bank.word, self.o, Array(self.twice)[self.bank.on]
        m.d.comb += [self.double.eq(self.cfg * 2), word.ready.eq(out.ready), out.valid.eq(word.valid),
                     out.payload.low.eq(word.payload.high), out.payload.high.eq(word.payload.low),
                     pick.valid.eq(self.slow.valid), pick.payload.eq(self.slow.payload)]
        return m


class Join(wiring.Component):
    """Adds two streams; no clock."""

    a: In(WORD)
    b: In(WORD)
    o: Out(stream.Signature(9))
    taken: Out(2)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += [self.o.payload.eq(self.a.payload + self.b.payload),
                     self.o.valid.eq(self.a.valid & self.b.valid),
                     self.a.ready.eq(self.o.ready & self.b.valid),
                     self.b.ready.eq(self.o.ready & self.a.valid),
                     self.taken.eq(Cat(self.a.ready, self.b.ready))]
        return m


@functools.cache
def bench(kind: type, **options: Any) -> Bench:
    return Bench(kind(), **options)


def test_a_wire_passes_tokens_in_the_cycle_they_come() -> None:
    result = bench(Chosen).run({"i": range(10)})
    assert result.outputs == {"o": list(range(10))}
    assert result.stamps == {"i": list(range(10)), "o": list(range(10))}
    assert (result.cycles, result.left) == (10, {})


def test_fifos_on_the_inputs_add_a_cycle() -> None:
    result = bench(Chosen, fifos=True).run({"i": range(10)})
    assert result.stamps == {"i": list(range(10)), "o": list(range(1, 11))}
    assert result.cycles == 11


@pytest.mark.parametrize("fault,text", [
    (Chosen.RETRACTS, "chosen: port o: valid is retracted, cycle "),
    (Chosen.CHANGES, "chosen: port o: the payload changes while it waits, cycle "),
    (Chosen.WAITS_FOR_READY, "chosen: port o: valid depends on ready of the same stream, cycle "),
    (Chosen.BABBLES, "chosen: tokens still move at the limit, cycle 499 (transfers: i 50, o ")])
def test_a_broken_contract_is_named_with_port_and_cycle(fault: int, text: str) -> None:
    with pytest.raises(AssertionError) as report:
        bench(Chosen).run({"i": range(50)}, fault, stalls=3, max_cycles=500)
    assert str(report.value).startswith(text)


@given(tokens=st.lists(st.tuples(st.integers(0, 255), st.integers(0, 255)), max_size=100),
       stalls=st.integers(1, 99))
def test_a_component_without_clock_runs_with_stalls(tokens: "list[tuple[int, int]]", stalls: int) -> None:
    result = bench(Join).run({"a": [a for a, _ in tokens], "b": [b for _, b in tokens]}, stalls=stalls)
    assert result.outputs["o"] == [a + b for a, b in tokens]


def test_stalls_are_drawn_from_the_seed() -> None:
    runs = [bench(Join).run({"a": range(99), "b": range(99)}, stalls=seed) for seed in (1, 1, *range(2, 12))]
    assert runs[0] == runs[1]
    assert len({run.cycles for run in runs}) > 5


def test_tokens_that_nobody_takes_are_reported() -> None:
    result = bench(Join).run({"a": range(5), "b": range(3)})
    assert result.outputs["o"] == [0, 2, 4]
    assert result.left == {"a": 2}


def test_a_run_ends_at_the_expected_tokens() -> None:
    result = bench(Join).run({"a": range(50), "b": range(50)}, expect={"o": 7})
    assert result.outputs["o"] == [0, 2, 4, 6, 8, 10, 12]
    assert result.left == {"a": 43, "b": 43}


def test_any_shape_of_port_is_found_and_named() -> None:
    cfg = (5 << 96) + 77
    result = bench(Shapes).run({"bank__word": [1 + (2 << 30), (1 << 64) - 1], "slow": [3, 4]},
                               {"cfg": cfg, "bank__on": 1})
    assert result.outputs == {"twice__0": [], "twice__1": [3, 4], "o": [2 + (1 << 30), (1 << 60) - 1]}
    assert result.status == {"double": 2 * cfg}


def test_a_wrong_name_or_value_is_named() -> None:
    for case, text in (
            (Case({"x": [1]}), "x is no input stream of chosen: there are i"),
            (Case(config={"config": 1}), "config is no plain input of chosen: there are cfg"),
            (Case(expect={"i": 1}), "i is no output stream of chosen: there are o"),
            (Case(config=9), "9 does not fit the 3 bits of cfg"),
            (Case({"i": [256]}), "i takes 8 bits"),
            (Case(stalls=0), "a seed of stalls is 1 or more")):
        with pytest.raises(AssertionError) as report:
            bench(Chosen).run_many([case])
        assert str(report.value) == text


def test_many_cases_run_in_one_process_each_from_a_fresh_model() -> None:
    cases = [Case({"i": range(n)}, stalls=n) for n in range(1, 20)]
    results = run_many(Fifo2(8), cases)
    assert results == [run_component(Fifo2(8), inputs={"i": range(n)}, stalls=n) for n in range(1, 20)]


def test_a_model_is_built_once() -> None:
    first, second = Bench(Fifo2(8)), Bench(Fifo2(8))
    assert second.model.build_s == 0
    assert first.model.executable == second.model.executable
    assert (first.model.executable.parent / "verilog" / "fifo2_w8.sv").exists()


def test_an_edit_that_leaves_verilog_as_it_is_builds_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Bench(Fifo2(8))
    monkeypatch.setattr(kept, "generator", lambda: "an edit")
    monkeypatch.setattr(verilog, "run_yosys", None)     # of the same RTLIL there is Verilog, too
    again = Bench(Fifo2(8))
    assert (again.model.executable, again.model.build_s) == (first.model.executable, 0)


def test_an_edit_that_changes_verilog_builds_another_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def a_wire(fifo: Fifo2, platform: Any) -> Module:
        m = Module()
        wiring.connect(m, wiring.flipped(fifo.i), wiring.flipped(fifo.o))
        return m

    words = {"i": range(8)}
    assert Bench(Fifo2(8)).run(words).cycles == 9
    monkeypatch.setattr(kept, "generator", lambda: "an edit of FIFOs")
    monkeypatch.setattr(Fifo2, "elaborate", a_wire)
    assert Bench(Fifo2(8)).run(words).cycles == 8
    fifo = Bench(Fifo2(8)).model
    monkeypatch.setattr(verilog, "writer", lambda: "an edit of the names of wires")
    monkeypatch.setattr(verilog, "tidy", lambda text, fields: text.replace("module fifo2", "// As before.\nmodule fifo2"))
    assert Bench(Fifo2(8)).model.executable != fifo.executable


@pytest.mark.parametrize("arguments,message", [
    (("joner",), "there is no primitive 'joner'\n  try: choose one of alu, "),
    ((5,), "there is no primitive 5\n  try: choose one of alu, "),
    (("joiner", "union"), "primitive joiner: config is of type str, which says no names\n"
                          "  try: give a dictionary, config={'name': ...}"),
    (("joiner", {}, "1 D"), "primitive joiner: inputs is of type str, which says no names\n"
                            "  try: give a dictionary, inputs={'name': ...}"),
    (("joiner", {5: 1}), "primitive joiner: it has no configuration field 5\n  try: its fields are op, use_ref0, use_ref1"),
    (("joiner", {"op": None}), "joiner: None is not a value of op\n  try: give 0..1"),
    (("joiner", {}, {"crd9": "1 D"}), "primitive joiner: it has no stream 'crd9' to give tokens to\n"
                                      "  try: its streams are crd0, ref0, crd1, ref1"),
    (("joiner", {}, {"crd0": 5}), "primitive joiner: the tokens of crd0 are of type int\n"
                                  "  try: write them, as '1 2 S0 D', or give a list"),
    (("joiner", {}, {"crd0": "1 2 S0 D"}),
     "primitive joiner: it waits with tokens left at crd0, and nothing is given for ref0, crd1, ref1\n"
     "  try: give the tokens of that stream, up to D"),
])
def test_a_primitive_and_its_streams_are_known_by_name(arguments: "tuple[Any, ...]", message: str) -> None:
    with pytest.raises(UserError) as error:
        run_primitive(*arguments)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("options,message", [
    ({"stalls": 0}, "stalls is 0\n  try: give a whole number 1..18446744073709551615"),
    ({"max_cycles": -1}, "max_cycles is -1\n  try: give a whole number 1..18446744073709551615"),
    ({"idle": 2.5}, "idle is 2.5\n  try: give a whole number 1..18446744073709551615"),
    ({"expect": 3}, "expect is 3, which is no dictionary of its outputs\n  try: give the tokens to stop at by stream, of o"),
    ({"expect": {"i": 1}},
     "expect is {'i': 1}, which is no dictionary of its outputs\n  try: give the tokens to stop at by stream, of o"),
    ({"expect": {"o": "all"}}, "expect of o is 'all'\n  try: give a whole number 0..18446744073709551615"),
])
def test_what_bounds_a_run_is_a_number_in_range(options: "dict[str, Any]", message: str) -> None:
    with pytest.raises(UserError) as error:
        run_primitive("pass_through", {}, {"i": "1 D"}, **options)
    assert str(error.value) == f"primitive pass_through: {message}"
