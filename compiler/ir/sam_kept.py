"""Operations of a sparse graph on a tensor that it computes itself and keeps in MEM tiles: written and read by the same tile.

A MEM tile whose level writer takes a stream is scanned, or looked up, as one that is loaded: what is read is the whole level,
so that it may be read in any order and as often as a loop asks for it. The next transaction's level is written meanwhile.

    wr  ``4 7 S0 D``, ref  ``0 S0 0 S1 D``     crd  ``4 7 S0 4 7 S2 D``

Source: Onyx JSSC III-B; the hand-over inside the array is what fused statements need (VI-C).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .sam_levels import Scanner, Values
from .sam_ops import CRD, VAL, Ports, Settings, Space, need

STREAM = {"input": "stream"}


@dataclass(frozen=True)
class KeptScanner(Scanner):
    """Reads a level of a tensor whose coordinates come on `wr`."""

    @property
    def inputs(self) -> Ports:
        return {"wr": CRD, **super().inputs}

    @property
    def settings(self) -> Settings:
        return super().settings | STREAM

    @property
    def moved(self) -> None:
        return None

    def spaces(self, name: str, given: Mapping[str, Space]) -> dict[str, Space]:
        need(len(given["wr"]) == self.level + 1, f"the coordinates that are kept are {len(given['wr'])} levels deep")
        return super().spaces(name, given)

    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        return super().dialect(formats) | {"type": "fiberkeep", "src": "false"}

    def role(self, port: str) -> str:
        return f"keep-{self.slot}" if port == "wr" else super().role(port)


@dataclass(frozen=True)
class KeptValues(Values):
    """Looks up values of a tensor whose values come on `wr`."""

    @property
    def inputs(self) -> Ports:
        return {"wr": VAL, **super().inputs}

    @property
    def settings(self) -> Settings:
        return super().settings | STREAM

    @property
    def moved(self) -> None:
        return None

    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        return super().dialect(formats) | {"type": "arraykeep"}

    def role(self, port: str) -> str:
        return f"keep-{self.slot}" if port == "wr" else super().role(port)
