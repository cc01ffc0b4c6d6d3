"""An array with private buffers: streams of these in place of the ports that they feed or empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, Module, Value
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from ...arch.dma import SPAN_BITS, WORD_BITS
from ...arch.elastic import Balance, Elastic
from ...arch.private_buffer import Bank, PrivateBuffer
from ...arch.spatial import LENGTH, Spatial
from ...arch.token import DATA_BITS
from ...arch.written import Written
from ...emit import macro
from ...sparse.interface import fork
from ...stream.lead import lead
from ..array.elastic_array import ElasticArray
from ..array.elastic_array import streams as elastic_streams
from ..array.spatial_array import SpatialArray
from ..array.spatial_array import streams as array_streams
from .answered import Answered
from .associative_bank import AssociativeBank
from .chain_bank import walking
from .chosen_bank import choosing
from .gather_bank import GatherBank
from .meeting import Meeting
from .wide_bank import WideBank
from .written_result import WrittenResult

# Coordinates that wait in front of a bank.
ASKED = 2


class BufferedArray(Component):
    """An array, and the private buffers of some of its operands and results.

    Parameters
    ----------
    array : Spatial | Elastic
    buffers : sequence of PrivateBuffer
    results : sequence of Written
    word_bits : int                    Of the words that fill wide buffers.

    Members
    -------
    All streams of the array but those of operands and results that have a buffer, and

    B_level, B_values : In(stream)     What fills the buffer of an operand B, 16-bit words (`PrivateBank`); with a bank in the
                                       name where it has several.
    C_segments, ... : Out(stream)      What the buffer of a result C gives (`FormatWriter`).
    parts : In(16)                     Operations of a result that is a sum, as of `FiberBank`.
    B_torn : Out(1)                    Of one that is wide: of a tensor some words have come, and not all (`WideBank`).
    shared, launches : In              As of `WideBank`, of all that have them; there is no stream of lengths then.
    fault : Out(1)                     A buffer was filled with what does not fit, or a result does not. Sticky until reset.

    Timing: that of the array, of `PrivateBank` and `WrittenResult`; two entries at each port of the array are between them.
    Source: Stellar Fig. 8. Departure: no register files, as the order in which a buffer gives is that in which the array takes.
    """

    def __init__(self, array: Spatial | Elastic, buffers: Sequence[PrivateBuffer], results: Sequence[Written] = (),
                 word_bits: int = WORD_BITS) -> None:
        self.word_bits = word_bits
        self.array, self.buffers, self.results, self.module_name = array, tuple(buffers), tuple(results), array.name.lower()
        fed = {name for buffer in self.buffers for names in buffer.sinks for name in names}
        fed |= {name for result in self.results for name in result.ports}
        streams = array_streams(array) if isinstance(array, Spatial) else elastic_streams(array)
        self._kept = {name: member for name, member in streams.items() if name not in fed}
        fills = {buffer.name(n, name): In(stream.Signature(word_bits if bank.wide else DATA_BITS)) for buffer in self.buffers
                 for n, bank in enumerate(buffer.banks) for name in bank.streams}
        gives = {result.name(name): Out(stream.Signature(bits)) for result in self.results
                 for name, bits in result.arrays.items()}
        parts = {"parts": In(SPAN_BITS)} if any(result.sums for result in self.results) else {}
        torn = {buffer.name(n, "torn"): Out(1) for buffer in self.buffers for n, bank in enumerate(buffer.banks) if bank.wide}
        banks = [bank for buffer in self.buffers for bank in buffer.banks]
        shared = max([bank.operations for bank in banks if bank.wide], default=1)
        settings = {"shared": In(range(shared))} if shared > 1 else {}
        if any(bank.short for bank in banks):
            del self._kept[LENGTH]
            settings["launches"] = In(range(max(bank.rows for bank in banks if bank.short) + 1))
        super().__init__({**self._kept, **fills, **gives, **torn, **settings, "fault": Out(1), **parts})

    @property
    def emit_key(self) -> str:
        return repr((self.array, self.buffers, self.results, self.word_bits))

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        inner = replace(self.array, name=f"{self.array.name}_inside")
        m.submodules.inside = inside = macro(SpatialArray(inner) if isinstance(inner, Spatial) else ElasticArray(inner))
        names: dict[Bank, str] = {}
        faults: list[Value] = []
        lengths: list[Any] = []
        # By whose coordinates elements are gathered, and the streams of those that gather.
        asking: dict[str, list[Any]] = {name: [] for buffer in self.buffers
                                        for names in (*buffer.asks, *buffer.others, *buffer.chosen) for name in names}
        givers: dict[str, Any] = {name: getattr(self, name) for name in asking if name in self._kept}
        # Where rows take each other's work, a pair comes with what was gathered for it: banks, and what takes their elements.
        balanced = isinstance(inner, Elastic) and any(isinstance(unit.kind, Balance) for unit in inner.units)
        answers: dict[str, list[tuple[Bank, Any, Any]]] = {name: [] for name in asking} if balanced else {}
        for buffer in self.buffers:
            for n, (bank, sinks) in enumerate(zip(buffer.banks, buffer.sinks, strict=True)):
                name = names.setdefault(bank, f"{self.module_name}_bank{len(names)}")
                kind = (choosing if bank.whole else AssociativeBank if bank.matched else GatherBank if bank.bases
                        else None)
                part: Any = macro(WideBank(bank, name, self.word_bits) if bank.wide else
                                  kind(bank, name) if kind else walking(bank, name))
                m.submodules[f"buffer_{buffer.name(n)}"] = part
                if bank.wide:
                    self._set(m, part, bank, getattr(self, buffer.name(n, "torn")), inside, lengths)
                else:
                    faults.append(part.fault)
                for stream_name in bank.streams:
                    lead(m, getattr(self, buffer.name(n, stream_name)), getattr(part, stream_name))
                for at, sink in enumerate(sinks):
                    if sink in asking:
                        givers[sink] = getattr(part, f"o{at}")
                    elif balanced and bank.bases:
                        answers[buffer.asks[n][at]].append((bank, getattr(part, f"o{at}"), getattr(inside, sink)))
                    else:
                        lead(m, getattr(part, f"o{at}"), getattr(inside, sink))
                for at, port in enumerate(buffer.asks[n] if buffer.asks else ()):
                    ask = getattr(part, f"ask{at}")
                    if buffer.others:
                        m.submodules[f"{sinks[at]}_meeting"] = meeting = macro(Meeting(buffer.either))
                        lead(m, meeting.o, ask)
                        asking[buffer.others[n][at]].append(meeting.y)
                        ask = meeting.x
                    asking[port].append(ask)
                for at, port in enumerate(buffer.chosen[n] if buffer.chosen else ()):
                    asking[port].append(getattr(part, f"row{at}"))
        for result in self.results:
            m.submodules[f"buffer_{result.tensor.name}"] = part = macro(WrittenResult(result))
            faults.append(part.overflow)
            if result.sums:
                m.d.comb += part.parts.eq(self.parts)
            for at, port in enumerate(result.ports):
                lead(m, getattr(inside, port), getattr(part, f"i{at}"))
            for name in result.arrays:
                lead(m, getattr(part, name), getattr(self, result.name(name)))
        for name, member in self._kept.items():
            own, other = getattr(self, name), getattr(inside, name)
            if name not in asking:
                lead(m, own, other) if member.flow is In else lead(m, other, own)
        for name, giver in givers.items():
            taker = getattr(inside, name)
            if balanced:
                m.submodules[f"{name}_answered"] = self._answered(m, giver, taker, asking[name], answers[name])
            else:
                self._give(m, giver, taker, asking[name])
        m.d.comb += self.fault.eq(Cat(faults).any())
        return m

    def _give(self, m: Module, giver: Any, taker: Any, asking: Sequence[Any]) -> None:
        """What a port of the array gets, by whose coordinates some banks gather."""
        m.d.comb += giver.ready.eq(fork(m, giver.valid, (taker, Const(1)), *((each, Const(1)) for each in asking)))
        m.d.comb += [Value.cast(taker.payload).eq(Value.cast(giver.payload)),
                     *(each.payload.eq(giver.payload.crd) for each in asking)]

    def _answered(self, m: Module, giver: Any, taker: Any, asking: Sequence[Any],
                  answers: Sequence[tuple[Bank, Any, Any]]) -> Any:
        """What a port of a balanced array gets, when all that is gathered for it is there."""
        bits = len(Value.cast(giver.payload.value))
        # As many as banks and what is in front of them hold.
        depth = max(bank.depth for bank, _, _ in answers) + ASKED
        part: Any = macro(Answered(bits, [bank.bits for bank, _, _ in answers], depth))
        lead(m, giver, part.i)
        lead(m, part.o, taker)
        for n, (ask, (_, answer, sink)) in enumerate(zip(asking, answers, strict=True)):
            lead(m, getattr(part, f"ask{n}"), ask)
            lead(m, answer, getattr(part, f"a{n}"))
            lead(m, getattr(part, f"o{n}"), sink)
        return part

    def _set(self, m: Module, part: Any, bank: Bank, torn: Value, inside: Any, lengths: list[Any]) -> None:
        """A wide bank with its settings; the first one that is short tells lengths to the array."""
        m.d.comb += torn.eq(part.torn)
        if bank.operations > 1:
            m.d.comb += part.shared.eq(self.shared)
        if bank.short:
            m.d.comb += part.launches.eq(self.launches)
            if lengths:
                m.d.comb += part.length.ready.eq(1)
            else:
                lead(m, part.length, getattr(inside, LENGTH))
            lengths.append(part)
