"""What a command prints: its result, its progress, the time it took and what to do next."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Protocol, TextIO, TypeVar

from ..hw.arch.errors import UserError

PATIENCE_S = 2.0
"""A stage that is shorter is not worth a line."""
REPEAT_S = 15.0
T = TypeVar("T")


class Reported(Protocol):
    """What the Python interface returns: facts for machines, and maybe a text for people."""

    @property
    def report(self) -> Mapping[str, object]: ...

    @property
    def text(self) -> str: ...


class _Stage:
    """What a thread does, since when, and when to say so next; seconds of time.monotonic."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.began = time.monotonic()
        self.next = self.began + PATIENCE_S


class Console:
    """Prints for one command. Use as a context manager, so that the last stage is closed.

    Parameters
    ----------
    as_json : bool    Print results as JSON.
    """

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._watch: threading.Thread | None = None
        self._stages: dict[int, _Stage] = {}

    def __enter__(self) -> Console:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._watch is not None:
            self._watch.join()

    def progress(self, stage: str) -> None:
        """Begin a stage, such as ``placing 45 blocks``, or say how far it is, ``placing 45 blocks, 12 done``; it is printed
        once it lasts PATIENCE_S. Each thread has a stage of its own."""
        thread = threading.get_ident()
        with self._lock:
            now = self._stages.get(thread)
            if now is not None and now.what.partition(", ")[0] == stage.partition(", ")[0]:
                now.what = stage
                return
            self._close(thread)
            self._stages[thread] = _Stage(stage)
            if self._watch is None:
                # A thread, because the stages are calls into code that knows nothing of consoles.
                self._watch = threading.Thread(target=self._run, name="progress", daemon=True)
                self._watch.start()

    def beside(self, work: Callable[[], T]) -> Callable[[], T]:
        """Begin work in a thread of its own; what is returned waits for its result, or raises what kept it from one. What the
        waiting thread did before is done then.

        An executor would keep an interrupted command alive until the work is done.
        """
        future: Future[T] = Future()

        def body() -> None:
            try:
                future.set_result(work())
            except BaseException as fault:
                future.set_exception(fault)
            finally:
                with self._lock:
                    self._close(threading.get_ident())

        def wait() -> T:
            with self._lock:
                self._close(threading.get_ident())
            return future.result()

        threading.Thread(target=body, daemon=True).start()
        return wait

    def _run(self) -> None:
        while not self._ended.wait(0.1):
            with self._lock:
                now = time.monotonic()
                for stage in self._stages.values():
                    if now >= stage.next:
                        write(f"  {stage.what} ... {now - stage.began:.0f} s", sys.stderr)
                        stage.next = now + REPEAT_S

    def _close(self, thread: int) -> None:
        stage = self._stages.pop(thread, None)
        if stage is not None and (lasted := time.monotonic() - stage.began) >= PATIENCE_S:
            write(f"  {stage.what}: {lasted:.1f} s", sys.stderr)

    def show(self, outcome: Reported) -> None:
        """Print a result: its text or its report as a table, or JSON."""
        text = outcome.text or table(outcome.report)
        if self.as_json:
            found = {"ok": True, "elapsed_s": round(self._elapsed(), 3), "report": outcome.report}
            text = json.dumps(found, indent=2, default=_plain)
        answer(text)

    def end(self, hint: str = "") -> None:
        """Print how long the command took and what the user may do next."""
        with self._lock:
            for thread in list(self._stages):
                self._close(thread)
        write(f"done in {self._elapsed():.1f} s" + (f"; next: {hint}" if hint else ""), sys.stderr)

    def interrupted(self) -> None:
        """Say what was going on, and how far it was, when the user stopped the command."""
        with self._lock:
            stages = "; ".join(f"{stage.what}, for {time.monotonic() - stage.began:.1f} s" for stage in self._stages.values())
        write(f"sardonyx: interrupted after {self._elapsed():.1f} s" + (f": {stages}" if stages else ""), sys.stderr)

    def _elapsed(self) -> float:
        return time.monotonic() - self._began


def write(text: str, stream: TextIO | None) -> OSError | None:
    """Print on a stream; what kept it from that. Nothing more goes there then, so that the flush at exit does not fail too."""
    try:
        print(text, file=stream, flush=True)
    except OSError as error:
        if stream is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None


def answer(text: str) -> None:
    """Print on the standard output; UserError if that is full. A reader of a pipe that leaves early (head, less) has seen
    enough."""
    error = write(text, sys.stdout)
    if error is not None and not isinstance(error, BrokenPipeError):
        raise UserError(f"the result cannot be written: {error.strerror}", "standard output", "send it where there is room")


def table(report: Mapping[str, object]) -> str:
    """A report as two columns."""
    width = max(map(len, report), default=0)
    return "\n".join(f"{name.replace('_', ' '):{width}}  {_cell(value)}".rstrip()
                     for name, value in report.items())


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_cell, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_cell(part)}" for name, part in value.items())
    return "-" if value is None else str(value)


def _plain(value: object) -> object:
    """A value that JSON does not know: paths as text, NumPy scalars and arrays as Python's."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return dict(value)
    return value.tolist() if hasattr(value, "tolist") else str(value)
