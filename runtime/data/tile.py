"""A transaction: where the words of its load streams come from, and those of store streams of a static program go to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from .load_loops import Reads
from .lying import LyingBlock
from .result import Part
from .stack import Stack
from .window import Window

# A load stream: words that are arranged for it, or parts of images, or of operands, as these lie.
Source: TypeAlias = Reads | Window | Stack | LyingBlock


@dataclass(frozen=True, eq=False)
class Tile(Mapping[str, Source]):
    """Load streams by name; results: of store streams, which parts of images they give."""

    streams: Mapping[str, Source]
    results: Mapping[str, Part]

    def __getitem__(self, name: str) -> Source:
        return self.streams[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.streams)

    def __len__(self) -> int:
        return len(self.streams)
