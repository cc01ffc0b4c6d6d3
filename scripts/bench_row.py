"""A line of the table of measurements, what a measurement leaves out, and what it is given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One line of the table: what, what was measured, the budget, and whether it is met.

    what : str              Names the line: it holds no number that may be another one next time, and no other line has it.
    paper : str             The paper's figure.
    ratio : float or None   Ours to that, where both are numbers.
    """

    what: str
    measured: str
    budget: str
    met: bool | None
    paper: str = ""
    ratio: float | None = None

    def line(self) -> str:
        """In Markdown."""
        paper = f"paper: {self.paper}" if self.paper else ""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f} of it"
        words = {None: "", True: "met", False: "**missed**"}
        return f"| {self.what} | {self.measured} | {'; '.join(filter(None, (self.budget, paper, ratio)))} | {words[self.met]} |"


def to_paper(ours: float, paper: float, said: str) -> tuple[str, float]:
    """The paper's figure as it is said, and ours to it; of a range `paper` is the end that is harder to reach."""
    return said, ours / paper


@dataclass(frozen=True)
class Left:
    """A line that was not measured, and why: it stays as it is, and says so."""

    what: str
    why: str


@dataclass(frozen=True)
class Given:
    """What measurements may have from outside of the project: a folder of matrices, and one of cell libraries, or a library."""

    data: Path | None = None
    liberty: Path | None = None
