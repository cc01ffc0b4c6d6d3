"""Find the order in which results leave an array in step, as a loop nest over its ports.

The order is proved, as in front of an array: the elements of a result, in the order of its dimensions or of some permutation of
them, have to take the words of every port in the order in which they leave it. A buffer behind each port then needs no address.

Input:   a `Spatial`, or an `Elastic` whose ports give a word each; one of its results.
Output:  Collected.
Errors:  UserError for a result of which no order of its dimensions is such a nest.
Source:  Stellar IV-D (order of an array against that of a buffer), Fig. 13.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np

from ...hw.arch.accelerator import Collected
from ...hw.arch.dma import MOST_SIZE, WORD_BITS
from ...hw.arch.elastic import WORD, Elastic
from ...hw.arch.errors import UserError
from ...hw.arch.private_buffer import DENSE, MOST_LOOPS, Loop
from ...hw.arch.spatial import Shaped, Spatial
from .buffer import Buffer
from .loops import loops


def collected(array: Spatial | Elastic, result: Shaped, buffer: Buffer | None = None) -> Collected:
    """The order of a result, that of its dimensions if it can be.

    buffer: that of the result: how many operations it is of, and whether rows leave.
    """
    made = _of_words(array, result) if isinstance(array, Elastic) else _of_steps(array, result)
    return made if buffer is None else _as_said(made, buffer)


def _of_steps(spatial: Spatial, result: Shaped) -> Collected:
    """The words of an array in step, in an order that is proved."""
    ports = [port for port in spatial.outputs if port.tensor == result.name]
    counts = {len(port.words) for port in ports}
    if len(counts) > 1:
        raise UserError(f"ports of {result.name} give {min(counts)} to {max(counts)} words", f"result {result.name}",
                        "choose a transform under which each port has as many, as one whose rows are indices")
    places = np.array([(*word.element, at, nth) for at, port in enumerate(ports) for nth, word in enumerate(port.words)])
    dimensions = len(result.shape)
    for order in permutations(range(dimensions)):
        found = places[np.lexsort(tuple(places[:, dimension] for dimension in reversed(order)))]
        nths = [found[found[:, -2] == at, -1] for at in range(len(ports))]
        if any((np.diff(each) < 0).any() for each in nths):
            continue
        nest = loops(found[:, -2:-1])
        if nest is not None and len(nest) < MOST_LOOPS:
            made = tuple(Loop(extent, 0, hop) for extent, (hop,) in nest)
            return Collected(result, order, tuple(port.name for port in ports), counts.pop(), int(found[0, -2]), made)
    raise UserError(f"ports give the elements of {result.name} in no order of its dimensions", f"result {result.name}",
                    "choose another transform")


def _of_words(array: Elastic, result: Shaped) -> Collected:
    """The elements of a result, each of a port of its own."""
    ports = sorted((port for port in array.outputs if port.tensor == result.name), key=lambda port: [at for _, at in port.at])
    if any(port.form != WORD for port in ports):
        raise UserError(f"ports of {result.name} give fibers", f"result {result.name}",
                        f"give it a buffer, as {result.name}=sp.Buffer('dense', 'compressed')")
    order = tuple(range(len(result.shape)))
    return Collected(result, order, tuple(port.name for port in ports), 1, 0, (Loop(len(ports), 0, 1),))


def _as_said(made: Collected, buffer: Buffer) -> Collected:
    """With what a buffer says; UserError for one that does not fit."""
    where, name, ports = f"buffers: {made.tensor.name}", made.tensor.name, len(made.ports)
    if any(kind != DENSE for kind in buffer.levels) or len(buffer.levels) != len(made.order) or buffer.order != made.order:
        raise UserError(f"{name} leaves as dense levels in the order {', '.join(map(str, made.order))}", where,
                        "give as many dense levels in this order")
    if buffer.banks > 1:
        raise UserError(f"a result has a bank for each port, not {buffer.banks}", where, "leave banks out")
    if made.words * buffer.operations > buffer.words:
        raise UserError(f"{buffer.operations} operations have {made.words * buffer.operations:,} words of a port, and a bank "
                        f"{buffer.words:,}", where, "give it more words, or fewer operations")
    row = Loop(ports, 0, 1)
    if buffer.wide and (made.loops[:1] != (row,) or made.first or any(loop.hop for loop in made.loops[1:])):
        raise UserError(f"the {ports} ports of {name} do not give a row at once", where, "leave out wide")
    if buffer.wide and ports * (8 << MOST_SIZE) % WORD_BITS:
        raise UserError(f"a row has {ports} elements", where, "choose an even number, or leave out wide")
    return replace(made, operations=buffer.operations, wide=buffer.wide)
