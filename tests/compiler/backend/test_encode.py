"""Bitstreams: decode inverts encode, and what is damaged or foreign is refused."""

import zlib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import try_to_read
from statements import able

from sardonyx.compiler.backend.encode import decode, encode, words
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.lang.kernel import kernel_names, load_kernel
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError

ONYX, SMALL, TINY = (presets.get(name) for name in ("onyx", "small", "tiny"))


@pytest.fixture(scope="module")
def program():
    return compile_einsum(load_kernel("spmspm").einsum(), SMALL).program


@pytest.mark.parametrize("name", kernel_names())
def test_decode_inverts_encode(name):
    arch = able(ONYX)
    program = compile_einsum(load_kernel(name).einsum(), arch).program
    assert decode(encode(program, arch), arch) == program


def test_streams_in_chains_of_tiles_are_written_and_read():
    arch = replace(SMALL, glb=replace(SMALL.glb, ring=8))
    program = compile_einsum(load_kernel("vec_elemmul").einsum(), arch).program
    assert max(each.tiles for each in program.transfers) > 1
    text = encode(program, arch)
    assert decode(text, arch) == program
    for before, after in ((" tiles 2", " tiles 3"), (" tiles 2", " tiles 1"), (" tiles 2", "")):
        body = text.rpartition("crc ")[0]
        assert before in body
        with pytest.raises(UserError, match="the bitstream is damaged"):
            decode(sealed(body.replace(before, after)), arch)


def test_a_stream_that_is_there_twice_is_refused(program):
    body = encode(program, SMALL).rpartition("crc ")[0]
    for line in (line for line in body.splitlines() if line.startswith(("load", "store"))):
        with pytest.raises(UserError, match="the bitstream is damaged"):
            decode(sealed(body.replace(line, f"{line}\n{line}")), SMALL)


@pytest.mark.parametrize("name", ["a b", "100%", "photo\n", "\u2028", "größe", "%20"])
def test_streams_may_have_any_name(name, program):
    named = replace(program, transfers=tuple(replace(each, name=name) for each in program.transfers))
    assert decode(encode(named, SMALL), SMALL) == named


def test_the_same_program_gives_the_same_bytes(program):
    again = compile_einsum(load_kernel("spmspm").einsum(), presets.get("small")).program
    assert encode(again, SMALL) == encode(program, SMALL)


def test_every_register_of_a_used_tile_is_written(program):
    written = {address for address, _ in words(program, SMALL)}
    for x, y in program.config:
        count = SMALL.config_map(SMALL.tiles[x, y].kind).words
        assert {x << 24 | y << 16 | register for register in range(count)} <= written


def test_power_domains_are_switched_first_those_of_unused_tiles_off():
    arch = replace(SMALL, power_domains=True)
    program = compile_einsum(load_kernel("spmspm").einsum(), arch).program
    # A table, as dense programs have: memories are filled behind all else.
    filled = replace(program, contents={next(iter(program.config)): (1, 2, 3)})
    assert decode(encode(program, arch), arch) == program
    writes = words(filled, arch)
    unused, used = len(arch.tiles) - len(program.config), len(program.config)
    switches = [(where >> 24, where >> 16 & 0xFF) for where, _ in writes[:unused + used]]
    assert all(where & 0xFFFF == 0 for where, _ in writes[:unused + used])
    assert switches[:unused] == sorted(arch.tiles.keys() - program.config.keys()) and switches[unused:] == [*program.config]
    assert [word & 1 for _, word in writes[:unused + used]] == [0] * unused + [1] * used
    assert all(word == 0 for _, word in writes[:unused])
    rest = [where for where, _ in writes[unused + used:]]
    assert len(set(rest)) == len(rest) and all(where & 0xFFFF for where in rest)
    assert [where & 0xFFFF >= 0x8000 for where in rest] == [False] * (len(rest) - 2) + [True] * 2
    # Nothing else differs from the machine without.
    plain = compile_einsum(load_kernel("spmspm").einsum(), SMALL).program
    assert {site: {name: each for name, each in sets.items() if name != "power"} for site, sets in program.config.items()} \
        == plain.config and program.transfers == plain.transfers


def test_a_bitstream_for_another_machine_is_refused(program):
    with pytest.raises(UserError) as error:
        decode(encode(program, SMALL), TINY, "app.bits")
    assert str(error.value) == (
        f"app.bits: the bitstream is for machine {SMALL.fingerprint:016x}, but 'tiny' is {TINY.fingerprint:016x}\n"
        "  try: compile the program for 'tiny', or run it on the machine it was made for")


def test_a_truncated_bitstream_is_refused(program):
    text = encode(program, SMALL)
    for cut in (len(text) // 2, len(text) - 3):
        with pytest.raises(UserError) as error:
            decode(text[:cut], SMALL, "app.bits")
        assert str(error.value) == ("app.bits: the bitstream is truncated: it does not end in a checksum\n"
                                    "  try: compile the program again")


def test_a_changed_bit_is_found(program):
    text = encode(program, SMALL)
    line = text.splitlines()[20]
    broken = text.replace(line, line[:-1] + ("0" if line[-1] != "0" else "1"), 1)
    with pytest.raises(UserError) as error:
        decode(broken, SMALL, "app.bits")
    assert str(error.value).startswith("app.bits: the bitstream is damaged: checksum ")


@pytest.mark.parametrize("text,message", [
    ("\x7fELF", "app.bits: not a bitstream\n  try: give a file that 'sardonyx run --dump' wrote"),
    ("sardonyx-bitstream 1\ncrc 00000000\n", "app.bits: bitstream of another version: 'sardonyx-bitstream 1', this is "
                                             "'sardonyx-bitstream 2'\n  try: compile the program again"),
    ("sardonyx-bitstream 9\ncrc 00000000\n", "app.bits: bitstream of another version: 'sardonyx-bitstream 9', this is "
                                             "'sardonyx-bitstream 2'\n  try: compile the program again"),
])
def test_what_is_no_bitstream_is_refused(text, message):
    with pytest.raises(UserError) as error:
        decode(text, SMALL, "app.bits")
    assert str(error.value) == message


def sealed(body):
    return f"{body}crc {zlib.crc32(body.encode()):08x}\n"


@pytest.mark.parametrize("before,after", [
    ("fingerprint ", "finger print "), ("source {", "source ["), ("load B0 column", "load B0"),
    ("load B0 column ", "load B0 column zero"),
    ("bank 0 ", "bank 9 "), ("room 65536", "room 65537"), ("sections 1", "sections 0"), ("sections 1", "loops"),
    ("sections 1", "loops 0:1"), ("mode elastic", "mode plastic"), ("load B0 column ", "load B0 column 9"),
    ('"order"', "[" * 100000), ("\n01", "\nff"), ("\n01", "\n-1"), ("\n01", "\n\n01"), ('"expression"', '"contents": [], "a"'),
    ('"expression"', '"contents": {"1,1": 1000000000000}, "a"'), ('"expression"', '"contents": {"1,1": "x"}, "a"')])
def test_a_line_that_is_none_is_refused_though_the_checksum_is_right(before, after, program):
    body = encode(program, SMALL).rpartition("crc ")[0]
    assert before in body
    with pytest.raises(UserError) as error:
        decode(sealed(body.replace(before, after)), SMALL, "app.bits")
    assert str(error.value) == ("app.bits: the bitstream is damaged: its checksum is right, but a line of it is not\n"
                                "  try: compile the program again")


@settings(max_examples=200)
@given(seed=st.integers(0, 1 << 32), seal=st.booleans())
def test_damaged_bitstreams_are_read_or_refused(seed, seal, program):
    body = encode(program, SMALL).rpartition("crc ")[0]

    def read(content):
        text = content.decode(errors="replace")
        return decode(sealed(text) if seal else text, SMALL)

    try_to_read(read, body.encode(), seed)
