"""Networks from text, tensors as blocks, and primitives run in every way that the token model has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sardonyx.sim.model.tokens.network import Network, run_primitive
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.fibertree import Format, build, flatten, from_blocks


def network(text: str) -> Network:
    """A network from lines such as ``join joiner op=union crd0=scan_B.crd``: name, primitive, fields and inputs."""
    nodes: dict[str, Any] = {}
    edges = []
    for line in text.strip().splitlines():
        name, primitive, *words = line.split()
        pairs = [word.split("=") for word in words]
        nodes[name] = primitive, {key: int(value) if value.isdigit() else value
                                  for key, value in pairs if "." not in value}
        edges += [(tuple(value.split(".")), (name, key)) for key, value in pairs if "." in value]
    return Network(nodes, edges)


def every_way(primitive: str, config: Mapping[str, Any], inputs: Mapping[str, Sequence[int]],
              expected: Mapping[str, Sequence[int]]) -> int:
    """Run a primitive untimed, by the clock and with queues of two; the cycles by the clock."""
    outputs, cycles = run_primitive(primitive, config, inputs)
    assert outputs == expected
    assert run_primitive(primitive, config, inputs, timed=False)[0] == expected
    assert run_primitive(primitive, config, inputs, capacity=2)[0] == expected
    return cycles


def blocks(matrix: np.ndarray, form: Format) -> tuple[list[int], ...]:
    """A matrix, level by level and then its values, in block words."""
    return build(coo(matrix), form).blocks()


def coo(matrix: np.ndarray) -> Coo:
    """The nonzeros of an array."""
    return Coo.make(matrix.shape, np.argwhere(matrix), matrix[np.nonzero(matrix)])


def dense(words: Sequence[Sequence[int]], form: Format, shape: Sequence[int]) -> np.ndarray:
    """The array that block words stand for."""
    found = flatten(from_blocks(words, form, shape))
    array = np.zeros(tuple(shape), np.int16)
    array[tuple(found.coords.T)] = found.values
    return array


def split(words: Sequence[int], sections: int) -> list[list[int]]:
    """The blocks that follow each other in a store stream."""
    found, at = [], 0
    while at < len(words):
        begin = at
        for _ in range(sections):
            at += 1 + words[at]
        found.append(list(words[begin:at]))
    return found
