"""Whatever columns stand still in whatever cycles, a stream from one to the next and to the global buffer loses no word.

Proved of the array itself: from the global buffer down column 0, over the border, and up column 1 to the global buffer, with
both columns frozen and thawed at will, in every form of the interconnect that has valid and ready.

And that a load needs no place for what a bank shows while its column is frozen: from its first word on it has one for every
cycle in which the column is not.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from amaranth.hdl import Module, Mux, ResetSignal, Signal, Value
from prover import Harness, Verdict, always, cover, free, prove, reachable

from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.arch.primitive import PASS_THROUGH, Flow
from sardonyx.hw.arch.tile import PE, TileSpec
from sardonyx.hw.array import Array
from sardonyx.hw.configuration import packed
from sardonyx.hw.emit import Macro, macro
from sardonyx.hw.glb.load import LoadDma
from sardonyx.hw.tile.tile import TileLogic

ARCH = Arch("border", 2, 1, mem_every=0, pe=TileSpec("pe", PE.ports, (PASS_THROUGH,)), interconnect=Interconnect(1),
            glb=Glb(columns_per_tile=1), column_stall=True)
WAY = {(0, 0): ("s0", "g2f"), (0, 1): ("e0", "n_in0"), (1, 1): ("n0", "w_in0"), (1, 0): ("f2g", "s_in0")}
WIDTH = 17
# Between the tiles of the way: who offers, who takes.
HOPS = (("x0_y0.s_data_o", "x0_y1.n_data_i"), ("x0_y1.e_data_o", "x1_y1.w_data_i"), ("x1_y1.n_data_o", "x1_y0.s_data_i"))
OFFERS, TAKES = "x1_y0.core__link_f2g__valid", "x0_y0.core__link_g2f__ready"


def configured(arch: Arch) -> "dict[tuple[int, int], int]":
    found = {}
    for site, (sink, source) in WAY.items():
        spec = arch.tiles[site]
        box = "cb" if sink == "f2g" else "sb"
        space = arch.config_map(spec.kind)
        code = arch.interconnect.select(spec, sink, source, "data")
        found[site] = packed(space, space.encode({f"{box}_data": {f"{sink}_sel": code}}))
    return found


class Border(Harness):
    """Words are numbered, as in `chains.Chain`; what passes between tiles counts where neither column is frozen."""

    def __init__(self, fifo: str) -> None:
        self.arch = replace(ARCH, interconnect=Interconnect(1, fifo=fifo))
        probes = {f"{part}{n}": (f"array.{end}_{part}", WIDTH if part == "payload" else 1)
                  for n, (offers, takes) in enumerate(HOPS)
                  for end, part in ((offers, "payload"), (offers, "valid"), (takes, "ready"))}
        probes |= {f"frozen{x}": (f"array.x{x}_y0.stall", 1) for x in range(2)}
        probes |= {"offers": (f"array.{OFFERS}", 1), "takes": (f"array.{TAKES}", 1)}
        # The words behind those that FIFOs show.
        sites = {"x0_y0": "s0", "x0_y1": "e0", "x1_y1": "n0"} if fifo == "full" else {}
        probes |= {f"tail{n}": (f"array.{site}.boxes_data.stage_{track}.fifo.tail", WIDTH)
                   for n, (site, track) in enumerate(sites.items())}
        probes["tail3"] = ("array.x1_y0.core.fifo_f2g.tail", WIDTH)
        self.tails = [*range(len(sites)), 3]
        super().__init__(probes)

    def build(self, m: Module) -> None:
        m.submodules.array = array = macro(Array(self.arch, configured(self.arch)))
        # Tiles are reset a cycle after the array, in every cycle in which that was.
        late = Signal(reset_less=True)
        m.d.sync += late.eq(ResetSignal())
        m.d.comb += [array.reset.eq(ResetSignal()),
                     array.stall0.eq(free(m, 1, "stall0")), array.stall1.eq(free(m, 1, "stall1"))]

        def numbered(name: str, moves: Value) -> Signal:
            number = Signal(WIDTH, name=name, reset_less=True)
            with m.If(late):
                m.d.sync += number.eq(0)
            with m.Elif(moves):
                m.d.sync += number.eq(number + 1)
            return number

        runs = [~self.frozen0, ~self.frozen0 & ~self.frozen1, ~self.frozen1]
        sent, got = numbered("sent", array.g2f0.valid & array.g2f0.ready), numbered("got", array.f2g1.valid & array.f2g1.ready)
        passed = [numbered(f"passed{n}", getattr(self, f"valid{n}") & getattr(self, f"ready{n}") & each)
                  for n, each in enumerate(runs)]
        m.d.comb += [array.g2f0.valid.eq(free(m, 1, "offer")), Value.cast(array.g2f0.payload).eq(sent),
                     array.f2g1.ready.eq(free(m, 1, "accept"))]
        shown = Value.cast(array.f2g1.payload)
        always(m, "in order", ~array.f2g1.valid | (shown == got))
        always(m, "a frozen column shows the global buffer nothing",
               ~(self.frozen1 & array.f2g1.valid) & ~(self.frozen0 & array.g2f0.ready))
        reachable(m, "words wait in both columns", (got == 1) & ~self.takes & ~self.ready1 & ~array.f2g1.valid)

        numbers = [sent, *passed, got]
        payloads = [*(getattr(self, f"payload{n}") for n in range(3)), shown]
        valids = [*(getattr(self, f"valid{n}") for n in range(3)), self.offers]
        readies = [self.takes, *(getattr(self, f"ready{n}") for n in range(3))]
        for n in range(4):
            inside = (numbers[n] - numbers[n + 1])[:WIDTH]
            if n in self.tails:
                held = valids[n] + ~readies[n]
                always(m, f"tail {n} is the last", readies[n] | (getattr(self, f"tail{n}") == (numbers[n + 1] + 1)[:WIDTH]))
                always(m, f"tail {n} waits behind the head", readies[n] | valids[n])
            else:
                held = valids[n] if n % 2 else ~readies[n]
            always(m, f"tile {n} holds what entered and has not left", inside == held)
            always(m, f"tile {n} offers what it holds", (inside == 0) | valids[n])
            always(m, f"tile {n} shows its oldest word", (inside == 0) | (payloads[n] == numbers[n + 1]))
            if n:
                always(m, f"tile {n} is offered the next word", ~valids[n - 1] | (payloads[n - 1] == numbers[n]))


@pytest.mark.parametrize("fifo", ["split", "full"])
def test_words_cross_columns_that_stand_still_at_will(fifo: str, tmp_path: Path) -> None:
    # A reset reaches the tiles a cycle after the array.
    assert prove(Border(fifo), tmp_path, 2) == Verdict(True)


def test_words_can_wait_in_columns_that_stand_still(tmp_path: Path) -> None:
    assert cover(Border("split"), tmp_path, 14)


def open_links(tile: TileLogic, m: Module, core: Macro) -> None:
    """Join the links of an IO tile with the global buffer whether it is frozen or not, with the wires that are probed."""
    for port in tile.spec.ports:
        outer, inner = (getattr(part, f"link_{port.name}") for part in (tile, core))
        here, there = (inner, outer) if port.flow is Flow.IN else (outer, inner)
        m.d.comb += [there.payload.eq(here.payload), there.valid.eq(here.valid & (tile.stall | ~tile.stall)),
                     here.ready.eq(there.ready & (tile.stall | ~tile.stall))]


@pytest.mark.parametrize("method,instead", [("_counts", lambda tile, name: None), ("_link", open_links)],
                         ids=["between columns", "to the global buffer"])
def test_a_border_that_is_open_is_found(method: str, instead: "Callable[..., None]", tmp_path: Path,
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TileLogic, method, instead)
    assert prove(Border("split"), tmp_path, bound=10, only="in order").failed == ("in order",)


class Steady(Harness):
    """A load that comes first at its bank, whose words are taken in any cycles."""

    def __init__(self, latency: int) -> None:
        self.glb = Glb(columns_per_tile=1, bank_bytes=64, read_latency=latency, load_loops=1)
        super().__init__()

    def build(self, m: Module) -> None:
        m.submodules.load = load = macro(LoadDma(self.glb))
        latency = self.glb.load_latency
        more = free(m, 2, "more", constant=True)
        begun = Signal(range(latency + 3))      # cycles since the start, as far as they are told apart
        start = free(m, 1, "start")
        m.d.sync += begun.eq(Mux(begun != 0, begun + (begun != latency + 2), start))
        stride = free(m, load.address_bits, "stride", constant=True)
        m.d.comb += [load.loops.extent[0].eq(more), load.loops.stride[0].eq(stride), load.start.eq(start & (begun == 0)),
                     load.o.ready.eq(free(m, 1, "takes")), load.grant.eq(1)]
        taken = Signal(3)
        with m.If(load.o.valid & load.o.ready):
            m.d.sync += taken.eq(taken + 1)
        always(m, "a word in every cycle from the first one on", load.o.valid == ((begun >= latency + 1) & (taken <= more)))
        reachable(m, "all words of a load that waited", (taken == 4) & (more == 3) & ~load.busy)


@pytest.mark.parametrize("latency", [1, 3])
def test_a_load_has_a_word_for_every_cycle_in_which_its_column_moves(latency: int, tmp_path: Path) -> None:
    assert prove(Steady(latency), tmp_path, bound=12) == Verdict(True)


def test_a_load_can_end_that_waited(tmp_path: Path) -> None:
    assert cover(Steady(3), tmp_path, 12)
