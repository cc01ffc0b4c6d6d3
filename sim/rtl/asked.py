"""The words of the operations that were asked for, where buffers hold tensors for more, of which the array gives results, too.

Input:   a `Result` of a run in Verilog.
Output:  words by port, and the cycles from the first one to the last of these words, both included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...hw.arch.elastic import FIBER, Elastic
from ...hw.arch.spatial import Spatial
from ...hw.arch.token import is_control
from ...hw.arch.written import Written
from .bench import Result


def asked(found: Result, counts: Mapping[str, int]) -> tuple[dict[str, list[int]], int]:
    """The first words of each port, as many as `counts` says."""
    outputs = {name: words[:counts[name]] for name, words in found.outputs.items()}
    return outputs, 1 + max((found.stamps[name][len(words) - 1] for name, words in outputs.items() if words), default=-1)


def of_array(spatial: Spatial, operations: int, lengths: Sequence[int] | None) -> dict[str, int]:
    """How many words of each port are those of so many operations; lengths: the launches of each."""
    ends = [spatial.launches] * operations if lengths is None else lengths
    return {port.name: sum(spatial.launch(port.position, word.step) < end for end in ends for word in port.words)
            for port in spatial.outputs}


def of_elastic(elastic: Elastic, results: Sequence[Written], found: Result, operations: int) -> dict[str, int]:
    """How many words of each port, and of each array of a result, are those of so many operations."""
    counts = dict[str, int]()
    for port in elastic.outputs:
        ends = [nth for nth, word in enumerate(found.outputs.get(port.name, ()))
                if port.form != FIBER or is_control(word >> elastic.bits(port.tensor))]
        counts[port.name] = 1 + ends[operations - 1] if operations <= len(ends) else len(found.outputs.get(port.name, ()))
    for each in results:
        for name in map(each.name, each.arrays):
            words, end = found.outputs[name], 0
            for _ in range(operations // each.operations):
                end += 1 + words[end] if end < len(words) else 0
            counts[name] = end
    return counts
