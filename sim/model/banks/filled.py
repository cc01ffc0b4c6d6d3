"""Two halves cycle by cycle, of which one is filled in, a word a cycle, while the other one is read."""

from __future__ import annotations

from collections.abc import Sequence


class Filled:
    """Whether the tensor that is read next is there. sizes: words of each tensor, with those that say how many there are."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = sizes
        self._filling = self._words = 0
        self.tensor = 0         # that is read

    @property
    def is_there(self) -> bool:
        """Whether all of it was filled in in cycles before this one."""
        return self._filling > self.tensor

    def end(self, freed: bool) -> None:
        """Do a cycle. freed: the tensor that is read is not any more."""
        if self._filling < len(self._sizes) and self._filling - self.tensor < 2:
            self._words += 1
            if self._words == self._sizes[self._filling]:
                self._filling, self._words = self._filling + 1, 0
        self.tensor += freed
