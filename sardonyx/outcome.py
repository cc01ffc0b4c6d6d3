"""What a command found, and whom it tells how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """What a command found: `report` for machines, `text` for people (a table of the report when empty)."""

    report: Mapping[str, object]
    text: str = ""


@dataclass(frozen=True)
class Computed(Outcome):
    """What a run of an array gave: a result, by name or by operation where there are several, and the cycles of engines that
    count them."""

    value: Any = None
    cycles: int | None = None


def plain(value: object) -> str:
    """A value of a report for people."""
    return ", ".join(f"{name} {part}" for name, part in value.items()) if isinstance(value, dict) else str(value)


def silent(stage: str) -> None:
    """Report progress to nobody."""
