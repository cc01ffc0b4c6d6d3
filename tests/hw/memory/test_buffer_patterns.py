"""The dense controllers of a MEM tile, with random schedules: against the model with its checks."""

import random
from dataclasses import replace

import numpy as np
import pytest
from buffers import SMALL, SPECS, bench, check, ramp, simulate, words
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sardonyx.compiler.dense.map.affine import Pattern, events, fields
from sardonyx.hw.arch.buffer import READS, VALID, WRITES
from sardonyx.hw.arch.primitive import BUFFER
from sardonyx.hw.arch.tile import TileSpec
from sardonyx.sim.model.cycles import buffer as model
from sardonyx.sim.rtl.bench import Case


@st.composite
def nests(draw: st.DrawFn, levels: int, spec: TileSpec) -> Pattern:
    """Loops of up to 100 words; idle cycles between words, rows and planes."""
    extents: list[int] = []
    cycles: list[int] = []
    inner = 0       # from the first word to the last one of the loops inside
    for _ in range(draw(st.integers(1, levels))):
        extents.append(draw(st.integers(1, max(1, min(12, 100 // int(np.prod(extents, dtype=int)))))))
        cycles.append(inner + draw(st.integers(1, 6)))
        inner += (extents[-1] - 1) * cycles[-1]
    addresses = tuple(draw(st.integers(-5, 5) | st.integers(0, spec.buffer_words)) for _ in extents)
    return Pattern(tuple(extents), tuple(cycles), addresses, draw(st.integers(0, 40)), draw(st.integers(0, 2000)))


def later(pattern: Pattern, cycles: int) -> Pattern:
    return replace(pattern, cycle=pattern.cycle + cycles)


@pytest.mark.parametrize("name", ["small", "small_deep", "two_lanes", "eight_lanes"])
@settings(max_examples=25)
@given(data=st.data())
def test_random_patterns_do_what_the_model_says(name: str, data: st.DataObject) -> None:
    spec = SPECS[name]
    full, cycles = spec.buffer_words, 900
    # The memory is filled first, so that every read finds something.
    config = fields(spec, "wr0", ramp(spec, 0, 0, full))
    wait = full + spec.write_to_read
    write = later(data.draw(nests(3, spec)), wait)
    config |= fields(spec, "wr1", write)
    if data.draw(st.booleans()):
        config |= fields(spec, "rd0", later(write, spec.write_to_read + data.draw(st.integers(0, 9))))
    else:
        config |= fields(spec, "rd0", later(data.draw(nests(6, spec)), wait))
    config |= fields(spec, "rd1", later(data.draw(nests(6, spec)), wait)) if data.draw(st.booleans()) else {}
    config |= fields(spec, VALID, data.draw(nests(6, spec)))
    inputs = {port: words(n, cycles) for n, port in enumerate(WRITES)}
    try:
        check(spec, config, inputs, cycles)
    except model.ScheduleError as error:
        overrun = "overrun" in str(error)
        assume(overrun)
        assert simulate(spec, config, inputs, cycles)[1], "the hardware reports what the model does"


def dense_nest(rng: random.Random, levels: int, spec: TileSpec) -> Pattern:
    """Loops with few idle cycles, or with many; addresses within a line, to the next, or anywhere."""
    most, inner = rng.choice((1, 2, 9)), 0
    extents: list[int] = []
    cycles: list[int] = []
    for _ in range(rng.randint(1, levels)):
        extents.append(rng.randint(1, max(1, min(12, 150 // int(np.prod(extents, dtype=int))))))
        cycles.append(inner + rng.randint(1, most))
        inner += (extents[-1] - 1) * cycles[-1]
    strides = (1, 1, 0, -1, 2, spec.sram_lanes, spec.sram_lanes + 1, rng.randrange(spec.buffer_words))
    return Pattern(tuple(extents), tuple(cycles), tuple(rng.choice(strides) for _ in extents), rng.randint(0, 20),
                   rng.randrange(spec.buffer_words))


@pytest.mark.parametrize("name", ["small", "small_deep", "two_lanes", "eight_lanes"])
def test_busy_patterns_do_what_the_model_says(name: str) -> None:
    """Reads follow close behind writes; seeds whose words come too close are left out, schedules that overrun are not."""
    spec, cycles = SPECS[name], 600
    inputs = {port: words(n, cycles) for n, port in enumerate(WRITES)}
    cases: list[Case] = []
    expected: list[model.Result | None] = []
    for seed in range(120):
        rng = random.Random(seed)
        wait = spec.buffer_words + spec.write_to_read
        write = later(dense_nest(rng, 3, spec), wait)
        config = fields(spec, "wr0", write) | fields(spec, "wr1", ramp(spec, 0, 0, spec.buffer_words))
        for port in READS:
            behind = later(write, spec.write_to_read + rng.choice((0, 0, 1, 2, 5, 40)))
            config |= fields(spec, port, rng.choice((behind, later(dense_nest(rng, 6, spec), wait))))
        try:
            expected.append(model.run(spec, config, inputs, cycles))
        except model.ScheduleError as error:
            if "overrun" not in str(error):
                continue
            expected.append(None)
        cases.append(Case(inputs, spec.config(BUFFER).encode(**config), expect=dict.fromkeys((*READS, VALID), cycles)))
    assert expected.count(None) > 3 and len(expected) - expected.count(None) > 20
    for number, (wanted, result) in enumerate(zip(expected, bench(spec).run_many(cases), strict=True)):
        assert result.status["overflow"] == (wanted is None), number
        for port in READS if wanted else ():
            due = np.flatnonzero(wanted.words[port] != model.NOTHING)
            assert np.array(result.outputs[port])[due].tolist() == wanted.words[port][due].tolist(), (number, port)


@settings(max_examples=30)
@given(pattern=nests(6, SMALL))
def test_the_flag_is_one_in_the_cycles_of_its_schedule(pattern: Pattern) -> None:
    found, _ = simulate(SMALL, fields(SMALL, VALID, pattern), {}, 1500)
    expected = np.zeros(1500, int)
    cycles = events(pattern)[0]
    expected[cycles[cycles < 1500]] = 1
    assert found[VALID].tolist() == expected.tolist()
