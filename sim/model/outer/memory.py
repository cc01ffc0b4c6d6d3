"""Memory as lanes see it: what stands there, and nodes."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from ....hw.arch.outer_product import WORD_BYTES
from .port import Run


class Memory:
    """The words of 32 bits of memory; of those that lanes write values are 0, as they play no part."""

    def __init__(self, content: bytes) -> None:
        self._words = array("I", content)
        assert self._words.itemsize == WORD_BYTES, "words have 32 bits"

    def words(self, run: Run) -> list[int]:
        """Those of a run."""
        at = run.address // WORD_BYTES
        return self._words[at:at + run.words].tolist()

    def write(self, address: int, words: Sequence[int]) -> None:
        """Words one behind the other."""
        at = address // WORD_BYTES
        self._words[at:at + len(words)] = array("I", words)

    def node(self, address: int) -> tuple[int, int]:
        """The address of the next node, and how many words one has."""
        at = address // WORD_BYTES
        return self._words[at], self._words[at + 1]
