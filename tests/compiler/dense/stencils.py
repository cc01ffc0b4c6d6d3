"""Graphs of PEs for tests of the passes behind selection."""

from sardonyx.compiler.ir.dataflow import Ref, Stream
from sardonyx.compiler.ir.pe_graph import PeGraph, PeNode


def plane(image: str, dims: int = 2) -> Stream:
    """A whole image as a stream."""
    return Stream(image, (1,) * dims, (0,) * dims, (1,) * dims, (None,) * dims)


def stencil(weights: dict[tuple[int, ...], int], image: str = "photo") -> PeGraph:
    """A weighted sum of neighbours: a chain of muladds, oldest values first."""
    dims = len(next(iter(weights)))
    nodes = [PeNode("input", name=image)]
    for offset, weight in sorted(weights.items(), key=lambda item: item[0][::-1]):
        total = Ref(len(nodes) - 1, (0,) * dims) if len(nodes) > 1 else 0
        nodes.append(PeNode("muladd", {"a": Ref(0, offset), "b": weight, "c": total}))
    return PeGraph(("x", "y", "z")[:dims], tuple(nodes), {image: plane(image, dims)},
                   {"out": Ref(len(nodes) - 1, (0,) * dims)}, {"out": plane("out", dims)})


BLUR = stencil({(x, y): 1 + x + 3 * y for x in range(3) for y in range(3)})
