"""Jobs for a machine, each on as many columns as it takes, as soon as there is room: scheduled over time and space.

    with Scheduler(device) as scheduler:
        blurred = scheduler.submit(16, lambda region: sardonyx.halide.run(blur, ..., arch=region.arch, engine=region))
        product = scheduler.submit(8, lambda region: sardonyx.kernel("spmspm", ..., arch=region.arch, engine=region))
    blurred.result().value, product.result().value

A job begins on the first free columns from the west, in a region that it has for itself and that it configures, while others
compute. Jobs begin in the order in which they were submitted; one for which there is no room is overtaken by those behind it
that have some, `MOST_OVERTAKEN` times, and then these wait for it.

The host works for one job at a time and changes to another one when that waits for the machine. So a schedule is the same every
time, and a job needs no care for others, but may not wait for one.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, TypeVar

from ..hw.arch.errors import UserError
from .device import Device
from .region import Region, glb_tiles_of
from .session import Session
from .task import Task

T = TypeVar("T")

# So often may jobs that were submitted later begin before one for which there is no room.
MOST_OVERTAKEN = 4


class Job(Generic[T]):
    """Work that was submitted.

    Members
    -------
    columns : int             How many it asked for.
    first : int | None        The first of its columns; None until it begins.
    done : bool               It has ended, or raised, or was stopped with the scheduler.
    """

    def __init__(self, scheduler: Scheduler, columns: int, work: Callable[[Region], T]) -> None:
        self.columns = columns
        self.first: int | None = None
        self._scheduler, self._work = scheduler, work
        self._task: Task | None = None
        self._overtaken = 0
        self._told = self._dropped = False

    @property
    def done(self) -> bool:
        return self._dropped or (self._task is not None and self._task.done)

    def result(self) -> T:
        """Let time pass until the job is done; what its work returned. Raises what that raised, UserError if it was stopped."""
        while not self.done:
            self._scheduler.step()
        if self._task is None:
            raise UserError("the job never began", "scheduler", "submit it again")
        self._told = True
        value: T = self._task.result()
        return value


class Scheduler:
    """Gives the columns of a machine to jobs.

    Parameters
    ----------
    device : Device      With `Arch.regions` of 2 or more, of which so many jobs run at once; in which nothing runs.

    At the end of a ``with`` statement all jobs are done, the machine is one again, and the first error is raised that no
    `result` has raised. Where an error leaves the statement, jobs are stopped.
    """

    def __init__(self, device: Device) -> None:
        self._session = Session(device)
        self._arch = device.arch
        self._waiting: list[Job[Any]] = []
        self._running: dict[int, Job[Any]] = {}
        self._failed: list[Job[Any]] = []

    def submit(self, columns: int, work: Callable[[Region], T]) -> Job[T]:
        """Have work done on a region of so many columns, a `Device` with a description of its own; begins now if there is room.

        UserError where the machine has no such region.
        """
        glb_tiles_of(columns, self._arch)
        job = Job(self, columns, work)
        self._waiting.append(job)
        self._begin()
        return job

    def step(self) -> None:
        """Let time pass until the next event in the machine, and let jobs go on, end and begin."""
        self._session.step()
        self._end()
        self._begin()

    def finish(self) -> None:
        """Let time pass until all jobs are done."""
        while self._running:
            self.step()
        assert not self._waiting, "there is room for any job where none runs"

    def __enter__(self) -> Scheduler:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if error is None:
                self.finish()
        finally:
            for job in self._waiting:
                job._dropped = True
            self._waiting.clear()
            self._session.close()
        for job in self._failed:
            if error is None and not job._told:
                job.result()

    def _next(self) -> Job[Any] | None:
        """The job that begins now, if one does."""
        for place, job in enumerate(self._waiting):
            if self._session.room(job.columns) is not None:
                for other in self._waiting[:place]:
                    other._overtaken += 1
                return self._waiting.pop(place)
            if job._overtaken == MOST_OVERTAKEN:
                return None
        return None

    def _begin(self) -> None:
        """Begin jobs for which there is room."""
        while (job := self._next()) is not None:
            region = self._session.place(job.columns)
            job.first = region.tiles.start * self._arch.glb.columns_per_tile
            self._running[region.number] = job
            job._task = self._session.begin(region.number, job._work)
            self._end()

    def _end(self) -> None:
        """Take the columns of jobs that are done."""
        for number, job in [*self._running.items()]:
            if job.done:
                del self._running[number]
                self._session.forget(number)
                self._session.release(number)
                if job._task is not None and job._task.failed:
                    self._failed.append(job)
