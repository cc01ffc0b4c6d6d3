"""A word of configuration as it is in memory, the line of a bank."""

from __future__ import annotations

from amaranth.lib import data

from ..arch.config import WORD_BITS
from ..configuration import ADDRESS_BITS

# `column` counts from the tile that sees the word.
CONFIG_WORD = data.StructLayout({"data": WORD_BITS, "address": ADDRESS_BITS, "column": 8})
