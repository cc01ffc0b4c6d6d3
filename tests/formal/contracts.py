"""The stream contract of a primitive: if its inputs keep it, so do its outputs.

The contract: an offer (valid) stands, with the same payload, until it is taken (ready). Configuration is any
constant, tokens are any words of seventeen bits, in step or not.
"""

from __future__ import annotations

from amaranth.hdl import Module, Value
from amaranth.lib import wiring
from chains import keeps_contract
from prover import Harness, assume, free, reachable

from sardonyx.hw.arch.primitive import Primitive
from sardonyx.hw.emit import macro


class Contract(Harness):
    """A primitive between sources that keep the contract and sinks that do as they like.

    Parameters
    ----------
    primitive : Primitive
    component : Component     Its hardware.
    settings                  Configuration fields with a value instead of any.
    """

    def __init__(self, primitive: Primitive, component: wiring.Component, **settings: int) -> None:
        self.primitive, self.component, self.settings = primitive, component, settings
        super().__init__()

    def build(self, m: Module) -> None:
        m.submodules.component = component = macro(self.component)
        for name in self.primitive.config.fields:
            field = component.cfg[name]
            any_value = free(m, len(field), name, constant=True)
            m.d.comb += field.eq(self.settings.get(name, any_value))
        for port in self.primitive.inputs:
            words = getattr(component, port.name)
            payload = Value.cast(words.payload)
            m.d.comb += [words.valid.eq(free(m, 1, f"{port.name}_valid")),
                         payload.eq(free(m, len(payload), f"{port.name}_payload"))]
            keeps_contract(m, port.name, words, assume)
        for port in self.primitive.outputs:
            words = getattr(component, port.name)
            m.d.comb += words.ready.eq(free(m, 1, f"{port.name}_ready"))
            waits = keeps_contract(m, port.name, words)
            reachable(m, f"{port.name} is taken after it waited", waits & words.valid & words.ready)
