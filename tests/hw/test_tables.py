"""The C header: C and C++ take it, no name stands twice, and it holds the numbers of the description."""

import re
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from sardonyx.hw import tables
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.soc import address_map

STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only")


@pytest.mark.parametrize("compiler", [("gcc", "-xc", "-std=c11"), ("g++", "-xc++", "-std=c++11")], ids=["c", "c++"])
@pytest.mark.parametrize("preset", presets.PRESETS)
def test_compilers_take_the_header_and_find_the_numbers_of_the_machine(preset, compiler, tmp_path: Path) -> None:
    arch = presets.get(preset)
    (tmp_path / "sardonyx.h").write_text(tables.header(arch))
    names = re.findall(r"^#define (\w+) ", tables.header(arch), re.MULTILINE)
    (_, _, controller), (_, base, glb), *_ = address_map(arch)
    numbers = {"SARDONYX_FINGERPRINT": arch.fingerprint, "SARDONYX_COLUMNS": arch.columns, "SARDONYX_ROWS": arch.rows,
               "SARDONYX_GLB_TILE_BYTES": arch.glb.tile_bytes, "SARDONYX_GLB(0)": base, "SARDONYX_GLB(2)": base + 0x200,
               **{f"SARDONYX_{register.name.upper()}": register.offset for register in controller},
               **{f"SARDONYX_GLB_{register.name.upper()}": register.offset for register in glb},
               "SARDONYX_CONFIG(255, 254, SARDONYX_TILE_STATUS)": 0xFFFEFFFF}
    say = "static_assert" if "c++" in compiler[1] else "_Static_assert"
    (tmp_path / "use").write_text("\n".join([
        '#include "sardonyx.h"', '#include "sardonyx.h"',
        *(f'{say}({name} == {number}ull, "{name}");' for name, number in numbers.items()),
        "unsigned long long all(void);", "unsigned long long all(void) {",
        "    static const unsigned long long each[] = {", ", ".join(names), "};", "    return each[0];", "}", ""]))
    done = subprocess.run([*compiler, *STRICT, "use"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]


@pytest.mark.parametrize("preset", presets.PRESETS)
def test_no_name_of_the_header_is_defined_twice(preset: str) -> None:
    names = re.findall(r"^#define (\w+)", tables.header(presets.get(preset)), re.MULTILINE)
    assert [name for name, times in Counter(names).items() if times > 1] == []


def test_only_machines_whose_columns_can_be_stalled_have_the_registers_for_it() -> None:
    tiny = presets.get("tiny")
    stalling = replace(tiny, column_stall=True)
    (_, _, plain), *_ = address_map(tiny)
    (_, _, more), *_ = address_map(stalling)
    names = [each.name for each in more[len(plain):]]
    assert more[:len(plain)] == plain and names == ["stall", "stalled", "stalled_cycles"]
    for made, said in ((tables.registers, "`{}`"), (tables.header, "#define SARDONYX_{} ")):
        for name in names:
            text = said.format(name.upper() if made is tables.header else name)
            assert text in made(stalling) and text not in made(tiny)


def test_memories_are_accessed_in_columns_that_stand_still_where_they_can_be_read() -> None:
    tiny = presets.get("tiny")
    for stall, read in ((False, False), (True, False), (False, True), (True, True)):
        text = tables.registers(replace(tiny, column_stall=stall, memory_readback=read))
        assert ("or the column stands still" in text) == (stall and read)


def test_only_machines_that_count_have_registers_for_it() -> None:
    tiny = presets.get("tiny")
    counting = replace(tiny, counter_bits=20)
    text = "Registers from 0xfff0 on are counters of 20 bits"
    assert text in tables.registers(counting) and "counters of" not in tables.registers(tiny)
    assert "#define SARDONYX_TILE_BLOCKED 0xfff3u" in tables.header(counting) and "_BLOCKED" not in tables.header(tiny)


def test_only_machines_of_several_regions_have_the_register_for_groups() -> None:
    tiny = presets.get("tiny")
    several = replace(tiny, regions=2)
    (name, base, (group,)), = (each for each in address_map(several) if each[0] == "regions")
    assert (name, base, group.name) == ("regions", 0x800, "group") and len(address_map(several)) == len(address_map(tiny)) + 2
    for made, said in ((tables.registers, "`.configure` | 18 |"), (tables.header, "SARDONYX_GROUP_CONFIGURE_LSB 18\n")):
        assert said in made(several) and said not in made(tiny)
