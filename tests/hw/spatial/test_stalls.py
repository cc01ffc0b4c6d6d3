"""Counters say for what the streams of an accelerator wait."""

import pytest
from accelerators import accelerator, operands


@pytest.mark.slow
def test_results_are_held_by_a_memory_that_answers_writes_late() -> None:
    """Of 192 words of a result the port has room for 32, which it keeps until they are answered."""
    design, (a, b) = accelerator(4, counters=True), operands((24, 16, 4), 1)
    soon, late = (design.product(a, b, latency=latency).report for latency in (20, 500))
    assert soon["waits"]["result_held"] < soon["cycles"] // 10
    assert late["waits"]["result_held"] > late["cycles"] * 2 // 3 > 2 * late["waits"]["result_late"]
