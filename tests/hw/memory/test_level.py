"""Levels against slices of arrays: whatever is written, however it is read."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sardonyx.hw.arch.primitive import BUFFER, LEVEL
from sardonyx.hw.arch.tile import MEM, TileSpec
from sardonyx.hw.arch.token import DONE, MAYBE, is_control, is_stop, stop
from sardonyx.sim.model.tokens.network import Network
from sardonyx.sim.rtl.bench import primitive_bench, run_primitive

HALF = 1024
INPUTS = ("block", "stream")
# SRAMs so small that every run goes around them, with other numbers of lanes. Multipliers are seen in one of the others.
TINY = [replace(MEM, primitives=(LEVEL, BUFFER), sram_lines=lines, sram_lanes=lanes, multiplier_tree=False)
        for lines, lanes in ((16, 4), (32, 2), (8, 8))]
EARLY = [replace(spec, early=True) for spec in TINY[:2]]
SPECS = pytest.mark.parametrize("spec", [MEM, *TINY[:2], EARLY[0],
                                         *(pytest.param(spec, marks=pytest.mark.slow) for spec in (TINY[2], EARLY[1]))],
                                ids=lambda spec: f"{spec.sram_lines}x{spec.sram_lanes}{' early' * spec.early}")

lengths = st.lists(st.one_of(st.integers(0, 2), st.integers(0, 9)), max_size=12)
stalls = st.one_of(st.none(), st.integers(1, 1 << 30))


class Stored:
    """A level by the lengths of its fibers; its coordinates are any words."""

    def __init__(self, sizes, seed=0):
        self.seg = np.concatenate(([0], np.cumsum(np.array(sizes, dtype=int))))
        self.crd = (np.arange(self.seg[-1]) * 40503 + 17 * seed) % 65536

    @property
    def fibers(self):
        return len(self.seg) - 1

    def block(self, values=False):
        crd = [len(self.crd), *self.crd.tolist()]
        return crd if values else [len(self.seg), *self.seg.tolist(), *crd]

    def stream(self):
        tokens = []
        for r in range(self.fibers):
            tokens += [*self.crd[self.seg[r]:self.seg[r + 1]].tolist(), stop(r % 3)]
        return [*tokens, DONE]

    def fiber(self, r):
        return self.crd[self.seg[r]:self.seg[r + 1]].tolist(), list(range(self.seg[r], self.seg[r + 1]))


def scanned(refs, fiber):
    """The coordinates and references of a scan."""
    crd, ref = [], []
    for token, following in zip(refs, [*refs[1:], DONE]):
        if token == DONE or is_stop(token):
            ends = [DONE if token == DONE else token + 1]
        else:
            entries = fiber(token) if token != MAYBE else ([], [])
            crd += entries[0]
            ref += entries[1]
            ends = [] if is_stop(following) else [stop(0)]
        crd += ends
        ref += ends
    return crd, ref


@st.composite
def reference_streams(draw, count):
    """References below a count, in any order, with stops and maybes between."""
    kinds = [st.builds(stop, st.integers(0, 2)), st.just(MAYBE)]
    if count:
        kinds += [st.integers(0, count - 1)] * 3
    start = draw(st.integers(0, count))
    return [*range(start, count), *draw(st.lists(st.one_of(kinds), max_size=20)), DONE]


@st.composite
def transactions(draw, count=lambda stored: stored.fibers):
    """Levels, and references to each."""
    levels = [Stored(sizes, n) for n, sizes in enumerate(draw(st.lists(lengths, min_size=1, max_size=5)))]
    return levels, [draw(reference_streams(count(stored))) for stored in levels]


def fits(spec: TileSpec, stored: Stored) -> bool:
    return max(len(stored.seg), len(stored.crd)) <= spec.level_words


def run(config, inputs, expected, stalls=None, spec=MEM):
    """Run until nothing moves; it gives what is expected and takes all there is."""
    expected = {"crd": [], "ref_o": [], "block_o": []} | expected
    result = primitive_bench("level", spec).run(inputs, LEVEL.config.encode(**config), stalls, idle=400)
    assert result.outputs == expected
    assert not result.left and not result.status["overflow"]
    return result


def written(kind, levels, values=False):
    """The config and input stream that write levels."""
    if kind == "block":
        return {"input": kind}, {"block": [word for stored in levels for word in stored.block(values)]}
    return {"input": kind}, {"wr": [token for stored in levels for token in stored.stream()]}


def joined(parts):
    return [token for part in parts for token in part]


def both(scans):
    """Expected outputs of a run from what each transaction's scan gives."""
    scans = list(scans)
    return {"crd": joined(crd for crd, _ in scans), "ref_o": joined(ref for _, ref in scans)}


@SPECS
@settings(max_examples=40)
@given(case=transactions(), kind=st.sampled_from(INPUTS), seed=stalls)
@example(case=([Stored([])], [[DONE]]), kind="stream", seed=None)
@example(case=([Stored([])], [[stop(0), MAYBE, stop(1), DONE]]), kind="stream", seed=None)
@example(case=([Stored([0, 0, 0, 0, 0])], [[0, 1, 2, 3, 4, stop(0), 3, DONE]]), kind="block", seed=None)
@example(case=([Stored([0])] * 5, [[0, DONE]] * 5), kind="stream", seed=None)
def test_scan_gives_the_slices_that_the_segments_say(spec, case, kind, seed):
    pairs = [pair for pair in zip(*case) if fits(spec, pair[0])]
    config, inputs = written(kind, [stored for stored, _ in pairs])
    inputs["ref"] = joined(refs for _, refs in pairs)
    run(config, inputs, both(scanned(refs, stored.fiber) for stored, refs in pairs), seed, spec)


@pytest.mark.parametrize("multiplier_tree", [True, False])
@settings(max_examples=40)
@given(cases=st.lists(st.tuples(st.integers(0, 9), reference_streams(40)), min_size=1, max_size=5), seed=stalls)
def test_dense_scan_counts_and_multiplies(multiplier_tree, cases, seed):
    inputs = {"block": joined([2, 0, extent, 0] for extent, _ in cases),
              "ref": joined(refs for _, refs in cases)}
    scans = [scanned(refs, lambda r, n=extent: (list(range(n)), list(range(r * n, r * n + n))))
             for extent, refs in cases]
    run({"dense": 1}, inputs, both(scans), seed, replace(MEM, multiplier_tree=multiplier_tree))
    run({"dense": 1}, inputs, both(scans), seed, EARLY[0])


@pytest.mark.parametrize("multiplier_tree", [True, False])
def test_references_of_a_dense_scan_wrap_at_16_bits(multiplier_tree):
    run({"dense": 1}, {"block": [2, 0, 65535, 0], "ref": [1, DONE]},
        {"crd": [*range(65535), stop(0), DONE], "ref_o": [65535, *range(65534), stop(0), DONE]},
        spec=replace(MEM, multiplier_tree=multiplier_tree))


@SPECS
@settings(max_examples=40)
@given(case=transactions(lambda stored: len(stored.crd)), kind=st.sampled_from(INPUTS), seed=stalls)
def test_lookup_gives_values_and_zero_for_maybe(spec, case, kind, seed):
    pairs = [pair for pair in zip(*case) if fits(spec, pair[0])]
    config, inputs = written(kind, [stored for stored, _ in pairs], values=True)
    inputs["ref"] = joined(refs for _, refs in pairs)
    crd = [0 if ref == MAYBE else ref if is_control(ref) else int(stored.crd[ref])
           for stored, refs in pairs for ref in refs]
    run(config | {"output": "lookup", "values": 1}, inputs, {"crd": crd}, seed, spec)


@pytest.mark.parametrize("values", [0, 1])
@SPECS
@settings(max_examples=40)
@given(sizes=st.lists(lengths, min_size=1, max_size=5), kind=st.sampled_from(INPUTS), seed=stalls)
def test_block_is_what_was_written(spec, values, sizes, kind, seed):
    levels = [stored for stored in (Stored(each, n) for n, each in enumerate(sizes)) if fits(spec, stored)]
    config, inputs = written(kind, levels, values)
    expected = {"block_o": joined(stored.block(values) for stored in levels)}
    run(config | {"output": "block", "values": values}, inputs, expected, seed, spec)


@settings(max_examples=40)
@given(sizes=st.lists(st.integers(0, 9), min_size=1, max_size=6), kind=st.sampled_from(INPUTS), seed=stalls)
def test_root_scans_each_level_once(sizes, kind, seed):
    levels = [Stored([size], n) for n, size in enumerate(sizes)]
    config, inputs = written(kind, levels)
    run(config | {"root": 1}, inputs, both(scanned([0, DONE], stored.fiber) for stored in levels), seed)


@pytest.mark.parametrize("config,inputs,expected", [
    ({}, {"block": "4 0 2 2 3 3 4 7 9", "ref": "0 1 S0 2 N S1 D"},
     {"crd": "4 7 S0 S1 9 S0 S2 D", "ref_o": "0 1 S0 S1 2 S0 S2 D"}),
    ({"dense": 1}, {"block": "2 0 2 0", "ref": "0 2 S0 D"},
     {"crd": "0 1 S0 0 1 S1 D", "ref_o": "0 1 S0 4 5 S1 D"}),
    ({"output": "lookup", "values": 1}, {"block": "3 4 7 9", "ref": "2 N S0 0 D"}, {"crd": "9 0 S0 4 D"}),
    ({"output": "block"}, {"block": "4 0 2 2 3 3 4 7 9"}, {"block_o": "4 0 2 2 3 3 4 7 9"}),
    ({"input": "stream"}, {"wr": "4 7 S0 S0 9 S1 D", "ref": "2 0 S0 D"},
     {"crd": "9 S0 4 7 S1 D", "ref_o": "2 S0 0 1 S1 D"}),
    ({"input": "stream", "output": "block"}, {"wr": "4 7 S0 S0 9 S1 D S0 D D"},
     {"block_o": "4 0 2 2 3 3 4 7 9 2 0 0 0 1 0 0"}),
    ({"input": "stream", "output": "block", "values": 1}, {"wr": "5 S0 N 6 S1 D D"},
     {"block_o": "3 5 0 6 0"}),
])
def test_examples_of_the_docstrings(config, inputs, expected):
    outputs, _ = run_primitive("level", config, inputs)
    assert outputs == {"crd": "", "ref_o": "", "block_o": ""} | expected


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("size", [1, 3, 4, 5, 997, HALF])
def test_any_number_of_coordinates_to_the_whole_half(kind, size):
    levels = [Stored([size], n) for n in range(4)]
    config, inputs = written(kind, levels)
    run(config | {"root": 1}, inputs, both(scanned([0, DONE], stored.fiber) for stored in levels))


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("sizes", [[1] * (HALF - 1), [0] * (HALF - 1), [2, 0] * 511],
                         ids=["ones", "empty", "both"])
def test_any_number_of_segments_to_the_whole_half(kind, sizes):
    levels = [Stored(sizes, n) for n in range(3)]
    config, inputs = written(kind, levels)
    run(config | {"output": "block"}, inputs, {"block_o": joined(stored.block() for stored in levels)})


@pytest.mark.parametrize("kind,values,sizes", [
    ("block", 0, [HALF + 1]), ("stream", 0, [HALF + 1]), ("block", 0, [0] * HALF), ("stream", 0, [1] * HALF),
    ("block", 1, [HALF + 1]), ("stream", 1, [HALF + 1])])
@pytest.mark.parametrize("before", [0, 1, 2, 3])
def test_a_level_beyond_the_half_is_reported_and_never_given(kind, values, sizes, before):
    levels = [*(Stored([5], n) for n in range(before)), Stored(sizes), Stored([3])]
    config, inputs = written(kind, levels, values)
    number = LEVEL.config.encode(**config, output="block", values=values)
    result = primitive_bench("level", MEM).run(inputs, number, idle=400)
    assert result.status["overflow"] == 1
    assert result.outputs["block_o"] == joined(stored.block(values) for stored in levels[:before])
    assert result.left


def test_a_full_level_waits_for_the_one_before_instead_of_overwriting_it():
    levels = [Stored([HALF // 2, HALF // 2], n) for n in range(5)]
    config, inputs = written("stream", levels)
    refs = [1, 0, 1, stop(0), DONE]
    inputs["ref"] = refs * 5
    run(config, inputs, both(scanned(refs, stored.fiber) for stored in levels), 5)


def test_references_wait_for_the_level():
    stored, refs = Stored([3]), [0, DONE]
    result = run({}, {"block": stored.block(), "ref": refs}, both([scanned(refs, stored.fiber)]))
    assert result.stamps["crd"][0] > result.stamps["block"][-1]


LOCATES = replace(MEM, locate=True)


@st.composite
def located(draw):
    """References of a dense level and the coordinates wanted of each: an extent, and both streams."""
    extent = draw(st.integers(1, 9) | st.sampled_from([255, 65535]))
    refs = [ref for ref in draw(reference_streams(40)) if ref != DONE]
    return extent, refs, [ref if is_control(ref) and ref != MAYBE else draw(st.integers(0, extent - 1)) for ref in refs]


@pytest.mark.parametrize("multiplier_tree", [True, False])
@settings(max_examples=40)
@given(cases=st.lists(located(), min_size=1, max_size=5), seed=stalls)
@example(cases=[(1, [], [])] * 4, seed=None)
@example(cases=[(3, [stop(0), stop(1)], [stop(0), stop(1)]), (5, [7], [4])], seed=None)
def test_locating_multiplies_and_adds(multiplier_tree, cases, seed):
    inputs = {"block": joined([2, 0, extent, 0] for extent, _, _ in cases),
              "ref": joined([*refs, DONE] for _, refs, _ in cases), "wr": joined([*crds, DONE] for _, _, crds in cases)}
    wanted = [[token if is_control(token) else (token * extent + crd) % 65536 for token, crd in zip(refs, crds)] + [DONE]
              for extent, refs, crds in cases]
    config = {"dense": 1, "output": "locate"}
    result = run(config, inputs, {"ref_o": joined(wanted)}, seed, replace(LOCATES, multiplier_tree=multiplier_tree))
    meaning = Network({"level": ("level", config)}).run({("level", port): each for port, each in inputs.items()})
    assert meaning.outputs["level", "ref_o"] == result.outputs["ref_o"]


def test_a_coordinate_is_located_every_cycle_stops_included():
    tokens = [*([3] * 50), stop(0), *([2] * 50), stop(0), stop(1), DONE]
    result = run({"dense": 1, "output": "locate"}, {"block": [2, 0, 4, 0], "ref": tokens, "wr": tokens},
                 {"ref_o": [token if is_control(token) else token * 5 for token in tokens]}, spec=LOCATES)
    stamps = result.stamps["ref_o"]
    assert stamps[-1] - stamps[0] == len(tokens) - 1


@pytest.mark.parametrize("ref,crd,words", [
    ([1, stop(0), DONE], [0, stop(1), DONE], []), ([1, 1, DONE], [0, stop(0), DONE], []), ([DONE], [0, DONE], [])])
def test_locating_waits_where_the_streams_are_out_of_step(ref, crd, words):
    inputs = {"block": [2, 0, 4, 0] * 3, "ref": ref * 3, "wr": crd * 3}
    result = primitive_bench("level", LOCATES).run(inputs, LEVEL.config.encode(dense=1, output="locate"), idle=200)
    assert result.left and DONE not in result.outputs["ref_o"]


@pytest.mark.parametrize("crd,fault", [(3, 0), (4, 1)])
def test_a_located_coordinate_beyond_the_extent_is_a_fault(crd, fault):
    inputs = {"block": [2, 0, 4, 0], "ref": [1, DONE], "wr": [crd, DONE]}
    result = primitive_bench("level", LOCATES).run(inputs, LEVEL.config.encode(dense=1, output="locate"), idle=200)
    assert result.status["fault"] == fault


@pytest.mark.parametrize("refs,length,tokens", [("0 N S0 D", 3, 6), ("N 1 2 1 S0 D", 10, 35), ("N 0 0 S0 D", 199, 402)])
def test_a_scan_takes_a_cycle_for_each_token_and_twelve_more_at_most(refs, length, tokens):
    fibers = 3
    block = [fibers + 1, *range(0, length * fibers + 1, length), length * fibers, *[*range(length)] * fibers]
    inputs = {"block": " ".join(map(str, block)), "ref": refs}
    outputs, cycles = run_primitive("level", {"input": "block", "output": "scan"}, inputs)
    assert len(outputs["crd"].split()) == tokens
    # From when all of the level is there.
    assert cycles - len(block) <= tokens + 12
