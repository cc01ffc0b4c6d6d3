from collections.abc import Callable
from pathlib import Path

import broken
import pytest
from amaranth.lib import wiring
from chains import FIFO2, Chain, Link, Static, fifo_link, pass_through_link, stage_link
from prover import Verdict, cover, prove

from sardonyx.hw.arch.interconnect import MODES, Interconnect
from sardonyx.hw.interconnect.stage import EVEN, ODD, PARITIES, stage
from sardonyx.hw.stream.fifo import Fifo2


def route(fifo: str, parity: int, hops: int) -> list[Link]:
    """The stages of a route that starts in a tile of a parity."""
    return [stage_link(fifo, parity + n & 1) for n in range(hops)]


# Links, and bits of the payload: enough to number one word more than the chain holds in any link.
CHAINS = {f"{fifo}-{PARITIES[parity]}-{hops}": (route(fifo, parity, hops), 3)
          for fifo in ("split", "full") for parity in (EVEN, ODD) for hops in (1, 2, 4)}
CHAINS |= {f"split-{PARITIES[parity]}-2-core": ([*route("split", parity, 2), FIFO2], 3) for parity in (EVEN, ODD)}
CHAINS |= {f"fifo2-{n}": ([FIFO2] * n, 3) for n in (1, 3)}
CHAINS |= {f"fifo-{depth}": ([fifo_link(depth)], width) for depth, width in ((2, 3), (3, 3), (5, 3), (16, 5))}
CHAINS |= {"pass-through": ([pass_through_link()], 17)}


@pytest.mark.parametrize("name", CHAINS)
def test_chain_keeps_words_order_contract_and_rate(name: str, tmp_path: Path) -> None:
    chain = Chain(*CHAINS[name])
    assert prove(chain, tmp_path, chain.k) == Verdict(True)


@pytest.mark.parametrize("name", ["split-even-4", "full-odd-4", "fifo-5"])
def test_chain_can_fill_up(name: str, tmp_path: Path) -> None:
    assert cover(Chain(*CHAINS[name]), tmp_path, 20)


SETTINGS = [(fifo, parity, mode, 0 if parity == EVEN and mode == "static" else 1)
            for fifo in ("split", "full") for parity in (EVEN, ODD) for mode in ("static", "delay")]


@pytest.mark.parametrize(("fifo", "parity", "mode", "latency"), SETTINGS)
def test_static_stage_is_a_pipeline_register(fifo: str, parity: int, mode: str, latency: int,
                                             tmp_path: Path) -> None:
    def make(width: int) -> wiring.Component:
        return stage(Interconnect(fifo=fifo), parity, width)

    assert prove(Static(make, ("mode", MODES.index(mode)), latency), tmp_path) == Verdict(True)


def test_static_fifo2_is_a_pipeline_register(tmp_path: Path) -> None:
    assert prove(Static(Fifo2, ("static", 1), 1), tmp_path) == Verdict(True)


def test_wrong_static_latency_is_found(tmp_path: Path) -> None:
    verdict = prove(Static(Fifo2, ("static", 1), 2), tmp_path, only="valid moves every cycle")
    assert verdict.failed == ("valid moves every cycle",)


BUGS = [
    (broken.NoSkid, "in order"), (broken.Overwritten, "in order"), (broken.Echo, "in order"),
    (broken.LastFirst, "in order"), (broken.DropsZero, "in order"), (broken.Wire, "o is not retracted"),
    (broken.Overwritten, "o does not change"), (broken.Pushed, "link 0 offers what it holds"),
    (broken.HalfRate, "a word enters in every cycle"), (broken.HalfRate, "a word leaves in every cycle"),
]


@pytest.mark.parametrize(("make", "found"), BUGS)
@pytest.mark.parametrize("alone", [True, False], ids=["alone", "in a route"])
def test_planted_bug_is_found(make: Callable[[int], wiring.Component], found: str, alone: bool,
                              tmp_path: Path) -> None:
    bug = Link(make, 1, 1, lambda part, _: part.o.valid)
    verdict = prove(Chain([bug] if alone else [bug, FIFO2]), tmp_path, bound=12, only=found)
    if not alone and found.startswith("o "):
        assert verdict == Verdict(True), "the FIFO behind it restores the contract"
        return
    assert verdict.failed == (found,) and verdict.trace and verdict.trace.exists()


def test_open_induction_is_no_proof(tmp_path: Path) -> None:
    assert prove(Chain([FIFO2]), tmp_path, only="in order") == Verdict(False, open=("in order",))
