"""The global buffer: sizes of the memory beside the array and of its load and store engines.

Source: Onyx JSSC II (16 tiles of two 128 KB banks) and V-C; loop levels of the DMAs as in the public hardware.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from .check import Misfit, OneOf, PowerOfTwo, Whole, check

LINE_BYTES = 8
LANES = LINE_BYTES // 2     # 16-bit words of a line
NONE, STATIC, DYNAMIC, HYBRID = CLOCK_GATING = ("none", "static", "dynamic", "hybrid")
# GLB tiles of a chain: what Onyx has (JSSC II), and what a field of 3 bits counts the hops of.
MOST_CHAINED = 8
ENABLE, CELL = CLOCK_GATES = ("enable", "cell")


@dataclass(frozen=True)
class Glb:
    """Sizes of the global buffer.

    Parameters
    ----------
    columns_per_tile : int   Columns that share a GLB tile, so one load and one store stream, 1..256.
    banks : int              Banks a tile, a power of two 1..256.
    bank_bytes : int         Bytes a bank, a power of two from 16 to 16 M.
    bank_macros : int        SRAMs that a bank is made of, a power of two 1..256, of two 64-bit words or more each.
    read_latency : int       Cycles from a read of a bank to its word, 1..3: from 2 on it leaves the bank from a register, with
                             3 it enters over one, too. What a load gives comes as much later, as often as before.
    kept_bytes : int         Bytes at the end of a tile, 0..16 M, a multiple of 8, that programs leave alone: there its columns'
                             memories are saved while another program has them, by hardware beside the configuration DMA, 8
                             bytes for two words. With 0 there is neither. A bank keeps a line or more for programs, and
                             a stream of a chain has what is in front of that in one of its tiles.
    configuration_dma : bool Every tile streams configuration words out of its banks down its columns; else the host writes each
                             one over two registers of the controller.
    packed : bool            A configuration DMA reads packed words (`packed.py`), too, which are a third of the bytes: a bit in
                             its registers says so.
    load_loops, store_loops  Loop levels of the address generators, each 1..27; `Arch` says how many fit together.
    queue : bool             A load or store DMA repeats what its registers say, and goes on with what they say next, without an
                             idle cycle and without a start; else each run takes a start of the machine.
    ring : int               GLB tiles whose banks a load or store reaches, 1..8: its own and, where they are connected to a
                             chain, those to the east of it. With 1 there are no links between them.
    numbered : bool          A store can place blocks by the numbers in front of them, which come in any order; else words are
                             stored as they come.
    listed : bool            A load can give blocks of a list, wherever they are, each behind its length: a line of 8 bytes says
                             both, and loops walk a block. Else a load is one loop nest.
    clock_gating : str       What is clocked only when it has to be. ``static``: a load, store or configuration DMA, while its
                             enable bit is set, and the switch of the ring, while its tile is in a chain. ``dynamic``: a
                             bank, in cycles with an access and as many after it as its word takes; the registers of a
                             tile, when one is written; the switch of configuration words, while any pass and a cycle
                             longer; the ports for data and for
                             registers, while they are used.
                             ``hybrid``: both; ``none``: nothing. Cycles are the same.
    clock_gates : str        How: ``enable``, registers keep their words by an enable, or ``cell``, parts have clocks of their
                             own out of the module `clock_gate`, where a library has its cell.
    """

    columns_per_tile: Annotated[int, Whole(1, 256)] = 2
    banks: Annotated[int, PowerOfTwo(1, 256)] = 2
    bank_bytes: Annotated[int, PowerOfTwo(2 * LINE_BYTES, 1 << 24)] = 128 * 1024
    bank_macros: Annotated[int, PowerOfTwo(1, 256)] = 1
    read_latency: Annotated[int, Whole(1, 3)] = 1
    kept_bytes: Annotated[int, Whole(0, 1 << 24)] = 0
    configuration_dma: bool = True
    packed: bool = False
    load_loops: Annotated[int, Whole(1, 27)] = 8
    store_loops: Annotated[int, Whole(1, 27)] = 7
    queue: bool = False
    ring: Annotated[int, Whole(1, MOST_CHAINED)] = 1
    numbered: bool = False
    listed: bool = False
    clock_gating: Annotated[str, OneOf(CLOCK_GATING)] = NONE
    clock_gates: Annotated[str, OneOf(CLOCK_GATES)] = ENABLE

    def __post_init__(self) -> None:
        check(self, "glb", self._misfits)

    def _misfits(self) -> Iterator[Misfit]:
        if self.bank_bytes < 2 * LINE_BYTES * self.bank_macros:
            yield Misfit("bank_macros", f"are {self.bank_macros} in a bank of {self.bank_bytes} bytes, less than "
                                        f"{2 * LINE_BYTES} bytes each", "give fewer bank_macros or more bank_bytes")
        if self.packed and not self.configuration_dma:
            yield Misfit("packed", "is true, but without configuration_dma nothing reads packed words",
                         "give false, or configuration_dma")
        if self.kept_bytes:
            yield from self._kept_misfits()

    def _kept_misfits(self) -> Iterator[Misfit]:
        most = self.stream_bytes - LINE_BYTES
        if self.kept_bytes % LINE_BYTES or self.kept_bytes > most:
            yield Misfit("kept_bytes", f"are {self.kept_bytes}, not a multiple of {LINE_BYTES} of {most} at most, which leave "
                                       "a line to the stream that is stored beside them", "give that, or more bank_bytes")
        if not self.configuration_dma:
            yield Misfit("kept_bytes", f"are {self.kept_bytes}, but without configuration_dma nothing saves there or restores",
                         "give 0, or configuration_dma")

    @property
    def without_effect(self) -> tuple[str, ...]:
        """The fields that decide nothing: of what there is not."""
        gates = ("clock_gating", "clock_gates") if self.clock_gating == NONE else ()
        return *gates, *(name for name in ("packed", "kept_bytes") if not getattr(self, name))

    def gates(self, kind: str) -> bool:
        """Whether parts are gated that are so statically, or dynamically."""
        return self.clock_gating in (kind, HYBRID)

    @property
    def load_start_cycle(self) -> int:
        """The cycle in which a load's first word is at the core output `g2f` of its IO tile; 0 is the first after the flush.

        It is the same in every column and in every chain. Without stalls, as on a static route, word k is there k cycles later:
        a load comes first at its bank, so no other access delays it. A store may take a word from cycle 0 on.
        """
        return self.load_latency

    @property
    def load_latency(self) -> int:
        """Cycles from the request of a load to its word in a chain of `ring` tiles.

        Behind the first tile each is a register on the way out and one on the way back, and one is in front of the load: in a
        chain of n a word takes `read_latency` + 2 * n - 1, whichever tile has it, and a load begins the rest of the cycles
        later.
        """
        return self.read_latency + (2 * self.ring - 1 if self.ring > 1 else 0)

    @property
    def stream_bytes(self) -> int:
        """What a stream has of its bank, where nothing is kept: a tile of one bank has two of them there."""
        return self.bank_bytes if self.banks > 1 else self.bank_bytes // 2

    @property
    def room_bytes(self) -> int:
        """What every stream of a tile has room for."""
        return self.stream_bytes - self.kept_bytes

    @property
    def longest_chain(self) -> int:
        """Tiles that are chained at most: what is kept at the end of each parts the streams, one of each direction."""
        return min(self.ring, 2) if self.kept_bytes else self.ring

    @property
    def program_bytes(self) -> int:
        """The bytes of a tile, from its first one on, that programs have."""
        return self.tile_bytes - self.kept_bytes

    @property
    def tile_bytes(self) -> int:
        return self.banks * self.bank_bytes

    @property
    def chain_bytes(self) -> int:
        """What a load or store addresses."""
        return self.ring * self.tile_bytes
