"""Selection takes as few PEs as an exhaustive search."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from words import EDGES, Words

from sardonyx.compiler.dense.select.select import select
from sardonyx.compiler.dense.select.sums import Term, cover_sum
from sardonyx.compiler.dense.select.tree import Pe
from sardonyx.compiler.ir.dataflow import Ref
from sardonyx.compiler.ir.pe_graph import PeNode, pe_text
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.op import OPS
from sardonyx.sim.model.pe_graph import evaluate_pes, pe_outputs

AMBER = presets.get("amber").pe.ops


def names(fused):
    return frozenset(op.name for op in (OPS if fused else AMBER))


def forms(fused):
    """Products, positive and negative words of the operations that make sums."""
    yield from ((0, 2, 0), (0, 1, 1))
    if fused:
        yield from ((0, 3, 0), (0, 2, 1), (0, 1, 2), (1, 1, 0), (1, 0, 1))


@cache
def fewest(terms, fused):
    """PEs that a sum takes at least, by trying every operation and every way to part the terms among its operands.

    Terms: t a word, v a product, s a product with a constant factor, w a flag as 0 or 1, k a constant; + or -.
    """
    if terms in (("t+",), ("k+",), ("k-",)):
        return 0
    return min(parted(terms, fused), 1 + parted(negated(terms), fused))


FLIP = str.maketrans("+-", "-+")


def negated(terms):
    return tuple(sorted(term.translate(FLIP) for term in terms))


@cache
def parted(terms, fused):
    """The same where no operand has all the terms."""
    if terms in (("t+",), ("k+",), ("k-",)):
        return 0
    best = 1 if len(terms) == 1 and terms[0][0] in "vsw" and terms[0] != "v-" else 99
    for products, plus, minus in forms(fused):
        for product_ in {term for term in terms if term in ("v+", "s+", "s-")} if products else [None]:
            rest = list(terms)
            if product_:
                rest.remove(product_)
            for parts in product(range(plus + minus), repeat=len(rest)):
                operands = [tuple(sorted(term if part < plus else term.translate(FLIP) for term, own in zip(rest, parts)
                                         if own == part)) for part in range(plus + minus)]
                # An operand without terms is a constant 0.
                if rest and all(len(each) < len(terms) for each in operands):
                    best = min(best, 1 + sum(fewest(each, fused) for each in operands if each))
    if "w+" in terms:
        rest = list(terms)
        rest.remove("w+")
        for parts in product(range(2), repeat=len(rest)):
            operands = [tuple(sorted(term for term, own in zip(rest, parts) if own == part)) for part in range(2)]
            best = min(best, 1 + sum(fewest(each, fused) for each in operands if each))
    return best


def pes_in(value):
    return 1 + sum(pes_in(each) for _, each in value.operands) if isinstance(value, Pe) else 0


def terms_of(kinds):
    """Terms of the kinds, each of a word of its own."""
    names = iter(range(100))

    def word():
        return Ref(next(names), (0, 0))

    for kind, sign in kinds:
        negative = sign == "-"
        if kind == "s":
            yield Term(word(), 65536 - 7 if negative else 7)
        elif kind == "k":
            yield Term(65536 - 9 if negative else 9)
        else:
            yield Term(word(), word() if kind == "v" else None, negative, kind == "w")


@pytest.mark.parametrize("fused", [True, False], ids=["onyx", "amber"])
def test_no_way_to_part_a_sum_takes_fewer_pes(fused):
    kinds = ["t+", "t-", "v+", "v-", "s+", "w+"]
    for size in range(1, 5):
        for chosen in combinations_with_replacement(kinds, size):
            for constant in ((), ("k+",)) if size < 4 else ((),):
                terms = tuple(sorted((*chosen, *constant)))
                assert pes_in(cover_sum(terms_of(terms), names(fused))) == fewest(terms, fused), terms


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["t+", "t-", "v+", "v-", "s+"]), min_size=1, max_size=60))
def test_long_sums_take_a_pe_for_each_product_and_for_two_terms(kinds):
    pes = pes_in(cover_sum(terms_of(kinds), names(True)))
    count = Counter(kinds)
    products, terms = count["v+"] + count["v-"] + count["s+"], count["t+"] + count["t-"]
    least = products + max(0, -(-(terms - 1) // 2))
    assert least <= pes <= least + 1
    if count["s+"] or (count["t+"] and terms > 1):
        assert pes == least


READ_SIGNS = ("mult1", "mult2", "shr", "crop", "mulshr")
RANDOM = np.random.default_rng(1)
# Words of three inputs by which functions of them are told apart.
SAMPLES = [np.concatenate([RANDOM.integers(0, 65536, 20), RANDOM.choice(EDGES, 20)]) for _ in "abc"]
MIX = RANDOM.integers(1, 1 << 63, 40, dtype=np.uint64) | np.uint64(1)


def prints(values):
    """One number for every row of results."""
    return (values.astype(np.uint64) * MIX).sum(axis=-1, dtype=np.uint64)


def results(pool, needed=()):
    """What one PE computes of operands in a pool, all those at the places `needed` among them."""
    zero = np.zeros_like(SAMPLES[0])
    for op in OPS:
        ports = [port for port in "abc" if port in op.operands]
        for chosen in product(range(len(pool)), repeat=len(ports)):
            if set(needed) <= set(chosen):
                operands = dict.fromkeys("abcdef", zero) | dict(zip(ports, (pool[place] for place in chosen)))
                for d, signed in product(range(1 + ("d" in op.operands)), {False, op.name in READ_SIGNS}):
                    yield pe_outputs(PeNode(op.name, signed=signed), operands | {"d": zero + d})[0]


def trees(depth):
    """Expressions in which every input stands once: operation, signed, left, right; or None for the next input.

    Without shifts and comparisons with constants: ranges of words and fields of bits are not the business of selection.
    """
    if not depth:
        return st.none()
    below = st.none() | trees(depth - 1)
    return (st.tuples(st.sampled_from(["add", "sub", "mul"]), st.booleans(), below, below | st.just(7))
            | st.tuples(st.sampled_from(["min", "max"]), st.booleans(), below, below))


def test_no_fewer_pes_do_what_selection_gives_one_to_three():
    constants = [np.full_like(SAMPLES[0], each) for each in (0, 7, 0x7FFF, 0x8000, 0xFFFF)]
    first = {int(prints(each)): each for each in results([*SAMPLES, *constants])}
    rows = np.array(list(first.values()))
    pool = [*SAMPLES, constants[1], rows]
    seconds = [prints(np.broadcast_to(each, rows.shape)) for each in results(pool, needed=[len(pool) - 1])]
    possible = [set(map(int, prints(np.array(SAMPLES)))), set(first), set(np.concatenate(seconds).tolist())]
    compared = Counter()

    @settings(max_examples=400)
    @given(trees(3))
    def check(tree):
        words = Words()
        inputs = [words.input(name) for name in "abc"]

        def build(node):
            if node is None:
                return inputs.pop() if inputs else words.input(f"further{len(words.nodes)}")
            return node if isinstance(node, int) else getattr(words, node[0])(build(node[2]), build(node[3]), signed=node[1])

        pes = select(words.graph(build(tree)))
        if set(pes.inputs) <= set("abc") and pes.inputs:
            images = {name: sample.reshape(1, -1) for name, sample in zip("abc", SAMPLES) if name in pes.inputs}
            found = int(prints(evaluate_pes(pes, images)["out0"].values[0]))
            assert not any(found in each for each in possible[:pes.pes]), pe_text(pes)
            compared[pes.pes] += 1

    check()
    assert all(compared[each] > 10 for each in (1, 2, 3)), compared
