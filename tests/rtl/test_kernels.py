"""Every kernel on every engine: equal words everywhere, equal cycles in all forms of the Verilog.

The machine is 10 x 5 tiles with every third column of MEM tiles and a load stream per column: the smallest on which all
kernels but those of four and five factors fit, without the dense parts (test_dense.py has them), which take long to build. Its
tile library serves all of them; a machine in one piece is built per kernel.
"""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from collect import folded, in_one_piece, simulated
from hypothesis import Phase, assume, given, reject, settings
from hypothesis import strategies as st
from machines import KERNELS, WIDE
from random_statements import statements
from statements import agreeing, q, random_operands

import sardonyx
from sardonyx.api import explain_program
from sardonyx.compiler.backend.encode import decode, encode
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.ir.mapped import LOAD
from sardonyx.compiler.lang.einsum import LOCATED, parse, with_extents, with_sizes
from sardonyx.compiler.lang.kernel import kernel_names, load_kernel
from sardonyx.compiler.sparse.blocks import map_graph
from sardonyx.compiler.sparse.lower import lower
from sardonyx.compiler.sparse.tiles import Tiling
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.hw.arch.errors import UserError
from sardonyx.runtime.data.sub_tiles import Work, dense_levels, named
from sardonyx.sim import engines
from sardonyx.sim.expected import expected
from sardonyx.sim.expected import stored as stored_blocks
from sardonyx.sim.golden import einsum as golden
from sardonyx.sim.model.tokens import fabric
from sardonyx.tensors import values as tensors
from sardonyx.tensors.coordinates import Coo

DENSITIES = (0.05, 0.3, 1.0)
# Those that stand for others, which have the same primitives in the same places, and those of the other machine.
LARGE = ("mask_tri_four", "mat_vecmul_iter")
LIKE_OTHERS = ("mat_elemadd_relu", "mat_identity_dense", "mat_sd2ss", "mat_vecmul_ij", "matmul_ijk_relu", "matmul_jik",
               "matmul_jik_relu", "matmul_jki_relu", "matmul_kji_relu", "spmm_ijk_relu", "tensor3_identity",
               "tensor3_identity_dense", "tensor3_mttkrp_unfused1", "tensor3_mttkrp_unfused2", "tensor3_ttm",
               "trans_masked_broadcast", "vec_elemsub", "vec_identity", "vec_scalar_mul")


def machine(name):
    """The machine for a kernel."""
    return WIDE if name in LARGE else KERNELS


def operands(einsum, extents, density, seed):
    """Random operands by tensor name; scalars are never 0."""
    return {access.tensor: tensors.random_tensor(tuple(extents[i] for i in access.indices), density if access.indices else 1.0,
                                                 seed + n)
            for n, access in enumerate(einsum.operands)}


def with_holes(tensor, seed):
    """A tensor with some rows and columns emptied."""
    keep = np.ones(tensor.nnz, bool)
    for mode in range(tensor.rank):
        gone = np.random.default_rng(seed + mode).random(tensor.shape[mode]) < 0.4
        keep &= ~gone[tensor.coords[:, mode]]
    return Coo.make(tensor.shape, tensor.coords[keep], tensor.values[keep])


def whole(einsum, data):
    """One transaction with the whole operands, empty ones too (which tiling would skip), and what it must give."""
    result = golden.evaluate(einsum, data)
    blocks = {name: block for name, block in named(einsum.result, golden.words(einsum, result)).items()
              if name in dense_levels(einsum.result)[:einsum.framed]}
    for access in einsum.operands:
        blocks |= named(access, tensors.encode(data[access.tensor].diagonal(access.modes), access.format))
    return blocks, stored_blocks(einsum, result)


def transactions(name):
    """Transactions of a kernel and what they must give: shapes 1 and prime, three densities, holes, all empty, and a run of
    sub-tiles of operands larger than one tile."""
    kernel = load_kernel(name)
    edges = dict(kernel.shapes[1])
    # What is scattered has the extents of sub-tiles in its program.
    einsum = with_sizes(kernel.einsum(), edges)
    pairs = []
    for extents in [edges] if einsum.scattered else kernel.shapes[:2]:
        for seed, density in enumerate(DENSITIES):
            data = operands(einsum, extents, density, 10 * seed)
            pairs.append(whole(einsum, data))
            pairs.append(whole(einsum, {k: with_holes(v, seed) for k, v in data.items()}))
        empty = {access.tensor: Coo.empty(tuple(extents[i] for i in access.indices)) for access in einsum.operands}
        pairs.append(whole(einsum, empty))
        for tensor in einsum.tensors:
            pairs.append(whole(einsum, data | {tensor: empty[tensor]}))
    largest = operands(einsum, kernel.shapes[-1], 0.2, 7)
    work = Work(tile(einsum, largest, KERNELS.mem.level_words, edges if einsum.scattered else None))
    if work.tiling.after is not None:
        # Here all of a kernel is for the array: what is summed inside a function is not cut, so that the host applies none.
        work = Work(tile(einsum, largest, KERNELS.mem.level_words, dict.fromkeys(einsum.result.indices, 8)))
    pairs += list(zip(work.transactions(), expected(work), strict=True))[:12]
    return einsum, pairs


@pytest.mark.parametrize("name", kernel_names())
def test_kernel_gives_the_words_of_numpy_on_tokens_and_on_the_decoded_bitstream(name):
    einsum, pairs = transactions(name)
    arch = machine(name)
    compiled = compile_einsum(einsum, arch)
    program = decode(encode(compiled.program, arch), arch)
    assert program == compiled.program
    inputs, right = [p[0] for p in pairs], [p[1] for p in pairs]
    for found in (fabric.run_graph(compiled.graph, inputs), fabric.run_program(program, arch, inputs)):
        assert engines.differences(found, right)[1] == []


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name in LARGE + LIKE_OTHERS else ())
                                  for name in kernel_names()])
def test_kernel_gives_the_words_of_numpy_in_generated_verilog(name):
    einsum, pairs = transactions(name)
    compiled = compile_einsum(einsum, machine(name))
    inputs = [p[0] for p in pairs]
    stored, run = simulated(compiled.program, machine(name), inputs, full=True)
    assert engines.differences(stored, [p[1] for p in pairs])[1] == []
    # What a report names its bottleneck by is a bound: no part of the program works longer.
    assert max(fabric.working_cycles(compiled.graph, inputs).values()) <= run.cycles


@pytest.mark.parametrize("form,name", [
    pytest.param(form, name, marks=() if form is folded and name == "vec_elemadd" else pytest.mark.slow)
    for form in (folded, in_one_piece) for name in kernel_names() if name not in LIKE_OTHERS])
def test_kernel_gives_the_same_words_and_cycles_in_a_machine_that_is_built_for_it(form, name):
    einsum, pairs = transactions(name)
    arch = machine(name)
    compiled = compile_einsum(einsum, arch)
    inputs, expected = [p[0] for p in pairs], [p[1] for p in pairs]
    stored, run = form(compiled.program, arch, inputs)
    assert engines.differences(stored, expected)[1] == []
    assert run.cycles == simulated(compiled.program, arch, inputs, full=True)[1].cycles


@pytest.mark.parametrize("text,formats,extents,least", [
    ("X(i,j) = B(i,k) * C(k,j)", {"B": "dd01", "C": "ss10"}, {"i": 11, "j": 13, "k": 29}, 2.0),     # spmm_ijk
    ("X(i,j) = B(i,j) * C(i,k) * D(k,j)", {"C": "dd01", "D": "dd10"}, {"i": 23, "j": 29, "k": 7}, 1.15),    # sddmm
    ("x(i) = B(i,j) * c(j)", {"c": "d0"}, {"i": 23, "j": 31}, 2.0)])
def test_locating_gives_the_same_words_in_fewer_cycles_than_scanning(text, formats, extents, least):
    plain = parse(text, formats=formats)
    data = [operands(plain, extents, density, seed) for seed, density in enumerate((0.05, 0.05, 0.3))]
    sparse = {name for name in plain.tensors if "d" not in formats.get(name, "s")}
    every = [*data, *(each | {name: Coo.empty(each[name].shape) for name in names} for each in data[:1]
                      for names in (sparse, plain.tensors))]
    pairs, cycles = [whole(plain, each) for each in every], {}
    for locate in LOCATED:
        compiled = compile_einsum(replace(plain, locate=locate), KERNELS)
        loaded = [{name: blocks[name] for name in (each.name for each in compiled.program.loads)} for blocks, _ in pairs]
        stored, run = simulated(compiled.program, KERNELS, loaded, full=True)
        assert engines.differences(stored, [right for _, right in pairs])[1] == []
        cycles[locate] = run.cycles
    assert cycles["none"] > least * cycles["all"]


def test_a_product_with_a_locator_takes_the_cycles_of_its_busiest_part():
    einsum = replace(parse("X(i,j) = B(i,k) * C(k,j)", formats={"B": "dd01", "C": "ss10"}), locate="all")
    inputs, right = whole(einsum, operands(einsum, {"i": 13, "j": 25, "k": 22}, 0.2, 0))
    compiled = compile_einsum(einsum, KERNELS)
    (_, one), (stored, four) = (simulated(compiled.program, KERNELS, [inputs] * count, full=True) for count in (1, 4))
    assert engines.differences(stored, [right] * 4)[1] == []
    assert four.cycles - one.cycles < 1.03 * 3 * max(fabric.working_cycles(compiled.graph, [inputs]).values())


def fits(graph, arch):
    """Whether a machine has the tiles for a graph."""
    loads = sum(stream.direction == LOAD for stream in graph.streams)
    kinds = [tile.kind for tile in arch.tiles.values()]
    return loads <= arch.columns and all(graph.count(kind) <= kinds.count(kind) for kind in ("pe", "mem"))


@settings(max_examples=10, phases=[Phase.generate, Phase.shrink])
@given(text=statements(4).filter(lambda text: len(text) > 40), extents=st.permutations([2, 3, 5, 7, 4, 2, 3]),
       seed=st.integers(0, 99), form=st.sampled_from(["ss", "ds", "dd", "sd"]), scatter=st.booleans())
def test_random_statements_give_the_words_of_numpy_in_generated_verilog(text, extents, seed, form, scatter):
    try:
        einsum = replace(parse(text, formats={"X": form[:len(parse(text).result.indices)]}), scatter=scatter)
    except UserError:
        reject()
    assume(fits(map_graph(lower(einsum)), KERNELS))
    named_extents = agreeing(einsum, extents)
    einsum = with_sizes(with_extents(einsum, named_extents), named_extents)
    data = random_operands(einsum, named_extents, [0.3, 0.6], seed)
    holes = {name: with_holes(tensor, seed) for name, tensor in data.items()}
    pairs = [whole(einsum, each) for each in (data, holes, data)]
    compiled = compile_einsum(einsum, KERNELS)
    stored, _ = simulated(compiled.program, KERNELS, [p[0] for p in pairs], full=True)
    assert engines.differences(stored, [p[1] for p in pairs])[1] == []


def vectors(sizes):
    """Transactions of `vec_elemmul` on vectors of so many nonzeros, all at the same coordinates, and what they must give."""
    einsum = load_kernel("vec_elemmul").einsum()
    return [whole(einsum, {access.tensor: Coo.make((size,), np.arange(size)[:, None], np.arange(size) % 7 + n + 1)
                           for n, access in enumerate(einsum.operands)}) for size in sizes]


def in_one_launch(sizes):
    """The cycles of `vec_elemmul` on them, one behind the other in one launch, whose words are right."""
    pairs = vectors(sizes)
    compiled = compile_einsum(load_kernel("vec_elemmul").einsum(), KERNELS)
    # Blocks are no longer than these, so a bank has room for more of them than the planner would take it to have.
    bounds = {stream.name: max(sizes) + 4 for stream in compiled.program.stores}
    stored, run = simulated(compiled.program, KERNELS, [each for each, _ in pairs], full=True, bounds=bounds)
    assert engines.differences(stored, [words for _, words in pairs])[1] == []
    assert run.launches == 1
    return run.cycles


# A block of m coordinates has m + 4 words: 2, 0, m, m and those.
@pytest.mark.parametrize("size,idle", [(1, 0.5), (2, 0), (3, 0), (4, 0), (5, 0), (7, 0), (12, 0), (13, 0), (50, 0), (97, 0)])
def test_transactions_of_a_launch_follow_each_other_with_no_cycle_or_few_but_for_their_words(size, idle):
    start_to_start = (in_one_launch([size] * 32) - in_one_launch([size] * 12)) / 20
    assert start_to_start == size + 4 + idle


def test_transactions_of_many_sizes_follow_each_other_with_no_cycle_but_for_their_words():
    # None is longer than the two after it: they are written while it is read.
    sizes = [17, 31, 16, 23, 29, 18, 30, 19]
    once, again = in_one_launch(sizes * 2), in_one_launch(sizes * 5)
    assert again - once == 3 * (sum(sizes) + 4 * len(sizes))


def test_partial_results_of_sub_tiles_add_up():
    einsum = load_kernel("spmspm").einsum()
    data = operands(einsum, {"i": 60, "j": 50, "k": 70}, 0.1, 3)
    tiling = tile(einsum, data, KERNELS.mem.level_words, 16)
    assert isinstance(tiling, Tiling)
    work = Work(tiling)
    assert work.result(expected(work)) == golden.evaluate(einsum, data)


# Rows: full and all below 0; with a zero that is not stored; empty; with a stored value above it; one.
LOWEST = np.array([[-3, -1, -2], [0, -5, -1], [0, 0, 0], [2, 0, -7], [-9, -8, -32768]])


@pytest.mark.parametrize("text,shapes,edges", [
    ("x(i) = max(k, B(i,k))", {"B": (5, 3)}, {"i": 1}), ("x = max(k, b(k))", {"b": (3,)}, None),
    ("x(i) = max(k, B(i,k))", {"B": (1, 1)}, None), ("x(i) = max(k, B(i,k))", {"B": (41, 37)}, {"i": 7}),
    ("X(i,j) = max(k, B(i,k) * C(k,j)) - D(i,j)", {"B": (11, 3), "C": (3, 13), "D": (11, 13)}, {"i": 4, "j": 5})])
def test_maxima_are_those_of_dense_arrays(text, shapes, edges):
    given = {name: tensors.to_array(tensors.random_tensor(shape, (0.4, 1.0)[seed % 2], seed))
             for seed, (name, shape) in enumerate(shapes.items())}
    given |= {name: LOWEST if shape == LOWEST.shape else LOWEST[0] for name, shape in shapes.items()
              if shape in (LOWEST.shape, LOWEST[0].shape)}
    found = sardonyx.einsum(text, arch=KERNELS, engine="rtl-full", tile=edges, formats={"C": "dd"} if "C" in given else None,
                            **given).value
    if "C" in given:
        right = (given["B"][:, :, None].astype(int) * given["C"][None]).max(1) - given["D"]
    else:
        right = next(iter(given.values())).max(-1)
    found = found.toarray() if scipy.sparse.issparse(found) else np.asarray(found)
    assert np.array_equal(found, np.asarray(right).astype(np.int16))


@pytest.mark.parametrize("text,edges,right", [
    ("X(i,j) = B(i,j) / d(i)", 4, lambda t: q(t["B"], t["d"][:, None])),
    ("X(i,j) = d(i) / B(i,j) - 700 / C(i,j)", None,
     lambda t: q(t["d"][:, None], t["B"]) - q(np.full_like(t["C"], 700), t["C"])),
    ("x(i) = B(i,k) * C(i,k) / d(i)", {"i": 3}, lambda t: q((t["B"] * t["C"]).sum(1), t["d"])),
    ("x(i) = sum(k, B(i,k) / d(i)) / -3", {"i": 5}, lambda t: q(t["B"], t["d"][:, None]).sum(1) // -3)])
def test_quotients_are_those_of_dense_arrays(text, edges, right):
    random = np.random.default_rng(len(text))
    data = {"B": random.integers(-900, 900, (11, 13)) * (random.random((11, 13)) < 0.4), "C": random.integers(-3, 4, (11, 13)),
            "d": random.integers(-2, 3, 11)}
    given = {name: each for name, each in data.items() if name in parse(text).tensors}
    found = sardonyx.einsum(text, arch=KERNELS, engine="rtl-full", tile=edges, **given).value
    found = found.toarray() if scipy.sparse.issparse(found) else np.asarray(found)
    assert np.array_equal(found, right(data))


@pytest.mark.parametrize("text,order,form,edges", [
    ("X(i,j) = B(i,j)", "ji", "dd01", None), ("X(i,j) = B(i,j)", "ij", "sd", 5), ("X(i,j) = B(i,k) * C(k,j)", "ikj", "sd", 7),
    ("X(i,j) = B(i,k) * C(k,j)", "kij", "dd01", 9), ("X(i,j) = B(i,k) * C(k,j)", "kji", "dd01", None),
    ("X(i,j) = B(i,k) * C(k,j)", "kij", "ds", 9), ("X(i,j) = B(i,k) * C(k,j)", "kji", "ds10", 17)])
def test_dense_levels_of_results_are_written_at_coordinates_in_any_order(text, order, form, edges):
    random = np.random.default_rng(len(order))
    data = {name: random.integers(-9, 10, (17, 17)) * (random.random((17, 17)) < 0.2) for name in parse(text).tensors}
    found = sardonyx.einsum(text, order=order, formats={"X": form}, arch=KERNELS, engine="rtl-full", tile=edges, **data).value
    assert np.array_equal(found.toarray() if scipy.sparse.issparse(found) else found,
                          data["B"] @ data["C"] if "C" in data else data["B"])


@pytest.mark.parametrize("text,order,form", [("X(i,j,k) = B(i,j,k) - C(i,j,k)", "ijk", "sdd"),
                                             ("X(i,j,k) = A(i,l) * B(l,j,k)", "iljk", "sdd")])
def test_several_dense_levels_below_a_compressed_one_are_written_at_positions(text, order, form):
    random, edges = np.random.default_rng(3), dict.fromkeys(order, 3)
    data = {name: random.integers(-9, 10, (5, 5, 7)[:rank]) * (random.random((5, 5, 7)[:rank]) < 0.2)
            for name, rank in parse(text).tensors.items()}
    found = sardonyx.einsum(text, order=order, formats={"X": form}, arch=KERNELS, engine="rtl-full", tile=edges, **data).value
    assert np.array_equal(found, np.einsum("il,ljk", data["A"], data["B"]) if "A" in data else data["B"] - data["C"])


@pytest.mark.parametrize("text,form,order", [("X(i,j,k) = B(i,j,k)", "sdd", None), ("X(i,j) = A(i,k) * C(k,j)", "sd", "ikj")])
def test_a_graph_from_a_file_writes_values_at_places(text, form, order, tmp_path):
    random = np.random.default_rng(5)
    data = {name: random.integers(-3, 4, shape) * (random.random(shape) < 0.4)
            for name, shape in (("A", (7, 5)), ("B", (4, 3, 5)), ("C", (5, 6))) if name in parse(text).tensors}
    explain_program(text, formats={"X": form}, order=order, arch=KERNELS, graph=tmp_path / "x.gv")
    found = sardonyx.graph(tmp_path / "x.gv", arch=KERNELS, engine="rtl-full", statement=text, **data)
    assert found.report["words_checked"] > 40


def test_a_run_that_starves_is_stopped_and_the_waiting_tiles_are_named():
    compiled = compile_einsum(load_kernel("vec_elemmul").einsum(), KERNELS)
    vector = np.array([2, 0, 1, 1, 0], np.uint16)
    short = {"b0": vector, "b_vals": np.array([1, 5], np.uint16), "c0": vector, "c_vals": np.array([2, 5], np.uint16)}
    with pytest.raises(AssertionError) as error:
        simulated(compiled.program, KERNELS, [short], full=True)
    assert "nothing moved for" in str(error.value)
    assert "values_c" in str(error.value) or "mul" in str(error.value)


def test_a_level_that_outgrows_its_buffer_is_named():
    compiled = compile_einsum(load_kernel("vec_elemmul").einsum(), KERNELS)
    long = np.array([2, 0, 1100, 1100, *range(1100)], np.uint16)
    values = np.array([1100, *[1] * 1100], np.uint16)
    blocks = {"b0": long, "b_vals": values, "c0": long, "c_vals": values}
    with pytest.raises(UserError) as error:
        simulated(compiled.program, KERNELS, [blocks], full=True)
    assert "a level overflowed its buffer of 1024 words in tile" in str(error.value)


@pytest.mark.parametrize("order,place", [("ikj", (0, 1024)), ("kij", (32, 0)), ("kij", (0, 32))])
def test_a_coordinate_that_an_accumulator_has_no_sum_for_is_named(order, place):
    row, column = place
    einsum = parse("X(i,j) = B(i,k) * C(k,j)", order)
    compiled = compile_einsum(einsum, KERNELS)
    fits = {"B": Coo.make((40, 1), [[row % 32, 0]], [3]), "C": Coo.make((1, 1100), [[0, column % 1024 % 32]], [5])}
    beyond = {"B": Coo.make((40, 1), [[row, 0]], [3]), "C": Coo.make((1, 1100), [[0, column]], [5])}
    assert engines.differences(*[[each] for each in run_one(einsum, compiled, fits)])[1] == []
    with pytest.raises(UserError) as error:
        run_one(einsum, compiled, beyond)
    assert "a coordinate of a sum reached 1024, or of a sum for two indices 32 or 32, in tile" in str(error.value)
    assert "accumulate_k" in str(error.value)


def run_one(einsum, compiled, data):
    """What a transaction gives, and what it should."""
    blocks, right = whole(einsum, data)
    (stored,), _ = simulated(compiled.program, KERNELS, [blocks], full=True)
    return stored, right
