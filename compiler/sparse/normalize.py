"""Bring an expression into sums of products, with the place of every summation.

    b(i) - C(i,j) * d(j)                       =>  + b  - sum_j(C * d)
    B(i,k,l) * C(j,k) * D(j,l), order i j k l   =>  sum_k(sum_l(B * D) * C)

Constants gather in one coefficient per product and one constant per sum, signs in the sums. A summed index is taken from the
innermost loop out: the factors that use it form a product of their own, so that others are neither repeated
nor multiplied inside its loop. Sums and products may be regrouped freely, since integers that wrap are a
commutative ring; what is inside a function stays inside.

Accumulated indices are summed around loops of the result, so what is inside these has no sum over them:

    relu(B(i,k,l) * C(j,k) * D(j,l)), order i k j l   =>  C * sum_l(B * D), then x = sum_k of it, then relu(x)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sardonyx.compiler.lang.einsum import EVERY, SCANNED, Einsum
from sardonyx.compiler.lang.expr import Access, Binary, Call, Expr, Negate, Total, is_sum
from sardonyx.compiler.lang.functions import DIVIDE, GREATER, MAX, SUM
from sardonyx.compiler.lang.terms import factors, fold, is_quotient, peel, shared

# Functions whose first argument is the constant.
FLIPPED = {GREATER: "<", DIVIDE: "\\"}


@dataclass(frozen=True)
class Product:
    """A coefficient times factors, summed over the innermost loop `contract` if there is one.

    function, extent: what is made over that loop before the coefficient, and of a maximum how many coordinates the index has.
    divides: the second factor divides the first; there are no others, and nothing is summed.
    """

    coefficient: int
    factors: tuple[Node, ...]
    contract: str | None = None
    function: str = SUM
    extent: int = 0
    divides: bool = False


@dataclass(frozen=True)
class Sum:
    """Terms that are united: coordinates are those of any of them.

    Parameters
    ----------
    terms : tuple      Each with its sign: added (1) or subtracted (-1).
    constant : int     Added to them; the second argument of a function whose other one is the only term.
    function : str     Applied to the terms, its arguments, in place of adding them; ``<`` where a constant is compared, and
                       ``\\`` where one is divided.
    """

    terms: tuple[tuple[int, Node], ...]
    constant: int | None = None
    function: str = ""


Node = Access | Product | Sum


def normalize(einsum: Einsum) -> Node:
    """The expression of a statement as sums of products."""
    return _normal(einsum.expr, frozenset(einsum.result.indices), einsum.order)


def nested(einsum: Einsum) -> tuple[Node, Node]:
    """What the loop nest of a statement computes, and what is made of its result, an operand there, once it is accumulated."""
    if not einsum.accumulated:
        return normalize(einsum), einsum.result
    inner, after = peel(einsum.expr, einsum.result)
    indices = frozenset(einsum.result.indices)
    return _normal(inner, indices | einsum.accumulated.keys(), einsum.order), _normal(after, indices, einsum.order)


def live(node: Node) -> frozenset[str]:
    """The indices a part still depends on after its own summations."""
    if isinstance(node, Access):
        return frozenset(node.indices)
    if isinstance(node, Product):
        return frozenset().union(*map(live, node.factors)) - {node.contract}
    return live(node.terms[0][1])


def leaves(node: Node) -> tuple[Access, ...]:
    """The accesses of a part, from left to right."""
    if isinstance(node, Access):
        return (node,)
    parts = node.factors if isinstance(node, Product) else tuple(term for _, term in node.terms)
    return tuple(leaf for part in parts for leaf in leaves(part))


def intersected(part: Product) -> tuple[Node, ...]:
    """The factors of a product and of the products in it: their coordinates are intersected."""
    return tuple(each for factor in part.factors for each in
                 (intersected(factor) if isinstance(factor, Product) else (factor,)))


def located(part: Node, index: str, which: str) -> tuple[Access, ...]:
    """The accesses of a part whose dense level at a loop is located at the coordinates of other factors, of those that an
    `Einsum.locate` names. Where all factors are dense, only outermost levels are, and one of them says the coordinates: two
    dense levels that are scanned side by side meet at each step."""
    if isinstance(part, Access) or which == SCANNED:
        return ()
    if isinstance(part, Sum):
        return tuple(access for _, term in part.terms for access in located(term, index, which))
    every = [each for each in intersected(part) if index in live(each)]
    dense = [each for each in every if isinstance(each, Access) and each.format.is_dense(each.stored.index(index))]
    outermost = [access for access in dense if not access.stored.index(index)]
    others = [each for each in every if each not in dense]
    if others:
        able = dense if which == EVERY else outermost
    else:
        able = outermost if len(outermost) < len(dense) else outermost[1:]
    return (*able, *(access for each in others for access in located(each, index, which)))


def begun(root: Node, einsum: Einsum) -> frozenset[str]:
    """The slots whose outermost level is located, which need no reference before."""
    loops = [*((root, index) for index in einsum.nest), *((part, part.contract) for part in products(root) if part.contract)]
    return frozenset(access.slot for part, index in loops for access in located(part, index, einsum.locate)
                     if access.stored[0] == index)


def products(node: Node) -> list[Product]:
    """The products in a part."""
    if isinstance(node, Access):
        return []
    parts = node.factors if isinstance(node, Product) else tuple(term for _, term in node.terms)
    return [*([node] if isinstance(node, Product) else []), *(found for part in parts for found in products(part))]


def unsplit(node: Node, inside: bool = False) -> frozenset[str]:
    """The indices that are summed inside a function, which has to see the whole sum, or over which a maximum is taken."""
    if isinstance(node, Access):
        return frozenset()
    inside = inside or (isinstance(node, Product) and (node.function == MAX or node.divides))
    own = {node.contract} if inside and isinstance(node, Product) and node.contract else set()
    parts = node.factors if isinstance(node, Product) else tuple(term for _, term in node.terms)
    inside = inside or (isinstance(node, Sum) and bool(node.function))
    return frozenset(own).union(*(unsplit(part, inside) for part in parts))


def _normal(expr: Expr, bound: frozenset[str], order: tuple[str, ...]) -> Node:
    """Normalize a part inside loops over `bound`."""
    if not is_sum(expr):
        return _product(expr, bound, order)
    signed, constant = [], 0
    for sign, term in _signed(expr, 1):
        value = fold(term)
        if value is not None:
            constant += sign * value
            continue
        node = _product(term, bound, order)
        if isinstance(node, Product) and node.coefficient == -1:
            sign, node = -sign, _scaled(replace(node, coefficient=1), 1)
        signed.append((sign, node))
    return Sum(tuple(signed), constant or None)


def _applied(call: Call, bound: frozenset[str], order: tuple[str, ...]) -> Node:
    """A function of its arguments; not all of them are constants."""
    if is_quotient(call):
        return Product(1, tuple(_normal(argument, bound, order) for argument in call.arguments), divides=True)
    values = [fold(argument) for argument in call.arguments]
    terms = tuple((1, _normal(argument, bound, order)) for argument, value in zip(call.arguments, values) if value is None)
    constant = next((value for value in values if value is not None), None)
    flipped = FLIPPED.get(call.function) if values[0] is not None else None
    return Sum(terms, constant, flipped or call.function)


def _signed(expr: Expr, sign: int) -> list[tuple[int, Expr]]:
    """The terms of nested sums with their signs."""
    if isinstance(expr, Negate) and is_sum(expr.operand):
        return _signed(expr.operand, -sign)
    if isinstance(expr, Binary) and is_sum(expr):
        return _signed(expr.left, sign) + _signed(expr.right, sign if expr.op == "+" else -sign)
    return [(sign, expr)]


def _coefficient(expr: Expr) -> int:
    """The constant factor of a product."""
    value = fold(expr)
    if value is not None:
        return value
    if isinstance(expr, Negate):
        return -_coefficient(expr.operand)
    if isinstance(expr, Binary) and expr.op == "*":
        return _coefficient(expr.left) * _coefficient(expr.right)
    return 1


def _product(expr: Expr, bound: frozenset[str], order: tuple[str, ...]) -> Node:
    parts = [part for part in factors(expr) if fold(part) is None]
    fixed = bound | shared(parts)
    nodes: list[Node] = [_normal(part, fixed, order) if is_sum(part) else _leaf(part, fixed, order) for part in parts]
    for index in reversed(order):
        group = [node for node in nodes if index in live(node)]
        if group and index not in bound:
            at = nodes.index(group[0])
            nodes = [node for node in nodes if node not in group]
            nodes.insert(at, Product(1, tuple(group), index))
    node = nodes[0] if len(nodes) == 1 else Product(1, tuple(nodes))
    return _scaled(node, _coefficient(expr))


def _leaf(part: Expr, bound: frozenset[str], order: tuple[str, ...]) -> Node:
    if isinstance(part, Total) and part.index in bound:
        return _normal(part.operand, bound, order)      # It is accumulated, with all that it is multiplied by.
    if isinstance(part, Total):
        return Product(1, (_normal(part.operand, bound | {part.index}, order),), part.index, part.function, part.extent)
    assert isinstance(part, Access | Call), "a factor that is neither constant nor sum is an access or a function"
    return part if isinstance(part, Access) else _applied(part, bound, order)


def _scaled(node: Node, by: int) -> Node:
    """A part times a constant, without a product of one factor where none is needed."""
    if isinstance(node, Product):
        node = replace(node, coefficient=node.coefficient * by)
        bare = len(node.factors) == 1 and node.coefficient == 1 and not node.contract
        return node.factors[0] if bare else node
    return node if by == 1 else Product(by, (node,))
