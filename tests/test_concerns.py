"""Each concern of a spatial array is a value of its own: another value changes the parts that it says, and no other one."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sardonyx import spatial as sp

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")
DENSE = sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]]),
                  {"i": 2, "j": 2, "k": 8})
SPARSE = dataclasses.replace(DENSE, sparsity=[sp.skip(k, where=A(i, k) == 0)])
STORED = dataclasses.replace(SPARSE, buffers={"A": sp.Buffer("dense", "compressed", words=64, banks=2),
                                              "B": sp.Buffer("dense", "dense", words=32, order=(1, 0), banks=2)})
THREE_TIMES = sp.functionality("C(i,j) = 3 * A(i,k) * B(k,j)")
LISTS = {**STORED.buffers, "A": sp.Buffer("dense", "linked list", words=64, banks=2)}
LARGER = {**STORED.buffers, "B": sp.Buffer("dense", "dense", words=64, order=(1, 0), banks=2)}
# The parts that keep words of a bank: memories, levels, and FIFOs between them.
OF_BANKS = r"array_bank\d+|level_\w+|list_level_\w+|stored_\w+|sram_\w+|two_halves_\w+|gather_turns_\d+|fifo2?_\w+"


@pytest.mark.parametrize("design,concern,value,changed,others,said", [
    # The logic of PEs, in step, elastic, and behind buffers.
    (DENSE, "functionality", THREE_TIMES, r"array_pe\d+_enabled", "", {"cells"}),
    (SPARSE, "functionality", THREE_TIMES, r"array_unit\d+", "", {"units"}),
    (STORED, "functionality", THREE_TIMES, r"array_inside_unit\d+", "", {"units"}),
    # Where and when: PEs, and the wave that takes steps over them. Streams stay, in another order.
    (DENSE, "dataflow", sp.Transform([[1, 0, 0], [0, 1, 0], [0, 0, 1]]), r"array_pe\d+_enabled|array_wave_enabled",
     "", {"cells", "inputs", "outputs", "wave", "steps"}),
    # What PEs join, and which of them have a wire; not the results, nor FIFOs.
    (SPARSE, "sparsity", [sp.skip(k, where=A(i, k) == 0), sp.skip(k, where=B(k, j) == 0)], r"array|array_unit\d+",
     r"array_unit\d+", {"units", "links", "inputs", "found", "carried"}),
    # What may move stands around PEs that stay as they are.
    (SPARSE, "balance", [sp.shift(i, by=-1, where=k >= 4)], "array", r"balance_\w+|fifo_w\d+_d4", {"units", "links", "inputs"}),
    (SPARSE, "balance", [sp.work_queue(i, where=k >= 4)], "array", r"balance_\w+|fifo_w\d+_d4", {"units", "links", "inputs"}),
    # How one operand is stored: its banks alone.
    (STORED, "buffers", LISTS, r"array|array_bank0", OF_BANKS, {"buffers"}),
    (STORED, "buffers", LARGER, r"array|array_bank1", OF_BANKS, {"buffers"}),
])
def test_another_value_of_a_concern_changes_what_it_says_and_nothing_else(
        design: sp.Design, concern: str, value: Any, changed: str, others: str, said: "set[str]", tmp_path: Path) -> None:
    """changed: parts that have other contents; others: that there are in one design and not in the other one; said: of the
    description."""
    other = dataclasses.replace(design, **{concern: value})
    before, after = _parts(design, tmp_path / "before"), _parts(other, tmp_path / "after")
    assert before != after
    shared = before.keys() & after.keys()
    _all_are(changed, {name for name in shared if before[name] != after[name]})
    _all_are(others, before.keys() ^ after.keys())
    first, second = (json.loads((tmp_path / folder / "array.json").read_text()) for folder in ("before", "after"))
    assert {key for key in first.keys() | second.keys() if first.get(key) != second.get(key)} == said
    # The same operands, and what each functionality means of them.
    given = design.random(2, 5)
    for each in (design, other):
        factor = 3 if each.functionality is THREE_TIMES else 1
        assert np.array_equal(each.run("tokens", **given).value, (factor * given["A"] @ given["B"]).astype(np.int32))


def test_an_array_behind_buffers_is_the_array_without_them(tmp_path: Path) -> None:
    bare, stored = _parts(SPARSE, tmp_path / "bare"), _parts(STORED, tmp_path / "stored")
    units = [name for name in bare if name.startswith("array_unit")]
    assert len(units) == 2
    for name in ("array", *units):
        inside = name.replace("array", "array_inside")
        assert re.sub(r"\barray_inside", "array", stored[inside]) == bare[name]


def _parts(design: sp.Design, out: Path) -> "dict[str, str]":
    """The modules of a design."""
    design.verilog(out)
    return {path.stem: path.read_text() for path in out.glob("*.sv")}


def _all_are(pattern: str, names: "set[str]") -> None:
    assert [name for name in sorted(names) if not re.fullmatch(pattern, name)] == []
    assert bool(names) == bool(pattern)
