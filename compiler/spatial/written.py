"""Make the buffer of a result: which ports give its fibers, in the order in which they are stored.

Input:   a `Buffer`, a `Spatial` or an `Elastic`, one of its results.
Output:  Written.
Errors:  UserError for results that are no fibers, levels in another order than fibers go, and formats that do not hold them.
Source:  Stellar III-E.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ...hw.arch.elastic import ALONG, FIBER, Elastic
from ...hw.arch.errors import UserError, many
from ...hw.arch.private_buffer import DENSE
from ...hw.arch.spatial import Spatial
from ...hw.arch.written import Written
from ...hw.arch.written_chain import ChainedWritten
from .buffer import Buffer


def written(name: str, buffer: Buffer, array: Spatial | Elastic) -> Written:
    """The buffer of a result."""
    where = f"buffers: {name}"
    tensor, = (each for each in array.results if each.name == name)
    for what, fix in _wrong(buffer, len(tensor.shape)):
        raise UserError(what, where, fix)
    ports = [port for port in array.outputs if port.tensor == name] if isinstance(array, Elastic) else []
    if not ports or any(port.form != FIBER for port in ports):
        raise UserError(f"ports of {name} give words, not fibers", where,
                        "leave its buffer out: an accelerator stores words in the order of a dimension")
    along, = {nth for port in ports for nth, (_, position) in enumerate(port.at) if position == ALONG}
    if buffer.order[-1] != along:
        raise UserError(f"fibers go along dimension {along}, which is not the last level", where,
                        f"put {along} last in its order")
    outer = buffer.order[:-1]
    begins = tuple(sorted({port.begin for port in ports}))
    found = {(*(port.at[dimension][1] for dimension in outer), port.begin): port.name for port in ports}
    places = list(product(*(range(tensor.shape[dimension]) for dimension in outer), begins))
    if sorted(found) != places or len(ports) != len(places):
        raise UserError(f"{name} has {len(places) // len(begins)} fibers, but {len(ports)} ports", where,
                        "choose a transform under which each fiber has a port, or leave the buffer out")
    ordered = tuple(found[place] for place in places)
    if any(kind != DENSE for kind in buffer.levels[:-1]):
        return ChainedWritten(tensor, buffer.order, ordered, buffer.levels[-1], buffer.words, buffer.node, buffer.operations,
                              begins=begins, above=buffer.levels[:-1])
    return Written(tensor, buffer.order, ordered, buffer.levels[-1], buffer.words, buffer.node, buffer.operations,
                   begins=begins)


def _wrong(buffer: Buffer, dimensions: int) -> Iterator[tuple[str, str]]:
    """What of a buffer no result can have, and a remedy."""
    if len(buffer.levels) != dimensions:
        yield (f"it has {many(len(buffer.levels), 'level')}, but the result {many(dimensions, 'dimension')}",
               "give a level for each")
    if sorted(buffer.order) != list(range(dimensions)):
        yield f"its order is {', '.join(map(str, buffer.order))}", f"give each of 0 to {dimensions - 1} once"
    if buffer.operations > 1 and any(kind != DENSE for kind in buffer.levels[:-1]):
        yield (f"a tensor is of {buffer.operations} operations, and a level above another one is not dense",
               "make all but the last one dense, or leave out operations")
    if buffer.banks != 1:
        yield f"it has {buffer.banks} banks, but the fibers of a result are written one after the other", "give 1"
