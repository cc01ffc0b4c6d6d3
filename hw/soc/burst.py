"""The beats of an AXI4 burst: which word of the memory each means, and which bursts are refused."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

ID_BITS = 4
FIXED, INCREMENTING, WRAPPING = range(3)
FULL_SIZE = 3       # beats of 64 bits
# No burst crosses a border of 4 KB, so only this much of an address changes within one.
PAGE_BITS = 12
# A wrapping burst stays within 16 beats of 8 bytes.
WRAP_BITS = 7


def address_layout(address_bits: int) -> data.StructLayout:
    """What an address channel says of a burst, by the bus's own names."""
    return data.StructLayout({"id": ID_BITS, "addr": address_bits, "len": 8, "size": 3, "burst": 2})


def beat_layout(line_bits: int) -> data.StructLayout:
    return data.StructLayout({"line": line_bits, "id": ID_BITS, "last": 1, "refused": 1})


class Burst(wiring.Component):
    """Takes the addresses of bursts and gives their beats, one after the other.

    Behaviour: a beat means the 64-bit word that its address is in, whatever its size and alignment. Refused as a whole are
    bursts that AXI4 forbids (beats of more than 8 bytes, the reserved kind, across a border of 4 KB, wrapping ones of other
    than 2, 4, 8 or 16 beats or not aligned, fixed ones of more than 16), and those with a beat beyond the memory; they have as
    many beats as were announced.

        addr 0x0c, len 3, size 2 (4 bytes), incrementing     lines 1 2 2 3
        addr 0x18, len 3, size 3 (8 bytes), wrapping         lines 3 0 1 2

    Parameters
    ----------
    memory_bytes : int      A multiple of 8; the memory begins at 0.
    address_bits : int      More than `PAGE_BITS`.
    of : str                What the name of the module begins with, where a design has several memories.

    Members
    -------
    i : In(stream)      Addresses, `address_layout`.
    o : Out(stream)     Beats, `beat_layout`: 64-bit word, identity of the burst, whether it is the last that was announced,
                        whether the burst is refused.
    cut : In(1)         The beat that `o` gives ends its burst, if it is taken, though more were announced.

    Timing: the first beat comes a cycle after its address, then one a cycle; the next burst follows without a cycle between.
    `i.ready` follows `o.ready` and `cut` in the same cycle; `o` comes from registers.
    Source: Arm IHI 0022, A3.4.1.
    """

    def __init__(self, memory_bytes: int, address_bits: int, of: str = "") -> None:
        assert memory_bytes % 8 == 0 and address_bits > PAGE_BITS, "words of a memory beyond a page"
        self.memory_bytes, self.address_bits, self.of = memory_bytes, address_bits, of
        self.line_bits = (memory_bytes // 8 - 1).bit_length()
        super().__init__({"i": In(stream.Signature(address_layout(address_bits))),
                          "o": Out(stream.Signature(beat_layout(self.line_bits))), "cut": In(1)})

    @property
    def module_name(self) -> str:
        return f"{self.of}_axi_burst".lstrip("_")

    def elaborate(self, platform: object) -> Module:
        m = Module()
        asked, beat = self.i.payload, self.o.payload
        fixed, wraps = asked.burst == FIXED, asked.burst == WRAPPING
        low = asked.addr[:PAGE_BITS]
        # From the address of the first beat to that of the last, which of a wrapping burst is the highest.
        span = Signal(PAGE_BITS)
        end = Signal(PAGE_BITS + 1)
        beyond = Signal()
        m.d.comb += [
            span.eq(Mux(fixed, 0, asked.len << asked.size[:2])),
            end.eq(Mux(wraps, low | span, low + span)),
            beyond.eq(Cat(end[3:PAGE_BITS], asked.addr[PAGE_BITS:]) >= self.memory_bytes // 8),
        ]
        step = 1 << asked.size[:2]
        whole = Cat(asked.len == beats - 1 for beats in (2, 4, 8, 16)).any() & ~(low[:3] & (step - 1)).any()

        left = Signal(8, reset_less=True)
        at = Signal(PAGE_BITS, reset_less=True)
        page = Signal(max(0, self.line_bits + 3 - PAGE_BITS), reset_less=True)
        identity = Signal(ID_BITS, reset_less=True)
        refused = Signal(reset_less=True)
        stride = Signal(4, reset_less=True)
        # Which bits of the address a step changes; those above are as the highest.
        moves = Signal(WRAP_BITS + 1, reset_less=True)
        ends = Signal()
        m.d.comb += [beat.line.eq(Cat(at[3:], page)), beat.last.eq(left == 0), beat.id.eq(identity), beat.refused.eq(refused),
                     ends.eq(beat.last | self.cut), self.i.ready.eq(~self.o.valid | (self.o.ready & ends))]
        with m.If(self.i.ready):
            m.d.sync += [
                self.o.valid.eq(self.i.valid), left.eq(asked.len), at.eq(low), page.eq(asked.addr[PAGE_BITS:]), stride.eq(step),
                moves.eq(Mux(wraps, span[:WRAP_BITS], (~fixed).replicate(WRAP_BITS + 1))), identity.eq(asked.id),
                refused.eq(asked.size[2] | asked.burst.all() | end[PAGE_BITS] | beyond | (wraps & ~whole)
                           | (fixed & asked.len[4:].any())),
            ]
        with m.Elif(self.o.ready):
            mask = Cat(moves, moves[-1].replicate(PAGE_BITS - len(moves)))
            m.d.sync += [left.eq(left - 1), at.eq((at & ~mask) | ((at + stride) & mask))]
        return m
