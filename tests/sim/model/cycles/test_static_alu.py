"""The static ALU by hand; tests/hw/arith/test_static_alu.py compares it with the Verilog."""

import numpy as np
import pytest

from sardonyx.hw.arch.op import BY_NAME, CONDITIONS, OPS
from sardonyx.sim.model.cycles.static_alu import run

ADC, TAA = BY_NAME["adc"].code, BY_NAME["taa"].code
CONDITION = {each.name: each.code for each in CONDITIONS}


def test_example_of_the_contract() -> None:
    config = {"op": ADC, "stream_a": 1, "operand_b": "channel0", "mode0": "delay", "write0": "a", "depth0": 2}
    res, _ = run(config, {"a": [0, 2, 3, 4, 5, 6]}, 6)
    assert res.tolist() == [0, 0, 0, 2, 5, 7]


@pytest.mark.parametrize("op", [op for op in OPS if op.name in ("adc", "mulsub", "crop", "sel")], ids=lambda op: op.name)
@pytest.mark.parametrize("signed", [0, 1])
def test_without_register_file_every_cycle_is_the_operation_on_the_words_of_two_before(op, signed) -> None:
    draw = np.random.default_rng(3)
    words, bits = draw.integers(0, 1 << 16, (3, 50)), draw.integers(0, 2, (3, 50))
    config = {"op": op.code, "signed": signed, "stream_a": 1, "stream_c": 1, "const_b": 77, "stream_d": 1}
    res, _ = run(config, dict(zip("abcdef", (*words, *bits), strict=True)), 50)
    assert res.tolist() == [0, 0] + [op(int(a), 77, int(c), int(d), bool(signed))
                                     for a, c, d in zip(words[0, :-2], words[2], bits[0])]


@pytest.mark.parametrize("cycles", range(1, 33))
@pytest.mark.parametrize("base", [0, 7, 31])
def test_a_delay_line_shows_what_was_written_so_many_cycles_ago(cycles: int, base: int) -> None:
    x = np.random.default_rng(cycles).integers(0, 1 << 16, 300)
    x[0] = 0    # Nothing is written in cycle 0.
    config = {"op": ADC, "stream_a": 1, "const_a": 0, "operand_b": "channel1", "mode1": "delay", "write1": "b",
              "base1": base, "depth1": cycles - 1}
    res, _ = run(config, {"b": x}, 300)
    # Operand b is late: what is shown in a cycle is added in the same one.
    assert res.tolist() == [0] * cycles + x[:-cycles].tolist()


def test_a_delay_line_of_results_accumulates() -> None:
    x = np.arange(100)
    res, p = run({"op": ADC, "stream_a": 1, "operand_b": "channel0", "mode0": "delay", "write0": "res",
                  "cond": CONDITION["eq"]}, {"a": x}, 100)
    assert res.tolist() == [0, 0, *np.cumsum(x)[:-2].tolist()]
    assert p.tolist() == [1, 1, 1] + [0] * 97


def test_two_delay_lines_share_the_words() -> None:
    draw = np.random.default_rng(1)
    a, b = draw.integers(0, 1000, (2, 200))
    a[0] = 0    # Nothing is written in cycle 0.
    config = {"op": ADC, "operand_a": "channel0", "operand_b": "channel1", "mode0": "delay", "write0": "a", "depth0": 19,
              "mode1": "delay", "write1": "b", "depth1": 11, "base1": 20}
    res, _ = run(config, {"a": a, "b": b}, 200)
    # Operand a is taken in the second cycle of the operation, b in the third, which is that of the result.
    assert res[21:].tolist() == (a[:-21] + b[9:-12]).tolist()


def test_schedules_sum_groups_of_words_from_zero() -> None:
    x = np.random.default_rng(2).integers(0, 1 << 16, 30)
    # A word in every second cycle from cycle 5 on; a sum of five words begins at word 0, which is never written. Sums are late:
    # read in the cycle of the word, for the one two cycles later, in which the result is written.
    loops = {"extent0": 4, "gap0": 1, "delta0": 1, "extent1": 5, "gap1": 1, "delta1": 32 - 4, "on": 1}
    config = {"op": ADC, "stream_a": 1, "operand_b": "channel0", "write0": "res", "wr0_address": 1, "wr0_cycle": 7,
              "rd0_cycle": 5}
    config |= {f"{port}0_{name}": value for port in ("wr", "rd") for name, value in loops.items()}
    arriving = np.zeros(70, int)
    arriving[5:65:2] = x
    res, _ = run(config, {"a": arriving}, 70)
    sums = x.reshape(6, 5).sum(1) % (1 << 16)
    assert res[7:67:2].reshape(6, 5)[:, 4].tolist() == sums.tolist()


def test_a_read_is_shown_until_the_next() -> None:
    # Weights 10, 20, 30 arrive in cycles 2, 3, 4, are read from cycle 6 on, and used for four cycles each from cycle 8 on.
    config = {"op": TAA, "operand_a": "channel0", "write0": "b", "wr0_on": 1, "wr0_cycle": 2, "wr0_extent0": 2, "wr0_delta0": 1,
              "rd0_on": 1, "rd0_cycle": 6, "rd0_extent0": 2, "rd0_gap0": 3, "rd0_delta0": 1, "wr0_address": 4, "rd0_address": 4}
    res, _ = run(config, {"b": [0, 0, 10, 20, 30, *[0] * 19]}, 24)
    assert res.tolist() == [0] * 9 + [10] * 4 + [20] * 4 + [30] * 7


def test_of_two_writes_of_a_word_that_of_channel_1_stays() -> None:
    both = {"mode0": "delay", "mode1": "delay", "write0": "a", "write1": "b", "operand_c": "channel0", "op": TAA}
    assert run(both, {"a": [1, 2, 3], "b": [10, 20, 30]}, 3)[0].tolist() == [0, 0, 20]


def test_a_smaller_file_takes_addresses_modulo_its_size() -> None:
    config = {"op": ADC, "operand_a": "channel0", "mode0": "delay", "write0": "b", "depth0": 7, "base0": 5}
    x = np.arange(59)
    assert run(config, {"b": x}, 59, register_words=4)[0].tolist() == [0] * 5 + x[:-5].tolist()


def test_without_register_file_operands_come_from_their_ports() -> None:
    config = {"op": ADC, "stream_a": 1, "operand_a": "channel0", "mode0": "delay", "write0": "a", "const_b": 1}
    assert run(config, {"a": [5, 6, 7]}, 3, register_words=0)[0].tolist() == [0, 0, 6]


def test_a_word_for_all_cycles_and_no_cycle_at_all() -> None:
    assert run({"op": ADC, "stream_a": 1, "stream_b": 1}, {"a": 3, "b": [1, 2, 4]}, 3)[0].tolist() == [0, 0, 4]
    assert [each.tolist() for each in run({"op": ADC}, {}, 0)] == [[], []]
