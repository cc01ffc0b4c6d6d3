"""The cache: made once, found again, bounded, and never in the way."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from sardonyx import cache as module
from sardonyx.cache import Cache, home
from sardonyx.hw.arch.errors import UserError


@pytest.fixture
def store(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache", bound=1000)


def fill(size: int):  # type: ignore[no-untyped-def]
    return lambda folder: (folder / "file").write_bytes(b"x" * size)


def refuse(folder: Path) -> None:
    raise AssertionError(f"{folder} is made again")


def aged(store: Cache, *names: str) -> None:
    """Give entries the dates of uses long ago, the first the oldest, and forget that this process uses them."""
    for age, name in enumerate(names):
        module._unuse(store._lock("kind", name))
        os.utime(store._lock("kind", name), (age, age))


def everything(store: Cache) -> list[str]:
    return sorted(path.name for path in (store.folder / "kind").iterdir())


def test_the_home_is_where_the_system_keeps_caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert home().folder.name == "sardonyx"
    assert home().bound == 4_000_000_000


def test_an_entry_is_made_once(store: Cache) -> None:
    path = store.once("kind", "one", fill(10))
    assert (path, (path / "file").read_bytes()) == (store.folder / "kind" / "one", b"x" * 10)
    assert store.once("kind", "one", refuse) == store.find("kind", "one") == path
    assert everything(store) == [".one.lock", "one"]


def test_what_was_never_made_is_not_found(store: Cache) -> None:
    assert store.find("kind", "one") is None
    assert store.entries() == [] and store.size() == 0 and store.clear() == []
    assert not store.folder.exists()


def test_entries_tell_size_and_last_use(store: Cache) -> None:
    began = time.time() - 1
    store.once("kind", "one", fill(10))
    store.once("other", "two", fill(20))
    aged(store, "one")
    first, second = store.entries()
    assert (first.kind, first.name, first.bytes, first.used) == ("kind", "one", 10, 0)
    assert (second.kind, second.name, second.bytes) == ("other", "two", 20) and second.used > began
    assert store.size() == 30
    store.once("kind", "one", refuse)
    assert [entry.name for entry in store.entries()] == ["two", "one"]


def test_what_was_used_longest_ago_goes_when_the_bound_is_reached(store: Cache) -> None:
    for name in ("one", "two", "three"):
        store.once("kind", name, fill(300))
    aged(store, "two", "one", "three")
    store.once("kind", "four", fill(500))
    assert everything(store) == [".four.lock", ".three.lock", "four", "three"]


def test_an_entry_larger_than_the_bound_stays_while_it_is_used(store: Cache) -> None:
    assert store.once("kind", "one", fill(5000)).exists()
    aged(store, "one")
    store.once("kind", "two", fill(50))
    assert everything(store) == [".two.lock", "two"]


def _use(store: Cache, ready: multiprocessing.synchronize.Event, done: multiprocessing.synchronize.Event) -> None:
    assert store.find("kind", "one")
    ready.set()
    done.wait()


def test_what_another_process_uses_is_not_removed(store: Cache) -> None:
    store.once("kind", "one", fill(900))
    aged(store, "one")
    context = multiprocessing.get_context("fork")
    ready, done = context.Event(), context.Event()
    process = context.Process(target=_use, args=(store, ready, done))
    process.start()
    ready.wait()
    try:
        os.utime(store._lock("kind", "one"), (0, 0))
        store.once("kind", "two", fill(900))
        assert (store.folder / "kind" / "one").exists()
        assert [entry.name for entry in store.clear()] == ["two"]
        assert not store.remove("kind", "one")
    finally:
        done.set()
        process.join()
    assert [entry.name for entry in store.clear()] == ["one"]
    assert everything(store) == []


def test_a_process_keeps_the_entries_that_it_used_last(store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IN_USE", 2)
    for name in ("one", "two", "three"):
        store.once("kind", name, fill(1))
    store.find("kind", "two")
    store.once("kind", "four", fill(5000))
    store.trim()
    assert {"two", "four"} <= set(everything(store)) and not {"one", "three"} & set(everything(store))


def _make(store: Cache, start: multiprocessing.synchronize.Barrier, count: Path) -> None:
    def make(folder: Path) -> None:
        with count.open("a") as file:
            file.write("made\n")
        time.sleep(0.1)
        fill(7)(folder)

    for name in ("one", "two", "three"):
        start.wait()
        assert (store.once("kind", name, make) / "file").read_bytes() == b"x" * 7


def test_several_processes_make_the_same_once(store: Cache, tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    start = context.Barrier(3)
    processes = [context.Process(target=_make, args=(store, start, tmp_path / "count")) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert (tmp_path / "count").read_text() == 3 * "made\n"


def test_a_killed_process_leaves_nothing_that_looks_finished(store: Cache) -> None:
    script = ("import sys, time; from pathlib import Path; from sardonyx.cache import Cache\n"
              "def make(folder):\n (folder / 'half').write_text('x'); print('here', flush=True); time.sleep(60)\n"
              f"Cache(Path({str(store.folder)!r})).once('kind', 'one', make)")
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"here\n"
        # Another one leaves it alone as long as it works.
        store.trim()
        assert (store.folder / "kind" / ".one.partial" / "half").exists()
        process.send_signal(signal.SIGKILL)
    assert store.find("kind", "one") is None and store.entries() == []
    store.trim()
    assert everything(store) == []


def test_what_a_killed_process_left_is_not_in_the_way(store: Cache) -> None:
    left = store.folder / "kind" / ".one.partial"
    left.mkdir(parents=True)
    (left / "half").write_text("x")
    (store.folder / "kind" / ".one.lock").write_text("5")
    assert [path.name for path in store.once("kind", "one", fill(3)).iterdir()] == ["file"]
    assert store.size() == 3


def test_a_fault_while_making_leaves_nothing_and_is_passed_on(store: Cache) -> None:
    def make(folder: Path) -> None:
        fill(3)(folder)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        store.once("kind", "one", make)
    assert everything(store) == []
    store.once("kind", "one", fill(3))


def test_folders_of_others_are_neither_counted_nor_removed(store: Cache) -> None:
    for path in ("mine/papers/thesis.txt", "kind/notes", "file"):
        (store.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (store.folder / path).write_text("years")
    store.once("kind", "one", fill(3))
    assert store.size() == 3
    assert [entry.name for entry in store.clear()] == ["one"]
    assert sorted(path.name for path in store.folder.rglob("*") if path.is_file()) == ["file", "notes", "thesis.txt"]


def test_a_size_that_was_lost_is_counted_again(store: Cache) -> None:
    store.once("kind", "one", fill(12))
    store._lock("kind", "one").write_text("")
    assert store.size() == 12


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "cache"
    with pytest.raises(UserError) as error:
        Cache(folder).once("kind", "one", refuse)
    assert str(error.value) == (f"{folder}: cannot write the cache folder: Not a directory\n"
                                "  try: set XDG_CACHE_HOME to a folder you may write to")


def test_a_folder_that_cannot_be_looked_into_is_named(store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "somewhere")

    monkeypatch.setattr(module.Path, "exists", denied)
    monkeypatch.setattr(module.Path, "glob", denied)
    for look in (lambda: store.once("kind", "one", refuse), store.entries, store.clear, store.trim):
        with pytest.raises(UserError) as error:
            look()
        assert str(error.value) == (f"{store.folder}: cannot read the cache folder: Permission denied\n"
                                    "  try: set XDG_CACHE_HOME to a folder you may write to")


def test_a_full_disk_is_named_also_if_a_tool_met_it_first(store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (f"{store.folder}: cannot write the cache folder: No space left on device\n"
            "  try: make room on its disk, also by 'sardonyx cache clear', or set XDG_CACHE_HOME to a folder on another one")

    def full(folder: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(UserError) as error:
        store.once("kind", "one", full)
    assert str(error.value) == text
    monkeypatch.setattr(module.shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    with pytest.raises(UserError) as error:
        store.once("kind", "one", refuse)
    assert str(error.value) == text
    assert everything(store) == []


def test_a_cache_that_can_only_be_read_is_used(store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store.once("kind", "one", fill(3))

    def read_only(lock: Path, how: int) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(module, "_open", read_only)
    assert store.once("kind", "one", refuse) == path
    assert store.clear() == [] and path.exists()
    with pytest.raises(UserError) as error:
        store.once("kind", "two", refuse)
    assert str(error.value) == (f"{store.folder}: cannot write the cache folder: Read-only file system\n"
                                "  try: set XDG_CACHE_HOME to a folder you may write to")


def test_small_entries_are_looked_after_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    monkeypatch.setattr(Cache, "trim", lambda self: looked.append(self.size()))
    store = Cache(tmp_path, bound=10_000)
    for index in range(30):
        store.once("kind", f"entry{index}", fill(10))
    assert looked == [10, 120, 230]
