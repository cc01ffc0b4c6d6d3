"""A module's file opens with the docstring of its component, its parameters and the fields of its packed ports."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from sardonyx.cache import Cache, home
from sardonyx.hw import emit, verilog
from sardonyx.hw.arch.presets import PRESETS
from sardonyx.hw.arch.token import TOKEN
from sardonyx.hw.column import Column
from sardonyx.hw.connectivity import reports
from sardonyx.hw.describe import Description, Field, describe
from sardonyx.hw.soc.top import Sardonyx
from sardonyx.hw.stream.fifo import Fifo, Fifo2, LateFifo
from sardonyx.hw.tile.tile import TileLogic

SET = data.StructLayout({"on": 1, "limit": data.StructLayout({"low": 4, "high": 4})})


class Gate(wiring.Component):
    """Let words pass.

    Members
    -------
    i : In(8)     A word.
    """

    def __init__(self, depth: int) -> None:
        self.depth, self.table = depth, {"not": "plain"}
        super().__init__({"i": In(8), "o": Out(8), "cfg": In(SET)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += self.o.eq(self.i & self.cfg.on.replicate(8))
        return m


@pytest.mark.parametrize("part", ["Members", "Timing", "Source:"])
def test_every_file_of_a_machine_says_its_ports_its_timing_and_where_it_comes_from(part: str) -> None:
    machine = replace(PRESETS["tiny"], feed_through=True)
    modules = emit.collect(Sardonyx(machine), home()).modules | emit.collect(Column(5, 8, reports(machine)), home()).modules
    assert [name for name, module in modules.items() if part not in module.said.comment] == []


def test_the_comment_is_the_docstring_with_values_and_bits() -> None:
    said = describe(Gate(3), "gate")
    assert said.comment == """\
// gate: Let words pass.
//
// Members
// -------
// i : In(8)     A word.
//
// Parameters of this module
// -------------------------
// depth = 3
//
// Bits of cfg
// -----------
// [0]        on
// [4:1]      limit.low
// [8:5]      limit.high
"""
    assert said.fields == (Field("cfg", 0, 0, "on", False), Field("cfg", 8, 1, "limit", True),
                           Field("cfg", 4, 1, "limit.low", False), Field("cfg", 8, 5, "limit.high", False))


def test_streams_say_their_bits_where_they_are_no_tokens() -> None:
    class Both(wiring.Component):
        words: In(stream.Signature(SET))
        tokens: In(stream.Signature(TOKEN))

    said = describe(Both(), "both")
    assert "// Bits of words__payload\n// ----------------------\n// [0]        on\n" in said.comment
    assert "tokens" not in said.comment and said.fields == ()


@pytest.mark.parametrize("fifo", [Fifo2, partial(Fifo, depth=3), partial(LateFifo, depth=4)])
def test_a_module_of_any_payload_is_described_alike_whoever_is_first(fifo: Callable[[Any], wiring.Component]) -> None:
    assert describe(fifo(SET), "fifo") == describe(fifo(SET.size), "fifo")


def test_a_file_opens_with_it_and_it_is_kept(tmp_path: Path) -> None:
    arch = PRESETS["tiny"]
    found = []
    for place in ("first", "again"):
        tile = TileLogic(arch, arch.pe, 1)
        files = emit.emit(tile, tmp_path / place, Cache(tmp_path / "cache"))
        found.append(files[-1].read_text())
        assert found[-1].startswith(describe(TileLogic(arch, arch.pe, 1), "pe_odd").comment)
    assert found[0] == found[1]
    assert f"// spec.pass_depth = {arch.pe.pass_depth}\n" in found[0] and "// parity = 1\n" in found[0]
    assert "sram_lines" not in found[0], "a size of MEM tiles"


def test_a_changed_docstring_changes_the_file(tmp_path: Path) -> None:
    cache, found = Cache(tmp_path), []
    module = emit.collect(Gate(3)).modules["gate"]
    for comment in ("// one\n", "// two\n", "// one\n"):
        with verilog.Writer(cache) as writer:
            writer.take(replace(module, said=Description(comment)))
            found.append(writer.texts()["gate"])
    assert found[0] == found[2]
    assert [text.partition("\n")[0] for text in found] == ["// one", "// two", "// one"]
