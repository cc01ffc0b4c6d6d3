"""The dense controllers of a MEM tile: against plain delays and NumPy."""

from dataclasses import replace
from typing import Any

import checks
import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from buffers import LATENCY, SPECS, Config, check, ramp, simulate, words

from sardonyx.compiler.dense.map.affine import Pattern, events, fields, replay
from sardonyx.hw import emit
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.buffer import READS, VALID, WRITES
from sardonyx.hw.arch.primitive import BUFFER
from sardonyx.hw.arch.tile import MEM
from sardonyx.hw.configuration import packed
from sardonyx.hw.emit import macro
from sardonyx.hw.memory.buffer import Buffer
from sardonyx.hw.tile.core import TileCore
from sardonyx.sim.model.cycles import buffer as model
from sardonyx.sim.rtl.bench import Bench


@pytest.mark.parametrize("name", ["onyx", "amber"])
@pytest.mark.parametrize("delay", [11, 12, 13, 61, 62, 64, 512, 1023, 2048, 2049])
def test_a_line_delays_every_word_by_any_number_of_cycles(name: str, delay: int) -> None:
    spec, start, cycles = SPECS[name], 3, 5000
    given = words(delay, cycles)
    config = fields(spec, "wr0", ramp(spec, start)) | fields(spec, "rd0", ramp(spec, start + delay - LATENCY))
    found, overflow = simulate(spec, config, {"wr0": given}, cycles)
    assert found["rd0"][start + delay:].tolist() == given[start:cycles - delay] and not overflow
    check(spec, config, {"wr0": given}, cycles)


@pytest.mark.parametrize("delay,message", [
    (10, "rd0 reads word 0 in cycle 7, wr0 writes it in cycle 3, less than 5 apart"),
    (2050, "rd0 reads word 0 in cycle 2047, wr0 writes it in cycle 2051, less than 5 apart")])
def test_shorter_and_longer_delays_are_refused(delay: int, message: str) -> None:
    config = fields(MEM, "wr0", ramp(MEM, 3)) | fields(MEM, "rd0", ramp(MEM, 3 + delay - LATENCY, words=8))
    with pytest.raises(model.ScheduleError) as error:
        model.run(MEM, config, {}, 2100)
    assert str(error.value) == message


def test_a_line_has_two_delays_and_its_rows_need_not_fill_lines_of_the_sram() -> None:
    width, cycles = 62, 3000
    given = words(1, cycles)
    config = fields(MEM, "wr0", ramp(MEM, 0))
    for port, rows in (("rd0", 1), ("rd1", 2)):
        config |= fields(MEM, port, ramp(MEM, rows * width - LATENCY))
    found, overflow = simulate(MEM, config, {"wr0": given}, cycles)
    assert found["rd0"][width:].tolist() == given[:-width] and found["rd1"][2 * width:].tolist() == given[:-2 * width]
    assert not overflow


@pytest.mark.parametrize("name", ["onyx", "amber", "two_lanes", "eight_lanes"])
@pytest.mark.parametrize("phase", range(4))
def test_as_many_streams_as_lanes_run_at_full_rate_for_ever_in_any_phase(name: str, phase: int) -> None:
    spec, cycles = SPECS[name], 4000
    half = spec.buffer_words // 2
    inputs = {port: words(n, cycles) for n, port in enumerate(WRITES)}
    config: Config = {}
    for n in range(1 if name == "two_lanes" else 2):
        # Each pair goes around in a half of the memory.
        loops = Pattern((half, 256), (1, half), (1, 0), 2 + n * phase, n * half)
        config |= fields(spec, f"wr{n}", loops)
        config |= fields(spec, f"rd{n}", replace(loops, cycle=loops.cycle + spec.write_to_read + n))
    result = check(spec, config, inputs, cycles)
    expected = {"two_lanes": 1, "eight_lanes": 0.5}.get(name, 1) * cycles
    assert expected - 30 < result.accesses <= expected


@pytest.mark.parametrize("name", ["onyx", "amber"])
def test_a_matrix_is_written_by_rows_and_read_by_columns(name: str) -> None:
    spec, rows, columns = SPECS[name], 13, 22
    count = rows * columns
    given = words(5, count)
    config = fields(spec, "wr0", Pattern((columns, rows), (1, columns), (1, columns), 0, 100))
    config |= fields(spec, "rd0", Pattern((rows, columns), (1, rows), (columns, 1), count + 5, 100))
    found, overflow = simulate(spec, config, {"wr0": given}, 2 * count + 20)
    expected = np.array(given).reshape(rows, columns).T.ravel()
    assert found["rd0"][count + 5 + LATENCY:][:count].tolist() == expected.tolist() and not overflow


def test_windows_are_read_by_six_loops() -> None:
    """Every 3 x 3 window of every image of a batch, with a stride of two columns."""
    images, height, width = 2, 7, 9
    count = images * height * width
    given = words(6, count)
    config = fields(MEM, "wr0", ramp(MEM, 0, 0, count))
    extents = (3, 3, 4, 5, 2)
    strides = tuple(int(each) for each in np.cumprod((1, *extents[:-1])))
    config |= fields(MEM, "rd0", Pattern(extents, strides, (1, width, 2, width, height * width), 200, 0))
    picture = np.array(given).reshape(images, height, width)
    expected = [word for image in range(images) for y in range(5) for x in range(4)
                for word in picture[image, y:y + 3, 2 * x:2 * x + 3].ravel()]
    found, overflow = simulate(MEM, config, {"wr0": given}, 200 + LATENCY + len(expected))
    assert found["rd0"][200 + LATENCY:].tolist() == expected and not overflow


class Accumulator(wiring.Component):
    """rd0 comes back on wr0 after `ROUND` cycles, with the words of `i` added; what is written leaves on `o`."""

    ROUND = 3

    i: In(stream.Signature(16, always_ready=True))
    o: Out(stream.Signature(16, always_valid=True))
    cfg: In(MEM.config(BUFFER).layout.size)
    overflow: Out(1)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.buffer = buffer = macro(Buffer(MEM))
        word = buffer.rd0.payload.data
        for n in range(self.ROUND):
            late = Signal(16, name=f"late{n}")
            m.d.sync += late.eq(word)
            word = late
        total = Signal(16)
        m.d.comb += [buffer.cfg.as_value().eq(self.cfg), total.eq(word + self.i.payload), buffer.wr0.payload.data.eq(total),
                     self.o.payload.eq(total), self.overflow.eq(buffer.overflow)]
        return m


def test_sums_are_read_and_written_back_by_one_set_of_loops() -> None:
    """A tile of partial sums, walked 5 x 8 with a pitch of 50 and addresses that are no multiple of a line, eight times."""
    loops = Pattern((5, 8, 8), (1, 6, 60), (1, 50, 0), 500, 7)
    fill = replace(loops, extents=(5, 8), cycle_strides=(1, 6), address_strides=(1, 50), cycle=0)
    start = loops.cycle + LATENCY + Accumulator.ROUND
    cycles = start + 8 * 60
    given = words(9, cycles)
    config = fields(MEM, "rd0", loops) | replay(MEM, "wr0", start, loops.address)
    # Zeros come first, from a port that has loops of its own.
    config |= fields(MEM, "wr1", fill)
    result = Bench(Accumulator()).run({"i": given}, MEM.config(BUFFER).encode(**config), expect={"o": cycles})
    assert not result.status["overflow"]
    at, addresses = events(loops)
    sums = np.zeros(2048, int)
    for cycle, address in zip(at + LATENCY + Accumulator.ROUND, addresses, strict=True):
        sums[address] = (sums[address] + given[cycle]) & 0xFFFF
        assert result.outputs["o"][cycle] == sums[address], cycle


def test_a_write_port_that_replays_follows_the_loops_of_its_read_port() -> None:
    loops = Pattern((3, 2, 4), (2, 9, 30), (64, -3, 11), 300, 1000)
    config = fields(MEM, "wr0", ramp(MEM, 0, 0, 2048)) | fields(MEM, "rd1", loops) | replay(MEM, "wr1", 320, 1000)
    walked = model.schedule(MEM, config, "wr1", 1000)
    assert [(each.cycle - 20, each.address) for each in walked] == \
        [(int(cycle), int(address) % 2048) for cycle, address in zip(*events(loops), strict=True)]


def test_schedules_outlast_their_counters() -> None:
    """Two gaps as long as the counter allows, after a start as late as it allows."""
    most = 1 << MEM.cycle_bits
    found, _ = simulate(MEM, fields(MEM, VALID, Pattern((3,), (most,), (0,), most - 1, 0)), {}, 3 * most + 10)
    assert np.flatnonzero(found[VALID]).tolist() == [most - 1, 2 * most - 1, 3 * most - 1]


def test_as_a_rom_it_looks_up_a_word_in_every_cycle() -> None:
    table = words(3, 1024)
    config = fields(MEM, "wr1", ramp(MEM, 0, 0, 1024)) | {"rom": 1}
    addresses = [0] * 1100 + [each % 1024 for each in words(4, 3000)]
    found, overflow = simulate(MEM, config, {"wr0": addresses, "wr1": table}, 4000)
    assert found["rd0"][1100 + LATENCY:].tolist() == [table[address] for address in addresses[1100:4000 - LATENCY]]
    assert not overflow
    check(MEM, config, {"wr0": addresses, "wr1": table}, 4000)


@pytest.mark.parametrize("name", ["onyx", "amber"])
def test_more_than_the_port_can_do_is_reported_and_stays_so(name: str) -> None:
    """Two columns at once, a line for every word."""
    spec = SPECS[name]
    config = fields(spec, "wr0", ramp(spec, 0, 0, 2048))
    for port in READS:
        config |= fields(spec, port, Pattern((100,), (1,), (4,), 2100, 0))
    message = "^the port of the SRAM is overrun in cycle 2106: rd1 needs line 2, rd0 line 2$"
    with pytest.raises(model.ScheduleError, match=message):
        model.run(spec, config, {"wr0": words(1, 2048)}, 2300)
    assert simulate(spec, config, {"wr0": words(1, 2048)}, 4000)[1]


@pytest.mark.parametrize("name,lost", [("onyx", True), ("amber", False)])
def test_ports_that_leave_their_lines_together_at_once_need_a_second_line_in_the_sipo(name: str, lost: bool) -> None:
    pairs = Pattern((2, 20), (1, 8), (4, 8), 0, 0)
    config = fields(SPECS[name], "wr0", pairs) | fields(SPECS[name], "wr1", replace(pairs, address=1024))
    assert simulate(SPECS[name], config, {}, 200)[1] is lost


class Line(wiring.Component):
    """The core of a MEM tile, from in0 to out0, without valid and ready."""

    def __init__(self, name: str) -> None:
        self.arch = presets.get(name)
        self.widths = self.arch.interconnect.widths["data"]
        super().__init__({"i": In(stream.Signature(self.widths, always_ready=True)),
                          "o": Out(stream.Signature(self.widths, always_valid=True)),
                          "cfg": In(self.arch.config_map("mem").layout.size),
                          "active": Out(1), "waiting": Out(len(MEM.ports)), "overflow": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.core = core = macro(TileCore(self.arch, self.arch.mem))
        m.d.comb += [core.in0.payload.eq(self.i.payload), core.in0.valid.eq(1), self.o.payload.eq(core.out0.payload),
                     core.out0.ready.eq(1), core.cfg.as_value().eq(self.cfg)]
        m.d.comb += [getattr(self, name).eq(getattr(core, name)) for name in ("active", "waiting", "overflow")]
        return m


@pytest.mark.parametrize("name", ["tiny", "amber"])
def test_a_tile_set_to_buffer_delays_words_and_is_quiet(name: str) -> None:
    """The register of the core's input delays by one cycle more."""
    arch, delay, cycles = presets.get(name), 100, 400
    config = fields(arch.mem, "wr0", ramp(arch.mem, 1)) | fields(arch.mem, "rd0", ramp(arch.mem, 1 + delay - LATENCY))
    values: dict[str, Any] = {"core": {"mode": "buffer"}, "buffer": config}
    if name == "tiny":
        values["cb_data"] = {"in0_static": 1}
    space, given = arch.config_map("mem"), words(2, cycles)
    result = Bench(Line(name)).run({"i": given}, packed(space, space.encode(values)), expect={"o": cycles})
    assert result.outputs["o"][1 + delay:] == given[:cycles - delay - 1]
    assert result.status == {"active": 0, "waiting": 0, "overflow": 0}


def test_the_hardware_passes_lint(tmp_path: Any) -> None:
    for name in ("onyx", "amber", "two_lanes"):
        files = emit.emit(Buffer(SPECS[name]), tmp_path / name)
        checks.check_yosys(files, "buffer")
        checks.lint(files, "buffer")
