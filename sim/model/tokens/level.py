"""Level: a writer and, by `output`, a scanner, a lookup, a locator or a reader, with complete levels queueing between them."""

from __future__ import annotations

from typing import NamedTuple

from ....hw.arch.primitive import LOCATE
from .process import Config, Parts

# Levels that a MEM tile holds: one is written while one is read.
BUFFERED = 2
READERS = {"scan": "scanner", "lookup": "lookup", "block": "reader", LOCATE: "locator"}


class Level(NamedTuple):
    """A buffered level: segments and coordinates, of a dense level the segments 0 and extent; values stand in crd."""

    seg: list[int]
    crd: list[int]


def parts(config: Config) -> Parts:
    """Fields as in the description of the primitive, and `words`: most words of a level's arrays, if limited."""
    output = config.get("output", "scan")
    given = "wr" if config.get("input", "block") == "stream" else "block"
    outputs = {"crd": ("reader", "crd"), "ref_o": ("reader", "ref_o")}
    return Parts(
        nodes={"writer": ("writer", config), "reader": (READERS[output], config)},
        edges=((("writer", "level"), ("reader", "level"), BUFFERED),),
        inputs={given: ("writer", given), "ref": ("reader", "ref"), **({"wr": ("reader", "at")} if output == LOCATE else {})},
        outputs={"block_o": ("reader", "block_o")} if output == "block" else outputs)
