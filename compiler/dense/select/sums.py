"""Cover a sum of terms and products with the fewest PEs, as a chain.

Words form a ring modulo 2**16, so terms may be added in any order, an intermediate sum may be kept negated, and a negative
constant factor is a constant factor. Every PE takes some terms and the result of the PE before it:

    a*3 + b*5 + c + d + e       muladd a, 3, c     muladd b, 5, _     taa d, e, _

n products and m >= 1 terms take n + ceil((m - 1) / 2) PEs that have all operations, one more in a few cases where all have the
wrong sign; PEs without the fused ones take one for every product and one for every sum of two. The oldest terms (smallest
offset) stand first in the chain and the newest last, because the last PE works latest: then operands wait least.

Needs:   terms: no two alike.
Gives:   `Pe` tree with the fewest PEs, of those the least `Op.cost`.
Source:  Onyx JSSC V-A and Fig. 11 (mul-add, add-add).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import product
from operator import lt, sub

from ....hw.arch.op import BY_NAME, WORD
from .tree import Pe, Value, age, pe

# What is left of a sum: products with a constant factor (any sign will do), other products to add and to subtract, terms to
# add and to subtract, flags to add and to subtract (as 0 or 1), a constant.
KINDS = ("scaled", "product+", "product-", "term+", "term-", "flag+", "flag-", "constant")
State = tuple[int, ...]
Cost = tuple[int, float]
POSITIVE = {"scaled", "product+", "term+", "constant"}


@dataclass(frozen=True)
class Term:
    """`a`, or the product `a` * `b`, or the flag `a` as 0 or 1; to be added or subtracted."""

    a: Value
    b: Value | None = None
    negative: bool = False
    flag: bool = False

    @cached_property
    def kind(self) -> str:
        if isinstance(self.b, int):
            return "scaled"
        if isinstance(self.a, int):
            return "constant"
        return ("flag" if self.flag else "term" if self.b is None else "product") + "+-"[self.negative]

    @cached_property
    def age(self) -> tuple[int, ...]:
        return max(age(self.a), age(0 if self.b is None else self.b))

    def negated(self) -> Term:
        if isinstance(self.b, int):
            return replace(self, b=-self.b % WORD)
        if isinstance(self.a, int):
            return replace(self, a=-self.a % WORD)
        return replace(self, negative=not self.negative)

    def alone(self) -> Pe:
        """A PE that computes a product or flag without its sign."""
        if self.flag:
            return pe("sel", a=1, b=0, d=self.a)
        assert self.b is not None, "a term needs no PE"
        return times(self.a, self.b)


def times(a: Value, b: Value) -> Pe:
    """A product, by shift if it can be."""
    if isinstance(b, int) and b and b & b - 1 == 0:
        return pe("shl", a=a, b=b.bit_length() - 1)
    return pe("mult0", a=a, b=b)


@dataclass(frozen=True)
class Move:
    """The last PE of a sum: its operation, and for every operand a kind, ``0``, or ``rest`` of what is left.

    `rest` is what has to be made of the terms left over: their sum (1), its negation (-1), nothing (0). Without an operation,
    a product or flag becomes a term.
    """

    op: str
    takes: tuple[tuple[str, str], ...]
    rest: int


# What the operations compute: * is a product, + and - are words added and subtracted.
SIGNS = {"adc": "++", "sbc": "+-", "taa": "+++", "tas": "++-", "tss": "+--", "mult0": "*", "muladd": "*+", "mulsub": "*-"}


def _moves(op: str) -> Iterator[Move]:
    """All ways to use an operation."""
    signs = SIGNS[op]
    fill = {"*": ("scaled", "product+"), "+": ("term+", "constant", "0", "rest"), "-": ("term-", "rest")}
    ports = "ac" if op in ("muladd", "mulsub") else "abc"
    seen = set()
    for takes in product(*(fill[sign] for sign in signs)):
        count = Counter(takes)
        if count["rest"] > 1 or count["constant"] > 1 or len(takes) == count["0"] + count["rest"]:
            continue
        if count["0"] and op not in ("sbc", "tss"):
            continue
        where = takes.index("rest") if count["rest"] else 0
        key = tuple(sorted(zip(signs, takes)))
        if key not in seen:
            seen.add(key)
            yield Move(op, tuple(zip(ports, takes)), {"*": 0, "+": 1, "-": -1}[signs[where]] if count["rest"] else 0)
    if op == "adc":
        for a, b in (("rest", "term+"), ("rest", "constant"), ("rest", "0"), ("term+", "term+"), ("term+", "constant"),
                     ("term+", "0"), ("constant", "0"), ("0", "0")):
            yield Move(op, (("a", a), ("b", b), ("d", "flag+")), int(a == "rest"))


def _table(ops: Iterable[str]) -> tuple[tuple[Move, State, float], ...]:
    """Moves with what they take and cost."""
    return tuple((move, tuple(sum(taken == kind for _, taken in move.takes) for kind in KINDS), BY_NAME[move.op].cost)
                 for op in ops for move in _moves(op))


@cache
def _moves_of(ops: frozenset[str]) -> tuple[tuple[Move, State, float], ...]:
    """The moves of PEs with operations; those of two words are always among them."""
    return _table(op for op in SIGNS if op in ops or "c" not in BY_NAME[op].operands)


# Terms of a sum, and sums of some of them, up to which every choice is tried.
TERMS, STATES = 100, 20_000
# A product or flag as a term of its own.
CONVERSIONS = {"scaled": ("term+", "mult0"), "product+": ("term+", "mult0"), "product-": ("term-", "mult0"),
               "flag+": ("term+", "sel"), "flag-": ("term-", "sel")}


def _flipped(state: State) -> State:
    scaled, products, no_products, terms, no_terms, flags, no_flags, constant = state
    return scaled, no_products, products, no_terms, terms, no_flags, flags, constant


@lru_cache(maxsize=1 << 16)
def _best(state: State, ops: frozenset[str]) -> tuple[Cost, Move | None]:
    """Cost of a sum and its last PE; none for a term alone."""
    if sum(state) == 1 and (state[KINDS.index("term+")] or state[KINDS.index("constant")]):
        return (0, 0.0), None
    found: tuple[Cost, Move | None] = ((1 << 30, 0.0), None)
    for move, takes, cost in _moves_of(ops):
        if any(map(lt, state, takes)):
            continue
        left = tuple(map(sub, state, takes))
        if any(left) != bool(move.rest):
            continue
        pes, area = _best(left if move.rest > 0 else _flipped(left), ops)[0] if move.rest else (0, 0.0)
        found = min(found, ((pes + 1, area + cost), move), key=lambda each: each[0])
    for kind, (term, op) in CONVERSIONS.items():
        if state[KINDS.index(kind)]:
            counts = dict(zip(KINDS, state))
            counts[kind] -= 1
            counts[term] += 1
            pes, area = _best(tuple(counts.values()), ops)[0]
            found = min(found, ((pes + 1, area + BY_NAME[op].cost), Move("", (("", kind),), 0)), key=lambda each: each[0])
    return found


def cover_sum(terms: Iterable[Term], ops: frozenset[str]) -> Value:
    """The tree of PEs with the operations `ops` for a sum; a constant or a reference if no PE is needed."""
    if "muladd" not in ops:
        terms = [term if term.b is None else Term(term.alone(), None, term.negative) for term in terms]
    left = sorted(terms, key=lambda term: term.age)
    if not left:
        return 0
    chain: list[tuple[str, dict[str, Value | None]]] = []
    value: Value | None = None
    while value is None:
        state = _state(left)
        move = _long(left, ops) or (_ready(state, ops) if _is_large(state) else _best(state, ops)[1])
        if move is None:
            value = left[0].a
            break
        if not move.op:
            term = _take(left, move.takes[0][1])
            left.append(Term(term.alone(), None, term.negative))
            left.sort(key=lambda term: term.age)
            continue
        operands: dict[str, Value | None] = {}
        for port, taken in move.takes:
            if taken in ("0", "rest"):
                operands[port] = 0 if taken == "0" else None
                continue
            term = _take(left, taken)
            operands[port] = term.a
            if term.b is not None:
                operands["b"] = term.b
        if move.op in ("adc", "sbc"):
            operands.setdefault("d", int(move.op == "sbc"))
        if not move.rest:
            value = _finished(move.op, operands, None)
        else:
            chain.append((move.op, operands))
            if move.rest < 0:
                left = [term.negated() for term in left]
    for op, operands in reversed(chain):
        value = _finished(op, operands, value)
    return value


def _state(terms: list[Term]) -> State:
    count = Counter(term.kind for term in terms)
    return tuple(count[kind] for kind in KINDS)


def _is_large(state: State) -> bool:
    """Whether a sum has too many terms of different kinds to try all that may stand last."""
    counts = dict(zip(KINDS, state))
    others = math.prod(count + 1 for kind, count in counts.items() if not kind.startswith("term"))
    # What is no term may become one, to add or to subtract.
    return sum(state) > TERMS or others * (counts["term+"] + 1) * (counts["term-"] + 1) * sum(state) > STATES


def _ready(state: State, ops: frozenset[str]) -> Move:
    """The last PE of a sum that is too large for a search: it takes as much as any, else makes a term of what is no term."""
    found = [(sum(takes), -cost, -place) for place, (move, takes, cost) in enumerate(_moves_of(ops))
             if move.rest > 0 and all(has >= taken for has, taken in zip(state, takes)) and sum(takes) < sum(state)]
    if found:
        return _moves_of(ops)[-max(found)[-1]][0]
    return next(Move("", (("", kind),), 0) for kind in CONVERSIONS if state[KINDS.index(kind)])


def _take(terms: list[Term], kind: str) -> Term:
    """Take the newest term of a kind out of a list, oldest first."""
    place = max(place for place, term in enumerate(terms) if term.kind == kind)
    return terms.pop(place)


def _long(terms: list[Term], ops: frozenset[str]) -> Move | None:
    """The last PE of a sum so long that the newest terms need no search: whatever is taken, as many PEs remain for the rest."""
    if len(terms) < 6:
        return None
    kinds = [term.kind for term in terms]
    count = Counter(kinds)
    plain = [kind for kind in kinds if kind in ("term+", "term-")]
    products = [kind for kind in kinds if kind in ("scaled", "product+")]
    triples = ops.issuperset(("taa", "tas", "tss"))
    takes = sorted(plain[-2:] if triples else plain[-1:])
    stay = count - Counter(takes)
    can_add = len(plain) >= 5 + count["flag+"] + count["flag-"] and any(stay[kind] for kind in POSITIVE)
    newest = [kind for kind in kinds if kind in plain or kind in products][-1:]
    if len(products) > 1 and (newest == products[-1:] or not can_add):
        return Move("muladd", (("a", products[-1]), ("c", "rest")), 1)
    if not can_add:
        return None
    if not triples:
        return Move("adc" if takes == ["term+"] else "sbc", (("a", "rest"), ("b", takes[0])), 1)
    op, order = {0: ("taa", ("term+", "term+", "rest")), 1: ("tas", ("rest", "term+", "term-")),
                 2: ("tss", ("rest", "term-", "term-"))}[takes.count("term-")]
    return Move(op, tuple(zip("abc", order)), 1)


def _finished(op: str, operands: dict[str, Value | None], rest: Value | None) -> Pe:
    """A PE of the chain in its usual form: constants behind, shifts for powers of two, differences for negative constants."""
    given: dict[str, Value] = {}
    for port in sorted(operands):
        value = rest if operands[port] is None else operands[port]
        assert value is not None, "something is left when an operand is the rest"
        given[port] = value
    if op == "mult0":
        return times(given["a"], given["b"])
    if op == "adc" and isinstance(given["a"], int):
        given["a"], given["b"] = given["b"], given["a"]
    if op == "adc" and isinstance(given["b"], int) and given["b"] >= WORD // 2 and given["d"] == 0:
        op, given["b"], given["d"] = "sbc", WORD - given["b"], 1
    return Pe(op, tuple(given.items()))
