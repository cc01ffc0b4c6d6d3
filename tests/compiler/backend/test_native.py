"""The compiled inner loops: built once, into the cache, or a message that helps."""

from __future__ import annotations

import pytest

from sardonyx.cache import Cache
from sardonyx.compiler.backend import native
from sardonyx.hw.arch.errors import UserError


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A cache in which the object is."""
    found = Cache(tmp_path_factory.mktemp("cache"))
    native.build(found)
    return found


def test_an_object_is_built_once_and_nothing_else_stays(store):
    target = native.build(store)
    built = target.stat().st_mtime_ns
    assert native.build(store) == target
    assert target.stat().st_mtime_ns == built
    assert [entry.path for entry in store.entries()] == [target.parent]
    assert {path.name for path in store.folder.rglob("*") if path.is_file()} == {target.name, f".{target.parent.name}.lock"}


def test_another_source_is_another_object(store, tmp_path, monkeypatch):
    first = native.build(store).relative_to(store.folder)
    monkeypatch.setattr(native, "FLAGS", (*native.FLAGS, "-O0"))
    other = native.build(Cache(tmp_path)).relative_to(tmp_path)
    assert other != first and other.name == first.name


def test_a_cached_object_needs_no_compiler(store, monkeypatch):
    target = native.build(store)
    monkeypatch.setattr(native.shutil, "which", lambda name: None)
    assert native.build(store) == target


def test_a_missing_compiler_names_the_line_that_installs_one(tmp_path, monkeypatch):
    monkeypatch.setattr(native.shutil, "which", lambda name: None)
    with pytest.raises(UserError) as error:
        native.build(Cache(tmp_path))
    assert str(error.value) == (
        "place and route needs a C++ compiler and none is on the PATH\n"
        "  try: 'apt-get install g++' (Debian, Ubuntu), 'dnf install gcc-c++' (Fedora) or "
        "'xcode-select --install' (macOS)")


def test_a_failing_compiler_is_quoted_and_leaves_nothing(tmp_path, monkeypatch):
    broken = tmp_path / "bin" / "g++"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho 'no room for <vector>' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(native.shutil, "which", lambda name: str(broken))
    with pytest.raises(UserError) as error:
        native.build(Cache(tmp_path / "cache"))
    assert str(error.value) == (
        f"{broken}: the C++ compiler failed: no room for <vector>\n"
        "  try: check that it can compile a C++17 program, or put another compiler on the PATH")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file() or path.suffix == ".partial"]


def test_a_cache_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError) as error:
        native.build(Cache(tmp_path / "file" / "cache"))
    assert str(error.value) == (
        f"{tmp_path / 'file' / 'cache'}: cannot write the cache folder: Not a directory\n"
        "  try: set XDG_CACHE_HOME to a folder you may write to")
