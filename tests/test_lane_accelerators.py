"""A phase of lanes by commands: results of all engines, its Verilog and header, the command line, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from riscv import needs_compiler

from sardonyx import spatial as sp
from sardonyx.cli import main
from sardonyx.hw.arch.errors import UserError

DESIGN = """from sardonyx import spatial as sp

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")
(P,) = sp.inputs("P", dtype="int32")
multiply = sp.Design(
    sp.functionality("P(i,k,j) = A(i,k) * B(k,j)"), sp.Lanes(k, (i, j), lanes=2, ports=1), {"i": 16, "j": 64},
    sparsity=[sp.skip(i, where=A(i, k) == 0), sp.skip(j, where=B(k, j) == 0)],
    buffers={"A": sp.Buffer("dense", "compressed", words=16, order=(1, 0)), "B": sp.Buffer("dense", "compressed", words=16),
             "P": sp.Lists()}, name="phase_multiplies")
design = sp.Design(
    sp.functionality("C(i,j) = P(i,k,j)", dtype="int32"), sp.Lanes(i, (k, j), lanes=2, ports=1), {"i": 16, "j": 64},
    sparsity=[sp.skip(j, where=P(i, k, j) == 0)], balance=[sp.work_queue(i, grain="operation")],
    buffers={"P": sp.Runs(words=32), "C": sp.Lists()}, name="phase_merges")
"""
_found: "dict[str, sp.Design]" = {}
exec(DESIGN, _found)  # the file that the command line reads, too
MULTIPLY, MERGE = _found["multiply"], _found["design"]


def drawn(shape: "tuple[int, int]", seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.integers(-1 << 15, 1 << 15, shape) * (random.random(shape) < 0.4)


def test_each_phase_by_commands_is_that_of_its_job() -> None:
    a, b = drawn((9, 7), 1), drawn((7, 11), 2)
    a[:, 3], a[4] = 0, 0
    multiply, merge = MULTIPLY.accelerator(), MERGE.accelerator()
    partial = multiply.run(A=a, B=b, latency=7)
    assert np.array_equal(partial.value, MULTIPLY.run("golden", A=a, B=b).value) and partial.report["commands"] == 7 + 7 + 8 + 1
    merged = merge.run(P=partial.value)
    half = 1 << 31
    assert np.array_equal(merged.value, (a @ b + half) % (2 * half) - half) and merged.report["commands"] == 6 + 8 + 1
    assert np.array_equal(merge.run("tokens", P=partial.value).value, merged.value)


@needs_compiler
def test_firmware_on_a_core_does_each_phase() -> None:
    for design, names in ((MULTIPLY, "AB"), (MERGE, "P")):
        accelerator = design.accelerator(ram_bytes=4096)
        operands = accelerator.matrices(9, 11, 7, seed=5)
        assert [*operands] == [*names] and accelerator.run(**operands).report["firmware"] == "C on the core"


def test_the_description_and_the_header_stand_beside_the_verilog(tmp_path: Path) -> None:
    MERGE.accelerator(queue=4).verilog(tmp_path)
    described = json.loads((tmp_path / "outer_product.json").read_text())
    assert described["queue"] == 4 and described["phases"] == "merge"
    assert "#define SPATIAL_STREAM_P " in (tmp_path / "spatial.h").read_text() and (tmp_path / "command_queue.sv").is_file()


def test_the_command_line_runs_a_phase_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "merge.py").write_text(DESIGN)
    words = ["spatial", "soc", str(tmp_path / "merge.py"), "--no-core"]
    assert main([*words, "--product", "9x11x7", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"]["commands"] == 15
    assert main([*words, "--product", "9x11x7", "--ports", "4"]) == 2
    assert "--ports: an outer product has no such choice\n  try: give sp.Lanes(..., ports=N)" in capsys.readouterr().err


@pytest.mark.parametrize("given,said", [
    ({"ports": 4}, "ports: an array of lanes has no such choice\n  try: give sp.Lanes(..., ports=16)"),
    ({"watchdog": True}, "watchdog: an array of lanes has no such choice\n"
                         "  try: leave it out: a wait for what is not asked for is refused"),
    ({"lists": True}, "lists: an array of lanes has no such choice\n  try: leave it out"),
    ({"queue": 3}, "queue is 3")])
def test_what_commands_of_lanes_have_not_is_refused(given: "dict[str, object]", said: str) -> None:
    with pytest.raises(UserError) as refused:
        MULTIPLY.accelerator(**given)
    assert said in str(refused.value)


def test_operands_that_are_large_are_refused() -> None:
    with pytest.raises(UserError) as refused:
        MERGE.accelerator().matrices(1000, 1000, 1000)
    assert str(refused.value) == ("product: random P with 1,000,000,000 elements\n"
                                  "  try: use 4,194,304 or fewer, or give arrays in Python")
