"""The cache on the user's disk: what takes long to make and is decided by what it is made of is made once.

An entry is a folder ``<kind>/<name>``; the name holds a hash of everything that decides the contents. Beside it stands
``.<name>.lock``: its date is that of the last use, its text the size in bytes, and its lock is held by who makes the entry
(alone) or uses it (with others). A folder without that file is no entry: nothing is counted or removed that was not made here.

* Two processes never make the same at once: the second waits, then finds it.
* An entry is made in ``.<name>.partial`` and renamed: a process that is killed leaves nothing that looks finished, and what it
  leaves is removed by the next one.
* When one was made, those that were used longest ago are removed until the others fit the bound. One in use stays.

Errors:  UserError if the folder cannot be written or the disk is full. A cache that can only be read is used as it is.
Cost:    to find an entry 0.05 ms; to see whether all fit 0.03 ms an entry.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from platformdirs import user_cache_path

from .hw.arch.errors import UserError

BOUND = 4_000_000_000
"""Bytes. A model takes 0.5 to 20 MB, and the precompiled headers of Verilator 140 MB: some hundred programs."""
IN_USE = 64
"""How many entries a process keeps others from removing: the ones that it used last."""
_ROOM = 1_000_000
"""A disk with fewer free bytes is full."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_ELSEWHERE = "set XDG_CACHE_HOME to a folder you may write to"

# Of this process: the open files whose locks say what it uses, and the bytes added since it last looked whether all fit.
_using: dict[Path, IO[str]] = {}
_using_guard = threading.Lock()
_added: dict[Path, int] = {}


@dataclass(frozen=True)
class Entry:
    """What was made once: its kind, name and folder, its size in bytes, and when it was last used (as of `time.time`)."""

    kind: str
    name: str
    path: Path
    bytes: int
    used: float


@dataclass(frozen=True)
class Cache:
    """A folder of entries.

    Parameters
    ----------
    folder : Path    Appears when something is made.
    bound : int      Bytes that all entries may take together. A process may exceed it by a hundredth, so that it need not look
                     after every small entry.
    """

    folder: Path
    bound: int = BOUND

    def once(self, kind: str, name: str, make: Callable[[Path], object]) -> Path:
        """The folder of an entry, in use from now on. If it is not there, `make` fills the empty folder that it is given."""
        made = 0
        while (found := self.find(kind, name)) is None:
            with self._writing():
                self._lock(kind, name).parent.mkdir(parents=True, exist_ok=True)
                lock, alone = _open_to_make(self._lock(kind, name))
            with lock:
                if alone and not (self.folder / kind / name).exists():
                    made += self._make(kind, name, make, lock)
        if made:
            # Always at the first entry of a process: it may be small, but many such processes may follow each other.
            _added[self.folder] = _added.get(self.folder, self.bound) + made
            if _added[self.folder] > self.bound // 100:
                _added[self.folder] = 0
                self.trim()
        return found

    def find(self, kind: str, name: str) -> Path | None:
        """The folder of an entry, in use from now on; None if there is none."""
        path, lock = self.folder / kind / name, self._lock(kind, name)
        with self._reading():
            if not path.exists():
                return None
        try:
            file = _open(lock, fcntl.LOCK_SH)
        except OSError:
            return path         # it can only be read: then nothing is removed either
        if not path.exists():
            file.close()        # removed before it was locked
            return None
        with contextlib.suppress(OSError):      # it is another user's
            os.utime(lock)
        _use(lock, file)
        return path

    def remove(self, kind: str, name: str) -> bool:
        """Remove an entry, or what is left of one, unless another process makes or uses it; whether it was removed."""
        _unuse(self._lock(kind, name))
        return self._remove_unused(kind, name)

    def entries(self) -> list[Entry]:
        """All entries, the one used longest ago first."""
        found = []
        for path, lock in self._locks():
            with contextlib.suppress(FileNotFoundError):      # removed meanwhile
                size = lock.read_text()
                if path.exists():
                    found.append(Entry(path.parent.name, path.name, path, int(size) if size.isdecimal() else _bytes(path),
                                       lock.stat().st_mtime))
        return sorted(found, key=lambda entry: (entry.used, entry.kind, entry.name))

    def size(self) -> int:
        """Bytes of all entries."""
        return sum(entry.bytes for entry in self.entries())

    def clear(self) -> list[Entry]:
        """Remove every entry that no other process uses, and what killed processes left; return the entries removed."""
        self._remove_left()
        return [entry for entry in self.entries() if self.remove(entry.kind, entry.name)]

    def trim(self) -> None:
        """Remove what killed processes left, and what was used longest ago until the entries fit the bound."""
        self._remove_left()
        entries = self.entries()
        size = sum(entry.bytes for entry in entries)
        for entry in entries:
            if size <= self.bound:
                break
            if self._remove_unused(entry.kind, entry.name):
                size -= entry.bytes

    def _lock(self, kind: str, name: str) -> Path:
        return self.folder / kind / f".{name}.lock"

    def _locks(self) -> list[tuple[Path, Path]]:
        """The folder and the lock of every entry, also of those that were never finished."""
        with self._reading():
            return [(lock.with_name(lock.name[1:].removesuffix(".lock")), lock) for lock in self.folder.glob("*/.*.lock")]

    def _make(self, kind: str, name: str, make: Callable[[Path], object], lock: IO[str]) -> int:
        """Make an entry aside and rename it, while its lock is held; its size."""
        partial = self.folder / kind / f".{name}.partial"
        try:
            with self._writing():
                shutil.rmtree(partial, ignore_errors=True)      # of a process that was killed
                partial.mkdir()
            try:
                make(partial)
            except Exception as fault:
                # A tool that finds no room says so in words of its own.
                full = shutil.disk_usage(self.folder).free < _ROOM or (isinstance(fault, OSError) and fault.errno in _FULL)
                if full and not isinstance(fault, UserError):
                    raise self._unwritable(errno.ENOSPC) from fault
                raise
            with self._writing():
                size = _bytes(partial)
                lock.truncate(0)
                lock.write(str(size))
                lock.flush()
                partial.rename(self.folder / kind / name)
        except BaseException:
            with contextlib.suppress(OSError):
                self._remove(kind, name)
            raise
        return size

    def _remove_unused(self, kind: str, name: str) -> bool:
        try:
            with _open(self._lock(kind, name), fcntl.LOCK_EX | fcntl.LOCK_NB):
                self._remove(kind, name)
        except OSError:         # in use (BlockingIOError), or it can only be read
            return False
        return True

    def _remove(self, kind: str, name: str) -> None:
        """Remove an entry whose lock is held. The lock comes last, so that what an interruption leaves is found again."""
        path, partial = self.folder / kind / name, self.folder / kind / f".{name}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        if path.exists():
            path.rename(partial)
            shutil.rmtree(partial)
        self._lock(kind, name).unlink()

    def _remove_left(self) -> None:
        """Remove what processes that were killed left: locks and folders of entries that were never finished."""
        for path, _ in self._locks():
            if not path.exists():
                self._remove_unused(path.parent.name, path.name)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except OSError as fault:
            raise UserError(f"cannot read the cache folder: {os.strerror(fault.errno or 0)}", str(self.folder), _ELSEWHERE
                            ) from fault

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as fault:
            raise self._unwritable(fault.errno or 0) from fault

    def _unwritable(self, number: int) -> UserError:
        fix = _ELSEWHERE
        if number in _FULL:
            fix = "make room on its disk, also by 'sardonyx cache clear', or set XDG_CACHE_HOME to a folder on another one"
        return UserError(f"cannot write the cache folder: {os.strerror(number)}", str(self.folder), fix)


def home() -> Cache:
    """The user's cache, where the system keeps such folders."""
    return Cache(user_cache_path("sardonyx"))


def _open(lock: Path, how: int) -> IO[str]:
    """Open and lock a file until it is closed."""
    while True:
        file = lock.open("a+")
        try:
            fcntl.flock(file, how)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), lock.stat()):
                    return file
        except BaseException:
            file.close()
            raise
        file.close()            # its holder removed it, and others would lock the next one of this name


def _open_to_make(lock: Path) -> tuple[IO[str], bool]:
    """Lock a file alone; or, if another process has it, wait until that one is done.

    Not by waiting for the lock alone: those that use what was made meanwhile share it, maybe for hours.
    """
    try:
        return _open(lock, fcntl.LOCK_EX | fcntl.LOCK_NB), True
    except BlockingIOError:
        return _open(lock, fcntl.LOCK_SH), False


def _use(lock: Path, file: IO[str]) -> None:
    with _using_guard:
        if lock in _using:
            _using.pop(lock).close()
        _using[lock] = file
        while len(_using) > IN_USE:
            _using.pop(next(iter(_using))).close()


def _unuse(lock: Path) -> None:
    with _using_guard:
        if lock in _using:
            _using.pop(lock).close()


def _bytes(folder: Path) -> int:
    """The size of all files in a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())
