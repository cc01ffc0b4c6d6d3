"""Where streams of a launch have their words in the global buffer, and what stays there in front of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..compiler.ir.program import Program
from ..compiler.ir.transfer import WORD_BYTES, Transfer
from ..hw.arch.glb import LANES, Glb


@dataclass(frozen=True)
class Place:
    """Where the streams of a launch are: in whole banks (None), or in one of so many parts of them.

    The parts of a stream that is alone in its GLB tile are in two banks in turn: while the array reads or writes one, the host
    has every cycle of the other.

    lone: such tiles.
    stays: words in front of all parts that are for all launches, by stream; such a stream has all banks if it is alone.
    """

    glb: Glb
    part: int | None
    parts: int = 2
    lone: frozenset[int] = frozenset()
    stays: Mapping[str, int] = field(default_factory=dict)

    def room(self, each: Transfer) -> int:
        """16-bit words that a stream may take; a part begins at a line, as all that the host writes does."""
        room = self.whole(each) - self.stays[each.name] if each.name in self.stays else each.room
        if self.part is None:
            return room
        shares = self.parts // 2 if self.parts > 2 and self._alternate(each) else self.parts
        return room // shares // LANES * LANES

    def whole(self, each: Transfer) -> int:
        """16-bit words that a stream may take together with what stays: those of all banks if it is alone in them."""
        return self.glb.program_bytes // WORD_BYTES if each.tiles == 1 and self.tile(each) in self.lone else each.room

    def base(self, each: Transfer) -> int:
        """The first byte of a stream in its GLB tile, of what stays there if anything does."""
        return each.bank * self.glb.bank_bytes + each.address

    def start(self, each: Transfer) -> int:
        """The first byte of a stream in its GLB tile."""
        part, bank = self.part or 0, each.bank
        if self._alternate(each):
            part, bank = part // 2, (bank + part % 2) % self.glb.banks
        before = self.stays.get(each.name, 0) + self.room(each) * part
        return bank * self.glb.bank_bytes + each.address + WORD_BYTES * before

    def _alternate(self, each: Transfer) -> bool:
        """Whether parts of a stream are in two banks in turn."""
        return each.tiles == 1 and self.tile(each) in self.lone and each.name not in self.stays

    def tile(self, each: Transfer) -> int:
        """Its GLB tile."""
        return each.column // self.glb.columns_per_tile

    def column(self, each: Transfer) -> int:
        """Which of the columns of its GLB tile."""
        return each.column % self.glb.columns_per_tile

    def address(self, each: Transfer, stays: bool = False) -> int:
        """The first byte of a stream in the global buffer; stays: of what stays there."""
        return self.tile(each) * self.glb.tile_bytes + (self.base(each) if stays else self.start(each))


def everywhere(program: Program, glb: Glb) -> Place:
    """The whole banks, for what stays there for all launches."""
    return Place(glb, None, lone=lone(program, glb))


def lone(program: Program, glb: Glb) -> frozenset[int]:
    """GLB tiles of several banks and one stream."""
    tiles = [each.column // glb.columns_per_tile for each in program.transfers]
    return frozenset(tile for tile in tiles if tiles.count(tile) == 1 and glb.banks > 1)
