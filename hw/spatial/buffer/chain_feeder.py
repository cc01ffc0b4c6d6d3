"""Arrays of levels behind each other from memory to what fills a private buffer; each says what there is of the next one."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from amaranth.hdl import Cat, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.chain import ChainedBank, Link
from ...arch.dma import ADDRESS_BITS, ELEMENT_BITS
from ...arch.level_arrays import chain_arrays
from ...arch.private_buffer import DENSE, STREAMS
from ...arch.token import DATA_BITS
from ...emit import Macro, macro
from ...stream.lead import lead
from .counted import RUN
from .link_feeder import LinkFeeder


class ChainFeeder(wiring.Component):
    """A `LinkFeeder` for each level that is not dense, the outermost one first.

    Parameters
    ----------
    bank : ChainedBank
    module_name : str

    Members
    -------
    segments0, coordinates0, bits, ..., values : In(stream)      The arrays of a tensor (`chain_arrays`).
    coordinates0_run, ... : Out(stream)     `RUN` of each array that is counted.
    level0_fill, ..., values_fill : Out(stream)      16-bit words, as the bank takes them.
    narrow, torn, wrong, restart, at        As of `LinkFeeder`; torn is of the outermost level.

    Timing: as of `LinkFeeder`; two entries between levels.
    Source: Stellar V, Listing 7 (one request for all arrays of a tensor).
    """

    def __init__(self, bank: ChainedBank, module_name: str) -> None:
        self.bank, self.module_name = bank, module_name
        elements, blocks, runs = (stream.Signature(each) for each in (ELEMENT_BITS, DATA_BITS, RUN))
        arrays = chain_arrays(bank.links, bank.words, DATA_BITS)
        super().__init__({**{each.name: In(elements) for each in arrays},
                          **{f"{each.name}_run": Out(runs) for each in arrays if each.is_counted},
                          **{f"{name}_fill": Out(blocks) for name in bank.streams},
                          "narrow": In(1), "torn": Out(1), "wrong": Out(1), "restart": In(1), "at": In(ADDRESS_BITS)})

    @property
    def emit_key(self) -> ChainedBank:
        return self.bank

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        wrong, above = list[Any](), None
        for link, block, is_last in self._stored():
            feeder = macro(LinkFeeder(link, above is not None, block, is_last))
            m.submodules[f"feed{link.nth}"] = feeder
            self._join(m, link, feeder, above)
            m.d.comb += [feeder.restart.eq(self.restart), feeder.at.eq(self.at)]
            wrong.append(feeder.wrong)
            if above is None:
                m.d.comb += self.torn.eq(feeder.torn)
            if not is_last:
                above = feeder.below
                continue
            for name in ("values", "values_run"):
                own, inner = getattr(self, name), getattr(feeder, name)
                lead(m, *((own, inner) if name == "values" else (inner, own)))
            lead(m, feeder.o, self.values_fill)
            m.d.comb += feeder.narrow.eq(self.narrow)
        m.d.comb += self.wrong.eq(Cat(wrong).any())
        return m

    def _stored(self) -> Iterator[tuple[Link, int, bool]]:
        """The levels that are not dense, with the fibers or values for each position, and whether these are values."""
        links = self.bank.links
        places = [at for at, link in enumerate(links) if link.kind != DENSE]
        for nth, at in enumerate(places):
            end = places[nth + 1] if nth + 1 < len(places) else len(links)
            yield links[at], prod(link.extent for link in links[at + 1:end]), end == len(links)

    def _join(self, m: Module, link: Link, feeder: Macro, above: Any) -> None:
        """The arrays of a level, and what they fill."""
        first = {"level": "segments", "bits": "bits", "lists": "heads"}[STREAMS[link.kind]]
        part: Any = feeder.component
        for member, name in (("counts", first), *((each, each) for each in part.behind)):
            lead(m, getattr(self, name + link.suffix), getattr(feeder, member))
            if member != "counts" or above is not None:
                lead(m, getattr(feeder, f"{member}_run"), getattr(self, f"{name}{link.suffix}_run"))
        if above is not None:
            lead(m, above, feeder.above)
        lead(m, feeder.level, getattr(self, f"{STREAMS[link.kind]}{link.suffix}_fill"))
