"""What a command found, and whom it tells how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """What a command found: `report` for machines, `text` for people (a table of the report when empty)."""

    report: Mapping[str, object]
    text: str = ""


def silent(stage: str) -> None:
    """Report progress to nobody."""
