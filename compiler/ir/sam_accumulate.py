"""Accumulators of the public dialect: sums over a loop around one or two indices of the result.

    spaccumulator order=1 in0=j            sums at each j
    spaccumulator order=2 in0=j in1=i      at each pair of i and j
    vectorreducer accum_index=j            as the first

The public ones take the coordinates of each value, which nodes of type crdhold repeat; ours take fibers, and what is summed is
the loop around them. Coordinates of other loops that they get say nothing more. What droppers in front have merged is taken in
front of them: no fiber needs elements, and droppers of coordinates and of values merge each on their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...hw.arch.errors import UserError, shown
from ...hw.arch.primitive import MOST_ACCUMULATED
from .dialect import PublicNode
from .sam import Pin
from .sam_build import Builder
from .sam_ops import CRD, VAL
from .sam_reduce import Accumulator
from .sam_streams import Dropper


def add_accumulator(build: Builder, node: PublicNode, pins: Sequence[Pin]) -> tuple[Accumulator, dict[str, Pin]]:
    """The operation of a node, and what of the streams that enter it is at which input."""
    inner = _indices(node)
    spaces, pins = build.spaces, [_whole(build, pin) for pin in pins]
    values = [pin for pin in pins if build.kind(pin) == VAL]
    if len(values) != 1 or tuple(index for index, _ in spaces[values[0]])[-len(inner):] != inner:
        raise UserError(f"its values are not those of {' and '.join(map(shown, inner))}", node.where,
                        "give it one stream of values of these loops")
    space = spaces[values[0]]
    if len(space) == len(inner):
        raise UserError("there is no loop around its coordinates to sum over", node.where, "leave it out")
    inputs = {"val": values[0]}
    for at, port in enumerate(("crd", "outer")[:len(inner)]):
        wanted = space[:len(space) - at]
        found = [pin for pin in pins if spaces[pin] == wanted and build.kind(pin) == CRD]
        if not found:
            raise UserError(f"it gets no coordinates of {shown(wanted[-1][0])} of the very loops of its values", node.where,
                            "give it those")
        inputs[port] = found[0]
    return Accumulator(space[-1 - len(inner)][0], inner), inputs


def _whole(build: Builder, pin: Pin) -> Pin:
    """A stream in front of the droppers that merged its stops."""
    while isinstance(op := build.nodes[pin.node], Dropper) and op.form == "coordinate" and pin.port == "inner_o":
        pin = build.feeds[Pin(pin.node, "inner")]
    return pin


def _indices(node: PublicNode) -> tuple[str, ...]:
    """The indices that sums are told apart by, the outer one first."""
    if node.type == "vectorreducer":
        return (node.get("accum_index"),)
    order = node.get("order")
    if order not in map(str, range(1, MOST_ACCUMULATED + 1)):
        raise UserError(f"its order is '{shown(order)}'", node.where, f"write 1 to {MOST_ACCUMULATED}")
    return tuple(node.get(f"in{at}") for at in reversed(range(int(order))))
