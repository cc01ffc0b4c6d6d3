"""What the decoder of commands knows of tensors that are several arrays: one request becomes one for each."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from ...arch import command
from ...arch.accelerator import Accelerator, Stream
from ...arch.dma import ADDRESS_BITS
from ...arch.level_arrays import SEGMENT_BITS
from ...arch.token import DATA_BITS
from ...dma.request import request_layout

# The logarithms of the bytes of what counts, and of coordinates.
SIZES = {SEGMENT_BITS: 2, DATA_BITS: 1}


class Arrays:
    """Addresses of the arrays in front of values, and which of them is next; a part of `Decoder`.

    A request of which axis 0 has the type of its tensor is done for each array in turn: what counts, with as many elements as
    a tensor has of it, and what is counted.
    """

    def __init__(self, accelerator: Accelerator) -> None:
        self._streams = accelerator.streams
        self._most = max(each.before for each in self._streams)
        self._loops = accelerator.dma.loops
        self._whole = Signal(name="whole_tensor")
        self._part = Signal(range(self._most + 1), name="array_part")
        self._places = [Signal(ADDRESS_BITS, name=f"array{nth}_at", reset_less=True) for nth in range(self._most)]
        self._pitches = [Signal(max(command.PITCHES).bit_length(), name=f"array{nth}_pitch") for nth in range(self._most)]

    def forget(self, m: Module, setting: Value) -> None:
        """A request begins."""
        with m.If(setting):
            # An error may have come between the arrays of the last one.
            m.d.sync += [self._whole.eq(0), self._part.eq(0), *(pitch.eq(1) for pitch in self._pitches)]

    def typed(self, m: Module, word: Any, number: Value, setting: Value) -> Value:
        """Take a type of axis 0; whether it is that of the tensor."""
        own = Signal(name="own_type")
        m.d.comb += own.eq(Cat((number == n) & (word.rs2 == command.AXIS_TYPES[each.kind])
                               for n, each in self._tensors()).any())
        with m.If(setting):
            m.d.sync += self._whole.eq(own)
        return own

    def place(self, m: Module, word: Any, setting: Value) -> Value:
        """Take where an array is; whether there is such an array and axis."""
        which = word.rs1[command.METADATA_LSB:command.METADATA_LSB + 8]
        for nth, at in enumerate(self._places):
            with m.If(setting & (which == nth)):
                m.d.sync += at.eq(word.rs2)
        known: Value = (which < self._most) & (word.rs1[:command.AXIS_BITS] == 0)
        return known

    def pitch(self, m: Module, word: Any, setting: Value) -> Value:
        """Take how far apart elements of an array are; whether there is such an array, axis and distance."""
        which = word.rs1[command.METADATA_LSB:command.METADATA_LSB + 8]
        for nth, pitch in enumerate(self._pitches):
            with m.If(setting & (which == nth)):
                m.d.sync += pitch.eq(word.rs2)
        axes = word.rs1[:command.METADATA_LSB]
        known: Value = (which < self._most) & (axes == (which == 0)) & Cat(word.rs2 == each for each in command.PITCHES).any()
        return known

    def is_odd(self, request: Any, number: Value) -> Value:
        """Whether loops say how many elements there are where that is counted, or of all arrays at once, or how far apart these
        are in another way than `command.PITCHES`; 0, as they begin, is 1."""
        spans = Cat(Cat(request.loops[level].span != 1, request.loops[level].there != 1) for level in range(self._loops)).any()
        counted = Cat(number == n for n, each in enumerate(self._streams) if each.is_counted).any()
        pitched = Cat(request.loops[0].stride == each for each in (0, *command.PITCHES)).any()
        odd: Value = (spans | request.linked | ~pitched) & (self._whole | counted)
        return odd

    def next(self, m: Module, request: Any, number: Value, goes: Value) -> tuple[Any, Value, Value]:
        """The request of the array that is next, its stream, and whether it is the last one."""
        made: Any = Signal(request_layout(self._loops), name="array_request")
        stream = Signal(range(len(self._streams)), name="array_number")
        last = Signal(name="last_array")
        m.d.comb += [made.eq(request), stream.eq(number), last.eq(1)]
        with m.If(self._whole):
            for n, each in self._tensors():
                with m.If(number == n):
                    m.d.comb += [stream.eq(n - each.before + self._part), last.eq(self._part == each.before)]
                    for part in range(each.before):
                        with m.If(self._part == part):
                            self._array(m, made, n - each.before + part, part)
        with m.If(goes):
            m.d.sync += self._part.eq(Mux(last, 0, self._part + 1))
        return made, stream, last

    def _array(self, m: Module, made: Any, number: int, part: int) -> None:
        stream, loop = self._streams[number], made.loops[0]
        m.d.comb += [made.base.eq(self._places[part]), made.size.eq(SIZES[stream.bits]), loop.stride.eq(self._pitches[part])]
        if not stream.is_counted:
            m.d.comb += [loop.span.eq(stream.elements), loop.there.eq(stream.elements)]

    def _tensors(self) -> list[tuple[int, Stream]]:
        """The streams of values that have arrays before them."""
        return [(n, each) for n, each in enumerate(self._streams) if each.before]
