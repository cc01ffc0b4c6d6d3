import pydot
import pytest

from sardonyx.compiler.ir.graphviz import MOST_BYTES, read_graphviz
from sardonyx.hw.arch.errors import UserError


def test_nodes_edges_and_attributes_are_read_in_order():
    text = """/* one */ strict digraph "a graph" {
      comment="X=s0"; // two
      node [shape=box]
      b [label="two\\nlines", type=mul color=red]
      # b -> a [type=crd]
      a -> b -> c [type="a \\"b\\""]
      b [type=add]
    }"""
    drawing = read_graphviz(text, "f")
    assert drawing.attributes == {"comment": "X=s0"}
    assert drawing.nodes == {"b": {"shape": "box", "label": "two\\nlines", "type": "add", "color": "red"}, "a": {}, "c": {}}
    assert drawing.edges == (("a", "b", {"type": 'a "b"'}), ("b", "c", {"type": 'a "b"'}))


def test_what_looks_like_a_comment_in_a_string_is_none():
    drawing = read_graphviz("""digraph { /* "one */ a [label="/* // # \\" */" html=<<b>#1</b> // "2"> type=add] // "three
      # < four
      /* a -> b
         */ a -> c [type=<crd> /**/ ] }""", "f")
    assert drawing.nodes == {"a": {"label": '/* // # " */', "html": '<<b>#1</b> // "2">', "type": "add"}, "c": {}}
    assert drawing.edges == (("a", "c", {"type": "<crd>"}),)


def test_comments_are_still_read_by_others_in_the_process():
    read_graphviz("digraph { a }", "f")
    graphs = pydot.graph_from_dot_data("digraph { a /* b */ }")
    assert graphs and [node.get_name() for node in graphs[0].get_nodes()] == ["a"]


@pytest.mark.parametrize("text,message", [
    ("digraph {\n  a -> /* b */ } # c", """g.gv:2: this is no Graphviz text: 'a -> /* b */ } # c'
  try: write: digraph SAM { 1 [type="..."] 1 -> 2 [type="crd"] }"""),
    ("digraph { a } /* b", """g.gv:1: this is no Graphviz text: 'digraph { a } /* b'
  try: write: digraph SAM { 1 [type="..."] 1 -> 2 [type="crd"] }"""),
    ("", """g.gv:1: this is no Graphviz text: ''
  try: write: digraph SAM { 1 [type="..."] 1 -> 2 [type="crd"] }"""),
    ("digraph {\n\n  a -> }", """g.gv:3: this is no Graphviz text: 'a -> }'
  try: write: digraph SAM { 1 [type="..."] 1 -> 2 [type="crd"] }"""),
    ("digraph { a } digraph { b }", "g.gv: the text has 2 graphs\n  try: give one"),
    ("graph { a -- b }", "g.gv: the graph is not directed\n  try: write digraph, and edges as 1 -> 2"),
    ("digraph { subgraph x { a } }", "g.gv: the graph has subgraphs, which the dialect does not know\n"
                                     "  try: write its nodes and edges one by one"),
    ("digraph { a -> { b c } }", "g.gv: an edge joins groups of nodes, which the dialect does not know\n"
                                 "  try: write its edges one by one"),
    ("digraph {" + "{" * 5000, "g.gv: its brackets are nested too deeply\n  try: write its nodes and edges one by one"),
    ("x" * (MOST_BYTES + 1), "g.gv: the graph has more than 256 KB\n  try: give a smaller graph"),
])
def test_what_is_no_graph_is_refused(text, message):
    with pytest.raises(UserError) as refusal:
        read_graphviz(text, "g.gv")
    assert str(refusal.value) == message
