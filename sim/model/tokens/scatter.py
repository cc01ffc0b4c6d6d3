"""Scatter: a writer of dense fibers and a reader, with complete arrays queueing between them."""

from __future__ import annotations

from .level import BUFFERED
from .process import Config, Parts


def parts(config: Config) -> Parts:
    """Config: extent, whole, below, and `words`: most words of an array, if limited."""
    return Parts(
        nodes={"writer": ("dense_writer", config), "reader": ("reader", {"values": True})},
        edges=((("writer", "level"), ("reader", "level"), BUFFERED),),
        inputs={"at": ("writer", "at"), "val": ("writer", "val")},
        outputs={"block_o": ("reader", "block_o")})
