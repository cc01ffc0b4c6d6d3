"""Read Graphviz text: the nodes of a directed graph, its edges, and their attributes.

Input:   text as `dot` takes it: comments, quotes, attributes with and without commas, chains of edges.
Output:  Drawing, in the order of the text; the last of two values of an attribute counts.
Errors:  UserError for what is no Graphviz text, for subgraphs and undirected graphs, and for more than `MOST_BYTES`.
Cost:    1 s for 200 KB, by a grammar in Python (pydot, whose own reader prints its errors).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...hw.arch.errors import UserError, shown

if TYPE_CHECKING:
    import pydot

# The grammar takes some 7 us a byte. A graph that fills an array of 512 tiles has about 200 KB.
MOST_BYTES = 1 << 18
# The parser keeps its state in globals.
_parsing = threading.Lock()


@dataclass(frozen=True)
class Drawing:
    """A directed graph as it is drawn.

    Parameters
    ----------
    attributes : mapping   Of the graph.
    nodes : mapping        Attributes by the name of the node; those that only edges name have none.
    edges : tuple          Source, sink and attributes.
    """

    attributes: Mapping[str, str]
    nodes: Mapping[str, Mapping[str, str]]
    edges: tuple[tuple[str, str, Mapping[str, str]], ...]


def read_graphviz(text: str, name: str) -> Drawing:
    """The graph in a text; name: where it stands, for errors."""
    if len(text.encode(errors="replace")) > MOST_BYTES:
        raise UserError(f"the graph has more than {MOST_BYTES >> 10} KB", name, "give a smaller graph")
    graph = _parsed(text, name)
    if graph.get_type() != "digraph":
        raise UserError("the graph is not directed", name, "write digraph, and edges as 1 -> 2")
    if graph.get_subgraphs():
        raise UserError("the graph has subgraphs, which the dialect does not know", name,
                        "write its nodes and edges one by one")
    defaults, nodes = dict[str, str](), dict[str, dict[str, str]]()
    for node in graph.get_nodes():
        key, given = _plain(node.get_name()), _attributes(node)
        if key == "node":
            defaults |= given
        elif key not in ("edge", "graph"):
            nodes[key] = {**defaults, **nodes.get(key, {}), **given}
    edges = []
    for edge in graph.get_edges():
        ends = edge.get_source(), edge.get_destination()
        if not all(isinstance(end, str) for end in ends):
            raise UserError("an edge joins groups of nodes, which the dialect does not know", name,
                            "write its edges one by one")
        source, sink = (_plain(str(end)) for end in ends)
        edges.append((source, sink, _attributes(edge)))
        nodes.setdefault(source, {})
        nodes.setdefault(sink, {})
    return Drawing(_attributes(graph), nodes, tuple(edges))


def _parsed(text: str, name: str) -> pydot.Dot:
    """The one graph in a text."""
    # Here, as the grammar is made when it is imported: an eighth of a second, which most programs need not spend.
    import pydot
    from pydot.dot_parser import GraphParser
    from pyparsing import ParseBaseException

    try:
        with _parsing:
            found = list(GraphParser.parser.parse_string(text, parse_all=True))
    except ParseBaseException as error:
        raise UserError(f"this is no Graphviz text: '{shown(error.line.strip())}'", f"{name}:{error.lineno}",
                        'write: digraph SAM { 1 [type="..."] 1 -> 2 [type="crd"] }') from None
    except RecursionError:
        raise UserError("its brackets are nested too deeply", name, "write its nodes and edges one by one") from None
    if len(found) != 1 or not isinstance(found[0], pydot.Dot):
        raise UserError(f"the text has {len(found)} graphs", name, "give one")
    return found[0]


def _attributes(element: pydot.Dot | pydot.Node | pydot.Edge) -> dict[str, str]:
    """Attributes without quotes; one that is written without a value is set."""
    return {_plain(str(key)): "true" if value is None else _plain(str(value))
            for key, value in element.get_attributes().items()}


def _plain(text: str) -> str:
    """A name or a value without its quotes."""
    return text[1:-1].replace('\\"', '"') if len(text) > 1 and text[0] == text[-1] == '"' else text
