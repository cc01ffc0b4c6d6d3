"""Spread work over processes of this machine, or over the workers of a cluster (dask.distributed, the extra ``cluster``).

    with workers(None, 4) as found:             four processes, forked
    with workers("local", 4) as found:          a cluster of four processes here, for what a cluster would do
    with workers("tcp://host:8786") as found:   the workers of a scheduler that runs there
        for item, result in found.each(shared, call, items): ...

Input:   shared: what every item needs, sent once; call(shared, item), a function of a module; on a cluster all are pickled.
Output:  items with their results, as they come.
Errors:  UserError for a cluster that is not there or goes away, for workers with another Sardonyx, for a process that is
         killed, and what `call` raises.
Cost:    a cluster here takes some seconds to start. Items are looked at again elsewhere where a worker dies.
"""

from __future__ import annotations

import importlib.metadata
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, nullcontext
from typing import Any, Protocol, TypeVar

from . import arguments
from .hw.arch.errors import UserError, shown

LOCAL = "local"
MOST_JOBS = 256
WATCH_S = 1         # Between two looks at the process that began one.
PATIENCE_S = 10     # For a scheduler to answer.
SENT, SENT_S = 5, 1     # How often what items share is sent while workers come and go, and seconds between.
LOUD = ("distributed", "asyncio", "tornado")
MISSING = "pip install 'sardonyx[cluster]'"
Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers(Protocol):
    """Where items are looked at."""

    def each(self, shared: Shared, call: Callable[[Shared, Item], Result], items: Sequence[Item]
             ) -> Iterator[tuple[Item, Result]]:
        """Every item with what `call` gives for it, as it comes."""


def processes(jobs: object, cluster: object, default: int) -> int:
    """How many processes there are; UserError for a number where a cluster has workers of its own."""
    if cluster is not None and arguments.text("cluster", cluster) != LOCAL and jobs is not None:
        raise UserError(f"the workers of {shown(str(cluster))} are as many as it has", "jobs",
                        "leave jobs out, or use cluster local")
    return arguments.whole("jobs", default if jobs is None else jobs, 1, MOST_JOBS)


@contextmanager
def workers(cluster: str | None, jobs: int) -> Iterator[Workers]:
    """Processes, or the workers of a cluster: ``local``, with so many, or the address of a scheduler, which has its own."""
    if cluster is None:
        # Closed here, where an exception passes, and not when somebody forgets the generator that was behind it.
        with closing(Processes(jobs)) as here:
            yield here
        return
    try:
        import distributed
    except ImportError:
        raise UserError("a cluster needs the package distributed, which is not installed", "cluster", MISSING) from None
    with _quiet(), _client(distributed, cluster, jobs) as client:
        found = Cluster(client, cluster)
        found.check()
        yield found


@contextmanager
def _client(distributed: Any, cluster: str, jobs: int) -> Iterator[Any]:
    own = nullcontext() if cluster != LOCAL else distributed.LocalCluster(
        n_workers=jobs, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL")
    with own as local:
        try:
            client = distributed.Client(local or cluster, timeout=PATIENCE_S, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise UserError(f"no scheduler answers: {shown(str(error), 200)}", f"cluster {shown(cluster)}",
                            "start one with 'dask scheduler', and workers with 'dask worker ADDRESS', or use local") from None
        with client:
            yield client


@contextmanager
def _quiet() -> Iterator[None]:
    """Whatever goes wrong with a cluster is said once, by an error."""
    # Some modules of them have a level of their own.
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in LOUD]
    levels = {name: logging.getLogger(name).level for name in (*LOUD, *names)}
    try:
        for name in levels:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


class Processes:
    """Processes of this machine, forked: what they work on need not be a program that can be imported."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._pool: ProcessPoolExecutor | None = None
        self._own = set[multiprocessing.process.BaseProcess]()

    def each(self, shared: Shared, call: Callable[[Shared, Item], Result], items: Sequence[Item]
             ) -> Iterator[tuple[Item, Result]]:
        """Every item with what `call` gives for it, as it comes; here for a single process or item."""
        if self.jobs == 1 or len(items) < 2:
            for item in items:
                yield item, call(shared, item)
            return
        count = min(self.jobs, len(items))
        try:
            with _later():
                others = set(multiprocessing.active_children())
                self._pool = ProcessPoolExecutor(count, multiprocessing.get_context("fork"), _begin, (shared, call))
                running = {self._pool.submit(_next, item): item for item in items}
                self._own = set(multiprocessing.active_children()) - others
            for done in as_completed(running):
                yield running[done], done.result()
        except BrokenProcessPool:
            raise UserError(f"one of {count} processes was killed before its part was done, as when memory runs out", "jobs",
                            "use fewer; what is kept in a file (--state) is not done again") from None
        finally:
            self.close()

    def close(self) -> None:
        """End the processes. Nobody waits for what is under way: the user has interrupted it, or takes no more of it."""
        with _later():
            pool, self._pool = self._pool, None
            if pool is None:
                return
            # One that is killed while it sends a result would leave the pool waiting for the rest of it.
            for process in self._own & set(multiprocessing.active_children()):
                assert process.pid is not None, "it was started"
                os.kill(process.pid, signal.SIGINT)
            pool.shutdown(wait=True, cancel_futures=True)


class Cluster:
    """The workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
    name : str                     As the user calls it.
    """

    def __init__(self, client: Any, name: str) -> None:
        self.client, self.name = client, name

    def check(self) -> None:
        """UserError where there are no workers, or some or the scheduler have another Sardonyx than this process."""
        own = installed_version()
        # The scheduler reads what is asked for as well.
        for who, found in (("workers", self._versions(self.client.run)),
                           ("the scheduler", self._versions(lambda call: {"": self.client.run_on_scheduler(call)}))):
            if not found:
                raise UserError(f"the cluster has no {who}", f"cluster {shown(self.name)}",
                                "start some with 'dask worker ADDRESS'")
            if others := sorted({version for version in found.values() if version != own}):
                raise UserError(f"{who} ha{'s' if who[-1] == 'r' else 've'} version {', '.join(others)} of Sardonyx, here it "
                                f"is {own}", f"cluster {shown(self.name)}", "install the same one everywhere")

    def _versions(self, ask: Callable[[Callable[[], str]], Mapping[str, str]]) -> Mapping[str, str]:
        try:
            return ask(installed_version)
        except ImportError:
            return {"": "none"}
        except OSError as error:
            raise self._gone(error) from None

    def each(self, shared: Shared, call: Callable[[Shared, Item], Result], items: Sequence[Item]
             ) -> Iterator[tuple[Item, Result]]:
        """Every item with what `call` gives for it, as it comes."""
        import distributed

        if not items:
            return      # It would not know of which client.
        running: dict[Any, Item] = {}
        try:
            there = self._sent(shared)
            running = {self.client.submit(call, there, item, pure=False): item for item in items}
            for done in distributed.as_completed(list(running), loop=self.client.loop):
                yield running[done], done.result()
        except (distributed.CancelledError, distributed.scheduler.KilledWorker, distributed.comm.CommClosedError, OSError,
                TimeoutError) as error:
            raise self._gone(error) from None
        finally:
            if self.client.status == "running":
                self.client.cancel(list(running))

    def _sent(self, shared: object) -> Any:
        """What every worker then has; sent once more where one went away meanwhile, as long as there are others."""
        for left in reversed(range(SENT)):
            try:
                return self.client.scatter(shared, hash=False, broadcast=True)
            except (KeyError, OSError) as error:
                if not left or isinstance(error, TimeoutError):
                    raise self._gone(error) from None
                time.sleep(SENT_S)
        raise AssertionError("the last time it is sent or refused")

    def _gone(self, error: Exception) -> UserError:
        return UserError(f"the cluster went away: {type(error).__name__} {shown(str(error), 100)}".rstrip(),
                         f"cluster {shown(self.name)}", "start it again; what is kept in a file (--state) is not done again")


_here: tuple[Any, Callable[[Any, Any], Any]] | None = None      # Of a process of the pool.
_busy = False           # Whether it is with an item.
_noted: list[int] = []  # Interrupts that came while processes began; of a process of the pool, any.


@contextmanager
def _later() -> Iterator[None]:
    """An interrupt in here counts behind it: what Python does around a fork loses it."""
    if threading.current_thread() is not threading.main_thread():
        yield       # Other threads are not interrupted.
        return
    before = signal.signal(signal.SIGINT, lambda number, _: _noted.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        came = _noted[:1]
        _noted.clear()
    for number in came:
        signal.raise_signal(number)


def _begin(shared: Any, call: Callable[[Any, Any], Any]) -> None:
    global _here
    _here = shared, call
    signal.signal(signal.SIGINT, _stop)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()


def _stop(number: int, _: object) -> None:
    """An interrupt of a process of the pool ends its item; what it waits for, and what it sends, it leaves to the pool."""
    _noted.append(number)
    if _busy:
        raise KeyboardInterrupt


def _end_with(parent: int) -> None:
    """End this process when the one that began it is gone, however that ended: the pool alone would wait for more items."""
    while os.getppid() == parent:
        time.sleep(WATCH_S)
    os._exit(1)


def _next(item: Any) -> Any:
    global _busy
    assert _here is not None, "a process of the pool begins with what its items share"
    shared, call = _here
    try:
        _busy = True
        if _noted:
            raise KeyboardInterrupt
        return call(shared, item)
    finally:
        _busy = False


def installed_version() -> str:
    """That of the Sardonyx of this process."""
    return importlib.metadata.version("sardonyx")
