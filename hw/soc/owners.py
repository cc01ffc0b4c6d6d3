"""Which region each GLB tile, with its columns, belongs to."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arch.soc import MOST_CLAIMED


class Owners(wiring.Component):
    """Every GLB tile has one owner or none, which a claim changes.

    Behaviour: after reset all tiles are of region 0. A claim gives a region the tiles of a mask, and takes all others from it:
    these have no owner, so nothing starts in them with a run of the region. It is refused while the region or the owner of
    such a tile is occupied, so nobody loses a tile in the middle of something, and for tiles that do not exist.

    Parameters
    ----------
    tiles : int        GLB tiles, 2..MOST_CLAIMED.
    regions : int      2 or more.

    Members
    -------
    claims : In(regions)        A region has the tiles of `mask` from now on; one at a time, and none that is refused.
    mask : In(MOST_CLAIMED)
    refused : Out(regions)      Of each region: a claim of `mask` is not allowed.
    occupied : In(regions)      Something goes on in the region.
    tiles{r} : Out(tiles)       The tiles of region r.
    open : Out(tiles)           Bit t: tiles t - 1 and t are of one region; bit 0 is 0.

    Timing: a claim is in force in the next cycle; tiles{r} come from registers, `open` follows them.
    Source: a design of its own; Amber JSSC IV reconfigures columns while others run and leaves open what parts them.
    """

    module_name = "owners"

    def __init__(self, tiles: int, regions: int) -> None:
        assert 1 < regions <= tiles <= MOST_CLAIMED, "regions have tiles that a register names"
        self.tiles, self.regions = tiles, regions
        super().__init__({"claims": In(regions), "mask": In(MOST_CLAIMED), "refused": Out(regions), "occupied": In(regions),
                          **{f"tiles{region}": Out(tiles) for region in range(regions)}, "open": Out(tiles)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # A bit for each region and tile, of those of a tile at most one is 1: all that goes between a region and the array is
        # decided by what it has, so nothing is to be decoded on the way.
        owned = [Signal(self.tiles, name=f"owned{region}", init=(1 << self.tiles) - 1 if region == 0 else 0)
                 for region in range(self.regions)]
        held = reduce(or_, (tiles & self.occupied[region].replicate(self.tiles) for region, tiles in enumerate(owned)))
        wrong = Signal()
        m.d.comb += wrong.eq((self.mask[:self.tiles] & held).any() | self.mask[self.tiles:].any())
        for region, tiles in enumerate(owned):
            m.d.comb += [self.refused[region].eq(wrong | self.occupied[region]), getattr(self, f"tiles{region}").eq(tiles)]
            with m.If(self.claims[region]):
                m.d.sync += tiles.eq(self.mask)
            with m.Elif(self.claims.any()):
                m.d.sync += tiles.eq(tiles & ~self.mask)
        together = reduce(or_, (tiles[:-1] & tiles[1:] for tiles in owned))
        m.d.comb += self.open.eq(Cat(0, together))
        return m
