"""The ALU against the operation table, on generated Verilog."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from fibers import flat, map_leaves, parts, run, seeds, stream, stuck, trees, words
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch import presets
from sardonyx.hw.arch.op import BY_NAME, CONDITIONS, OPS, Op, predicate
from sardonyx.hw.arch.primitive import ALU
from sardonyx.hw.arch.tile import PE
from sardonyx.hw.arch.token import DONE, MAYBE, parse_stream
from sardonyx.sim.rtl.bench import Case, primitive_bench, run_primitive

AMBER = presets.get("amber").pe
FEW = dataclasses.replace(PE, ops=tuple(BY_NAME[name] for name in ("mulshr", "adc", "crop")))
CORNERS = (0, 1, 2, 8, 15, 16, 17, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF)
PORTS = ("a", "b", "c", "d", "e", "f")
ALL_STREAMS = {f"stream_{port}": 1 for port in PORTS}
SEED = 20261

Rows = Sequence[tuple[int, ...]]


def operands(count: int, seed: int = SEED) -> Rows:
    """All pairs and triples of corners, then random rows; a row is a, b, c, d, e, f."""
    rng = np.random.default_rng(seed)
    corners = np.array(list(product(CORNERS, repeat=3)))
    mixed = rng.integers(0, 1 << 16, (count, 3))
    # Small third operands, as shifts and clamps have them.
    mixed[: count // 2, 1:] >>= rng.integers(0, 17, (count // 2, 2))
    table = np.concatenate([corners, mixed])
    return [tuple(row) for row in np.concatenate([table, rng.integers(0, 2, (len(table), 3))], 1).tolist()]


def check(configs: Sequence[tuple[Op, dict[str, Any]]], rows: Rows, tile: Any = None) -> None:
    """Run rows through the hardware in every configuration; compare with the table."""
    inputs = {port: [row[at] for row in rows] for at, port in enumerate(PORTS)}
    cases = [Case(inputs, ALU.config.encode(op=op.code, **ALL_STREAMS, **config)) for op, config in configs]
    for (op, config), result in zip(configs, primitive_bench("alu", tile).run_many(cases), strict=True):
        is_signed, cond, lut = bool(config.get("signed")), config.get("cond", 0), config.get("lut", 0)
        expected = [op(*row[:4], is_signed) for row in rows]
        wrong = [row for row, want, got in zip(rows, expected, result.outputs["res"], strict=True) if want != got]
        assert not wrong, f"{op.name} {config} seed {SEED}: wrong for {wrong[0]}"
        expected = [predicate(op, cond, lut, *row, is_signed) for row in rows]
        wrong = [row for row, want, got in zip(rows, expected, result.outputs["p"], strict=True) if want != got]
        assert not wrong, f"p of {op.name} {config} seed {SEED}: wrong for {wrong[0]}"
        assert result.cycles == len(rows) + 1 + op.latency


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_operation_does_what_the_table_says(op: Op) -> None:
    check([(op, {"signed": each, "cond": 4}) for each in (0, 1)], operands(1000))


@pytest.mark.parametrize("op", AMBER.ops, ids=lambda op: op.name)
def test_operation_of_amber_does_what_the_table_says(op: Op) -> None:
    check([(op, {"signed": each}) for each in (0, 1)], operands(100), AMBER)


@pytest.mark.parametrize("op", FEW.ops, ids=lambda op: op.name)
def test_operation_of_any_set_does_what_the_table_says(op: Op) -> None:
    check([(op, {"signed": each}) for each in (0, 1)], operands(100), FEW)


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition.name)
def test_condition_does_what_the_table_says(condition: Any) -> None:
    named = [BY_NAME[name] for name in ("adc", "sbc", "abs", "mult0", "tas", "crop")]
    check([(op, {"signed": each, "cond": condition.code, "lut": 0xB2}) for op in named for each in (0, 1)],
          operands(200)[::7])


def test_truth_table_exhaustively() -> None:
    rows = [(0, 0, 0, *bits) for bits in product((0, 1), repeat=3)]
    lut_code = next(each.code for each in CONDITIONS if each.name == "lut")
    check([(BY_NAME["adc"], {"cond": lut_code, "lut": lut}) for lut in range(1 << 8)], rows)


@pytest.mark.parametrize("relation,cond,is_signed", [
    ("less", "ult", False), ("less", "slt", True), ("less_equal", "ule", False), ("less_equal", "sle", True),
    ("greater", "ugt", False), ("greater", "sgt", True), ("greater_equal", "uge", False),
    ("greater_equal", "sge", True), ("equal", "eq", True), ("not_equal", "ne", False),
])
def test_subtracting_compares_as_numpy_does(relation: str, cond: str, is_signed: bool) -> None:
    pairs = np.array([*product(CORNERS, repeat=2), *np.random.default_rng(SEED).integers(0, 1 << 16, (200, 2))])
    code = next(each.code for each in CONDITIONS if each.name == cond)
    config = {"op": BY_NAME["sbc"].code, "cond": code, "const_d": 1, "stream_a": 1, "stream_b": 1}
    result = primitive_bench("alu").run({"a": pairs[:, 0], "b": pairs[:, 1]}, ALU.config.encode(**config))
    left, right = pairs.astype(np.uint16).view(np.int16 if is_signed else np.uint16).T
    assert result.outputs["p"] == getattr(np, relation)(left, right).astype(int).tolist()


def test_products_wrap_as_numpy_does() -> None:
    rng = np.random.default_rng(SEED)
    a, b, c = rng.integers(0, 1 << 16, (3, 500)).astype(np.uint16)
    config = {"op": BY_NAME["muladd"].code, "stream_a": 1, "stream_b": 1, "stream_c": 1}
    result = primitive_bench("alu").run({"a": a, "b": b, "c": c}, ALU.config.encode(**config))
    assert result.outputs["res"] == (a * b + c).tolist()


@pytest.mark.parametrize("tile,codes", [(PE, range(len(OPS), 64)), (AMBER, [op.code for op in OPS if op not in AMBER.ops]),
                                        (FEW, [op.code for op in OPS if op not in FEW.ops])], ids=["onyx", "amber", "few"])
def test_codes_without_an_operation_give_zero(tile: Any, codes: Sequence[int]) -> None:
    cases = [Case({"a": [0xFFFF]}, ALU.config.encode(op=code, stream_a=1, const_b=0xFFFF, const_c=3, const_d=1))
             for code in codes]
    assert [each.outputs["res"] for each in primitive_bench("alu", tile).run_many(cases)] == [[0]] * len(codes)


@pytest.mark.parametrize("used", [used for used in product((0, 1), repeat=6) if any(used)], ids=str)
def test_every_operand_is_a_stream_or_a_constant(used: tuple[int, ...]) -> None:
    config: dict[str, Any] = {f"const_{port}": 1 if port > "c" else 100 + at for at, port in enumerate(PORTS)}
    config |= {f"stream_{port}": each for port, each in zip(PORTS, used, strict=True)}
    code = next(each.code for each in CONDITIONS if each.name == "lut")
    rows = operands(20)[-20:]
    for op in ("taa", "sel"):
        inputs = {port: [row[at] for row in rows] + [DONE] * (port <= "c") for at, port in enumerate(PORTS) if used[at]}
        result = run("alu", {**config, "op": BY_NAME[op].code, "cond": code, "lut": 0x6A}, inputs)
        values = [[row[at] if used[at] else config[f"const_{port}"] for at, port in enumerate(PORTS)] for row in rows]
        assert result.outputs["res"] == [BY_NAME[op](*each[:4]) for each in values] + [DONE] * any(used[:3])
        assert result.outputs["p"] == [predicate(BY_NAME[op], code, 0x6A, *each, False) for each in values]


def test_without_streams_it_is_silent() -> None:
    assert run_primitive("alu", {"const_a": 1})[0] == {"res": "", "p": ""}


def test_example_of_the_contract() -> None:
    config = {"op": BY_NAME["adc"].code, "stream_a": 1, "stream_b": 1}
    outputs, cycles = run_primitive("alu", config, {"a": "1 2 S0 D", "b": "3 N S0 D"})
    assert outputs == {"res": "4 2 S0 D", "p": "0 0"}
    assert cycles == 7


fibers = st.lists(st.tuples(words | st.just(MAYBE), words | st.just(MAYBE), words, *[st.integers(0, 1)] * 3), max_size=4)


@given(transactions=st.lists(trees(fibers, 2), min_size=1, max_size=3), op=st.sampled_from(OPS), cond=st.integers(0, 14),
       used=st.tuples(*[st.booleans()] * 6).filter(lambda used: any(used[:3])), seed=seeds)
def test_stops_pass_and_bits_go_with_data(transactions: list[Any], op: Op, cond: int, used: tuple[bool, ...],
                                          seed: int | None) -> None:
    inputs = {port: stream(parts(transactions, at, 2), 2) for at, port in enumerate("abc") if used[at]}
    inputs |= {port: [bit for tree in parts(transactions, at, 2) for bit in flat(tree, 2)]
               for at, port in enumerate("def", 3) if used[at]}
    config = {f"stream_{port}": int(each) for port, each in zip(PORTS, used, strict=True)}
    result = run("alu", {**config, "op": op.code, "cond": cond, "lut": 0x1E}, inputs, seed)

    def masked(row: tuple[int, ...]) -> int:
        return op(*[0 if not use or value == MAYBE else value for value, use in zip(row[:4], used, strict=False)])

    assert result.outputs["res"] == stream([map_leaves(masked, tree, 2) for tree in transactions], 2)
    if seed is None:
        assert result.cycles == len(result.outputs["res"]) + 1 + op.latency


@pytest.mark.parametrize("a,b", [("1 S0 D", "S0 D"), ("S0 D", "S1 D"), ("S0 D", "N S0 D"), ("1 S0 D", "1 D")])
def test_waits_when_operands_are_out_of_step(a: str, b: str) -> None:
    for result in stuck("alu", {"stream_a": 1, "stream_b": 1}, {"a": parse_stream(a), "b": parse_stream(b)}):
        assert len(result.outputs["res"]) <= 1


def test_bits_are_not_read_with_stops() -> None:
    inputs = {"a": parse_stream("S0 1 S1 D"), "d": [1, 0, 1, 0]}
    result = primitive_bench("alu").run(inputs, ALU.config.encode(op=0, stream_a=1, stream_d=1))
    assert result.outputs == {"res": parse_stream("S0 2 S1 D"), "p": [0]}
    # One bit is used and two wait in the FIFO.
    assert result.left == {"d": 1}
