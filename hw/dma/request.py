"""Requests and runs of elements as hardware has them."""

from __future__ import annotations

from amaranth.hdl import signed
from amaranth.lib import data

from ..arch.dma import ADDRESS_BITS, SPAN_BITS, Request

# A run of elements that lie one behind the other: `there` of them in memory from `address` on, then `pad` that are not.
# `head`: it is the word of 64 bits at the head of a node.
RUN = data.StructLayout({"address": ADDRESS_BITS, "there": SPAN_BITS, "pad": SPAN_BITS, "last": 1, "head": 1})
# The head of a node of a list, from its lowest bit on.
NODE = data.StructLayout({"next": ADDRESS_BITS, "count": SPAN_BITS, "rest": 64 - ADDRESS_BITS - SPAN_BITS})
LOOP = data.StructLayout({"span": SPAN_BITS, "there": SPAN_BITS, "stride": signed(ADDRESS_BITS)})


def request_layout(loops: int) -> data.StructLayout:
    """A request: `size` is the logarithm of the bytes of an element; loops innermost first."""
    return data.StructLayout({"base": ADDRESS_BITS, "size": 2, "stores": 1, "linked": 1,
                              "loops": data.ArrayLayout(LOOP, loops)})


def request_bits(request: Request, loops: int) -> int:
    """A request as a word of that layout; loops that it has not are of one iteration."""
    given = [{"span": each.span, "there": each.there, "stride": each.stride} for each in request.loops]
    given += [{"span": 1, "there": 1, "stride": 0}] * (loops - len(given))
    layout = request_layout(loops)
    found: int = layout.const({"base": request.base, "size": request.size, "stores": request.stores, "linked": request.linked,
                               "loops": given}).as_bits()
    return found
