"""What primitives share: ports from their description, questions to a token, steps with several outputs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ..arch.primitive import Flow, Primitive
from ..arch.token import CONTROL, KIND_DONE, KIND_MAYBE, KIND_STOP, TOKEN, TOKEN_BITS

# A signal of layout `TOKEN`; Amaranth brings no types.
Token = Any


def members(primitive: Primitive) -> dict[str, Any]:
    """Members of the component of a primitive: a stream for each port, and `cfg` if it has any fields."""
    flows = {Flow.IN: In, Flow.OUT: Out}
    ports = {port.name: flows[port.flow](stream.Signature(TOKEN if port.width == TOKEN_BITS else port.width))
             for port in primitive.ports}
    return {"cfg": In(primitive.config.layout), **ports} if primitive.config.fields else ports


def is_value(token: Token) -> Value:
    """Data or maybe: a token that stands for an element, not for structure."""
    return ~token.control | (token.data[8:10] == KIND_MAYBE)


def is_maybe(token: Token) -> Value:
    """The token that stands for an absent element."""
    return token.control & (token.data[8:10] == KIND_MAYBE)


def is_stop(token: Token) -> Value:
    """A stop of any level."""
    return token.control & (token.data[8:10] == KIND_STOP)


def is_done(token: Token) -> Value:
    """The done token."""
    return token.control & (token.data[8:10] == KIND_DONE)


def level(token: Token) -> Value:
    """The level of a stop."""
    return token.data[:8]


def is_next(low: Value, high: Value) -> Value:
    """Whether `high` is `low` + 1, of the same width, without an adder: `high` + ~`low` is 2**width if each carry is what the
    bits below give away."""
    below = high | ~low
    found: Value = Cat(high ^ ~low, 1) == Cat(0, below)
    return found


def stop_token(level: Value) -> Value:
    """The stop of a level given in 8 bits."""
    return Const(CONTROL, TOKEN_BITS) | level


def every(conditions: Sequence[Value]) -> Value:
    """Whether all conditions hold."""
    return reduce(and_, conditions)


def fork(m: Module, there: Value, *offers: tuple[Any, Value]) -> Value:
    """Offer the tokens of one step on several outputs, each of which takes its own when it is ready.

    `there` says whether the step has tokens at all, and each offer is an output stream and whether one is for it; both must
    hold until the step is over. Drives every `valid`, from registers and the offers alone: no `ready` enters, so valid is never
    retracted. Returns whether the step ends in this cycle: no output is left to take its token.
    """
    gone = Signal(len(offers))
    left = [there & want & ~gone[n] for n, (_, want) in enumerate(offers)]
    taken = Signal(len(offers))
    ends = Signal()
    for n, (output, _) in enumerate(offers):
        m.d.comb += [output.valid.eq(left[n]), taken[n].eq(left[n] & output.ready)]
    # Not of `taken`: whether there are tokens comes late, and then one gate is left.
    m.d.comb += ends.eq(~there | every([~want | gone[n] | output.ready for n, (output, want) in enumerate(offers)]))
    with m.If(ends):
        m.d.sync += gone.eq(0)
    with m.Else():
        m.d.sync += gone.eq(gone | taken)
    return ends
