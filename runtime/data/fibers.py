"""Between tensors and the ports of an elastic array: fibers of pairs, without the zeros that are skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...hw.arch.elastic import ALONG, FIBER, Border, Elastic, Found
from ...hw.arch.token import MAYBE, is_control, stop

# A coordinate, a token, and a value.
Pair = tuple[int, int]
END: Pair = stop(0), 0
NOTHING: Pair = MAYBE, 0


def fed(elastic: Elastic, operands: Mapping[str, np.ndarray]) -> dict[str, list[Pair]]:
    """The pairs of every input port, by its name.

    operands: by tensor, each with an axis for operations in front.
    """
    count = len(next(iter(operands.values())))
    streams: dict[str, list[Pair]] = {port.name: [] for port in elastic.inputs}
    for operation in range(count):
        finder = _Finder(elastic, {name: array[operation] for name, array in operands.items()})
        for port in elastic.inputs:
            streams[port.name] += finder.fiber(port) if port.form == FIBER else [finder.word(port)]
    return streams


def collected(elastic: Elastic, streams: Mapping[str, Sequence[Pair]], operations: int) -> dict[str, np.ndarray]:
    """The results of the ports that are given, each with an axis for operations in front.

    AssertionError for fibers too many or too few, or in no order.
    """
    mine = [port for port in elastic.outputs if port.name in streams]
    results = {tensor.name: np.zeros((operations, *tensor.shape), np.int64) for tensor in elastic.results
               if any(port.tensor == tensor.name for port in mine)}
    for port in mine:
        operation, last = 0, -1
        for crd, value in streams[port.name]:
            place = operation, *(crd if position == ALONG else position for _, position in port.at)
            if port.form != FIBER:
                results[port.tensor][place] = value
                operation += 1
            elif is_control(crd):
                operation, last = operation + 1, -1
            else:
                assert crd > last, f"port {port.name} gave coordinate {crd} after {last}"
                results[port.tensor][place] = value
                last = crd
        assert operation == operations and last < 0, f"port {port.name} gave {operation} of {operations} operations"
    return results


class _Finder:
    """The coordinates of one operation."""

    def __init__(self, elastic: Elastic, operands: Mapping[str, np.ndarray]) -> None:
        self._elastic, self._operands, self._extents = elastic, operands, dict(elastic.indices)
        self._found = {each.index: each for each in elastic.found}

    def fiber(self, port: Border) -> list[Pair]:
        """The pairs of a fiber, with its end."""
        place, time = dict(port.at), self._elastic.time
        coordinates = self._coordinates(place)
        if (port.tensor, self._indices(port)) in self._elastic.carried:
            own = port.tensor, self._indices(port)
            alone = Found(time, True, (own,), (own,) if own in self._found[time].whole else ())
            live = self._live(alone, coordinates)
        elif time in self._found:
            live = self._live(self._found[time], coordinates)
        else:
            live = list(range(self._extents[time]))
        mine = [crd for crd in live if port.begin <= crd < port.end]
        return [*((crd, self._element(port, {**coordinates, time: crd})) for crd in mine), END]

    def word(self, port: Border) -> Pair:
        """The pair of a word."""
        coordinates = self._coordinates(dict(port.at))
        if any(coordinates[index] is None for index in self._indices(port)):
            return NOTHING
        return coordinates[port.crd] or 0 if port.crd else 0, self._element(port, coordinates)

    def _indices(self, port: Border) -> tuple[str, ...]:
        return tuple(index for index, _ in port.at[:self._operands[port.tensor].ndim])

    def _element(self, port: Border, coordinates: Mapping[str, int | None]) -> int:
        at = tuple(coordinates[index] for index in self._indices(port))
        return 0 if None in at else int(self._operands[port.tensor][at])

    def _coordinates(self, place: Mapping[str, int]) -> dict[str, int | None]:
        """The coordinate of each position; None for one beyond the coordinates that are left, and for what it finds."""
        known: dict[str, int | None] = {}
        todo = [index for index, position in place.items() if position != ALONG]
        while todo:
            index = todo.pop(0)
            position, found = place[index], self._found.get(index)
            if found is None:
                known[index] = position
            elif all(by in known for by in self._needs(found)):
                live = self._live(found, known)
                known[index] = live[position] if position < len(live) else None
            else:
                todo.append(index)
        return known

    def _needs(self, found: Found) -> set[str]:
        return {index for _, indices in found.reads for index in indices} - {found.index}

    def _live(self, found: Found, known: Mapping[str, int | None]) -> list[int]:
        """The coordinates of a skipped index that are left."""
        if any(known[by] is None for by in self._needs(found)):
            return []
        hits = []
        for tensor, indices in found.reads:
            at = tuple(slice(None) if index == found.index else known[index] for index in indices)
            there = self._operands[tensor][at][:self._extents[found.index]] != 0
            hits.append(np.full_like(there, there.any()) if (tensor, indices) in found.whole else there)
        return [int(crd) for crd in np.flatnonzero(np.all(hits, 0) if found.needs_all else np.any(hits, 0))]
