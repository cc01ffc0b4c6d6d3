"""Find by whose coordinates the elements of an operand are gathered.

    x(i) = A(i,k) * b(k), rows of A without zeros, k in time: a port of b takes the elements at the coordinates of a row of A

That is a fiber of the same PE, as far back as the port by which it enters: other ports may give the same row to other PEs, but
not at the same time where each takes work on its own. A pair would come together with elements of a PE that has other work,
and both wait for each other for ever.

Input:   an `Elastic`, ports that take fibers along an index of time which another operand finds.
Output:  for each port the one whose pairs have these coordinates.
Errors:  UserError where two operands together find them, as no stream has those that are left.
Source:  Stellar III-E, Listing 5 (gather).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...hw.arch.elastic import Balance, Border, Elastic, Worker
from ...hw.arch.errors import UserError

# An input of a unit, and what is linked to it.
Sources = Mapping[tuple[str, str], tuple[str, str]]


def asked(array: Elastic, ports: Sequence[Border]) -> tuple[str, ...]:
    """For each port of an operand the one by whose coordinates its elements are gathered."""
    name, where = ports[0].tensor, f"buffers: {ports[0].tensor}"
    found = next(each for each in array.found if each.index == array.time)
    if len(found.reads) > 1:
        both = " and ".join(tensor for tensor, _ in found.reads)
        raise UserError(f"which {array.time} of {name} a port takes is found by {both} together", where,
                        "leave the buffer out: no stream has the coordinates that are left")
    givers = _givers(array)
    return tuple(givers[port.name] for port in ports)


def _givers(array: Elastic) -> dict[str, str]:
    """For each port of fibers the one whose fibers have the coordinates of the PE to which it leads."""
    balances = {unit.name for unit in array.units if isinstance(unit.kind, Balance)}
    sources = {link.sink: link.source for link in array.links}
    found: dict[str, str] = {}
    for unit in array.units:
        for side in "fm" if balances else "f":
            if isinstance(unit.kind, Worker):
                carrier, *others = (_port(sources, balances, (unit.name, name), side)
                                    for name in (unit.kind.carriers[0], *(each.name for each in unit.kind.operands)))
                found |= dict.fromkeys(others, carrier)
    return found


def _port(sources: Sources, balances: set[str], sink: tuple[str, str], side: str) -> str:
    """The port by which an operand of a PE enters, "" for none; side: of its row what stays (``f``), or may move (``m``)."""
    unit, output = sources[sink]
    if unit in balances:
        unit, output = sources[unit, side + output[1:]]
    if not unit:
        return output
    handed_on, found, _ = output.rpartition("_o")
    return _port(sources, balances, (unit, handed_on), side) if found else ""
