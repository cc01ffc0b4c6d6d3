"""Work of the host that waits for a machine now and then, so that other work can go on meanwhile.

A task is a function with a stack of its own (a greenlet): it runs until it waits, and goes on there. One at a time is at work,
in an order that only the machine decides, so a run is the same every time and nothing else has to know of tasks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet

from ..hw.arch.errors import UserError


class Task(greenlet):
    """A function that goes on when what it waits for has come.

    Parameters
    ----------
    work : function      Without arguments; `Task.here().pause(...)` in it waits.

    Members
    -------
    done : bool          It has returned or raised, or was cancelled.
    region, limit        Of which region it awaits the interrupt, and for how many cycles at most. While it is paused.
    """

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__()
        self._work = work
        self._value: Any = None
        self._error: Exception | None = None
        self.done = False
        self.region, self.limit = 0, 0

    @staticmethod
    def here() -> Task | None:
        """The task that is at work; None outside of all."""
        current = getcurrent()
        return current if isinstance(current, Task) else None

    def run(self) -> None:
        """Do all of it. Called where it is resumed first."""
        try:
            self._value = self._work()
        except GreenletExit:
            self._error = UserError("work was stopped before its end", "session", "wait for it before the session ends")
        except Exception as error:
            self._error = error
        finally:
            self.done = True

    def resume(self, came: bool = True) -> None:
        """Go on until it waits again, or to its end. came: what it waited for."""
        self.parent = getcurrent()
        self.switch(*([came] if self else []))

    def pause(self, region: int, limit: int) -> bool:
        """Wait for a region's interrupt, at most `limit` cycles; whether it came. For the task itself."""
        self.region, self.limit = region, limit
        assert self.parent is not None
        return bool(self.parent.switch())

    @property
    def failed(self) -> bool:
        """Whether it has no value."""
        return self._error is not None

    def result(self) -> Any:
        """What it returned; raises what it raised, and UserError if it was cancelled."""
        assert self.done, "a task that has ended has a result"
        if self._error is not None:
            raise self._error
        return self._value

    def cancel(self) -> None:
        """End it where it waits."""
        if not self.done:
            self.parent = getcurrent()
            self.throw()
