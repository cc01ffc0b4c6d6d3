"""Cycles of the level scanner in generated Verilog, on the stimuli that comal, a simulator of the Sparse Abstract Machine, was
calibrated with: references to fibers of one length, which were written before.

What is counted is from the cycle after the last word of the level, when all of it is there, to the last token. The public
scanner takes 19 to 21 cycles more than it gives tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sardonyx.sim.rtl.bench import run_primitive


@dataclass(frozen=True)
class Stimulus:
    """References, the length of all fibers, the tokens that leave, and the cycles of the public scanner."""

    refs: str
    length: int
    tokens: int
    public: int


# The second, third and fourth are said in words there: here are streams that give as many tokens.
STIMULI = (
    Stimulus("0 N S0 D", 3, 6, 27), Stimulus("N 1 2 1 S0 D", 10, 35, 54),
    Stimulus("0 S0 S0 1 2 S0 S0 S0 S0 3 S1 D", 16, 73, 93),
    Stimulus("0 1 2 N 3 4 0 N S0 1 2 N 3 4 0 N 1 S1 D", 55, 677, 698),
    Stimulus("0 S1 D", 13, 15, 36), Stimulus("0 S0 1 S1 D", 3, 9, 30), Stimulus("S0 0 1 2 S0 3 4 S1 D", 13, 72, 93),
    Stimulus("N 0 0 S0 D", 199, 402, 422), Stimulus("N N 0 S0 D", 200, 204, 223), Stimulus("N 0 N S0 D", 200, 204, 224))


def beyond(stimulus: Stimulus) -> int:
    """Cycles more than tokens."""
    fibers, length = 1 + max(int(each) for each in stimulus.refs.split() if each.isdigit()), stimulus.length
    block = [fibers + 1, *range(0, length * fibers + 1, length), length * fibers, *[*range(length)] * fibers]
    outputs, cycles = run_primitive("level", {"input": "block", "output": "scan"},
                                    {"block": " ".join(map(str, block)), "ref": stimulus.refs})
    assert len(outputs["crd"].split()) == stimulus.tokens, "these are the tokens of the public stimulus"
    return cycles - len(block) - stimulus.tokens


def measure() -> Iterator[tuple[Stimulus, int]]:
    """All stimuli, and cycles beyond their tokens."""
    for each in STIMULI:
        yield each, beyond(each)
