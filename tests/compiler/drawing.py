"""How graphs in the public dialect are drawn, from short lists of nodes and edges."""

from __future__ import annotations

from typing import NamedTuple

_PLACES = {"fiberlookup": ("index", "tensor", "mode"), "repeat": ("index", "tensor"), "repsiggen": ("index",),
           "union": ("index",), "intersect": ("index",), "arrayvals": ("tensor",), "crddrop": ("outer", "inner")}


class Public(NamedTuple):
    """A graph, the statement that it computes, and the shape of each operand, of extents by index."""

    formats: str
    statement: str
    nodes: str
    edges: str

    @property
    def text(self) -> str:
        return draw(self.formats, self.nodes, self.edges)


def draw(formats: str, nodes: str, edges: str) -> str:
    """Graphviz text. nodes: number, type, values of its first attributes, and flags (root, dense) or others as key=value.
    edges: source, sink, type, comment; those that begin with # are commented out."""
    lines = ["digraph SAM {", f'    comment="{formats}"']
    for line in filter(None, nodes.splitlines()):
        number, kind, *words = line.split()
        attributes = {"type": kind, **_attributes(kind, words)}
        listed = ",".join(f"{key}={value}" for key, value in attributes.items())
        written = " ".join(f'{key}="{value}"' for key, value in attributes.items())
        lines.append(f'    {number} [comment="{listed}" label="{kind}\\n" color=green4 shape=box style=filled {written}]')
    for line in filter(None, edges.splitlines()):
        dead, parts = line.startswith("#"), line.lstrip("#").split()
        source, sink, kind, role = (*parts, "")[:4]
        comma = "," if role.startswith("in") else ""
        label = f"{kind}_{role}" if role else kind
        lines.append(f'    {"# " if dead else ""}{source} -> {sink} [label="{label}"{comma} style=bold type="{kind}" '
                     f'comment="{role}"]')
    return "\n".join([*lines, "}"]) + "\n"


def _attributes(kind: str, words: list[str]) -> dict[str, str]:
    """The attributes of a node."""
    flags = [word for word in words if word in ("root", "dense") or "=" in word]
    values = [word for word in words if word not in flags]
    if kind == "fiberwrite":
        if values[0] == "vals":
            return {"mode": "vals", "tensor": values[1], "size": "1*B0_dim", "sink": "true"}
        index, tensor, mode = values
        return {"index": index, "tensor": tensor, "mode": mode, "format": "dense" if "dense" in flags else "compressed",
                "segsize": "2", "crdsize": "B0_dim*C1_dim", "sink": "true"}
    found = dict(zip(_PLACES.get(kind, ()), values, strict=True))
    if kind == "fiberlookup":
        found |= {"format": "dense" if "dense" in flags else "compressed", "src": "true"}
    if kind in ("fiberlookup", "repeat"):
        found["root"] = "true" if "root" in flags else "false"
    return found | dict(flag.split("=") for flag in flags if "=" in flag)


# The sum is guided by coordinates of j, which nothing in the file connects to it. Zeros are written.
