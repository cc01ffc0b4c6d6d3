"""Read Graphviz text: the nodes of a directed graph, its edges, and their attributes.

Input:   text as `dot` takes it: comments, quotes, attributes with and without commas, chains of edges.
Output:  Drawing, in the order of the text; the last of two values of an attribute counts.
Errors:  UserError for what is no Graphviz text, for subgraphs and undirected graphs, and for more than `MOST_BYTES`.
Cost:    2 s for 200 KB beside other work, by a grammar in Python (pydot, whose own reader prints its errors).
"""

from __future__ import annotations

import functools
import importlib.util
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...hw.arch.errors import UserError, shown

if TYPE_CHECKING:
    import pydot
    from pyparsing import ParserElement

# The grammar takes some 10 us a byte. A graph that fills an array of 512 tiles has about 200 KB.
MOST_BYTES = 1 << 18
# The parser keeps its state in globals.
_parsing = threading.Lock()
# A string in quotes, a comment, or what opens a string in angles.
_APART = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|#[^\n]*|/\*.*?\*/|<', re.DOTALL)


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
    from pyparsing import ParseBaseException

    try:
        with _parsing:
            found = list(_grammar().parse_string(_without_comments(text), parse_all=True))
    except ParseBaseException as error:
        # The line as it was written: comments and all.
        line = text.split("\n")[error.lineno - 1]
        raise UserError(f"this is no Graphviz text: '{shown(line.strip())}'", f"{name}:{error.lineno}",
                        'write: digraph SAM { 1 [type="..."] 1 -> 2 [type="crd"] }') from None
    except RecursionError:
        raise UserError("its brackets are nested too deeply", name, "write its nodes and edges one by one") from None
    if len(found) != 1 or not isinstance(found[0], pydot.Dot):
        raise UserError(f"the text has {len(found)} graphs", name, "give one")
    return found[0]


@functools.cache
def _grammar() -> ParserElement:
    """The grammar of pydot for texts without comments.

    It looks for these before every token and every alternative of one, which is three quarters of its time. From a module of
    our own, as others in this process may read comments by that of pydot.
    """
    spec = importlib.util.find_spec("pydot.dot_parser")
    assert spec is not None and spec.loader is not None, "pydot has its grammar in this module"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    grammar: ParserElement = module.GraphParser.parser
    for element in grammar.visit_all():
        element.ignoreExprs.clear()
    return grammar


def _without_comments(text: str) -> str:
    """A text with blanks in place of comments, so that all else stands where it stood."""
    parts, end = [], 0
    while found := _APART.search(text, end):
        parts.append(text[end:found.start()])
        end = found.end()
        if found[0] == "<":         # up to the bracket that closes it; others may be inside
            depth = 1
            while depth and end < len(text):
                depth += {"<": 1, ">": -1}.get(text[end], 0)
                end += 1
            parts.append(text[found.start():end])
        else:
            parts.append(found[0] if found[0][0] == '"' else re.sub(r"[^\n]", " ", found[0]))
    return "".join((*parts, text[end:]))


def _attributes(element: pydot.Dot | pydot.Node | pydot.Edge) -> dict[str, str]:
    """Attributes without quotes; one that is written without a value is set."""
    return {_plain(str(key)): "true" if value is None else _plain(str(value))
            for key, value in element.get_attributes().items()}


def _plain(text: str) -> str:
    """A name or a value without its quotes."""
    return text[1:-1].replace('\\"', '"') if len(text) > 1 and text[0] == text[-1] == '"' else text
