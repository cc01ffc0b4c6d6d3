"""Designs whose nonzeros meet in vectors that tests share: a small convolution, and any result of two operands."""

from functools import cache

import numpy as np
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.accelerators import AcceleratorDesign

RAM, BYTES, LIMIT = 4096, 1 << 15, 400_000
c, y, x, k, r, s = sp.indices("c y x k r s")
image, weights = sp.inputs("image weights", dtype="int8")
(product,) = sp.variables("product")
(output,) = sp.outputs("output")
SKIPS = [sp.skip(y, x, where=image(c, y, x) == 0), sp.skip(k, r, s, where=weights(k, c, r, s) == 0)]
SMALL = sp.Design(
    sp.functionality(product(c, y, x, k, r, s).eq(image(c, y, x) * weights(k, c, r, s)),
                     output(k, y - r + 1, x - s + 1).add(product(c, y, x, k, r, s))),
    sp.Vectors((y, x), (k, r, s), sizes=(2, 3)), {"c": 3, "y": 3, "x": 4, "k": 4, "r": 2, "s": 2}, sparsity=SKIPS,
    buffers={"weights": sp.Held(), "output": sp.Sums(banks=4, words=16)}, name="few")


@cache
def accelerator(ram_bytes: int = 0) -> AcceleratorDesign:
    """That of the small convolution, with a watchdog."""
    return SMALL.accelerator(ram_bytes=ram_bytes, watchdog=not ram_bytes)


def operands(design: sp.Design, density: float, seed: int) -> "dict[str, np.ndarray]":
    """Of two operations."""
    random = np.random.default_rng(seed)
    return {each.name: random.integers(-128, 128, (2, *each.shape)) * (random.random((2, *each.shape)) < density)
            for each in design.tensors}


@st.composite
def two_operands(draw: st.DrawFn) -> sp.Design:
    """A design of any places, of which either operand, both or none is skipped."""
    names = sp.indices("h i j l m")
    bounds = {index.name: draw(st.integers(1, 4)) for index in names}
    kinds = [draw(st.sampled_from(("first", "second", "shared"))) for _ in names[2:]]
    kinds = ["first", "second", *kinds]
    sides = [[index for index, kind in zip(names, kinds) if kind == side] for side in ("first", "second")]
    shared = [[index for index, kind in zip(names, kinds) if kind == "shared" and draw(st.booleans())] for _ in sides]
    A, B = sp.inputs("A B", dtype="int8")
    reads = [tensor(*draw(st.permutations(own + more))) for tensor, own, more in zip((A, B), sides, shared)]
    places = []
    for _ in range(draw(st.integers(1, 3))):
        factors = [draw(st.integers(-2, 2)) for _ in names]
        least = sum(min(0, factor * (bounds[index.name] - 1)) for factor, index in zip(factors, names))
        places.append(sum((factor * index for factor, index in zip(factors, names)), draw(st.integers(0, 2)) - least))
    if draw(st.booleans()):
        places[0] = draw(st.sampled_from(names))        # parts are made
    value = draw(st.sampled_from((lambda a, b: a * b, lambda a, b: a * b * 3 - b * a, lambda a, b: sp.minimum(a, b) * b * a)))
    (p,), (C,) = sp.variables("p"), sp.outputs("C")
    skips = [sp.skip(*side, where=read == 0) for side, read in zip(sides, reads) if draw(st.booleans())]
    order = draw(st.sampled_from(((0, 1), (1, 0))))
    return sp.Design(
        sp.functionality(p(*names).eq(value(*reads)), C(*places).add(p(*names))),
        sp.Vectors(*(sides[at] for at in order), sizes=draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))), bounds,
        sparsity=skips, buffers={"AB"[order[1]]: sp.Held(256), "C": sp.Sums(4, 1024)})
