from collections.abc import Callable
from pathlib import Path

import broken
import pytest
from amaranth.lib import wiring
from chains import FIFO2, Chain, Link, Static, fifo_link, pass_through_link, stage_link
from prover import Harness, Side, Verdict, cover, prove

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
CHAINS |= {"inputs-even-3-core": ([*route("inputs", EVEN, 3), FIFO2], 3)}
CHAINS |= {f"fifo2-{n}": ([FIFO2] * n, 3) for n in (1, 3)}
CHAINS |= {f"fifo-{depth}": ([fifo_link(depth)], width) for depth, width in ((2, 3), (3, 3), (5, 3), (16, 5))}
CHAINS |= {"pass-through": ([pass_through_link()], 17), "pass-through-3": ([pass_through_link(3)], 17)}


# By the cycles that induction needs.
BY_K: dict[int, dict[str, Harness]] = {}
for name, (links, width) in CHAINS.items():
    chain = Chain(links, width)
    BY_K.setdefault(chain.k, {})[name] = chain


@pytest.mark.parametrize("k", BY_K)
def test_chains_keep_words_order_contract_and_rate(k: int, tmp_path: Path) -> None:
    assert prove(Side(BY_K[k]), tmp_path, k) == Verdict(True)


def test_chains_can_fill_up(tmp_path: Path) -> None:
    assert cover(Side({name: Chain(*CHAINS[name]) for name in ("split-even-4", "full-odd-4", "fifo-5")}), tmp_path, 20)


SETTINGS = [(fifo, parity, mode, 0 if (fifo, parity, mode) == ("split", EVEN, "static") else 1)
            for fifo in ("split", "full") for parity in (EVEN, ODD) for mode in ("static", "delay")]


def test_static_stages_and_fifo2_are_pipeline_registers(tmp_path: Path) -> None:
    def static(fifo: str, parity: int, mode: str, latency: int) -> Harness:
        return Static(lambda width: stage(Interconnect(fifo=fifo), parity, width), ("mode", MODES.index(mode)), latency)

    stages = {"-".join(map(str, setting)): static(*setting) for setting in SETTINGS}
    assert prove(Side(stages | {"fifo2": Static(Fifo2, ("is_static", 1), 1)}), tmp_path) == Verdict(True)


def test_wrong_static_latency_is_found(tmp_path: Path) -> None:
    verdict = prove(Static(Fifo2, ("is_static", 1), 2), tmp_path, only="valid moves every cycle")
    assert verdict.failed == ("valid moves every cycle",)


BUGS = [
    (broken.NoSkid, "in order"), (broken.Overwritten, "in order"), (broken.Echo, "in order"),
    (broken.LastFirst, "in order"), (broken.DropsZero, "in order"), (broken.Wire, "o is not retracted"),
    (broken.Overwritten, "o does not change"), (broken.Pushed, "link 0 offers what it holds"),
    (broken.HalfRate, "a word enters in every cycle"), (broken.HalfRate, "a word leaves in every cycle"),
]


def planted(make: Callable[[int], wiring.Component], alone: bool) -> Harness:
    bug = Link(make, 1, 1, lambda part, _: part.o.valid)
    return Chain([bug] if alone else [bug, FIFO2])


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "in a route"])
def test_planted_bugs_are_found(alone: bool, tmp_path: Path) -> None:
    # Each beside the others, with no assertion but the one that must find it.
    chains = {f"bug{n}": planted(make, alone) for n, (make, _) in enumerate(BUGS)}
    asked = [f"bug{n} {found}" for n, (_, found) in enumerate(BUGS)]
    verdict = prove(Side(chains), tmp_path, bound=12, only=asked)
    # The FIFO behind it restores the contract.
    restored = [] if alone else [name for name, (_, found) in zip(asked, BUGS) if found.startswith("o ")]
    assert len(restored) == (0 if alone else 2)
    assert sorted(verdict.failed) == sorted(set(asked) - set(restored))


def test_a_failing_run_is_shown(tmp_path: Path) -> None:
    verdict = prove(planted(broken.NoSkid, True), tmp_path, bound=12, only="in order")
    assert verdict.failed == ("in order",) and verdict.trace and verdict.trace.exists()


def test_side_by_side_a_chain_fails_as_alone(tmp_path: Path) -> None:
    """In the same cycle and under its name, whether the others hold or are broken themselves."""
    alone = prove(planted(broken.Echo, True), tmp_path, bound=12)
    beside = prove(Side({"good": Chain([FIFO2]), "bad": planted(broken.Echo, True)}), tmp_path, bound=12)
    assert beside.failed == tuple(f"bad {name}" for name in alone.failed) and beside.cycles == alone.cycles
    open_beside = prove(Side({"good": Static(Fifo2, ("is_static", 1), 1), "open": Chain([FIFO2])}), tmp_path,
                        only=["open in order"])
    assert open_beside == Verdict(False, open=("open in order",))


def test_open_induction_is_no_proof(tmp_path: Path) -> None:
    assert prove(Chain([FIFO2]), tmp_path, only="in order") == Verdict(False, open=("in order",))
