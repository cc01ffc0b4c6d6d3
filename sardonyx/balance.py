"""Load balancing of spatial arrays as Python writes it: which work may move, and where to.

What that means, and what is refused, `sardonyx.compiler.lang.balance` says.
"""

from __future__ import annotations

from . import arguments
from .compiler.lang.balance import GRAINS, OPERATION, ROW, Balance
from .compiler.lang.recurrence import Index
from .hw.arch.elastic import MOST_LANES
from .hw.arch.errors import UserError
from .sparsity import Condition


def shift(index: object, *, where: object = None, by: object = None, to: object = None, grain: object = ROW) -> Balance:
    """Work that a row may take from another one when it is free.

    index: rows are its places. by: which row may take the work of row i: i + by, -64..64, not 0. to: in its place, the one row
    that may, 0..63. where: the points that may move, as ``k >= 32``, k being time, or ``(k >= 32) & (i > 1)``: of these rows.
    grain: "row": all PEs of a row together; "pe": each PE on its own, which then has ports in place of wires to the PEs beside
    it, and may be named by any of its indices.
    """
    if (by is None) == (to is None):
        raise UserError("it has both `by` and `to`" if to is not None else "it has neither `by` nor `to`", "balance",
                        "give by=-1, for the row before, or to=0, for the first one")
    if to is not None:
        return _balance(index, None, arguments.whole("to", to, 0, MOST_LANES - 1), where, grain, f"shift {index} to {to}")
    try:
        distance = arguments.whole("by", by, -MOST_LANES, MOST_LANES)
    except UserError as mistake:
        raise UserError(mistake.what, "by", f"give a whole number -{MOST_LANES}..{MOST_LANES}, not 0") from mistake
    if not distance:
        raise UserError("it is 0, by which nothing moves", "by", "give -1, for the row before")
    return _balance(index, distance, None, where, grain, f"shift {index} by {distance}")


def work_queue(index: object, *, where: object = None, grain: object = ROW) -> Balance:
    """Work that any row may take when it is free; otherwise as `shift`.

    grain: "operation", without `where`: of an array of lanes, whose operations are the places of the index.
    """
    if isinstance(grain, str) and grain == OPERATION:
        if not isinstance(index, Index) or where is not None:
            told = [str(each) if isinstance(each, Index | Condition) else arguments.said(each) for each in (index, where)]
            raise UserError(f"it is of {told[0]}, where {told[1]}", "balance",
                            'give sp.work_queue(k, grain="operation"): any operation may go to any lane')
        return Balance(index.name, None, None, None, OPERATION, f"work queue of {index}, an operation at a time")
    return _balance(index, None, None, where, grain, f"work queue of {index}")


def _balance(index: object, by: int | None, to: int | None, where: object, grain: object, what: str) -> Balance:
    if not isinstance(index, Index):
        raise UserError(f"it is {arguments.said(index)}, which is no index", "balance", "name them by sp.indices(...)")
    if not isinstance(where, Condition):
        said = "there is none" if where is None else f"it is {arguments.said(where)}, which is no condition"
        raise UserError(said, "where",
                        "compare an index with a number, as k >= 32")
    if not isinstance(grain, str) or grain not in GRAINS:
        raise UserError(f"it is {arguments.said(grain)}", "grain", f"choose {' or '.join(GRAINS)}")
    text = f"{what} where {where}{'' if grain == ROW else ', each PE on its own'}"
    return Balance(index.name, by, to, where.condition, grain, text)
