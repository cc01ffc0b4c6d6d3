"""Random modules: what is emitted computes what Amaranth wrote, by Yosys' proof, and blocks show one value."""

import re
from pathlib import Path

import pytest
from amaranth.back import rtlil
from random_modules import RandomModule

from sardonyx.hw.describe import Description
from sardonyx.hw.rtlil import readable
from sardonyx.hw.rtlil_process import NAME, PROCESS
from sardonyx.hw.verilog import EmittedModule, Writer
from sardonyx.hw.yosys import run_yosys

_ASSIGN = re.compile(r"( +)assign (\S+) \[(\d+)(?::(\d+))?\] ")


# In the last one a register's block has a default without cases.
SEEDS = (*range(15), 489)


def overridden(lines: list[str]) -> str | None:
    """The wire of a process with decisions of which a bit is assigned twice on a path: behind it, as deep or deeper."""
    if not any("switch" in line for line in lines):
        return None
    for at, line in enumerate(lines):
        if (first := _ASSIGN.match(line)) is None:
            continue
        for later in lines[at + 1:]:
            if len(later) - len(later.lstrip()) < len(first[1]):
                break
            if (second := _ASSIGN.match(later)) and not _bits(first).isdisjoint(_bits(second)):
                return first[2]
    return None


def _bits(found: re.Match[str]) -> set[int]:
    return set(range(int(found[4] or found[3]), int(found[3]) + 1))


@pytest.mark.parametrize("seed", SEEDS)
def test_verilog_computes_what_amaranth_wrote_and_blocks_show_one_value(seed: int, tmp_path: Path) -> None:
    before = rtlil.convert(RandomModule(seed), name="top", emit_src=False)
    text = readable(before)
    with Writer(None) as writer:
        writer.take(EmittedModule.from_rtlil("top", None, text, None, (), Description()))
        after = writer.texts()["top"]
    (tmp_path / "before.il").write_text(before)
    (tmp_path / "after.sv").write_text(after)
    run_yosys(["-q", "-p", "read_rtlil before.il; hierarchy -top top; proc; flatten; rename top gold; "
               "read_verilog -sv after.sv; rename top gate; proc; opt_clean; equiv_make gold gate both; hierarchy -top both; "
               "equiv_struct; equiv_simple; equiv_induct; equiv_status -assert"], tmp_path)
    for process in PROCESS.finditer(text):
        if wire := overridden(process[1].splitlines()):
            readers = [line for line in text.replace(process[0], "").splitlines() if wire in NAME.findall(line)]
            assert all(re.match(r"  wire |    connect \\D ", line) for line in readers), process[0]
