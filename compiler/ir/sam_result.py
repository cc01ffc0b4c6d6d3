"""Make the result of a graph that others drew a consistent fibertree, and write it.

The public tools write a level so that a run of stops closes one segment: fibers without elements vanish there. Ours closes
one at each stop. So every level above the innermost is written behind a dropper of coordinates whose fibers have no elements,
which merges the stops of the level below: that of the file if it has one. A dropper that takes coordinates of the innermost
level away whose values stay, as those of a union of which only one side is empty, is passed by: zeros stand there then.

Outermost levels that are dense are not stored, nor written: their coordinates are all there are, and a fiber without elements
is one of them, so that nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...hw.arch.errors import UserError
from ...tensors.fibertree import Format
from .mapped import VALUES
from .sam import Pin
from .sam_build import Builder
from .sam_levels import LevelWriter, ValuesWriter
from .sam_ops import Space
from .sam_positions import add_scatter, scattered
from .sam_streams import Dropper


@dataclass(frozen=True)
class Written:
    """What a node writes: the stream of a level, or of the values; places: where these are in dense levels, the innermost."""

    tensor: str
    level: int
    index: str
    pin: Pin
    where: str
    places: Pin | None = None


def add_writers(build: Builder, written: Sequence[Written], form: Format, names: Mapping[str, str]) -> list[str]:
    """Add the writers of a result; what is written otherwise than the file says. names: of nodes by that of their operation."""
    by_level = {each.level: each for each in written}
    last, places = written[-1], by_level[VALUES].places if VALUES in by_level else None
    dense, outside = scattered(form) if places is not None else 0, _counted(written, form)
    for level in (*range(outside, form.rank - dense), VALUES):
        if level not in by_level:
            what = "the values" if level == VALUES else f"level {level}"
            raise UserError(f"{what} of {last.tensor}, whose format is {form if form.rank else 'none'}, "
                            f"{'are' if level == VALUES else 'is'} not written", last.where, "add a node of type fiberwrite")
    levels, notes = [by_level[level] for level in range(outside, form.rank - dense)], list[str]()
    if places is not None and levels and dense == 1:
        # The coordinates of the values are those of a level, but for its writer.
        inmost, notes = _with_values(build, Written(last.tensor, form.rank - 1, "", places, by_level[VALUES].where),
                                     build.spaces[by_level[VALUES].pin], names)
        *levels, inmost = _nested(build, [*levels, inmost])
        places = inmost.pin
    elif levels and places is None:
        inmost, notes = _with_values(build, levels[-1], build.spaces[by_level[VALUES].pin], names)
        levels = _nested(build, [*levels[:-1], inmost])
    for each in levels:
        build.where = each.where
        build.add(f"write_{each.tensor}_{each.level}", LevelWriter(each.tensor, each.level, each.index), wr=each.pin)
    build.where = by_level[VALUES].where
    if places is not None:
        add_scatter(build, last.tensor, form, places, by_level[VALUES].pin)
    else:
        build.add(f"write_{last.tensor}_vals", ValuesWriter(last.tensor), wr=by_level[VALUES].pin)
    return notes


def counted_indices(build: Builder, written: Sequence[Written], form: Format) -> tuple[str, ...]:
    """The indices of the outermost levels of a result that are dense and not written, those of its values."""
    values = next(each.pin for each in written if each.level == VALUES)
    return tuple(index for index, _ in build.spaces[values][:_counted(written, form)])


def _counted(written: Sequence[Written], form: Format) -> int:
    """How many outermost levels are dense and not written."""
    first = min((each.level for each in written if each.level != VALUES), default=form.rank)
    whole = any(each.places is not None for each in written) and scattered(form) == form.rank
    return 0 if whole else min(form.dense_levels, first)


def _with_values(build: Builder, inmost: Written, values: Space, names: Mapping[str, str]) -> tuple[Written, list[str]]:
    """The innermost level with the coordinates that have values, none of its stops merged."""
    pin, notes = inmost.pin, list[str]()
    while isinstance(op := build.nodes[pin.node], Dropper) and op.form == "coordinate":
        if pin.port == "inner_o":
            pin = build.feeds[Pin(pin.node, "inner")]
        elif values and values[-1][1] != build.spaces[pin][-1][1]:
            notes.append(f"node {names[pin.node]} (crddrop) is passed by: it would drop coordinates whose values stay")
            pin = build.feeds[Pin(pin.node, "outer")]
        else:
            break
    return replace(inmost, pin=pin), notes


def _nested(build: Builder, levels: Sequence[Written]) -> list[Written]:
    """The levels, each above the innermost without coordinates of empty fibers."""
    found, space = list(levels), build.spaces[levels[-1].pin]
    if len(space) != levels[-1].level + 1:
        return found        # the verifier says what is wrong
    for at in reversed(range(len(found) - 1)):
        above, below, level = found[at], found[at + 1], found[at].level
        pin = above.pin
        while build.spaces[pin] != space[:level + 1] and isinstance(build.nodes[pin.node], Dropper):
            pin = build.feeds[Pin(pin.node, "inner" if pin.port == "inner_o" else "outer")]
        if build.spaces[pin] != space[:level + 1] or level + 2 != len(build.spaces[below.pin]):
            continue        # the verifier says what is wrong
        ends = {"outer": pin, "inner": below.pin}
        made = next((name for name, op in build.nodes.items() if isinstance(op, Dropper) and op.form == "coordinate"
                     and all(build.feeds[Pin(name, port)] == end for port, end in ends.items())), "")
        if not made:
            build.where = below.where
            made = build.add(f"drop_{above.index}", Dropper("coordinate", space[level][0], space[level + 1][0]), **ends)
        found[at], found[at + 1] = (replace(each, pin=Pin(made, port)) for each, port in
                                    ((above, "outer_o"), (below, "inner_o")))
    return found
