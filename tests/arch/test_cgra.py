"""Arch: presets, files, fingerprints."""

import json

import pytest

from sardonyx.hw.arch import cgra, presets
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.op import BY_NAME


@pytest.mark.parametrize("name", presets.PRESETS)
def test_a_description_reads_back_from_its_json(name):
    arch = presets.get(name)
    again = cgra.from_json(json.loads(json.dumps(arch.to_json())))
    assert again == arch and again.fingerprint == arch.fingerprint


def test_fingerprints_tell_machines_apart():
    prints = {presets.get(name).fingerprint for name in presets.PRESETS}
    assert len(prints) == len(presets.PRESETS)
    raw = presets.get("tiny").to_json()
    for change in ({"rows": 5}, {"config_rows": 2}, {"glb": {"columns_per_tile": 1, "queue": True}}):
        assert cgra.from_json(raw | change).fingerprint != presets.get("tiny").fingerprint


def test_a_ring_is_of_the_fingerprint_and_none_is_as_before_there_were_rings():
    raw = presets.get("tiny").to_json()
    # Of the version before the field, with neither accumulators nor locators, with whole levels and passes of four tokens.
    raw["mem"] |= {"primitives": ["level", "buffer"], "locate": False, "early": False}
    raw["pe"] |= {"pass_depth": 4}
    assert raw["glb"]["ring"] == 1
    without = raw | {"glb": {key: value for key, value in raw["glb"].items() if key != "ring"}}
    assert cgra.from_json(without).fingerprint == cgra.from_json(raw).fingerprint == 0x9f8cee2a40993e43
    prints = {cgra.from_json(raw | {"glb": raw["glb"] | {"ring": ring}}).fingerprint for ring in range(1, 9)}
    assert len(prints) == 8


@pytest.mark.parametrize("latency", [1, 2, 3])
def test_a_load_of_a_machine_with_a_ring_begins_as_late_as_in_the_longest_chain(latency):
    starts = [Glb(read_latency=latency, ring=ring).load_start_cycle for ring in range(1, 9)]
    assert starts == [latency, *(latency + 2 * tiles - 1 for tiles in range(2, 9))]


def test_power_domains_add_a_bit_of_configuration_and_change_the_fingerprint():
    tiny = presets.get("tiny")
    other = cgra.from_json(tiny.to_json() | {"power_domains": True})
    assert other.fingerprint != tiny.fingerprint
    for kind in ("pe", "mem", "io"):
        power, *sets = other.config_map(kind).sets.values()
        assert [each.name for each in sets] == [*tiny.config_map(kind).sets]
        assert (power.name, [*power.fields], power.encode(on=1)) == ("power", ["on"], 1)


@pytest.mark.parametrize("change", [
    {"name": "mine"}, {"timing": {"pe": 1, "register": 1}}, {"feed_through": True}, {"operand_isolation": False},
    {"config_readback": False}, {"memory_readback": True}, {"column_stall": True}, {"counter_bits": 32},
    {"pe": {"multiplier_tree": False}}, {"mem": {"multiplier_tree": False, "locate": True, "early": True}},
    {"glb": {"columns_per_tile": 1, "clock_gating": "hybrid"}},
    {"glb": {"columns_per_tile": 1, "clock_gating": "static", "clock_gates": "cell"}},
    {"system": {"processor": True, "own_clock": True}}], ids=lambda change: next(iter(change)))
def test_what_no_program_notices_leaves_the_fingerprint(change):
    tiny = presets.get("tiny")
    other = cgra.from_json(tiny.to_json() | change)
    assert other != tiny and other.fingerprint == tiny.fingerprint


@pytest.mark.parametrize("change,message", [
    ({"colums": 4}, "arch: unknown field 'colums' in the description\n  try: fields are avoid, column_stall, columns, "
                    "config_readback, config_rows, counter_bits, feed_through, glb, interconnect, mem, mem_every, "
                    "memory_readback, name, operand_isolation, pe, power_domains, regions, rows, system, timing"),
    ({"system": {"own_clock": 2}}, "arch: system.own_clock is 2\n  try: give true or false"),
    ({"regions": 17}, "arch: regions is 17\n  try: give a whole number 1..16"),
    ({"regions": 5}, "arch: regions are 5, but there are 4 GLB tiles to have one each\n"
                     "  try: give fewer regions or more columns"),
    ({"columns": 33, "regions": 2}, "arch: regions are 2 of 33 GLB tiles, but a register names 32\n"
                                    "  try: give more glb.columns_per_tile or one region"),
    ({"regions": 2, "interconnect": {"fifo": "inputs"}},
     "arch: regions are 2, but a word that is led at a wall is seen by the register of its track, and tracks have none\n"
     "  try: give one region, or another interconnect.fifo"),
    ({"columns": 36, "column_stall": True}, "arch: column_stall is for 36 columns, but a register names 32\n"
                                            "  try: give fewer columns or no column_stall"),
    ({"counter_bits": 33}, "arch: counter_bits is 33\n  try: give a whole number 0..32"),
    ({"counter_bits": 8, "interconnect": {"fifo": "none"}},
     "arch: counter_bits is 8, but without FIFOs in the interconnect words move in every cycle\n"
     "  try: give 0, or an interconnect with FIFOs"),
    ({"columns": 0}, "arch: columns is 0\n  try: give a whole number 1..256"),
    ({"config_rows": 0}, "arch: config_rows is 0\n  try: give a whole number 1..256"),
    ({"columns": "9" * 70, "glb": {"banks": 10**5000, "load_loops": float("nan")}, "mem": {"replay": "no"}},
     f"arch: columns is '{'9' * 56}...; mem.replay is 'no'; glb.banks is an integer of 16610 bits; glb.load_loops is nan\n"
     "  try: columns: give a whole number 1..256; mem.replay: give true or false; glb.banks: give a power of two 1..256; "
     "glb.load_loops: give a whole number 1..27"),
    ({"pe": {"primitives": ["level"]}, "mem": {"sram_lines": 16384}},
     "arch: pe.primitives have level, whose stream ref is input in0, which the tile does not have; mem.sram_lines is 16384, "
     "with 4 lanes more than the 32768 words that configuration reaches\n"
     "  try: pe.primitives: leave level out; mem.sram_lines: give 8192 or less"),
    ({"pe": {"ops": ["adc", "nop"]}}, f"arch: unknown operation 'nop' in pe\n  try: choose among {', '.join(BY_NAME)}"),
    ({"pe": {"ops": "onyx"}}, "arch: the operations of pe are no list of different names\n"
                              f"  try: choose among {', '.join(BY_NAME)}"),
    ({"pe": {"sram_lines": 4}}, "arch: unknown field 'sram_lines' in pe\n  try: fields are multiplier_tree, ops, pass_depth, "
                                "primitives, reduce_max, register_schedules, register_words"),
    ({"format": 9}, "arch: not a machine description of format 2\n  try: start from the arch.json of a preset"),
    ({"pe": {"primitives": ["sorter"]}}, "arch: unknown primitive 'sorter' in pe\n  try: choose among alu, joiner, "
                                         "repeater, reducer, dropper, pass_through, filter, arbiter, dispatcher, address, "
                                         "divider, level, buffer, accumulator, scatter"),
    ({"glb": {"banks": 3, "columns_per_tile": 1}}, "arch: glb.banks is 3\n  try: give a power of two 1..256"),
    ({"glb": {"bank_bytes": 1000}}, "arch: glb.bank_bytes is 1000\n"
                                  "  try: give a power of two 16..16777216"),
    ({"glb": {"columns_per_tile": 1, "bank_bytes": 64, "bank_macros": 8}},
     "arch: glb.bank_macros are 8 in a bank of 64 bytes, less than 16 bytes each\n"
     "  try: give fewer bank_macros or more bank_bytes"),
    ({"glb": {"columns_per_tile": 1, "ring": 9}}, "arch: glb.ring is 9\n  try: give a whole number 1..8"),
    ({"glb": {"columns_per_tile": 1, "read_latency": 4}}, "arch: glb.read_latency is 4\n  try: give a whole number 1..3"),
    ({"glb": {"columns_per_tile": 1, "clock_gating": True, "clock_gates": "latch"}},
     "arch: glb.clock_gating is True; glb.clock_gates is 'latch'\n"
     "  try: glb.clock_gating: give one of none, static, dynamic, hybrid; glb.clock_gates: give one of enable, cell"),
    ({"glb": {"columns_per_tile": 3}}, "arch: columns are 4, which do not divide into GLB tiles of 3 columns\n"
                                       "  try: change glb.columns_per_tile or the number of columns"),
])
def test_wrong_descriptions_are_refused(change, message):
    with pytest.raises(UserError) as error:
        cgra.from_json(presets.get("tiny").to_json() | change)
    assert str(error.value) == message


@pytest.mark.parametrize("name", ["name", "columns", "rows"])
def test_what_a_machine_needs_is_asked_for(name):
    raw = presets.get("tiny").to_json()
    del raw[name]
    with pytest.raises(UserError) as error:
        cgra.from_json(raw, "m.json")
    assert str(error.value) == f"m.json: the description lacks {name}\n  try: start from the arch.json of a preset"


def test_an_unknown_preset_names_the_near_one():
    with pytest.raises(UserError) as error:
        presets.get("onix")
    assert str(error.value) == ("there is no preset 'onix', do you mean 'onyx'?\n"
                                "  try: choose one of tiny, small, sparse, fpga, amber, onyx, or give a .json file")


def test_what_is_no_text_names_no_machine():
    with pytest.raises(UserError) as error:
        presets.get(3)
    assert str(error.value) == ("preset: it is of type int, which names no machine\n"
                                "  try: name one of tiny, small, sparse, fpga, amber, onyx, or a .json file")


@pytest.mark.parametrize("field", ["pe", "mem", "interconnect", "glb", "timing", "system"])
@pytest.mark.parametrize("value", [5, None, [], "x"])
def test_a_part_that_is_no_table_is_refused(field, value):
    with pytest.raises(UserError, match=f"{field} is not a table of fields"):
        cgra.from_json(presets.get("tiny").to_json() | {field: value})


@pytest.mark.parametrize("primitives", [5, "alu", [["alu"]], ["alu", "alu"]])
def test_primitives_are_a_list_of_different_names(primitives):
    raw = presets.get("tiny").to_json()
    with pytest.raises(UserError, match="the primitives of pe are no list of different names"):
        cgra.from_json(raw | {"pe": raw["pe"] | {"primitives": primitives}})


@pytest.mark.parametrize("content", [b"\xff\xfe{}", b"[" * 100_000, b"", b'{"rows": ' + b"9" * 5000 + b"}"])
def test_a_file_that_is_no_text_of_json_is_refused(content, tmp_path):
    (tmp_path / "arch.json").write_bytes(content)
    with pytest.raises(UserError, match="not JSON"):
        presets.get(str(tmp_path / "arch.json"))


def test_a_file_that_is_not_json_is_refused_with_its_line(tmp_path):
    path = tmp_path / "arch.json"
    path.write_text("{\n  oops\n}")
    with pytest.raises(UserError) as error:
        presets.get(str(path))
    assert str(error.value).startswith(f"{path}:2: not JSON: ")


def test_a_machine_that_takes_maxima_has_another_fingerprint_and_one_that_does_not_that_of_before():
    tiny = presets.get("tiny")
    plain = {key: value for key, value in tiny.to_json()["pe"].items() if key != "reduce_max"}
    other = cgra.from_json(tiny.to_json() | {"pe": plain})
    assert other == tiny and other.fingerprint == tiny.fingerprint
    able = cgra.from_json(tiny.to_json() | {"pe": {"reduce_max": True}})
    assert able.fingerprint != tiny.fingerprint
    fields = [[*each.config_map("pe").sets["reducer"].fields] for each in (tiny, able)]
    assert fields == [["guided"], ["guided", "op", "extent"]]


def test_a_machine_that_locates_has_another_fingerprint_and_one_that_does_not_that_of_before():
    tiny = presets.get("tiny")
    raw = tiny.to_json()
    plain = {key: value for key, value in raw["mem"].items() if key not in ("locate", "early")}
    other = cgra.from_json(raw | {"mem": plain, "pe": raw["pe"] | {"pass_depth": 4}})
    # That of the machine before there were locators, with passes of four tokens.
    assert not other.mem.locate and other.fingerprint == 0xbaf7c72c056895b6
    assert other.fingerprint != tiny.fingerprint and other.config_map("mem").layout == tiny.config_map("mem").layout
    early = cgra.from_json(other.to_json() | {"mem": {**plain, "early": True}})
    assert early.fingerprint != other.fingerprint and early.config_map("mem").layout == tiny.config_map("mem").layout
