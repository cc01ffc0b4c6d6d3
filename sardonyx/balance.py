"""Load balancing of spatial arrays as Python writes it: which work may move, and where to.

What that means, and what is refused, `sardonyx.compiler.lang.balance` says.
"""

from __future__ import annotations

from . import arguments
from .compiler.lang.balance import Balance, parted
from .compiler.lang.recurrence import Index
from .hw.arch.elastic import MOST_LANES
from .hw.arch.errors import UserError
from .sparsity import Condition


def shift(index: object, *, by: object, where: object) -> Balance:
    """Work that a row may take from another one when it is free.

    index: rows are its places. by: which row may take the work of row i: i + by, -64..64, not 0. where: the points that may
    move, as ``k >= 32``, k being time.
    """
    try:
        distance = arguments.whole("by", by, -MOST_LANES, MOST_LANES)
    except UserError as mistake:
        raise UserError(mistake.what, "by", f"give a whole number -{MOST_LANES}..{MOST_LANES}, not 0") from mistake
    if not distance:
        raise UserError("it is 0, by which nothing moves", "by", "give -1, for the row before")
    return _balance(index, distance, where, f"shift {index} by {distance} where {where}")


def work_queue(index: object, *, where: object) -> Balance:
    """Work that any row may take when it is free; otherwise as `shift`."""
    return _balance(index, None, where, f"work queue of {index} where {where}")


def _balance(index: object, by: int | None, where: object, text: str) -> Balance:
    if not isinstance(index, Index):
        raise UserError(f"it is {arguments.said(index)}, which is no index", "balance", "name them by sp.indices(...)")
    if not isinstance(where, Condition):
        raise UserError(f"it is {arguments.said(where)}, which is no condition", "where",
                        "compare an index with a number, as k >= 32")
    return Balance(index.name, by, *parted(where.condition, text), text)
