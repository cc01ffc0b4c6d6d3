"""cocotb test of a tile on its emitted Verilog: configured over its channel, tokens from track to track.

Run by test_cocotb.py.
"""

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles

from sardonyx.cocotb import TileDriver, TokenSink, TokenSource, stalls
from sardonyx.compiler.backend.encode import decode, encode
from sardonyx.compiler.ir.program import ELASTIC, Program
from sardonyx.hw.arch.config import Values
from sardonyx.hw.arch.op import BY_NAME
from sardonyx.hw.arch.presets import get
from sardonyx.hw.arch.token import show_stream

ARCH = get("tiny")
SITE = (2, 2)


def adder(tile: TileDriver) -> "dict[str, Values]":
    """Tracks 0 and 1 from the west go to the ALU, its result to track 3 to the east."""
    return {"core": {"mode": "alu"},
            "alu": {"op": BY_NAME["adc"].code, "stream_a": 1, "stream_b": 1},
            "cb_data": {"data0_sel": tile.select("data0", "w_in0"), "data1_sel": tile.select("data1", "w_in1")},
            "sb_data": {"e3_sel": tile.select("e3", "res0")}}


@cocotb.test(timeout_time=200, timeout_unit="us")
async def a_tile_takes_its_part_of_a_bitstream_and_gives_its_words_back(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    tile = TileDriver(dut, ARCH, SITE)
    await tile.reset()
    config = {SITE: adder(tile), (0, 1): {"core": {"mode": "reducer"}}}
    program = Program(ARCH.fingerprint, ELASTIC, {"expression": "x = a + b"}, config, ())
    await tile.configure(decode(encode(program, ARCH), ARCH))
    words = ARCH.config_map("pe").encode(adder(tile))
    assert any(words) and [await tile.read(register) for register in range(len(words))] == words
    assert await tile.read(len(words)) == 0
    # Nothing takes the sum, so operands wait, and the status register says so.
    cocotb.start_soon(TokenSource(tile.tracks.entering("w", 0)).send("1 2 3 4 5 6 7 8"))
    cocotb.start_soon(TokenSource(tile.tracks.entering("w", 1)).send("1 2 3 4 5 6 7 8"))
    assert await tile.read() == 0
    await ClockCycles(dut.clk, 20)
    assert await tile.read() & 0b11 == 0b11


@cocotb.test(timeout_time=200, timeout_unit="us")
async def tracks_of_both_layers_and_of_one_side_move_side_by_side(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    tile = TileDriver(dut, ARCH, SITE)
    await tile.reset()
    ways = [("data", 1), ("data", 4), ("bit", 0), ("bit", 2)]
    await tile.configure({f"sb_{layer}": {f"s{track}_sel": tile.select(f"s{track}", f"n_in{into(tile, layer, track)}", layer)
                                          for each, track in ways if each == layer} for layer in ("data", "bit")})
    sent, received = [], []
    for number, (layer, track) in enumerate(ways):
        words = [number, 1, 0, 1, 1] if layer == "data" else [number % 2, 1, 0, 1, 1]
        source = TokenSource(tile.tracks.entering("n", into(tile, layer, track), layer), stalls(number))
        received.append(cocotb.start_soon(TokenSink(tile.tracks.leaving("s", track, layer), stalls(9 + number)).receive(5)))
        cocotb.start_soon(source.send(words))
        sent.append(words)
    assert [await each for each in received] == sent


def into(tile: TileDriver, layer: str, track: int) -> int:
    """The track from the north that may leave on a track to the south."""
    sources = ARCH.interconnect.fanin(tile.spec, layer)[f"s{track}"]
    return next(int(source[4:]) for source in sources if source.startswith("n_in"))


@cocotb.test(timeout_time=200, timeout_unit="us")
async def a_pe_adds_the_tokens_of_two_tracks(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    tile = TileDriver(dut, ARCH, SITE)
    await tile.reset()
    await tile.configure(ARCH.config_map("pe").encode(adder(tile)))
    for seed in (None, 1):
        pauses = [None if seed is None else stalls(seed + n) for n in range(3)]
        left, right = (TokenSource(tile.tracks.entering("w", n), pauses[n]) for n in range(2))
        sums = TokenSink(tile.tracks.leaving("e", 3), pauses[2])
        cocotb.start_soon(left.send("1 2 S0 40000 S1 D"))
        cocotb.start_soon(right.send("10 20 S0 30000 S1 D"))
        assert show_stream(await sums.receive_until_done()) == "11 22 S0 4464 S1 D"
