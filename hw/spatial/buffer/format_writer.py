"""What writers of all formats share: fibers in, arrays out."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from ...arch.token import DATA_BITS
from ...arch.written import Written
from ...arch.written_chain import WrittenLevel
from ...emit import Macro, macro
from ...memory.array_store import ArrayStore
from ...sparse.interface import is_done, is_stop
from ...stream.lead import lead
from ..array.elastic_pe import pair


class FormatWriter(Component):
    """Writes the fibers of tensors as arrays, each of which leaves when it is complete.

    Parameters
    ----------
    written : Written

    Members
    -------
    i : In(stream)           `pair`s: each fiber, from the first place on, up to its stop; done behind the last one of a tensor.
    values, ... : Out(stream)        The arrays (`Written.arrays`), each behind its length (`ArrayStore`).
    overflow : Out(1)        A tensor has more elements than have room. Sticky until reset: nothing is taken from then on, so
                             that nothing is lost.

    Source: Stellar IV-C.
    """

    def __init__(self, written: Written | WrittenLevel) -> None:
        self.written = written
        bits = written.tensor.bits if "values" in written.arrays else 0
        super().__init__({"i": In(stream.Signature(pair(bits))), "overflow": Out(1),
                          **{name: Out(stream.Signature(bits)) for name, bits in written.arrays.items()}})

    @property
    def emit_key(self) -> Written | WrittenLevel:
        return self.written

    @property
    def module_name(self) -> str:
        return f"write_{self.written.tensor.name.lower()}"

    def begin(self, m: Module, words: dict[str, int]) -> tuple[dict[str, Macro], Any]:
        """The stores of all arrays, of so many words each, and whether a token is there, stop or done, and may be taken."""
        found = {}
        for name, bits in self.written.arrays.items():
            m.submodules[name] = store = macro(ArrayStore(words[name], bits // DATA_BITS))
            lead(m, store.o, getattr(self, name))
            found[name] = store
        there = Signal()
        m.d.comb += there.eq(self.i.valid & Cat(store.free for store in found.values()).all() & ~self.overflow)
        return found, there

    @property
    def is_exact(self) -> bool:
        """Whether all tensors have as many fibers."""
        return isinstance(self.written, Written)

    @property
    def elements(self) -> list[tuple[str, Value]]:
        """The arrays that have a word for each element, and what they have of the pair."""
        found: list[tuple[str, Value]] = [("coordinates", self.i.payload.crd.data)]
        return [*found, ("values", self.value)] if "values" in self.written.arrays else found

    @property
    def value(self) -> Value:
        """That of the pair, with its sign."""
        signed: Value = self.i.payload.value.as_signed()
        return signed

    @property
    def stops(self) -> Value:
        """Whether the pair is the end of a fiber."""
        return is_stop(self.i.payload.crd)

    @property
    def is_over(self) -> Value:
        """Whether the pair is the end of a tensor."""
        return is_done(self.i.payload.crd)


def whole_lanes(store: Macro, condition: Value) -> Value:
    """All lanes of a store, on a condition."""
    lanes: Value = condition.replicate(len(store.write))
    return lanes
