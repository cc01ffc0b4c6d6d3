"""Emitted modules from the cache: the same bytes, under keys that change with everything that decides them."""

from pathlib import Path
from typing import Any

import pytest

from sardonyx.cache import Cache
from sardonyx.hw import emit, kept
from sardonyx.hw.arch.presets import PRESETS
from sardonyx.hw.configuration import ConfigRegisters
from sardonyx.hw.stream.fifo import Fifo2

ARCH = PRESETS["tiny"]


def registers() -> ConfigRegisters:
    return ConfigRegisters(ARCH.config_map("io"), "io")


def emitted(folder: Path, store: Cache) -> "dict[str, bytes]":
    emit.emit(registers(), folder, store)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refuse(*_: Any, **__: Any) -> Any:
    raise AssertionError("it is made again")


def test_what_was_emitted_is_not_made_again_and_has_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Cache(tmp_path / "cache")
    cold = emitted(tmp_path / "cold", store)
    monkeypatch.setattr(emit.rtlil, "convert", refuse)
    monkeypatch.setattr(emit, "run_yosys", refuse)
    assert emitted(tmp_path / "warm", store) == cold


def test_a_damaged_entry_is_noticed_and_made_again(tmp_path: Path) -> None:
    store = Cache(tmp_path / "cache")
    cold = emitted(tmp_path / "cold", store)
    texts = list(store.folder.glob("verilog/*/text"))
    assert len(texts) == 2
    for text in texts:
        text.write_bytes(text.read_bytes()[:-9])
    assert emitted(tmp_path / "again", store) == cold
    assert all(kept.load(store, text.parent.name) for text in texts)


def test_another_generator_is_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = kept.identity((Fifo2, 3))
    monkeypatch.setattr(kept, "generator", lambda: "changed")
    assert kept.identity((Fifo2, 3)) != before


def test_keys_tell_values_and_types_apart() -> None:
    values: list[Any] = [1, True, "1", (1,), [1], (1, 1), ((1,), 1), {1: 1}, None, ARCH.pe, ARCH.mem, Fifo2]
    keys = [kept.identity(value) for value in values]
    assert None not in keys and len(set(keys)) == len(values)
    assert kept.identity((ARCH, 1)) == kept.identity((PRESETS["tiny"], 1))


def test_what_nobody_knows_the_meaning_of_has_no_key() -> None:
    class Local:
        pass

    assert [kept.identity((value,)) for value in (object(), Local, Local(), Path(), lambda: 1)] == [None] * 5
