"""Sardonyx: reconfigurable accelerators for sparse and dense tensor algebra, from one description in Python.

    >>> import scipy.sparse, sardonyx
    >>> b = scipy.sparse.eye_array(3, dtype="int16").tocsr()
    >>> sardonyx.einsum("X(i,j) = B(i,k) * C(k,j)", B=b, C=b, engine="golden").value.nnz
    3

`einsum` and `kernel` run programs, `graph` the graphs of others; `get_arch` gives the description of a machine; `UserError`
is what they raise.
`tune` finds the order, formats and sub-tiles of a program that take the fewest cycles.
`simulated` makes a device of one, `Session` runs several programs on it at once, and `Scheduler` finds places for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import Result, einsum, kernel, simulated
    from .compiler.lang.schedule import Schedule
    from .graphs import graph
    from .hw.arch.errors import UserError
    from .hw.arch.presets import get as get_arch
    from .runtime.scheduler import Scheduler
    from .runtime.session import Session
    from .tuning import tune

_PLACES = {"einsum": ("api", "einsum"), "kernel": ("api", "kernel"), "Result": ("api", "Result"),
           "UserError": ("hw.arch.errors", "UserError"), "get_arch": ("hw.arch.presets", "get"),
           "Scheduler": ("runtime.scheduler", "Scheduler"), "Session": ("runtime.session", "Session"),
           "simulated": ("api", "simulated"), "graph": ("graphs", "graph"),
           "Schedule": ("compiler.lang.schedule", "Schedule"), "tune": ("tuning", "tune")}
__all__ = ["Result", "Schedule", "Scheduler", "Session", "UserError", "einsum", "get_arch", "graph", "kernel",
           "simulated", "tune"]


def __getattr__(name: str) -> Any:
    # Loaded on first use, so that `sardonyx --help` and `sardonyx doctor` need none of the packages.
    if name not in _PLACES:
        raise AttributeError(f"module 'sardonyx' has no attribute '{name}'")
    from importlib import import_module
    module, attribute = _PLACES[name]
    return getattr(import_module(f".{module}", __name__), attribute)
