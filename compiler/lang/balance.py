"""Load balancing of recurrences: which work may move to PEs of other rows that are free.

    shift(i, by=-1, where=k >= 32)      # points with k >= 32 may be computed by the PEs for i - 1
    shift(i, to=0, where=k >= 32)       # by those for i = 0
    work_queue(i, where=k >= 32)        # by those for any i
    shift(i, to=0, where=(k >= 32) & (i > 1))                # of rows from the third on
    shift(i, to=0, where=(k >= 32) & (j < 4), grain="pe")    # of PEs with j < 4, by those of i = 0

A row is all PEs for one place of the index. It takes work that is not begun yet whole: all points of an operation of that row
for which the condition holds. With the grain `PE` each PE takes that of the PE at its place in another row, whatever its
neighbours do. A condition on an index of PEs says which of them may give work. What is computed never changes.

    work_queue(k, grain="operation")    # each place of k is an operation, which any lane may take

With the grain `OPERATION` lanes that are free take operations, none of which has a lane of its own.

Errors:  UserError for conditions on values. Which conditions part work is known with the transform (`compiler.spatial.moving`).
Source:  Stellar III-D, Listings 3 and 4; IV-B, Fig. 10; IV-E. Departure: work moves in time by itself, since rows are elastic,
         so that a shift has no entry for it; places that give are named, and so those that take are, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...hw.arch.errors import UserError, shown
from .sparsity import Condition, conjuncts, zeros

# What takes work of others at once: all PEs of a row together, or each on its own; or lanes take whole operations.
ROW, PE, OPERATION = "row", "pe", "operation"
GRAINS = (ROW, PE)


@dataclass(frozen=True)
class Balance:
    """Work that may move.

    Parameters
    ----------
    index : str              Rows are the places of this index.
    by : int                 How far away the row is that may take it, not 0; None: any row, or `to`.
    to : int                 The row that may take it; None: as `by` says.
    where : Condition        On indices, of points that may move; None of operations, of which all may.
    grain : str              `ROW`, `PE` or `OPERATION`.
    text : str               As it was written.
    """

    index: str
    by: int | None
    to: int | None
    where: Condition | None
    grain: str
    text: str

    def __post_init__(self) -> None:
        if self.where is not None and zeros(self.where):
            raise UserError(f"{shown(str(self.where))} asks for values, and which work may move is known before they are",
                            shown(self.text), "compare an index with a number, as k >= 32")

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What has to hold, each as it was written."""
        return tuple(conjuncts(self.where)) if self.where is not None else ()

    def __str__(self) -> str:
        return self.text
