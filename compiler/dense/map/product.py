"""Matrix products of Halide programs, and the array that computes them: weights stay, rows stream past.

    out(x, y) = sum over r of left(x, r) * right(r, y)        lanes: columns x at once; products: terms r at once

    four terms, two steps:
    lane 0:  right r=0 -> muladd left(0, 0) -> muladd left(0, 2) -> + own sum -> in step 0 --+-> out
    lane 1:  right r=2 ---^ muladd left(1, 0)  ^ muladd left(1, 2) -> + own sum -> in step 1 --^

A column of PEs multiplies `products` terms by weights from their register files and adds them up; a PE behind it adds the sums
of all steps of a row. Weights come on the streams of the rows, before them (`weights.py`): stream i brings terms ``steps * i +
step`` of left in points y < 0, and of right in points y = 0 .. , so that its terms lie beside each other in memory. A program
takes `products` load streams and a store stream, ``products * lanes`` PEs for the products and `lanes` for the sums.

The sums of a row are whole in its last step. In the next row each lane has a step in which it gives its sum, and 0 in all
others, and PEs add up what two give, then those of two pairs: so columns come out in the order in which they lie in memory.
Where a row has fewer steps than lanes, or than 4, each lane has a store stream of its own.

Longer sums than register files have words for go through in several runs; `carry` streams bring what the runs before gave, the
word of each lane in its step, and a PE adds it to what they give; where lanes have streams of their own, `carry` has, too.

Needs:   Pipeline; elements of at most 16 bits, results of 16 bits (which wrap).
Gives:   Product, PeGraph on the grid (step, y).
Source:  loop order of the matrix product of the public Amber and Onyx flows (weights held for all rows, terms and columns
         unrolled). Departure: sums stay in register files, not in MEM tiles, and weights need no MEM tile either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ....hw.arch.cgra import Arch
from ....hw.arch.errors import UserError
from ....hw.arch.glb import LANES as LINE_WORDS
from ....hw.arch.op import BY_NAME, Op
from ....hw.arch.register_file import EXTENT_BITS
from ...ir.dataflow import Ref, Stream
from ...ir.mapped import LOAD, STORE
from ...ir.pe_graph import Once, PeGraph, PeNode, PeOperand, Running
from ...ir.transfer import region
from ...lang.halide.pipeline import Access, Binary, Cast, Expr, Func, Number, Pipeline, Update, Variable
from ...lang.halide.text import show
from ..front.directives import unrolled
from ..front.inline import image_of
from .delay_lines import NET
from .storage import KEPT_SLACK
from .weights import Weights, alike, neighbours, on_end

# Bits of a result; sums of more bits are the same in these.
BITS = 16
# A run has so many more steps at most for lines without gaps, 1 / 14. With gaps 15 steps take 1.5 % more points, and the
# processor asks for three transfers in place of one: 60 x 60 times 60 x 60 takes 33,903 cycles behind it in place of 24,462.
MORE_STEPS = 14
# Weights as they lie may take so much of the points of a tile more than those of a lane beside each other, 1 / 50; else the
# host turns a factor.
MORE_ROWS = 50
# Steps of a row from which on lanes may be joined: wires of two differ by a few cycles, and a word waits for less than a row.
# In rows of two nothing can be evened out, in rows of three it takes PEs for words to wait in.
LEAST_STEPS = 4
# Image names of the streams.
ROWS, CARRY = "rows", "carry"


@dataclass(frozen=True)
class Factor:
    """An image as a matrix: element (r, own dimension); `turned` says that r is not its first index, so that terms lie in
    columns."""

    image: str
    turned: bool


@dataclass(frozen=True)
class Product:
    """``name(x, y) = sum of left(x, r) * right(r, y)`` for r in start .. start + terms - 1.

    reduced: the program's name of r. products: how many r it unrolls.
    """

    name: str
    left: Factor
    right: Factor
    start: int
    terms: int
    reduced: str
    products: int


def find(pipeline: Pipeline) -> Product | None:
    """The product that a pipeline is; None if it is something else."""
    if len(pipeline.outputs) != 1:
        return None
    out = pipeline.funcs[pipeline.outputs[0]]
    if len(out.args) != 2 or out.types[0].bits != BITS or out.types[0].kind not in ("int", "uint"):
        return None
    func, own = _summed(out, pipeline)
    if func is None:
        return None
    update = func.updates[0]
    x, y = own
    r = update.domain[0]
    factors = _factors(update.values[0], func, pipeline)
    if factors is None or not (isinstance(r.start, Number) and isinstance(r.extent, Number)):
        return None
    left, right = (_factor(factors, of, r.name) for of in (x, y))
    if left is None or right is None or int(r.extent.value) < 1:
        return None
    terms = int(r.extent.value)
    schedule = cast(tuple[Mapping[str, Any], ...], func.schedule["updates"])[0]
    products = min(terms, unrolled(func, "update 0", schedule, r.name, terms))
    return Product(out.name, left, right, int(r.start.value), terms, r.name, products)


def _summed(func: Func, pipeline: Pipeline) -> tuple[Func | None, tuple[str, ...]]:
    """The Func of sums that a Func is, or is a copy or the low bits of; its arguments in the order of those of the Func."""
    own = func.args
    while not func.updates and len(func.values) == 1:
        value, least = _uncast(func.values[0])
        if not isinstance(value, Access) or least < BITS or value.name not in pipeline.funcs or \
                sorted(map(show, value.args)) != sorted(func.args):
            return None, own
        callee = pipeline.funcs[value.name]
        own = tuple(callee.args[value.args.index(Variable(name))] for name in own)
        func = callee
    zero = func.values[0]
    plain = len(func.updates) == 1 and len(func.values) == 1 and isinstance(zero, Number) and zero.value == 0 and \
        func.types[0].bits >= BITS and func.types[0].kind in ("int", "uint")
    return (func if plain and _sweeps(func, func.updates[0]) else None), own


def _sweeps(func: Func, update: Update) -> bool:
    """Whether an update changes every point, for every value of one reduction variable."""
    return update.args == tuple(map(Variable, func.args)) and len(update.domain) == 1 and update.predicate is None


def _uncast(expr: Expr) -> tuple[Expr, int]:
    """What casts of integers are of, and the bits of the narrowest."""
    least = expr.type.bits
    while isinstance(expr, Cast) and expr.type.kind in ("int", "uint"):
        expr = expr.value
        least = min(least, expr.type.bits)
    return expr, least


def _factors(value: Expr, func: Func, pipeline: Pipeline) -> tuple[Access, Access] | None:
    """The two images that are multiplied in ``f(x, y) + a * b``."""
    if not (isinstance(value, Binary) and value.op == "add"):
        return None
    own = Access(func.types[0], func.name, tuple(map(Variable, func.args)))
    rest = [term for term in (value.left, value.right) if term != own]
    if len(rest) != 1:
        return None
    term, least = _uncast(rest[0])
    if not (isinstance(term, Binary) and term.op == "mul") or least < BITS:
        return None
    found = [_element(each, pipeline) for each in (term.left, term.right)]
    return (found[0], found[1]) if found[0] and found[1] else None


def _element(expr: Expr, pipeline: Pipeline) -> Access | None:
    """An element of an image, extended to any width; words hold its low 16 bits."""
    while isinstance(expr, Cast) and expr.type.kind in ("int", "uint") and expr.type.bits >= BITS:
        expr = expr.value
    if not isinstance(expr, Access) or len(expr.args) != 2 or expr.type.kind not in ("int", "uint") or \
            expr.type.bits not in (8, BITS):
        return None
    image = image_of(pipeline, expr.name)
    return Access(expr.type, image.name, expr.args) if image is not None and not any(image.minimum) else None


def _factor(factors: Iterable[Access], own: str, reduced: str) -> Factor | None:
    """The factor that is read at a dimension of the result and the reduction variable."""
    for each in factors:
        if each.args in ((Variable(own), Variable(reduced)), (Variable(reduced), Variable(own))):
            return Factor(each.name, each.args[0] == Variable(own))
    return None


def steps(product: Product, lanes: int, arch: Arch) -> int:
    """Steps of a run: as many as register files have words for beside those in which operands wait, or half their words, and
    operands wait in PEs of their own; fewer if that is enough. Where lines of neighbours would have gaps there may be a step
    more, of terms that are 0.

    Raises UserError for PEs that can keep no words.
    """
    if not (arch.pe.register_words and arch.pe.register_schedules):
        raise UserError("a matrix product keeps weights and sums in register files with schedules, which the PEs of "
                        f"'{arch.name}' do not have", f"Func {product.name}", "choose another machine (arch='small')")
    room = _room(product.products, arch)
    least = min(-(-product.terms // product.products), room)
    fills = product.left.turned and not product.right.turned and lanes % LINE_WORDS == 0
    most = min(room, least + least // MORE_STEPS)
    return most - most % LINE_WORDS if fills and most - most % LINE_WORDS >= least else least


def _room(products: int, arch: Arch) -> int:
    """Words for weights in a register file."""
    # A row waits in each PE for the sum of those before it.
    muladd = BY_NAME["muladd"]
    waiting = (NET + muladd.latency) * (products - 1) + muladd.delay("a") + KEPT_SLACK
    return max(arch.pe.register_words - waiting, arch.pe.register_words // 2)


def tile_of(product: Product, lanes: int, size: Sequence[int], tile: Sequence[int | None], arch: Arch) -> tuple[int, int]:
    """Columns and rows of a tile of a result of `size`.

    tile: the sides that are asked for; None: as many columns as lanes, as many rows as a bank of the global buffer holds.
    Raises UserError for a tile that is not as wide as its lanes, or not positive.
    """
    if lanes < 1:
        raise UserError(f"{lanes} columns at once", f"Func {product.name}", "unroll by 1 or more")
    columns, rows = tile if len(tile) == 2 else (0, 0)
    if columns not in (None, lanes) or (rows is not None and rows < 1):
        sides = " x ".join(str(side or "any") for side in tile)
        raise UserError(f"a tile of {sides} for a matrix product with {lanes} columns at once", f"Func {product.name}",
                        "give the columns that are computed at once (unroll) and a number of rows")
    # Rows of terms are in lines, and begin within one where a stream before has a part of that.
    own = steps(product, lanes, arch)
    row = -(-(own + (product.products > 1 and own % LINE_WORDS > 0) * (LINE_WORDS - 1)) // LINE_WORDS) * LINE_WORDS
    found = _lying(product, lanes, arch)
    fits = region(LOAD, arch.glb).room // row - (found.rows if found else lanes)
    if joins(lanes, own):
        # They lie in lines, too, and begin within one if lanes are no lines.
        line = -(-(lanes + (lanes % LINE_WORDS > 0) * (LINE_WORDS - 1)) // LINE_WORDS) * LINE_WORDS
        fits = min(fits, region(STORE, arch.glb).room // line)
    if found and found.right:
        fits -= fits % LINE_WORDS
    return lanes, min(size[1], max(1, fits) if rows is None else rows, 1 << min(arch.mem.extent_bits, EXTENT_BITS))


def weights_of(product: Product, lanes: int, rows: int, height: int, arch: Arch) -> Weights:
    """How the weights of tiles of so many rows come, of a result of such a height: as they lie, unless that takes longer, or
    terms of right are below each other, and these tiles begin within lines."""
    found, own = _lying(product, lanes, arch), alike(lanes, steps(product, lanes, arch))
    if found is None or MORE_ROWS * (found.rows - own.rows) > lanes + rows:
        return own
    return found if not found.right or rows % LINE_WORDS == 0 or rows >= height else own


def turned(product: Product, weights: Weights) -> str:
    """Which factors the host turns, and why, in words; empty for none."""
    left, right = product.left.turned and not weights.left, product.right.turned and not weights.right
    if not (left or right):
        return ""
    names = " and ".join(factor.image for factor, is_so in ((product.left, left), (product.right, right)) if is_so)
    if product.left.turned and weights.lanes % LINE_WORDS:
        return f"{names} by the host: {weights.lanes} columns at once are no multiple of {LINE_WORDS}"
    if right and product.left.turned:
        return f"{names} by the host: tiles of such rows begin within lines of {LINE_WORDS}"
    return f"{names} by the host: lines of {weights.steps} terms would take longer, or begin within lines"


def _lying(product: Product, lanes: int, arch: Arch) -> Weights | None:
    """How weights come as they lie; None if they cannot."""
    own, streams = steps(product, lanes, arch), product.products
    room = _room(streams, arch)
    if product.left.turned == product.right.turned:
        return None if product.left.turned and lanes % LINE_WORDS else alike(lanes, own, product.left.turned)
    return neighbours(lanes, own, streams, room) if product.left.turned else on_end(lanes, own, streams, room)


def joins(lanes: int, steps: int) -> bool:
    """Whether the columns of a tile come out of one store stream: if each lane has a step of a row."""
    return lanes > 1 and steps >= max(lanes, LEAST_STEPS)


def apart(lanes: int, steps: int) -> str:
    """Why the host joins the columns of tiles, in words; empty if it does not."""
    if lanes == 1 or joins(lanes, steps):
        return ""
    return f"by the host: {lanes} columns at once take rows of {max(lanes, LEAST_STEPS)} steps, and these have {steps}"


def sums_pes(lanes: int, steps: int, carries: bool) -> int:
    """PEs behind those of the products at least."""
    return lanes * (steps > 1) + (lanes - 1 + carries if joins(lanes, steps) else lanes * carries)


def graph(product: Product, weights: Weights, products: int, carries: bool, ops: tuple[Op, ...]) -> PeGraph:
    """The PEs; inputs are ``rows.i`` and, if sums of other runs come in, `carry`, the result is that of the product; where
    lanes have streams of their own, these are ``carry.lane`` and ``name.lane``."""
    lanes, steps = weights.lanes, weights.steps
    nodes = [PeNode("input", name=f"{ROWS}.{term}") for term in range(products)]
    inputs = {node.name: Stream(ROWS, (1, 1), (term * steps, weights.rows), (1, 1), (None, None))
              for term, node in enumerate(nodes)}
    totals: list[Ref] = []

    def add(node: PeNode) -> Ref:
        nodes.append(node)
        return Ref(len(nodes) - 1, (0, 0))

    for lane in range(lanes):
        total: Ref | None = None
        for term in range(products):
            operands: dict[str, PeOperand] = {"a": Ref(term, (0, 0)), "b": weights.held(lane, term)}
            if total is None:
                total = add(PeNode("mult0", operands))
            elif BY_NAME["muladd"] in ops:
                total = add(PeNode("muladd", operands | {"c": total}))
            else:
                total = add(PeNode("adc", {"a": add(PeNode("mult0", operands)), "b": total, "d": 0}))
        assert total is not None, "there is a product"
        if steps > 1:
            total = add(PeNode("adc", {"a": total, "b": Running(), "d": 0}))
        totals.append(Ref(total.node, (steps - 1, 0)))

    def carried(name: str, pace: int) -> Ref:
        inputs[name] = Stream(name, (pace, 1), (0, 0), (1, 1), (None, None))
        return add(PeNode("input", name=name))

    if joins(lanes, steps):
        words: list[Ref] = [Once(total.node, (steps - 1 - lane, 0), x=lane) for lane, total in enumerate(totals)]
        words += [carried(CARRY, 1)] if carries else []
        while len(words) > 1:
            pairs = [add(PeNode("adc", {"a": a, "b": b, "d": 0})) for a, b in zip(words[::2], words[1::2])]
            words = [*pairs, *words[2 * len(pairs):]]
        results = {product.name: words[0]}
    else:
        if carries:
            totals = [Ref(add(PeNode("adc", {"a": Ref(total.node, (0, 0)), "b": carried(f"{CARRY}.{lane}", 0), "d": 0})).node,
                          total.offset) for lane, total in enumerate(totals)]
        results = {f"{product.name}.{lane}": total for lane, total in enumerate(totals)}
    outputs = {name: Stream(name, (1, 1), (0, 0), (1, 1), (None, None)) for name in results}
    return PeGraph(("step", "y"), tuple(nodes), inputs, results, outputs)
