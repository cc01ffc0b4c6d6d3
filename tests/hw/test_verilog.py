"""Modules are written with the same bytes however they are grouped, and as soon as there is enough to do."""

import threading
from pathlib import Path
from typing import Any

import pytest
from test_emit import Pair, Same

from sardonyx.cache import Cache
from sardonyx.hw import emit, verilog
from sardonyx.hw.yosys import YosysError


def texts(platform: emit.EmitPlatform) -> "dict[str, str]":
    with verilog.Writer(None) as writer:
        for module in platform.modules.values():
            writer.take(module)
        return writer.texts()


def test_groups_and_cores_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    platform, found = emit.collect(Pair()), []
    for cores, group in ((1, 10**9), (3, 10**9), (1, 1)):
        monkeypatch.setattr(verilog.os, "cpu_count", lambda cores=cores: cores)
        monkeypatch.setattr(verilog, "GROUP", group)
        found.append(texts(platform))
    assert list(found[0]) == ["adder", "counter_1", "counter_3", "pair"]
    assert found[0] == found[1] == found[2]


def test_yosys_runs_before_all_is_converted_and_one_fault_ends_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    begun, original = threading.Event(), emit.rtlil.convert

    def convert(component: Any, name: str, **options: Any) -> str:
        text = original(component, name=name, **options)
        assert name != "counter" or begun.wait(60), "the adder inside is not being written"
        return text

    def write(modules: Any, group: Any) -> "dict[str, str]":
        begun.set()
        return {module.name: "" for module in group}

    monkeypatch.setattr(verilog, "GROUP", 1)
    monkeypatch.setattr(verilog, "_written", write)
    monkeypatch.setattr(emit.rtlil, "convert", convert)
    with pytest.raises(AssertionError, match="two different components are called counter"):
        emit.emit(Same(2), tmp_path / "none", Cache(tmp_path / "cache"))
    assert not (tmp_path / "none").exists()


def test_a_module_that_yosys_refuses_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> str:
        raise YosysError("yosys failed")

    monkeypatch.setattr(verilog, "run_yosys", refuse)
    with pytest.raises(YosysError, match="yosys failed"):
        emit.write(emit.collect(Pair()), tmp_path)
