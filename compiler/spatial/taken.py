"""What an array takes of an operand in an operation, in an order in which no word ever waits for a later one.

Of an array in step the words that a launch takes come before those of later ones, so that the FIFO of a port is enough: what a
launch waits for never stands behind words for which there is no room. Of an elastic array each port takes a word or a fiber in
an operation. Elements that another operand finds are asked for (`gathered`).

Input:   an operand in its buffer (`Stored`), a `Spatial` or an `Elastic`.
Output:  `Taken`.
Errors:  UserError for formats that do not give what the array takes, and elements that only values say.
Source:  Stellar IV-D and Fig. 13 (order of a buffer against that of an array).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...hw.arch import elastic
from ...hw.arch.elastic import ALONG, Elastic
from ...hw.arch.private_buffer import DENSE, FIBER, WORD
from ...hw.arch.spatial import Chain, Port, Spatial
from .buffer import Stored
from .gathered import asked, chosen


@dataclass(frozen=True)
class Taken:
    """What an array takes of a tensor in an operation: for each read its sink, and the element or the outer part of a fiber.

    dealt: the elements of a fiber go to so many sinks from there on.  parts: of each sink the coordinates of the fibers
    that it takes, where some are parted.  asks: for each sink the port by whose coordinates its elements are gathered; reads
    have then the element whose coordinate is 0.  rows: for each sink the port that finds the row in which it asks, if one does,
    and levels inside of that of rows.  inside: the levels inside of that of these coordinates.  whole: for each word of the
    ports that find them whole fibers are gathered.  others: the other one, where two ports find coordinates together, those
    that both have, or either.  waiting: words of a sink that may wait for a launch, as operations overlap.  sifted, complete:
    as of a `Bank`, where dense fibers are behind a level without zeros.
    """

    form: str
    paired: bool
    sinks: tuple[str, ...]
    reads: tuple[tuple[int, tuple[int, ...]], ...]
    dealt: int = 0
    parts: tuple[tuple[int, int], ...] = ()
    asks: tuple[str, ...] = ()
    inside: int = 0
    whole: bool = False
    others: tuple[str, ...] = ()
    either: bool = False
    waiting: int = 1
    sifted: bool = False
    complete: bool = False
    rows: tuple[str, ...] = ()
    rows_inside: int = 0


def taken(stored: Stored, array: Spatial | Elastic) -> Taken:
    """What an array takes of an operand."""
    return _of_steps(stored, array) if isinstance(array, Spatial) else _of_fibers(stored, array)


def _of_steps(stored: Stored, spatial: Spatial) -> Taken:
    """The words of an array in step, those of earlier launches first."""
    if spatial.short and not stored.buffer.wide:
        raise stored.mistake("an operation that ends early takes fewer words than the buffer gives",
                             "leave out short, or make the buffer wide")
    _check_words(stored)
    sources = [each for each in spatial.sources if each.tensor == stored.name]
    words = {(port.tensor, port.position): port for port in spatial.inputs}
    keyed = []
    for sink, source in enumerate(sources):
        if isinstance(source, Chain):
            ports = [words[source.tensor, position] for position in reversed(source.positions)]
            found: list[tuple[int, Port, int]] = [(nth, port, 0) for nth, port in enumerate(ports)]
        else:
            found = [(spatial.launch(source.position, word.step), source, nth) for nth, word in enumerate(source.words)]
        keyed += [(key, sink, stored.at(port.words[nth].element)) for key, port, nth in found]
    keyed.sort(key=lambda each: each[:2])
    # Words of earlier operations, whose launch is not before that of a word of this one, wait at their port; and one more where
    # this operation has others there.
    words_each = max(len(source.words) if isinstance(source, Port) else 1 for source in sources)
    overlap = (keyed[-1][0] - keyed[0][0]) // spatial.interval if all(isinstance(each, Port) for each in sources) else 0
    return Taken(WORD, False, tuple(each.name for each in sources), tuple((sink, at) for _, sink, at in keyed),
                 waiting=words_each * overlap + (words_each > 1))


def _of_fibers(stored: Stored, array: Elastic) -> Taken:
    """The words or fibers of an elastic array, port after port."""
    name, last, kind = stored.name, stored.last, stored.kind
    ports = [port for port in array.inputs if port.tensor == name]
    dimensions = len(stored.tensor.shape)
    read = {(port.form, tuple(index for index, _ in port.at[:dimensions])) for port in ports}
    if len(read) > 1:
        raise stored.mistake(f"{name} is read at several places of a point", "give it as two inputs")
    (form, indices), = read
    found = {each.index: each for each in array.found}
    blocks = stored.is_chain and kind == DENSE
    by_rows = blocks and stored.buffer.levels[-2] != DENSE and indices[last] == array.time
    if any((name, indices) in each.whole for each in array.found) and not by_rows:
        raise stored.mistake(f"fibers of {name} are whole, with their zeros, or empty, which dense levels behind "
                             "one without zeros say",
                             f'store {name} so, as in sp.Buffer("compressed", "dense"), or skip where an element of it is 0')
    by_values = [index for index, position in ports[0].at if position != ALONG and index in found]
    is_dealt = form == elastic.WORD and len(by_values) == 1 and found[by_values[0]].reads == ((name, indices),)
    if is_dealt and indices[last] == by_values[0]:
        return _dealt(stored, ports)
    givers = chosen(array, ports, by_values[0]) if len(by_values) == 1 and form == elastic.FIBER else ()
    if by_values and not givers:
        raise stored.mistake(f"which elements of {name} a port takes is found by values: {by_values[0]} is skipped",
                             f"put dimension {indices.index(by_values[0])} last in its order, or leave the buffer out"
                             if is_dealt else f"choose a dataflow with {by_values[0]} in time, or leave the buffer out")
    if form == elastic.WORD:
        _check_words(stored)
        elements = [stored.at([at for _, at in port.at[:dimensions]]) for port in ports]
        return Taken(WORD, True, tuple(port.name for port in ports), tuple(enumerate(elements)))
    sinks = tuple(port.name for port in ports)

    def inside(index: str) -> int:
        """How many levels are inside of that of an index."""
        return dimensions - 1 - stored.buffer.order.index(indices.index(index))

    if array.time in found and (name, indices) not in array.carried:
        places = [stored.at([0 if index in by_values else max(at, 0) for index, at in port.at[:dimensions]]) for port in ports]
        asks, *others = zip(*asked(array, ports), strict=True)
        return Taken(FIBER, True, sinks, tuple(enumerate(places)), asks=asks, inside=inside(array.time),
                     others=others[0] if others else (), either=not found[array.time].needs_all and bool(others),
                     rows=givers, rows_inside=inside(by_values[0]) if givers else 0)
    if indices[last] != array.time:
        raise stored.mistake(f"fibers go along {array.time}, which is not the last level",
                             f"put dimension {indices.index(array.time)} last in its order")
    reads = tuple((sink, stored.at([0 if index in by_values else at for index, at in port.at[:dimensions]])[:-1])
                  for sink, port in enumerate(ports))
    if kind != DENSE and array.time not in found:
        raise stored.mistake(f"its last level is {kind}, but the array takes every {array.time}",
                             f"make it dense, or skip {array.time} where {name} is 0")
    if kind == DENSE and array.time in found and not blocks:
        raise stored.mistake(f"its last level is dense, but the array takes no zeros of {name}", "make it compressed")
    extent = stored.tensor.shape[last]
    parts = tuple((port.begin, min(port.end, extent)) for port in ports)
    if len(set(parts)) == 1:
        parts = ()
    is_whole = any((name, indices) in each.whole for each in array.found)
    return Taken(FIBER, True, sinks, reads, 0, parts, givers, inside(by_values[0]) if givers else 0, bool(givers),
                 sifted=blocks and array.time in found and not is_whole, complete=blocks and array.time not in found)


def _check_words(stored: Stored) -> None:
    """UserError for an operand without zeros whose words are taken one by one, with its zeros."""
    if sparse := next((kind for kind in reversed(stored.buffer.levels) if kind != DENSE), None):
        level = "its last level" if sparse == stored.kind else "a level"
        raise stored.mistake(f"{level} is {sparse}, but the array takes zeros of {stored.name}, too",
                             "make it dense, or skip them")


def _dealt(stored: Stored, ports: Sequence[elastic.Border]) -> Taken:
    """Words that are the elements of fibers without zeros, one after the other."""
    if stored.kind == DENSE and not stored.is_chain:
        raise stored.mistake(f"its last level is dense, but the array takes no zeros of {stored.name}", "make it compressed")
    dimensions, last = len(stored.tensor.shape), stored.last
    ordered = sorted(ports, key=lambda port: stored.at([at for _, at in port.at[:dimensions]]))
    count = stored.tensor.shape[last]
    assert len(ordered) % count == 0, "each fiber has a port for each of its coordinates"
    assert all(port.crd == port.at[last][0] for port in ordered), "coordinates that are found go along"
    reads = tuple((sink, stored.at([at for _, at in port.at[:dimensions]])[:-1])
                  for sink, port in enumerate(ordered) if sink % count == 0)
    return Taken(WORD, True, tuple(port.name for port in ordered), reads, count, sifted=stored.kind == DENSE)
