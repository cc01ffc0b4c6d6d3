"""A module is written with the same bytes whatever stands beside it, and as soon as it is there."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_emit import Pair, Same

from sardonyx.cache import Cache
from sardonyx.hw import emit, emit_platform, verilog
from sardonyx.hw.arch.presets import PRESETS
from sardonyx.hw.arch.primitive import BUFFER
from sardonyx.hw.tile.core import TileCore, build
from sardonyx.hw.yosys import YosysError

# The tree of a multiplier is most of a MEM, and nothing is asked of it here.
TINY = PRESETS["tiny"]
TINY = replace(TINY, mem=replace(TINY.mem, multiplier_tree=False))


def test_what_is_written_beside_a_module_changes_nothing_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verilog.os, "cpu_count", lambda: 1)
    arch, found = TINY, []
    for name in ("all", "most"):
        cache = Cache(tmp_path / f"{name}_cache")
        if name == "most":      # the other part comes from the cache then
            emit.emit(build(BUFFER, arch.mem, shared=True), tmp_path / "part", cache)
        emit.emit(TileCore(arch, arch.mem), tmp_path / name, cache)
        found.append({file.name: file.read_text() for file in (tmp_path / name).iterdir()})
    assert "core_mem.sv" in found[0] and found[0] == found[1]


def test_yosys_runs_before_all_is_converted_and_one_fault_ends_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    begun, original = threading.Event(), emit_platform.rtlil.convert

    def convert(component: Any, name: str, **options: Any) -> str:
        text = original(component, name=name, **options)
        assert name != "counter" or begun.wait(60), "the adder inside is not being written"
        return text

    def write(*_: Any) -> str:
        begun.set()
        return ""

    monkeypatch.setattr(verilog, "_written", write)
    monkeypatch.setattr(emit_platform.rtlil, "convert", convert)
    with pytest.raises(AssertionError, match="two different components are called counter"):
        emit.emit(Same(2), tmp_path / "none", Cache(tmp_path / "cache"))
    assert not (tmp_path / "none").exists()


def test_a_module_that_yosys_refuses_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> str:
        raise YosysError("yosys failed")

    monkeypatch.setattr(verilog, "run_yosys", refuse)
    with pytest.raises(YosysError, match="yosys failed"):
        emit.write(emit.collect(Pair()), tmp_path)
