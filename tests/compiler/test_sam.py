from dataclasses import replace

import pytest

from sardonyx.compiler.ir.sam import Edge, Pin, SamGraph
from sardonyx.compiler.ir.sam_dot import to_dot
from sardonyx.compiler.ir.sam_verify import faults, verify
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.lower import lower

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
