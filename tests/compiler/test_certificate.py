from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_statements import statements
from statements import DENSE, agreeing, random_operands

from sardonyx.compiler.ir.mapped import LOAD, VALUES, Block, MappedGraph, Net, Pin, level_name
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.lang.kernel import kernel_names, load_kernel, program_names
from sardonyx.compiler.sparse.balance import balance
from sardonyx.compiler.sparse.blocks import map_graph
from sardonyx.compiler.sparse.certificate import HELD, uncertified
from sardonyx.compiler.sparse.fuse import fuse
from sardonyx.compiler.sparse.lower import lower, lower_fused
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.primitive import PRIMITIVES, Flow
from sardonyx.hw.arch.token import DONE, stop
from sardonyx.sim.model.tokens import fabric
from sardonyx.sim.model.tokens.network import DeadlockError, Network
from sardonyx.tensors.fibertree import build

ONYX = presets.get("onyx")
# On an edge of the model there is a token that its source shows, too.
CAPACITY = HELD + 1


@pytest.mark.parametrize("name", kernel_names())
def test_kernels_have_a_certificate_without_tiles_that_hold_tokens(name):
    assert uncertified(map_graph(lower(load_kernel(name).einsum())), 0) == ()


@pytest.mark.parametrize("name", kernel_names())
def test_kernels_have_a_certificate_with_tiles_that_hold_tokens(name: str) -> None:
    balanced = balance(map_graph(lower(load_kernel(name).einsum())), ONYX)
    assert uncertified(balanced, ONYX.pe.pass_depth) == ()


@pytest.mark.parametrize("name", program_names())
def test_fused_programs_have_a_certificate_without_tiles_that_hold_tokens(name):
    program = load_kernel(name).program()
    assert uncertified(map_graph(lower_fused(fuse(program.statements, program.formats))), 0) == ()


def runs(einsum, graph, extents, densities, seed):
    """Run a statement three times on queues that hold what is certified; DeadlockError unless it ends."""
    operands = random_operands(einsum, agreeing(einsum, extents), densities, seed)
    words = {}
    for access in (*einsum.operands, einsum.result):
        if access is einsum.result:
            blocks = [[2, 0, 1, 0]] * len(access.indices)
        else:
            blocks = build(operands[access.tensor].diagonal(access.modes), access.format).blocks()
        words |= {level_name(access.slot, at if at < len(access.indices) else VALUES): block for at, block in enumerate(blocks)}
    network, streams, pins = fabric.network_of(graph)
    assert all(each.name in words for each in streams if each.direction == LOAD)
    network.run(*fabric._ends(streams, pins, [words] * 3), capacity=CAPACITY)


@pytest.mark.parametrize("text", DENSE)
def test_what_has_a_certificate_ends_on_queues_as_small(text):
    einsum = parse(text)
    graph = map_graph(lower(einsum))
    assert uncertified(graph, 0) == ()
    runs(einsum, graph, [9, 7, 6, 5], [0.5, 0.2, 0.8], 1)


@settings(max_examples=30, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow], deadline=None)
@given(text=statements(), seed=st.integers(0, 99),
       densities=st.lists(st.sampled_from((0.0, 0.2, 0.6, 1.0)), min_size=3, max_size=3))
def test_random_statements_with_a_certificate_end_on_queues_as_small(text, seed, densities):
    with suppress(UserError):
        einsum = parse(text)
        graph = map_graph(lower(einsum))
        assert uncertified(graph, 0) == ()
        runs(einsum, graph, [7, 5, 6, 4, 3], densities, seed)


def mapped(*wires, **primitives):
    """A mapped graph: wires are ``block.port block.port`` of streams; primitives by block, with fields."""
    blocks = {name: Block(name, "pe", primitive, fields) for name, (primitive, fields) in primitives.items()}

    def pin(text, flow):
        name, port = text.split(".")
        ports = PRIMITIVES[primitives[name][0]].ports
        return Pin(name, next(each.tile_port for each in ports if (each.name, each.flow) == (port, flow)))

    ends = [wire.split() for wire in wires]
    return MappedGraph(blocks, tuple(Net(pin(source, Flow.OUT), (pin(sink, Flow.IN),)) for source, sink in ends), ())


SCAN = ("level", {"output": "scan", "root": 1})
LOOKUP = ("level", {"output": "lookup", "values": 1})
TIMES = ("alu", {"op": 0, "stream_a": 1, "stream_b": 1})
SHARES = {"scan": SCAN, "x": LOOKUP, "sum": ("reducer", {}), "again": ("repeater", {}), "times": TIMES}
SHARED = ("scan.ref_o x.ref", "x.crd sum.val", "sum.val_o again.ref", "scan.crd again.crd", "x.crd times.a",
          "again.ref_o times.b")


def test_a_sum_of_a_fiber_beside_the_fiber_has_none_whatever_holds_tokens():
    found, = uncertified(mapped(*SHARED, **SHARES), 0)
    assert found == ("scan.ref_o -> x.ref, x.crd -> sum.val, sum.val_o -> again.ref may wait until "
                     "scan.crd -> again.crd (whole fibers) can take more")
    slack = mapped(*SHARED[:4], "x.crd slack.i", "slack.o times.a", SHARED[-1], **SHARES, slack=("pass_through", {}))
    assert uncertified(slack, 1000)


def test_it_waits_for_ever_on_a_fiber_longer_than_what_is_held():
    nodes = {"x": ("pass_through", {}), "sum": ("reducer", {}), "again": ("repeater", {}), "times": TIMES}
    wires = [(("x", "o"), ("sum", "val")), (("sum", "val_o"), ("again", "ref")), (("x", "o"), ("again", "crd")),
             (("x", "o"), ("times", "a")), (("again", "ref_o"), ("times", "b"))]
    fiber = [*range(1, 9), stop(0), DONE]
    with pytest.raises(DeadlockError):
        Network(nodes, wires).run({("x", "i"): fiber}, [("times", "res")], capacity=CAPACITY)


def chain(turns, *direct):
    """Values of i that are repeated along some level and summed again, some times one after the other, and beside that as they
    are."""
    wires, parts = ["scan.ref_o x.ref"], {"scan": SCAN, "x": LOOKUP, "times": TIMES}
    came = ["x.crd"]
    for turn in range(turns):
        parts |= {f"deep{turn}": ("level", {"output": "scan"}), f"again{turn}": ("repeater", {}), f"sum{turn}": ("reducer", {})}
        wires += [f"{came[-1]} again{turn}.ref", f"scan.ref_o deep{turn}.ref", f"deep{turn}.crd again{turn}.crd",
                  f"again{turn}.ref_o sum{turn}.val"]
        came.append(f"sum{turn}.val_o")
    parts |= {name: ("pass_through", {}) for name in direct}
    steps = ["x.crd", *(end for name in direct for end in (f"{name}.i", f"{name}.o")), "times.a"]
    return mapped(*wires, f"{came[-1]} times.b", *(f"{one} {other}" for one, other in list(pairwise(steps))[::2]), **parts)


def test_a_path_that_looks_ahead_often_needs_tokens_held_beside_it():
    assert uncertified(chain(1), 0) == ()
    found, = uncertified(chain(2), 0)
    assert found.endswith("may wait until x.crd -> times.a (2 tokens) can take more")
    assert "x.crd -> times.a" not in " ".join(uncertified(chain(2, "slack"), 1))


def test_what_is_not_understood_is_said():
    odd = mapped("scan.ref_o x.ref", "x.crd sum.val", "sum.val_o times.a", "x.crd times.b", scan=SCAN, x=LOOKUP,
                 sum=("reducer", {}), times=TIMES)
    assert uncertified(odd, 0) == ("streams that meet in times are of different depths",)
    merged = mapped("scan.crd drop.outer", "deep.crd drop.inner", "scan.ref_o deep.ref", "drop.inner_o again.crd",
                    "drop.outer_o again.ref", scan=SCAN, deep=("level", {"output": "scan"}),
                    drop=("dropper", {"form": "coordinate"}), again=("repeater", {}))
    said, = uncertified(merged, 0)
    assert said == "stops on drop.inner_o -> again.crd are merged, so that how it meets other streams is not known"
