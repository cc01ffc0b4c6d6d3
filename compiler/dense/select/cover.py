"""Trees of PE operations that compute the nodes of a word graph.

A tree of single-use nodes is covered with the fewest PEs of the pattern set, of those the least sum of `Op.cost`:
sums and products of any shape as chains (`sums`; terms with one constant factor are added before they are multiplied, and a
constant times a sum is tried both ways), products that are shifted (mulshr), trees of min and max (crop), flags by 3-input
truth tables, negated comparisons by the opposite condition.

A node with several users is one PE, read by all, if it is in `cut`; else it may be part of the trees of its users. `choose`
says which.

Needs:   WordGraph from `fold`.
Gives:   for every node that needs PEs of its own, a `Pe` tree.
Cost:    one covering of a node for each combination of answers about the nodes with several users around it; at most
         2 ** `CHOICES` trees for a sum and `CUTS` ** 2 for a flag. What is spent is counted, see `sharing`.
Source:  tree covering by dynamic programming: Aho and Johnson, 1976.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from heapq import heappop, heappush
from itertools import combinations, product
from typing import NamedTuple, TypeVar

from ....hw.arch.op import BY_NAME, WORD
from ...ir.dataflow import Operand, Ref, WordGraph, WordNode
from .flags import NEGATED, SWAPPED
from .fold import CONDITION, FLAGS, extremes, factor_of, meaning
from .sums import Cost, Term, cover_sum, times
from .tree import Pe, Value, age, leaves, moved, moved_operand, parts, pe

BITS = ("bit_and", "bit_or", "bit_xor", "bit_not")
SUMS = ("add", "sub", "mul", "shl")
SAME = {"and": "and", "or": "or", "xor": "xor", "abs": "abs", "mul_middle": "mult1", "mul_high": "mult2",
        "shl": "shl", "shr": "shr", "lookup": "lookup"}
# Operations of users -> of nodes that may be parts of their trees.
ABSORBED = {**dict.fromkeys(SUMS, (*SUMS, "word")), "shr": SUMS, "min": ("min",), "max": ("max", "min"), "word": ("bit_not",),
            **dict.fromkeys(BITS, BITS), "bit_not": (*BITS, "eq", "ne", "lt", "le")}
# So many sums under constant factors are tried both ways, all at once.
CHOICES = 5
# Sets of flags that are kept for every flag in a tree, so that there are no more of them than that squared to look at.
CUTS = 16
# Flags of flags that are looked into for a flag, so that its truth is not asked for without end; behind them it is made of PEs.
NESTED = 64
# For each of three flags, the codes in which it is 1; all codes.
CODES, ALL_CODES = (0xAA, 0xCC, 0xF0), 0xFF
# Plans that are made within each other at most.
DEPTH = 50


class Plan(NamedTuple):
    """The best tree of a node.

    cost : pair         PEs and area, with those of all nodes that it needs up to shared ones.
    own : pair          The same of the tree alone.
    reads : tuple       The references in it.
    inner : frozenset   The nodes that these are to, but for inputs.
    """

    tree: Value
    cost: Cost
    own: Cost
    reads: tuple[Ref, ...]
    inner: frozenset[int]


class Cover:
    """How every node would be computed as the root of a tree of PEs, when the nodes in `cut` are PEs of their own."""

    def __init__(self, graph: WordGraph, ops: frozenset[str], factor: bool) -> None:
        self.graph, self.nodes, self.ops, self.factor = graph, graph.nodes, ops, factor
        self.zero = (0,) * len(graph.dims)
        pairs = [(node.op, each.node) for node in self.nodes for each in node.operands if isinstance(each, Ref)]
        uses = Counter(number for _, number in pairs)
        self.results = frozenset(ref.node for ref in graph.results.values() if self.nodes[ref.node].op != "input")
        self.roots = self.results | {number for number, count in uses.items()
                                     if count > 1 and self.nodes[number].op not in ("input", "lookup")}
        # Nodes with several users of which some may absorb them; those that no user can absorb are PEs in any case.
        self.shared = {number for op, number in pairs
                       if number in self.roots - self.results and self.nodes[number].op in ABSORBED.get(op, ())}
        self.cut = self.roots
        # A node and whether the shared nodes that were asked about are cut -> the next one to ask about, or the plan.
        self.found: dict[tuple[int, ...], int | Plan] = {}
        self.asked: list[dict[int, bool]] = []
        self.inside: dict[Ref, WordNode] = {}
        self.first = self._first()
        # What was spent: PEs and operands of all trees that were made, and nodes that were looked at to choose among them.
        self.work = 0
        self.steps = 0

    def _first(self) -> list[int]:
        """Nodes whose plans are made before those of others: all that are never part of a tree, and one in `DEPTH` of a chain
        of others, because a plan makes those of the nodes before it, one within the other."""
        found, depth = [], [0] * len(self.nodes)
        for number, node in enumerate(self.nodes):
            # Sums of sums and extremes of extremes are taken apart in one go.
            below = max((depth[each.node] + (not self._is_flat(node, self.nodes[each.node]))
                         for each in node.operands if isinstance(each, Ref)), default=0)
            alone = node.op not in ("input", *SUMS, "min", "max", *FLAGS)
            if alone or below == DEPTH:
                found.append(number)
            else:
                depth[number] = below
        return found

    def _is_flat(self, user: WordNode, node: WordNode) -> bool:
        """Whether the trees of a node are made without the plan of its operand, if that may be part of them."""
        if user.op in ("min", "max"):
            return "crop" in self.ops and user.op == node.op and user.signed == node.signed
        return all(each.op in ("add", "sub") or factor_of(each) is not None for each in (user, node))

    def needed(self) -> list[int]:
        """The roots of trees, in topological order."""
        self._prepare()
        roots = set(self.results)
        for number in reversed(range(len(self.nodes))):
            if number in roots:
                roots |= self.plan(number).inner
        return sorted(roots)

    def asked_plan(self, number: int) -> tuple[Plan, list[int]]:
        """The best tree of a node, and the shared nodes that it depends on, in the order in which they are asked about."""
        self._prepare()
        self.asked.append({})
        plan = self.plan(number)
        return plan, list(self.asked.pop())

    def _prepare(self) -> None:
        """Make the plans of nodes in their order, or a plan might have to make those of all nodes before it, recursively."""
        for number in self.first:
            self.plan(number)

    def plan(self, number: int) -> Plan:
        """The best tree of a node, read at its own point."""
        self.steps += 1
        path: tuple[int, ...] = (number,)
        asked: dict[int, bool] = {}
        while isinstance(known := self.found.get(path), int):
            asked[known] = known in self.cut
            path += (asked[known],)
        if known is None:
            self.asked.append(asked := {})
            tree, cost = min(((each, self.cost(each)) for each in self._counted(self._trees(number))), key=lambda each: each[1])
            self.asked.pop()
            reads = tuple(leaves(tree))
            known = Plan(tree, cost, self.own(tree), reads,
                         frozenset(ref.node for ref in reads if self.nodes[ref.node].op != "input"))
            path = (number,)
            for node, answer in asked.items():
                self.found[path] = node
                path += (answer,)
            self.found[path] = known
        if self.asked:
            self.asked[-1].update(asked)
        return known

    def _counted(self, trees: Iterable[Value]) -> Iterator[Value]:
        for tree in trees:
            self.work += sum(1 for _ in parts(tree))
            yield tree

    def own(self, value: Value) -> Cost:
        """PEs and area of a tree, without its leaves."""
        pes = [each for each in parts(value) if isinstance(each, Pe) and each.op != "lookup" and not self._is_test(each)]
        return len(pes), sum(BY_NAME[each.op].cost for each in pes)

    def cost(self, value: Value) -> Cost:
        """PEs and area of a tree, with those of its leaves that nobody else uses."""
        pes, area = self.own(value)
        for ref in leaves(value):
            if self._is_open(ref):
                more, larger = self.plan(ref.node).cost
                pes, area = pes + more, area + larger
        return pes, area

    def _is_test(self, value: Pe) -> bool:
        """Whether a comparison with 0 is left to the PE that computes the word."""
        if value.op != "sbc" or not value.cond or value["b"] != 0:
            return False
        word = value["a"]
        return isinstance(word, Pe) or (isinstance(word, Ref) and self.nodes[word.node].op not in ("input", "lookup"))

    def _is_open(self, operand: Operand, *ops: str) -> bool:
        """Whether an operand may be part of its user's tree, and is one of some operations."""
        if isinstance(operand, int):
            return False
        if operand.node in self.shared and self.asked:
            self.asked[-1][operand.node] = operand.node in self.cut
        op = self.nodes[operand.node].op
        return op != "input" and operand.node not in self.cut and (not ops or op in ops)

    def _inside(self, ref: Ref) -> WordNode:
        """The node behind a reference, its operands as the reader sees them."""
        if ref not in self.inside:
            node = self.nodes[ref.node]
            self.inside[ref] = replace(node, operands=tuple(moved_operand(each, ref.offset) for each in node.operands))
        return self.inside[ref]

    def _trees(self, number: int) -> Iterator[Value]:
        """Trees to choose from."""
        node = self.nodes[number]
        operands, signed = node.operands, node.signed
        if all(isinstance(each, int) for each in operands):
            flag = node.op in FLAGS
            assert isinstance(operands[0], int), "the result is a constant"
            yield (pe("or", a=0, b=0, cond="lut", lut=0xFF * operands[0]) if flag else pe("or", a=operands[0], b=0))
        elif node.op in ("add", "sub", "mul") or (node.op == "shl" and isinstance(operands[1], int)):
            yield from self._sums(number)
        elif node.op in ("min", "max"):
            yield self._extreme(Ref(number, self.zero))
        elif node.op == "select":
            yield pe("sel", a=operands[1], b=operands[2], d=operands[0])
        elif node.op == "word":
            flag_ref = operands[0]
            if isinstance(flag_ref, Ref) and self._is_open(flag_ref, "bit_not"):
                yield pe("sel", a=0, b=1, d=self._inside(flag_ref).operands[0])
            else:
                yield pe("sel", a=1, b=0, d=flag_ref)
        elif (node.op, signed) in CONDITION:
            yield self._comparison(node)
        elif node.op in FLAGS:
            yield from self._flags(Ref(number, self.zero))
        else:
            if node.op == "shr" and "mulshr" in self.ops:
                yield from self._shifted_products(node)
            yield Pe(SAME[node.op], tuple(zip("ab", operands)), signed, table=node.table)

    def _shifted_products(self, node: WordNode) -> Iterator[Value]:
        """Shifts right of what a multiplication or shift left gives."""
        word, by = node.operands
        if not isinstance(word, Ref) or not self._is_open(word, *SUMS):
            return
        for tree in self._trees(word.node):
            if isinstance(tree, Pe) and tree.op in ("mult0", "shl"):
                tree = moved(tree, word.offset)
                assert isinstance(tree, Pe), "moving keeps the form"
                factor = tree["b"]
                if tree.op == "shl":
                    if not isinstance(factor, int):
                        continue
                    factor = 1 << factor
                yield pe("mulshr", signed=node.signed, a=tree["a"], b=factor, c=by)

    # Sums and products.

    def _sums(self, number: int) -> Iterator[Value]:
        """The chains for a sum, with the sums below constant factors multiplied out or not."""
        coefficients, constant, choices = self._linear(number, frozenset())
        yield cover_sum(self._terms(coefficients, constant), self.ops)
        tried = sorted(choices)[-CHOICES:]
        for count in range(1, len(tried) + 1):
            for closed in combinations(tried, count):
                coefficients, constant, _ = self._linear(number, frozenset(closed))
                yield cover_sum(self._terms(coefficients, constant), self.ops)

    def _linear(self, number: int, closed: frozenset[int]) -> tuple[dict[tuple[Ref, ...], int], int, set[int]]:
        """A node as a sum: factors (one or two references) -> coefficient, the constant, and the sums multiplied out.

        The sums in `closed` are not taken apart.
        """
        root = Ref(number, self.zero)
        coefficients: dict[tuple[Ref, ...], int] = {}
        constant = 0
        choices = set()
        # Later nodes first, so that a node is taken apart once, whatever the number of ways to it.
        pending = {root: 1}
        order = [_latest(root)]
        while order:
            ref = heappop(order)[-1]
            by = pending.pop(ref)
            self.steps += 1
            node = self._inside(ref)
            factor = factor_of(node)
            pieces: list[tuple[Operand, int]] = []
            if ref != root and (ref.node in closed or not self._is_open(ref, *SUMS)):
                _more(coefficients, (ref,), by)
            elif node.op in ("add", "sub"):
                if by not in (1, WORD - 1):
                    choices.add(ref.node)
                pieces = list(zip(node.operands, (by, by if node.op == "add" else -by)))
            elif factor is not None:
                pieces = [(node.operands[0], by * factor)]
            elif node.op == "mul":
                (left, scale), (right, scale2) = (self._scaled(each) for each in node.operands if isinstance(each, Ref))
                first, second = sorted((left, right), key=lambda each: (each.node, each.offset))
                _more(coefficients, (first, second), by * scale * scale2)
            else:
                _more(coefficients, (ref,), by)
            for piece, more in pieces:
                if isinstance(piece, int):
                    constant += piece * more
                    continue
                if piece not in pending:
                    heappush(order, _latest(piece))
                _more(pending, piece, more)
        return {key: by for key, by in coefficients.items() if by}, constant % WORD, choices

    def _scaled(self, ref: Ref) -> tuple[Ref, int]:
        """A factor without its own constant factors, and these."""
        scale = 1
        while self._is_open(ref, "mul", "shl"):
            node = self._inside(ref)
            factor = factor_of(node)
            if factor is None:
                break
            first = node.operands[0]
            assert isinstance(first, Ref), "constants stand behind"
            ref, scale = first, scale * factor % WORD
        return ref, scale

    def _terms(self, coefficients: dict[tuple[Ref, ...], int], constant: int) -> list[Term]:
        """The terms of a sum; those with one constant factor, but for its sign, may be added first."""
        groups: dict[int, list[Term]] = {}
        for key, by in coefficients.items():
            pushed = self._pushed(key, by)
            if pushed:
                groups.setdefault(1, []).append(pushed)
                continue
            negative = by > WORD // 2
            groups.setdefault(WORD - by if negative else by, []).append(self._term(key, negative))
        terms = groups.pop(1, [])
        for by, group in groups.items():
            if self.factor and len(group) > 1:
                plus, minus = (cover_sum(each, self.ops) for each in (group, [term.negated() for term in group]))
                terms.append(Term(minus, -by % WORD) if self.cost(minus) < self.cost(plus) else Term(plus, by))
                continue
            for term in group:
                factor = -by % WORD if term.negative else by
                if term.flag:
                    terms.append(Term(pe("sel", a=factor, b=0, d=term.a)))
                else:
                    terms.append(Term(term.a if term.b is None else times(term.a, term.b), factor))
        return [*terms, Term(constant)] if constant else terms

    def _pushed(self, key: tuple[Ref, ...], by: int) -> Term | None:
        """A product with its sign or constant factor put into a factor that is a sum, if that sum takes no more PEs.

        ``- a (b - c) = a (c - b)``, ``7 a (b + 3) = a (7 b + 21)``
        """
        if by == 1 or len(key) != 2 or key[0] == key[1]:
            return None
        for factor, other in (key, key[::-1]):
            if self._is_open(factor, "add", "sub"):
                coefficients, constant, _ = self._linear(factor.node, frozenset())
                terms = self._terms({each: more * by % WORD for each, more in coefficients.items()}, constant * by % WORD)
                value = cover_sum(terms, self.ops)
                if self.cost(value)[0] <= self.plan(factor.node).cost[0] + (by != WORD - 1):
                    return Term(other, moved(value, factor.offset))
        return None

    def _term(self, key: tuple[Ref, ...], negative: bool) -> Term:
        if len(key) == 2:
            return Term(key[0], key[1], negative)
        if self._is_open(key[0], "word"):
            flag = self._inside(key[0]).operands[0]
            return Term(flag, None, negative, flag=True)
        return Term(key[0], None, negative)

    # Minima and maxima.

    def _extreme(self, root: Ref) -> Value:
        """A tree of min or of max, as a chain; max takes a min in the same PE."""
        node = self._inside(root)
        low, high = extremes(node.signed)
        if "crop" not in self.ops:
            a, b = node.operands
            flag = pe("sbc", a=a, b=b, d=1, cond=CONDITION["lt", node.signed])
            return pe("sel", a=a, b=b, d=flag) if node.op == "min" else pe("sel", a=b, b=a, d=flag)
        words = self._flat(root, node.op, node.signed)
        if node.op == "min":
            value, *rest = words
            for word in rest:
                value = pe("crop", signed=node.signed, a=value, b=word, c=low)
            return value
        pairs = [word for word in words if self._is_min(word, node.signed)]
        plain = [word for word in words if word not in pairs]
        value, *rest = plain or [low]
        for word in pairs:
            assert isinstance(word, Ref), "it is a min"
            first, second = self._inside(word).operands
            value = pe("crop", signed=node.signed, a=first, b=second, c=value)
        for word in rest:
            value = pe("crop", signed=node.signed, a=word, b=high, c=value)
        return value

    def _flat(self, root: Ref, op: str, signed: bool) -> list[Value]:
        """The words of a tree of one operation, the oldest first, a constant at the front."""
        todo = [*self._inside(root).operands]
        seen: dict[Operand, bool] = {}
        while todo:
            each = todo.pop()
            if each in seen:
                continue
            seen[each] = isinstance(each, Ref) and self._is_open(each, op) and self.nodes[each.node].signed == signed
            if isinstance(each, Ref) and seen[each]:
                todo += self._inside(each).operands
        found: list[Value] = [each for each, inner in seen.items() if not inner]
        return sorted(found, key=lambda each: (isinstance(each, Ref), age(each), each.node if isinstance(each, Ref) else each))

    def _is_min(self, word: Value, signed: bool) -> bool:
        return isinstance(word, Ref) and self._is_open(word, "min") and self.nodes[word.node].signed == signed

    # Flags.

    def _comparison(self, node: WordNode, negate: bool = False) -> Pe:
        a, b = node.operands
        cond = CONDITION[node.op, node.signed]
        if isinstance(a, int):
            a, b, cond = b, a, SWAPPED[cond]
        return pe("sbc", a=a, b=b, d=1, cond=NEGATED[cond] if negate else cond)

    def _flags(self, root: Ref) -> Iterator[Value]:
        """Truth tables for a flag; the opposite comparison."""
        node = self._inside(root)
        compared = node.operands[0]
        if node.op == "bit_not" and isinstance(compared, Ref) and self._is_open(compared, "eq", "ne", "lt", "le"):
            yield self._comparison(self._inside(compared), negate=True)
        for inputs in sorted(self._cuts(root), key=_flags_order):
            refs = sorted(inputs, key=lambda ref: (ref.node, ref.offset))
            table = self._truth(root, dict(zip(refs, CODES)))
            yield Pe("or", (("a", 0), ("b", 0), *zip("def", refs)), cond="lut", lut=table)

    def _cuts(self, root: Ref) -> set[frozenset[Ref]]:
        """Sets of up to three flags that a flag is a function of."""
        known: dict[Ref, set[frozenset[Ref]]] = {}
        inner: list[Ref] = []
        todo: list[Operand] = [root]
        while todo:
            each = todo.pop()
            assert isinstance(each, Ref), "constants are folded"
            if each not in known:
                known[each] = {frozenset((each,))}
                if each == root or (len(inner) < NESTED and self._is_open(each, *BITS)):
                    inner.append(each)
                    todo += reversed(self._inside(each).operands)
        for ref in sorted(inner, key=lambda each: each.node):
            below = [known[each] for each in self._inside(ref).operands if isinstance(each, Ref)]
            found = {cut for chosen in product(*below) if len(cut := frozenset().union(*chosen)) <= 3}
            if ref == root:
                return found
            known[ref] |= set(sorted(found, key=_flags_order)[:CUTS])
        raise AssertionError("the root is the last of its own tree")

    def _truth(self, ref: Operand, values: dict[Ref, int]) -> int:
        """A flag as a function of others, each given for every code of them: bit n is its value for code n."""
        assert isinstance(ref, Ref), "constants are folded"
        if ref not in values:
            node = self._inside(ref)
            below = [self._truth(each, values) for each in node.operands]
            values[ref] = ALL_CODES - below[0] if node.op == "bit_not" else meaning(node.op, tuple(below), False)
        return values[ref]


def _flags_order(refs: Iterable[Ref]) -> list[tuple[int, tuple[int, ...]]]:
    return sorted((ref.node, ref.offset) for ref in refs)


def _latest(ref: Ref) -> tuple[int, tuple[int, ...], Ref]:
    """Orders references in a heap, the latest node at the largest offset first."""
    return -ref.node, tuple(-o for o in ref.offset), ref


Key = TypeVar("Key")


def _more(sums: dict[Key, int], key: Key, by: int) -> None:
    """Add to one of several words."""
    sums[key] = (sums.get(key, 0) + by) % WORD
