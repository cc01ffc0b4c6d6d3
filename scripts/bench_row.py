"""A line of the table of measurements."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the table: what, what was measured, the budget, and whether it is met."""

    what: str
    measured: str
    budget: str
    met: bool | None
