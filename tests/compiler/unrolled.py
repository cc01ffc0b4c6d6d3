"""Programs and machines that tests of copies share."""

from dataclasses import replace

from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.blocks import map_graph
from sardonyx.compiler.sparse.copies import Copies
from sardonyx.compiler.sparse.lower import lower
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.primitive import ADDRESS, SHARING_PRIMITIVES

PRODUCT = parse("X(i,j) = B(i,k) * C(k,j)", "ijk", {"C": "ss10"})
SCALED, TOTAL = parse("x(i) = b(i) * c"), parse("x = b(i)")
ONYX, SMALL = presets.get("onyx"), presets.get("small")


def sharing(arch):
    """A machine whose PEs have filter, arbiter and dispatcher."""
    return replace(arch, pe=replace(arch.pe, primitives=(*arch.pe.primitives, *SHARING_PRIMITIVES)))


def placing(arch):
    """The same, and its stores place blocks by their numbers."""
    found = sharing(arch)
    return replace(found, pe=replace(found.pe, primitives=(*found.pe.primitives, ADDRESS)),
                   glb=replace(arch.glb, numbered=True))


def graph_of(statement):
    return map_graph(lower(statement))


def own(count):
    """Copies with links of their own."""
    return Copies(tuple((copy,) for copy in range(count)))
