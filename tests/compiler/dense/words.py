"""Word graphs for tests: written node by node, or random."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import strategies as st

from sardonyx.compiler.ir.dataflow import WORD_OPS, Ref, Stream, WordGraph, WordNode
from sardonyx.sim.model.pe_graph import evaluate_pes, evaluate_words

DIMS = ("x", "y")
EDGES = [0, 1, 2, 3, 5, 255, 256, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF]
BITS = {"bit_and", "bit_or", "bit_xor", "bit_not"}


class Words:
    """Collects the nodes of a graph: ``w.add(w.input("a"), 3)``, `at` moves a reference."""

    def __init__(self):
        self.nodes = []

    def input(self, name):
        return self._node(WordNode("input", name=name))

    def __getattr__(self, op):
        op = op.rstrip("_")
        assert op in WORD_OPS, op
        return lambda *operands, signed=False, table=(): self._node(WordNode(op, operands, signed, table=tuple(table)))

    def _node(self, node):
        self.nodes.append(node)
        return Ref(len(self.nodes) - 1, (0, 0))

    def graph(self, *results):
        names = [node.name for node in self.nodes if node.op == "input"]
        outputs = {f"out{place}": ref for place, ref in enumerate(results)}
        return WordGraph(DIMS, tuple(self.nodes), {name: plane(name) for name in names}, outputs,
                         {name: plane(name) for name in outputs})


def plane(name):
    return Stream(name, (1, 1), (0, 0), (1, 1), (None, None))


def at(ref, x, y=0):
    return Ref(ref.node, (ref.offset[0] + x, ref.offset[1] + y))


def weighted(words, image, kernel):
    """The sum of the taps of a kernel, row after row, times their weights."""
    total = None
    for y, row in enumerate(kernel):
        for x, weight in enumerate(row):
            if weight:
                tap = at(image, x, y) if weight == 1 else words.mul(at(image, x, y), weight % 65536)
                total = tap if total is None else words.add(total, tap)
    return total


def pictures(graph, seed=0, shape=(12, 14)):
    """Random words for the inputs, with many of the values where something turns over."""
    random = np.random.default_rng(seed)
    return {name: np.where(random.random(shape) < 0.5, random.choice(EDGES, shape), random.integers(0, 65536, shape))
            for name in graph.inputs}


def assert_same_meaning(graph, pes, seed=0):
    """The graph of PEs has the results of the word graph, at least wherever that has any."""
    images = pictures(graph, seed)
    expected, got = evaluate_words(graph, images), evaluate_pes(pes, images)
    assert expected.keys() == got.keys()
    for name, region in expected.items():
        found = got[name].part(region.origin, region.end)
        assert found.shape == region.values.shape, name
        assert np.array_equal(found, region.values), name


@st.composite
def graphs(draw, ops=tuple(WORD_OPS), most=14):
    """Random graphs of three inputs; later nodes read earlier ones at their own point or beside it."""
    words = Words()
    of_kind = {"w": [words.input(name) for name in "abc"], "b": []}
    shifts = st.sampled_from([(0, 0), (0, 0), (1, 0), (0, 1)])

    def operand(kind, constant):
        if constant or not of_kind[kind]:
            return draw(st.sampled_from(EDGES)) if kind == "w" else draw(st.integers(0, 1))
        known = of_kind[kind]
        # Recent nodes more often, so that the graph gets deep.
        return at(known[-1 - min(draw(st.integers(0, len(known) - 1)), draw(st.integers(0, len(known) - 1)))], *draw(shifts))

    for _ in range(draw(st.integers(1, most))):
        usable = [op for op in ops if "b" not in WORD_OPS[op][0] or of_kind["b"]]
        op = draw(st.sampled_from(usable))
        kinds, gives = WORD_OPS[op]
        constant = draw(st.sampled_from([None, None, *range(1 if len(kinds) > 1 else 0, len(kinds))]))
        if len(kinds) == 1:
            constant = None
        operands = [operand(kind, place == constant) for place, kind in enumerate(kinds)]
        if op == "lookup":
            operands = [words.and_(operands[0], 7)]
        table = [draw(st.sampled_from(EDGES)) for _ in range(8)] if op == "lookup" else ()
        ref = getattr(words, op)(*operands, signed=draw(st.booleans()), table=table)
        of_kind[gives].append(ref)
    results = [of_kind["w"][-1]]
    if of_kind["b"]:
        results.append(words.word(of_kind["b"][-1]))
    if draw(st.booleans()):
        results.append(at(draw(st.sampled_from(of_kind["w"])), *draw(shifts)))
    return words.graph(*results)


def unsharp():
    words = Words()
    red, green, blue = (words.input(name) for name in ("red", "green", "blue"))
    grey = words.shr(words.add(words.add(words.mul(red, 77), words.mul(green, 150)), words.mul(blue, 29)), 8)
    weights = np.exp(-np.arange(-3, 4) ** 2 / 4.5)
    kernel = [[int(256 * a * b / weights.sum() ** 2) for a in weights] for b in weights]
    soft = words.shr(weighted(words, at(grey, -3, -3), kernel), 8)
    sharp = words.max(words.min(words.sub(words.mul(2, grey), soft), 255, signed=True), 0, signed=True)
    table = [0, *(min(65535, 65536 // each) for each in range(1, 256))]
    reciprocal = words.lookup(words.min(words.max(grey, 1), 255), table=table)
    ratio = words.mul(sharp, reciprocal)
    return words.graph(*(words.mul_middle(ratio, each) for each in (red, green, blue)))


def harris():
    words = Words()
    image = words.input("in")

    def clamped(kernel):
        return words.max(words.min(weighted(words, image, kernel), 180, signed=True), 65536 - 180, signed=True)

    gx = clamped([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    gy = clamped([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])
    box = [[1, 1, 1]] * 3
    xx, yy, xy = (words.shr(weighted(words, words.shr(words.mul(a, b), 6, signed=True), box), 6, signed=True)
                  for a, b in ((gx, gx), (gy, gy), (gx, gy)))
    trace = words.add(xx, yy)
    corner = words.sub(words.sub(words.mul(xx, yy), words.mul(xy, xy)), words.shr(words.mul(trace, trace), 4, signed=True))
    peak = words.le(1, at(corner, 1, 1), signed=True)
    for x, y in product(range(3), repeat=2):
        if (x, y) != (1, 1):
            peak = words.bit_and(peak, words.lt(at(corner, x, y), at(corner, 1, 1), signed=True))
    return words.graph(words.select(peak, 255, 0))
