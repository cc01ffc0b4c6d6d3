"""A token model of the sparse graph, written straight from the stream rules, to judge lowering on its own.

`run` executes a graph on the block words of the operands and gives the block words of the result. Every
primitive maps whole token lists; it fails an assertion where streams that should be aligned are not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from sardonyx.compiler.ir.sam import Pin, SamGraph
from sardonyx.compiler.ir.sam_alu import Alu
from sardonyx.compiler.ir.sam_divide import Divider
from sardonyx.compiler.ir.sam_kept import KeptScanner, KeptValues
from sardonyx.compiler.ir.sam_levels import LevelWriter, Locator, RootLocator, Scanner, Values
from sardonyx.compiler.ir.sam_reduce import Accumulator, MaxReducer, Reducer
from sardonyx.compiler.ir.sam_scatter import Position, ScatterWriter
from sardonyx.compiler.ir.sam_streams import Dropper, Joiner, Repeater
from sardonyx.hw.arch.token import DONE, MAYBE, is_control, is_stop, stop, stop_level

Tokens = list[int]
ROOT = [0, DONE]


def run(graph: SamGraph, blocks: dict[str, tuple[list[int], ...]]) -> tuple[list[int], ...]:
    """The result's block words (levels, then values) from the operands' block words by slot."""
    streams: dict[Pin, Tokens] = {}
    feeds = graph.feeds
    written: dict[int, list[int]] = {}
    for name in graph.topological():
        op = graph.nodes[name]
        given = {port: streams[feeds[Pin(name, port)]] for port in op.inputs}
        if isinstance(op, Scanner):
            words = write_level(given["wr"]) if isinstance(op, KeptScanner) else blocks[op.slot][op.level]
            found = scan(words, op.dense, given.get("ref", ROOT))
        elif isinstance(op, Repeater):
            found = {"ref_o": repeat(given.get("ref", ROOT), given["crd"])}
        elif isinstance(op, Locator):
            found = {"ref_o": locate(blocks[op.slot][op.level], given["ref"], given["crd"])}
        elif isinstance(op, RootLocator):
            found = {"o": given["i"]}
        elif isinstance(op, Joiner):
            found = join(op.op, given["crd0"], given["crd1"], given.get("ref0"), given.get("ref1"))
        elif isinstance(op, Values):
            vals = (write_values(given["wr"]) if isinstance(op, KeptValues) else blocks[op.slot][-1])[1:]
            found = {"val": [0 if ref == MAYBE else ref if is_control(ref) else vals[ref]
                             for ref in given.get("ref", ROOT)]}
        elif isinstance(op, Alu):
            found = {"res": alu(op, given.get("a"), given.get("b"))}
        elif isinstance(op, Divider):
            found = {"res": quotients(op, given.get("a"), given.get("b"))}
        elif isinstance(op, Reducer):
            made = partial(largest, op.extent) if isinstance(op, MaxReducer) else sum
            found = {"val_o": reduce_guided(given["val"], given["crd"], made) if op.guided
                     else reduce_plain(given["val"], made)}
        elif isinstance(op, Accumulator):
            found = accumulate(given.get("outer"), given["crd"], given["val"])
        elif isinstance(op, Position):
            found = {"res": positions(op, given["a"], given["c"])}
        elif isinstance(op, ScatterWriter):
            found, written[99] = {}, scatter(op, given["at"], given["val"])
        elif isinstance(op, Dropper):
            found = (drop_zeros if op.form == "value" else drop_empty)(given["outer"], given["inner"])
        else:
            found = {}
            is_level = isinstance(op, LevelWriter)
            written[op.level if is_level
                    else 99] = write_level(given["wr"]) if is_level else write_values(given["wr"])
        streams.update({Pin(name, port): stream for port, stream in found.items()})
    return tuple(written[key] for key in sorted(written))


def scan(words: list[int], dense: bool, refs: Tokens) -> dict[str, Tokens]:
    crd: Tokens = []
    ref: Tokens = []
    seg, entries = words[1:1 + words[0]], words[2 + words[0]:]
    at = 0
    while refs[at] != DONE:
        if not is_stop(refs[at]):
            if refs[at] != MAYBE:
                first, last = (refs[at] * words[2],
                               (refs[at] + 1) * words[2]) if dense else seg[refs[at]:refs[at] + 2]
                crd += range(last - first) if dense else entries[first:last]
                ref += range(first, last)
            at += 1
        ends = is_stop(refs[at])
        token = stop(stop_level(refs[at]) + 1) if ends else stop(0)
        at += ends
        crd.append(token)
        ref.append(token)
    return {"crd": [*crd, DONE], "ref_o": [*ref, DONE]}


def locate(words: list[int], refs: Tokens, crd: Tokens) -> Tokens:
    """Where coordinates are in the fibers that references name, of a level of some extent."""
    assert len(refs) == len(crd), "a coordinate for each reference"
    out = []
    for ref, at in zip(refs, crd):
        assert at == ref if is_control(ref) and ref != MAYBE else at < words[2], "the streams are not aligned"
        out.append(ref if is_control(ref) else ref * words[2] + at)
    return out


def repeat(refs: Tokens, signal: Tokens) -> Tokens:
    out: Tokens = []
    at = 0
    for token in signal:
        if not is_control(token):
            assert not is_stop(refs[at]) and refs[at] != DONE, "a coordinate without a reference to repeat"
            out.append(refs[at])
        elif is_stop(token):
            level = stop_level(token)
            if not is_stop(refs[at]):
                assert refs[at] != DONE, "a fiber without a reference"
                at += 1
            else:
                assert level >= 1, "an outer fiber ended early"
            if level >= 1:
                assert refs[at] == stop(level - 1), "stops of reference and signal differ"
                at += 1
            out.append(token)
    assert refs[at] == DONE, "references are left over"
    return [*out, DONE]


def join(op: str, crd0: Tokens, crd1: Tokens, ref0: Tokens | None, ref1: Tokens | None) -> dict[str, Tokens]:
    out: dict[str, Tokens] = {"crd": [], "ref0_o": [], "ref1_o": []}
    sides = [(crd0, ref0 or crd0), (crd1, ref1 or crd1)]
    at = [0, 0]
    for crd, ref in sides:
        assert len(crd) == len(ref) and all(is_stop(a) == is_stop(b) for a,
                                            b in zip(crd, ref)), "ref not beside crd"
    while True:
        heads = [side[0][where] for side, where in zip(sides, at)]
        if all(map(is_control, heads)):
            assert heads[0] == heads[1], "the stops of the two sides differ"
            takes = (True, True)
        else:
            takes = tuple(not is_control(head) and (is_control(other) or head <= other)
                          for head, other in (heads, heads[::-1]))
        if all(takes) or op == "union":
            out["crd"].append(heads[takes.index(True)])
            for port, take, side, where in zip(("ref0_o", "ref1_o"), takes, sides, at):
                out[port].append(side[1][where] if take else MAYBE)
        at = [where + take for where, take in zip(at, takes)]
        if heads == [DONE, DONE]:
            return out


def alu(op: Alu, a: Tokens | None, b: Tokens | None) -> Tokens:
    out = []
    for x, y in zip(a or b or [], b or a or [], strict=True):
        if is_control(x) or is_control(y):
            assert x == y, "the operands are not aligned"
            out.append(x)
        else:
            x, y = x if op.a is None else op.a, y if op.b is None else op.b
            high = [(each ^ 0x8000) - 0x8000 for each in (x, y)]
            out.append({"add": x + y, "sub": x - y, "mul": x * y, "max": max(high), "min": min(high), "abs": abs(high[0]),
                        "sign": (high[0] > 0) - (high[0] < 0), "nonzero": int(x != 0)}[op.op] & 0xFFFF)
    return out


def quotients(op: Divider, a: Tokens | None, b: Tokens | None) -> Tokens:
    out = []
    for x, y in zip(a or b or [], b or a or [], strict=True):
        if is_control(x) or is_control(y):
            assert x == y, "the operands are not aligned"
            out.append(x)
        else:
            sides = x if op.a is None else op.a, y if op.b is None else op.b
            left, right = ((each % 0x10000 ^ 0x8000) - 0x8000 for each in sides)
            out.append(int(np.floor_divide(left, right or 1) * bool(right)) & 0xFFFF)
    return out


def positions(op: Position, multiplied: Tokens, added: Tokens) -> Tokens:
    assert [each if is_control(each) else 0 for each in multiplied] == [each if is_control(each) else 0 for each in added]
    return [a if is_control(a) else a * op.extent + c for a, c in zip(multiplied, added, strict=True)]


def scatter(op: ScatterWriter, at: Tokens, val: Tokens) -> list[int]:
    """The words of fibers with a value at each place."""
    found: dict[int, int] = {}
    values = iter(each for each in val if not is_stop(each))
    base = 0
    for place in at[:-1]:
        if is_stop(place):
            base += 0 if op.whole or stop_level(place) < op.below else op.extent
        else:
            assert place < op.extent, "a place beyond the level"
            found[base + place] = next(values)
    assert next(values) == at[-1] == DONE, "there are as many values as places"
    count = op.extent if op.whole else base
    return [count, *(0 if found.get(n, 0) == MAYBE else found.get(n, 0) for n in range(count))]


def largest(extent: int, fiber: Tokens) -> int:
    """The maximum of a fiber, and of the zero that it lacks if it has fewer values than there are coordinates."""
    values = [(each ^ 0x8000) - 0x8000 for each in fiber] + [0] * (len(fiber) < extent)
    return max(values, default=0)


def reduce_plain(val: Tokens, made: Callable[[Tokens], int]) -> Tokens:
    out, fiber = Tokens(), Tokens()
    for token in val:
        if is_stop(token):
            out.append(made(fiber) & 0xFFFF)
            out += [stop(stop_level(token) - 1)] if stop_level(token) else []
            fiber = []
        elif token != DONE:
            fiber.append(token)
    return [*out, DONE]


def reduce_guided(val: Tokens, crd: Tokens, made: Callable[[Tokens], int]) -> Tokens:
    out: Tokens = []
    at, pending = 0, None      # `pending` is the stop above S0 that closed the last fiber
    for token in crd:
        if is_stop(token):
            if pending is None:
                pending = val[at]
                at += 1
            assert pending == stop(stop_level(token) + 1), "the guide's stop does not match"
            pending = None
            out.append(token)
        elif token != DONE:
            assert pending is None, "the guide has more coordinates than there are fibers"
            begin = at
            while not is_control(val[at]):
                at += 1
            out.append(made(val[begin:at]) & 0xFFFF)
            assert is_stop(val[at]), "a fiber without a stop"
            pending = val[at] if stop_level(val[at]) else None
            at += 1
    assert val[at] == DONE and pending is None, "values are left over"
    return [*out, DONE]


def accumulate(outer: Tokens | None, crd: Tokens, val: Tokens) -> dict[str, Tokens]:
    """Sums by coordinate, or pair of them, of the fibers inside each fiber of the summed index."""
    out: dict[str, Tokens] = {"outer_o": [], "crd_o": [], "val_o": []}
    sums: dict[tuple[int, int], int] = {}
    levels = 1 if outer is None else 2
    rows = iter(outer or [])
    row, following = 0, next(rows, DONE)
    is_open = False         # a coordinate of outer was taken, whose fiber has not ended
    for token, value in zip(crd, val, strict=True):
        if outer is not None and not is_open and not is_control(following) and token != DONE:
            row, following, is_open = following, next(rows), True
        if not is_control(token):
            assert not is_control(value) and (outer is None or is_open), "a value without coordinates"
            sums[row, token] = sums.get((row, token), 0) + value
            continue
        assert token == value, "the streams are not aligned"
        is_open = False
        if token == DONE:
            for stream in out.values():
                stream.append(DONE)
        elif outer is not None and stop_level(token):
            assert following == stop(stop_level(token) - 1), "the stops do not match"
            following = next(rows)
        if token == DONE or stop_level(token) < levels:
            continue
        kept = {place: total & 0xFFFF for place, total in sorted(sums.items()) if total & 0xFFFF}
        for at, (above, inner) in enumerate(kept):
            if at and outer is not None and above != list(kept)[at - 1][0]:
                out["crd_o"].append(stop(0))
                out["val_o"].append(stop(0))
            if not at or above != list(kept)[at - 1][0]:
                out["outer_o"].append(above)
            out["crd_o"].append(inner)
            out["val_o"].append(kept[above, inner])
        out["outer_o"].append(stop(max(stop_level(token) - 2, 0)))
        out["crd_o"].append(stop(stop_level(token) - 1))
        out["val_o"].append(stop(stop_level(token) - 1))
        sums = {}
    assert outer is None or following == DONE, "outer coordinates are left over"
    return out


def drop_zeros(outer: Tokens, inner: Tokens) -> dict[str, Tokens]:
    assert len(outer) == len(inner) and all(a == b for a, b in zip(outer, inner) if is_control(a)
                                            or is_control(b))
    kept = [(crd, val) for crd, val in zip(outer, inner) if is_control(crd) or val]
    return {"outer_o": [crd for crd, _ in kept], "inner_o": [val for _, val in kept]}


def drop_empty(outer: Tokens, inner: Tokens) -> dict[str, Tokens]:
    kept: Tokens = []
    at, pending = 0, None
    for token in outer:
        if is_stop(token):
            if pending is None:
                pending = inner[at]
                at += 1
            assert pending == stop(stop_level(token) + 1), "the stops of outer and inner do not match"
            pending = None
            kept.append(token)
        elif token != DONE:
            assert pending is None, "more coordinates than fibers"
            if not is_control(inner[at]):
                kept.append(token)
            while not is_control(inner[at]):
                at += 1
            assert is_stop(inner[at]), "a fiber without a stop"
            pending = inner[at] if stop_level(inner[at]) else None
            at += 1
    assert inner[at] == DONE and pending is None, "inner tokens are left over"
    return {"outer_o": [*kept, DONE], "inner_o": merge_stops(inner)}


def merge_stops(tokens: Tokens) -> Tokens:
    out: Tokens = []
    for token in tokens:
        if is_stop(token) and (not out or is_stop(out[-1])):
            if out:
                out[-1] = max(out[-1], token)
        else:
            out.append(token)
    return out


def write_level(tokens: Tokens) -> list[int]:
    seg, crd = [0], []
    for token in tokens:
        if is_stop(token):
            seg.append(len(crd))
        elif token != DONE:
            crd.append(token)
    return [len(seg), *seg, len(crd), *crd]


def write_values(tokens: Tokens) -> list[int]:
    vals = [token for token in tokens if not is_control(token)]
    return [len(vals), *vals]
