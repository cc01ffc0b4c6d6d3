"""Find by whose coordinates the elements of an operand are gathered.

    x(i) = A(i,k) * b(k), rows of A without zeros, k in time: a port of b takes the elements at the coordinates of a row of A

Input:   an `Elastic`, ports that take fibers along an index of time which another operand finds.
Output:  for each port the one whose pairs have these coordinates.
Errors:  UserError where two operands together find them, as no stream has those that are left; and where PEs of several
         columns take work on their own: with stalls such arrays stood still for ever, why is not known.
Source:  Stellar III-E, Listing 5 (gather).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...hw.arch.elastic import ALONG, Balance, Border, Elastic
from ...hw.arch.errors import UserError


def asked(array: Elastic, ports: Sequence[Border]) -> tuple[str, ...]:
    """For each port of an operand the one by whose coordinates its elements are gathered."""
    name, where = ports[0].tensor, f"buffers: {ports[0].tensor}"
    if sum(isinstance(unit.kind, Balance) for unit in array.units) > 1:
        raise UserError(f"elements of {name} are gathered, and each PE takes work on its own", where,
                        'leave out the buffer, or grain="pe", so that rows of PEs take it together')
    found = next(each for each in array.found if each.index == array.time)
    if len(found.reads) > 1:
        both = " and ".join(tensor for tensor, _ in found.reads)
        raise UserError(f"which {array.time} of {name} a port takes is found by {both} together", where,
                        "leave the buffer out: no stream has the coordinates that are left")
    (tensor, indices), = found.reads
    givers = {(_places(port, indices), port.begin): port.name for port in array.inputs if port.tensor == tensor
              and tuple(index for index, _ in port.at[:len(indices)]) == indices}
    return tuple(givers[_places(port, indices), port.begin] for port in ports)


def _places(port: Border, indices: Sequence[str]) -> tuple[int, ...]:
    """Where the fiber of a port is, by the indices of the operand that finds it."""
    places = dict(port.at)
    return tuple(places[index] for index in indices if places[index] != ALONG)
