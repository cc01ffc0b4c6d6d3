from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
from drawings import PUBLIC
from test_lanes import fused

from sardonyx.compiler.ir.mapped import Block
from sardonyx.compiler.ir.sam import Edge, Pin, SamGraph
from sardonyx.compiler.ir.sam_dot import to_dot
from sardonyx.compiler.ir.sam_ops import CRD, OPS, Operation, need
from sardonyx.compiler.ir.sam_read import read_sam
from sardonyx.compiler.ir.sam_reduce import Accumulator
from sardonyx.compiler.ir.sam_verify import faults, verify
from sardonyx.compiler.lang.einsum import EVERY, parse
from sardonyx.compiler.lang.program import parse_program
from sardonyx.compiler.sparse.blocks import map_graph
from sardonyx.compiler.sparse.fuse import fuse
from sardonyx.compiler.sparse.lower import lower, lower_fused
from sardonyx.hw.arch.primitive import PASS_THROUGH, Primitive

MATMUL = lower(parse("X(i,j) = B(i,k) * C(k,j)"))


def test_json_is_read_back_as_the_same_graph():
    again = SamGraph.from_json(MATMUL.to_json())
    assert again == MATMUL
    assert again.to_json() == MATMUL.to_json()


def test_text_shows_producers_before_consumers():
    lines = lower(parse("x(i) = b(i) * c(i)")).to_text().splitlines()
    assert lines[:3] == ["sam  x(i) = b(i) * c(i)", "order  i", "formats  x=s0  b=s0  c=s0"]
    assert lines[3] == "scan_b_i         Scanner(slot=b level=0 index=i dense=False root=True)"
    assert lines[8] == "mul              Alu(op=mul a=None b=None) a<-values_b.val b<-values_c.val"


def test_dot_has_the_public_dialects_types():
    text = to_dot(MATMUL)
    assert text.startswith('digraph SAM {\n  comment="X=ss01,B=ss01,C=ss10"\n')
    for kind in ("fiberlookup", "repsiggen", "repeat", "intersect", "arrayvals", "mul", "reduce", "crddrop",
                 "fiberwrite", "broadcast"):
        assert f'type="{kind}"' in text


def test_dot_says_whose_streams_joiners_and_droppers_take_and_give():
    lines = to_dot(lower(parse("X(i,j) = B(i,j) + C(i,j) + D(i,j)"))).splitlines()
    roles = [line.rpartition("comment=")[2] for line in lines if "->" in line]
    assert {'"in-B"]', '"in-C"]', '"in-D"]', '"out-B"]', '"outer-i"]', '"inner-j"]', '"inner-val"]'} <= set(roles)
    assert '  label="X(i,j) = B(i,j) + C(i,j) + D(i,j)"' in lines


def rewire(graph, sink, source):
    """The graph with an input driven from elsewhere."""
    edges = tuple(Edge(Pin.parse(source), edge.dst) if str(edge.dst) == sink else edge
                  for edge in graph.edges)
    return replace(graph, edges=edges)


def test_lowered_graphs_are_accepted():
    assert verify(MATMUL) is MATMUL


BROKEN = [
    ("values_B.ref", "scan_B_k.ref_o", "mul: the operands are not of the same loops"),
    ("reduce_k.crd", "scan_B_i.crd", "reduce_k: the guide is not the level above"),
    ("repeat_B_j.crd", "scan_B_i.crd", "repeat_B_j: the coordinates are not those of j"),
    ("intersect_k.ref1", "scan_B_k.ref_o", "intersect_k: ref1 does not belong to its coordinates"),
    ("drop_j.outer", "scan_B_i.crd", "drop_j: the coordinates are not those of j"),
    ("drop_i.inner", "scan_C_j.crd", "the values are not those of the innermost level"),
    ("write_X_j.wr", "drop_i.outer_o", "level 1 of X does not get the coordinates of j"),
    ("write_X_i.wr", "scan_B_i.crd", "level 1 of X is not nested in the level above"),
    ("write_X_vals.wr", "reduce_k.val_o", "the values are not those of the innermost level"),
    ("mul.a", "intersect_k.ref0_o", "intersect_k.ref0_o gives ref but mul.a takes val"),
    ("mul.a", "nowhere.val", "nowhere.val is no output"),
    ("repeat_C_i.crd", "scan_C_k.crd", "repeat_C_i is on a cycle"),
]


@pytest.mark.parametrize("sink, source, message", BROKEN)
def test_a_wrong_connection_is_found(sink, source, message):
    assert message in faults(rewire(MATMUL, sink, source))


def test_missing_and_double_edges_are_found():
    missing = replace(MATMUL, edges=tuple(edge for edge in MATMUL.edges if str(edge.dst) != "mul.b"))
    assert faults(missing) == ["values_C feeds nothing", "mul.b is not driven"]
    double = replace(MATMUL, edges=(*MATMUL.edges, MATMUL.edges[-1]))
    assert faults(double) == ["write_X_vals.wr is driven twice"]


def test_missing_and_double_writers_are_found():
    def without(name):
        return replace(MATMUL, nodes={key: op for key, op in MATMUL.nodes.items() if key != name},
                       edges=tuple(edge for edge in MATMUL.edges if edge.dst.node != name))

    assert faults(without("write_X_i")) == ["levels [1] are written but the values are 2 levels deep"]
    assert faults(without("write_X_vals")) == ["no values are written"]
    twice = replace(MATMUL, nodes={**MATMUL.nodes, "again": MATMUL.nodes["write_X_i"]},
                    edges=(*MATMUL.edges, Edge(Pin("drop_i", "outer_o"), Pin("again", "wr"))))
    assert faults(twice) == ["again: this level is written twice"]


def test_an_unguided_sum_inside_a_loop_is_found():
    nodes = {**MATMUL.nodes, "reduce_k": replace(MATMUL.nodes["reduce_k"], guided=False)}
    edges = tuple(edge for edge in MATMUL.edges if str(edge.dst) != "reduce_k.crd")
    assert faults(replace(MATMUL, nodes=nodes, edges=edges)) == \
        ["reduce_k: only the outermost level can be summed without a guide"]


STATEMENTS = ("X(i,j) = B(i,k) * C(k,j)", "x(i) = 2 * b(i) - c(i)", "x = b(i) * c(i)", "X(i,j) = (B(i,j) + C(i,j)) * D(i,j)",
              "x(i) = max(b(i), -abs(c(i))) + min(c(i), 3)")
TWICE = "y(i) = A(i,j) * x(j); z(i) = A(i,j) * y(j)"


def test_every_operation_uses_ports_and_settings_of_its_primitive():
    seen = set()
    graphs = [*(lower(parse(text)) for text in STATEMENTS), read_sam(PUBLIC["spmv_drop"].text, "spmv_drop").graph,
              lower(parse(STATEMENTS[0], "kij")), lower_fused(fuse(parse_program(TWICE).statements, {})),
              lower_fused(replace(fused(TWICE, 2), parts=True)),
              lower(replace(parse("X(i,j) = B(i,j) * C(i,j)", formats={"C": "dd"}), locate=EVERY)),
              lower(parse("x(i) = max(k, B(i,k))")), lower(parse("x(i) = b(i) / c(i) + 3 / b(i)")),
              lower(parse(STATEMENTS[0], "ikj", {"X": "dd"}))]
    for name, op in (each for graph in graphs for each in graph.nodes.items()):
        seen.add(type(op).__name__)
        op.primitive.config.encode(**op.settings)
        assert {op.renamed.get(port, port) for port in op.inputs} <= {port.name for port in op.primitive.inputs}, name
        assert {op.renamed.get(port, port) for port in op.outputs} <= {port.name for port in op.primitive.outputs}, name
    assert seen == set(OPS)


def test_an_operation_of_ones_own_needs_nothing_but_its_class():
    @dataclass(frozen=True)
    class Hold(Operation):
        index: str
        primitive: ClassVar[Primitive] = PASS_THROUGH
        renamed: ClassVar[dict[str, str]] = {"held": "o"}
        inputs: ClassVar[dict[str, str]] = {"i": CRD}
        outputs: ClassVar[dict[str, str]] = {"held": CRD}
        settings: ClassVar[dict[str, int]] = {}

        def spaces(self, name, given):
            need(given["i"][-1][0] == self.index, f"the coordinates are not those of {self.index}")
            return {"held": given["i"]}

        def dialect(self, formats):
            return {"type": "hold", "index": self.index}

    plain = lower(parse("x(i) = b(i)"))
    written = next(edge for edge in plain.edges if edge.dst.node == "write_x_i")

    def held(index):
        edges = [edge for edge in plain.edges if edge != written]
        edges += [Edge(written.src, Pin("hold", "i")), Edge(Pin("hold", "held"), written.dst)]
        return replace(plain, nodes={**plain.nodes, "hold": Hold(index)}, edges=tuple(edges))

    graph = held("i")
    try:
        assert faults(graph) == [] and faults(held("j")) == ["hold: the coordinates are not those of j"]
        assert SamGraph.from_json(graph.to_json()) == graph
        assert "Hold(index=i) i<-scan_b_i.crd" in graph.to_text() and 'type="hold"' in to_dot(graph)
        mapped = map_graph(graph)
        assert mapped.blocks["hold"] == Block("hold", "pe", "pass_through", {})
        assert [net.sinks for net in mapped.nets if net.source == ("hold", "res0")] == [(("write_x_i", "in1"),)]
    finally:
        del OPS["Hold"]


GUSTAVSON, OUTER = (lower(parse("X(i,j) = B(i,k) * C(k,j)", order)) for order in ("ikj", "kij"))


@pytest.mark.parametrize("graph", [GUSTAVSON, OUTER])
def test_accumulators_are_read_back_and_have_the_public_dialects_type(graph):
    assert SamGraph.from_json(graph.to_json()) == graph
    assert 'type="spaccumulator"' in to_dot(graph)


@pytest.mark.parametrize("graph,sink,source,complaint", [
    (GUSTAVSON, "accumulate_k.crd", "scan_B_k.crd", "coordinates and values are not of the same loops"),
    (OUTER, "accumulate_k.outer", "intersect_k.crd", "the outer coordinates are not of the level above")])
def test_accumulators_of_streams_that_do_not_fit_are_found(graph, sink, source, complaint):
    assert f"accumulate_k: {complaint}" in faults(rewire(graph, sink, source))


def test_an_accumulator_of_other_indices_is_found():
    wrong = replace(OUTER, nodes={**OUTER.nodes, "accumulate_k": Accumulator("k", ("j", "i"))})
    assert faults(wrong) == ["accumulate_k: the innermost levels are not k and inside it j and i"]
