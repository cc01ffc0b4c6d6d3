"""Find by whose coordinates the elements or fibers of an operand are gathered.

    x(i) = A(i,k) * b(k), rows of A without zeros, k in time: a port of b takes the elements at the coordinates of a row of A

That is a fiber or word of the same PE, as far back as the port by which it enters: other ports may give the same row to other
PEs, but not at the same time where each takes work on its own. A pair would come together with elements of a PE that has other
work, and both wait for each other for ever.

Input:   an `Elastic`, ports that take fibers along an index of time which another operand finds, or such fibers as it finds.
Output:  for each port the one whose pairs have these coordinates, or two, of which they are those that both or either have.
Errors:  UserError where two operands or words find them, and rows take each other's work.
Source:  Stellar III-E, Listing 5 (gather).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...hw.arch.elastic import WORD, Balance, Border, Elastic, Worker
from ...hw.arch.errors import UserError

# An input of a unit, and what is linked to it.
Sources = Mapping[tuple[str, str], tuple[str, str]]


def asked(array: Elastic, ports: Sequence[Border]) -> list[tuple[str, ...]]:
    """For each port of an operand the one by whose coordinates its elements are gathered, or the two that find them."""
    name, where = ports[0].tensor, f"buffers: {ports[0].tensor}"
    found = next(each for each in array.found if each.index == array.time)
    moves, both = any(isinstance(unit.kind, Balance) for unit in array.units), " and ".join(name for name, _ in found.reads)
    if moves and len(found.reads) > 1:
        raise UserError(f"which {array.time} of {name} a port takes is found by {both} together, and work moves", where,
                        "leave out the balance or the buffer: pairs of both would have to wait for what is gathered")
    givers = {name: entries[:len(found.reads)] for entries in _entries(array) for name in entries}
    return [givers[port.name] for port in ports]


def chosen(array: Elastic, ports: Sequence[Border], index: str) -> tuple[str, ...]:
    """For each port of fibers the one of words with whose coordinates of an index they are found; () if there is none."""
    words = {port.name for port in array.inputs if port.form == WORD and port.crd == index}
    givers = {name: giver for names in _entries(array) for name in names for giver in names if giver in words}
    if any(port.name not in givers for port in ports):
        return ()
    if any(isinstance(unit.kind, Balance) for unit in array.units):
        # Such an array stands still, its words and parts of fibers left in front of the balance.
        raise UserError(f"which fibers of {ports[0].tensor} ports take is found by words, and work moves",
                        f"buffers: {ports[0].tensor}", "leave out the balance or the buffer")
    return tuple(givers[port.name] for port in ports)


def _entries(array: Elastic) -> Iterator[tuple[str, ...]]:
    """For each PE the ports by which its operands enter, those of the fibers with its coordinates first; "" for none."""
    balances = {unit.name: len(unit.kind.lanes) for unit in array.units if isinstance(unit.kind, Balance)}
    sources = {link.sink: link.source for link in array.links}
    for unit in array.units:
        for side in "fm" if balances else "f":
            if isinstance(unit.kind, Worker):
                names = dict.fromkeys((*unit.kind.carriers, *(each.name for each in unit.kind.operands)))
                yield tuple(_port(sources, balances, (unit.name, name), side) for name in names)


def _port(sources: Sources, balances: Mapping[str, int], sink: tuple[str, str], side: str) -> str:
    """The port by which an operand of a PE enters, "" for none; side: of its row what stays (``f``), or may move (``m``).
    balances: how many fibers an item of each has, behind which come the words that both items have."""
    unit, output = sources[sink]
    if unit in balances:
        if not output.startswith("o"):
            return ""       # the result of a PE on its way to a merger
        row, _, lane = output[1:].partition("_")
        word = int(lane) - balances[unit]
        unit, output = sources[unit, f"w{row}_{word}" if word >= 0 else f"{side}{row}_{lane}"]
    if not unit:
        return output
    handed_on, found, _ = output.rpartition("_o")
    return _port(sources, balances, (unit, handed_on), side) if found else ""
