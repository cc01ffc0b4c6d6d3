"""Load balancing of recurrences: which work may move to PEs of other rows that are free.

    shift(i, by=-1, where=k >= 32)      # points with k >= 32 may be computed by the PEs for i - 1
    shift(i, to=0, where=k >= 32)       # by those for i = 0
    work_queue(i, where=k >= 32)        # by those for any i

A row is all PEs for one place of the index. It takes work that is not begun yet whole: all points of an operation of that row
for which the condition holds. With the grain `PE` each PE takes that of the PE at its place in another row, whatever its
neighbours do. What is computed never changes.

    work_queue(k, grain="operation")    # each place of k is an operation, which any lane may take

With the grain `OPERATION` lanes that are free take operations, none of which has a lane of its own.

Errors:  UserError for conditions that part no work.
Source:  Stellar III-D, Listings 3 and 4; IV-B, Fig. 10; IV-E. Departure: work moves in time by itself, since rows are elastic,
         so that a shift has no entry for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...hw.arch.errors import UserError, shown
from .sparsity import Compare, Condition

# What takes work of others at once: all PEs of a row together, or each on its own; or lanes take whole operations.
ROW, PE, OPERATION = "row", "pe", "operation"
GRAINS = (ROW, PE)


@dataclass(frozen=True)
class Balance:
    """Work that may move.

    Parameters
    ----------
    index : str      Rows are the places of this index.
    by : int         How far away the row is that may take it, not 0; None: any row, or `to`.
    to : int         The row that may take it; None: as `by` says.
    part : str       The index that parts the work; "" of operations, of which all may move.
    begin : int      Where what may move begins, along it.
    grain : str      `ROW`, `PE` or `OPERATION`.
    text : str       As it was written.
    """

    index: str
    by: int | None
    to: int | None
    part: str
    begin: int
    grain: str
    text: str

    def __str__(self) -> str:
        return self.text


def parted(condition: Condition, text: str) -> tuple[str, int]:
    """The index of a condition, and where it begins to hold; UserError for another one than ``k >= 32``."""
    if isinstance(condition, Compare) and condition.relation in ("<", "<=") and len(condition.sum.terms) == 1:
        (index, factor), = condition.sum.terms
        if factor == -1:
            return index, condition.sum.constant + (condition.relation == "<")
    raise UserError(f"{shown(str(condition))} does not say from where on work may move", shown(text),
                    "compare an index with a number, as k >= 32")
