"""Lead one stream to another one."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Value


def lead(m: Module, giver: Any, taker: Any) -> None:
    """What one stream gives the other one takes, whose payload has as many bits."""
    m.d.comb += [Value.cast(taker.payload).eq(Value.cast(giver.payload)), taker.valid.eq(giver.valid),
                 giver.ready.eq(taker.ready)]
