"""Proofs are kept, and nothing but proofs: a text that changed is proved anew."""

from pathlib import Path
from typing import Any

import prover
import pytest
from amaranth.hdl import Module, Signal
from prover import Harness, Verdict, always, cover, prove, reachable

from sardonyx.cache import Cache


class Counter(Harness):
    """Counts to a last number and begins again."""

    def __init__(self, last: int) -> None:
        self.last = last
        super().__init__()

    def build(self, m: Module) -> None:
        count = Signal(4)
        with m.If(count == self.last):
            m.d.sync += count.eq(0)
        with m.Else():
            m.d.sync += count.eq(count + 1)
        always(m, "at most five", count <= 5)
        reachable(m, "three", count == 3)


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prover, "home", lambda: Cache(tmp_path / "cache"))


def refuse(*_: Any) -> Any:
    raise AssertionError("the solver runs")


def test_what_was_proved_is_not_proved_again_and_another_text_or_question_is(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert prove(Counter(5), tmp_path) == Verdict(True) and cover(Counter(5), tmp_path, 8)
    with monkeypatch.context() as patch:
        patch.setattr(prover, "_solve", refuse)
        assert prove(Counter(5), tmp_path) == Verdict(True) and cover(Counter(5), tmp_path, 8)
        for ask in (lambda: prove(Counter(4), tmp_path), lambda: prove(Counter(5), tmp_path, bound=9),
                    lambda: prove(Counter(5), tmp_path, k=2), lambda: prove(Counter(5), tmp_path, only="at most five"),
                    lambda: cover(Counter(5), tmp_path, 2)):
            with pytest.raises(AssertionError, match="the solver runs"):
                ask()


def test_another_tool_or_prover_is_another_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = prover._key("text", Counter(5))
    with monkeypatch.context() as patch:
        patch.setattr(prover.importlib.metadata, "version", lambda tool: "0")
        assert prover._key("text", Counter(5)) != before
    # Versions are read from files, too.
    monkeypatch.setattr(prover.importlib.metadata, "version", lambda tool: "1")
    before, read = prover._key("text", Counter(5)), Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda path, *args: read(path, *args) + "#" * (path.name == "prover.py"))
    assert prover._key("text", Counter(5)) != before


def test_a_run_that_fails_is_found_each_time_and_an_open_induction_is_no_proof(tmp_path: Path) -> None:
    for _ in range(2):
        found = prove(Counter(6), tmp_path, bound=9)
        assert found.failed == ("at most five",) and found.cycles == 7 and found.trace and found.trace.exists()
    # Three cycles of it keep to what is asserted.
    assert prove(Counter(8), tmp_path, k=2).open == ("at most five",)
    assert not list((tmp_path / "cache").glob("proofs/*"))
