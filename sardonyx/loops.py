"""Choose the order of the loops of a statement, where its user says none: that of the fewest expected cycles on its operands.

    X(i,j) = B(i,k) * C(k,j)     i j k, j i k   inner product    a sum over k for each i and j
                                 i k j, j k i   Gustavson        rows of X are added up, or columns
                                 k i j, k j i   outer product    matrices are added up

The edges of sub-tiles are searched for in the default order, with the indices of the result first. The other orders are looked
at with the best of these edges and with a few more, and the `CLOSER` best of them are searched as well. One of them is taken if
it is expected to gain more than estimates are off, so that programs stay as they are where nothing is gained. Orders that the
formats or the machine do not allow are left out. Orders that keep sums of terms and arguments in MEM tiles
(`compiler/lang/apart.py`) have to gain more, so that none of them is slower for estimates that are off, and only the best one
is searched, where a glance at it finds fewer cycles than the default order takes.

Cost:    at most `MOST_ORDERS` orders, `len(GLANCES) + 1` edges of each, and `CLOSER` searches, twice as many where some orders
         read their sums once more (`Einsum.reframed`), each with a part of the nonzeros and items of the first one.
         docs/performance.md has what that takes, and what it gains.
Source:  the three dataflows are those of IEEE Micro and of SAM; the choice is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations
from math import ceil

from .compiler.lang.einsum import Einsum, parse
from .compiler.sparse.fuse import alone
from .compiler.sparse.narrow import narrow
from .compiler.sparse.search import EDGES, Search
from .compiler.sparse.settled import too_many
from .compiler.sparse.tiles import Tiling
from .compiler.sparse.trials import BUDGET
from .cutting import Plan, cut, search
from .expected import Estimated, check_room, estimated
from .hw.arch.cgra import Arch
from .hw.arch.errors import UserError
from .outcome import silent
from .tensors.coordinates import Coo

ALL_ORDERS = 4      # Indices of which all orders are looked at; of more, those with one index elsewhere.
MOST_ORDERS = 36
GLANCES = (EDGES[0], 64, 32, 16, 8)     # Edges for all indices.
CLOSER = 2
PART = 8            # Of the nonzeros and items of a search, for each of them.
SHOWN = 6           # Orders of which the report has the cycles, besides the default one.
WORTH = 0.95        # Of the cycles of the default order, beyond which no other is taken.
# By what cycles of orders that keep sums are multiplied where they are compared with others: generated Verilog takes 0.87 to
# 1.06 times those that are expected of them, but up to 1.48 times of a product of three, and what is taken shall not be slower.
KEEPING = 1.5
# Of the cycles of the default order, beyond which orders that keep sums are not searched: a search would have to gain a tenth
# for one to be taken, and gains a twentieth.
NEAR = 0.7
MOST_KEEPING = 10   # Orders that keep sums, of which some are looked at: of more every second one, or less.


@dataclass(frozen=True)
class Loops:
    """A statement with its loops in the chosen order.

    Parameters
    ----------
    statement : Einsum
    tiling : Tiling       Its sub-tiles.
    default : tuple       The order that it would have.
    expected : mapping    Cycles by order, the fewest first, of those that were looked at: of most orders with a few edges.
    keeping : frozenset   The orders among them that keep sums in MEM tiles.
    """

    statement: Einsum
    tiling: Tiling
    default: tuple[str, ...]
    expected: Mapping[tuple[str, ...], float]
    keeping: frozenset[tuple[str, ...]] = frozenset()

    def report(self) -> dict[str, object]:
        """What is said of it: nothing where there is one order only."""
        if len(self.expected) < 2:
            return {}
        own = self.statement.order
        other = self.default if own != self.default else next(order for order in self.expected if order != own)
        its = f"{self.expected[other]:,.0f} of" if self.expected[other] < float("inf") else "nothing fits in"
        why = f"{self.expected[own]:,.0f} cycles expected, {its} {' '.join(other)}"
        if keeps := " and ".join(" ".join(order) for order in (own, other) if order in self.keeping):
            why += f"; sums are kept in MEM tiles in {keeps}"
        shown = {*[*self.expected][:SHOWN], self.default}
        return {"order": " ".join(own), "dataflow": dataflow(own, self.statement.result.indices, self.tiling.edges), "why": why,
                "expected_cycles": {" ".join(order): round(cycles) for order, cycles in self.expected.items()
                                    if order in shown and cycles < float("inf")}}


@dataclass(frozen=True)
class _Order:
    """A statement in one order, and the search for its edges."""

    statement: Einsum
    search: Search

    @property
    def cycles(self) -> float:
        """The fewest expected so far."""
        return self.search.cycles

    @property
    def keeps(self) -> bool:
        """Whether sums of its terms or arguments are kept in MEM tiles."""
        return len(self.statement.every) > 1

    @property
    def weighed(self) -> float:
        """Cycles as they are compared with those of other orders."""
        return self.cycles * (KEEPING if self.keeps else 1)

    def works(self, arch: Arch, wanted: Plan, look: Callable[[Search], None] = lambda found: None) -> bool:
        """Whether it can be looked at, and a machine has room for its program with the best edges."""
        try:
            look(self.search)
            program = narrow(self.search.einsum, self.search.edges)[0] if self.search.narrow else self.search.einsum
            check_room(program, arch, wanted)
        except UserError:
            return False
        return True


def choose(statement: Einsum, formats: Mapping[str, str], data: Mapping[str, Coo], arch: Arch, wanted: Plan,
           progress: Callable[[str], None] = silent) -> Loops:
    """The loops and sub-tiles of a statement; formats: per tensor, as given. UserError as of `cut`, in its default order."""
    first = _Order(statement, search(statement, data, arch, wanted, progress))
    some = _edges(first.search, wanted)
    default = _estimated(first, data, arch, wanted, progress)
    least = float("inf") if default is None else default.cycles
    others = []
    for each in _fewer(_others(statement, formats)):
        other = _Order(each, search(each, data, arch, wanted, progress, BUDGET // PART))
        other.search.beat = least
        if other.works(arch, wanted, lambda found: found.glance(some)):
            others.append(other)
    others.sort(key=lambda order: order.weighed)
    if wanted.edges is None:
        kept = [order for order in others if order.keeps and order.cycles <= NEAR * least][:1]
        near = [order for order in others if not order.keeps or order in kept]
        closer = [order for again in (False, True)
                  for order in [each for each in near if each.statement.reframed == again][:CLOSER]]
        others = [order for order in others if order not in closer or order.works(arch, wanted, Search.look)]
        others.sort(key=lambda order: order.weighed)
    found = {order.statement.order: order.cycles for order in others if order.cycles < float("inf")}
    expected = dict(sorted({statement.order: least, **found}.items(), key=lambda each: each[1]))
    keeping = frozenset(order.statement.order for order in (first, *others) if order.keeps)
    for order in others:
        if order.weighed < WORTH * (KEEPING if first.keeps else 1) * least:
            taken = _estimated(order, data, arch, wanted, progress)
            if taken is not None:
                return Loops(order.statement, taken.tiling, statement.order, expected, keeping)
    # What a machine has no room for is refused when it is compiled, behind what else is wrong.
    tiling = default.tiling if default is not None else cut(alone(statement), data, arch, wanted, progress, first.search)
    return Loops(statement, tiling, statement.order, expected, keeping)


def _estimated(order: _Order, data: Mapping[str, Coo], arch: Arch, wanted: Plan, progress: Callable[[str], None]
               ) -> Estimated | None:
    """What is expected of the sub-tiles of an order, where they fit and a machine has room for their program."""
    try:
        return estimated(order.statement, data, arch, wanted, order.search, progress)
    except UserError:
        return None


def dataflow(order: Sequence[str], result: Sequence[str], edges: Mapping[str, int]) -> str:
    """What loops in some order do with sums, by the name that papers give it. An index of which sub-tiles have one coordinate
    is outside of the loops of a sub-tile: what is summed over it is added where sub-tiles are."""
    summed = [index for index in order if index not in result]
    inside = [index for index in order if index in result and edges[index] > 1 and
              any(edges[each] == 1 or order.index(each) < order.index(index) for each in summed)]
    if not summed:
        return "no sum"
    if all(edge == 1 for edge in edges.values()):
        return "single products"
    return "inner product" if not inside else "outer product" if len(inside) == len(result) else "Gustavson"


def _edges(first: Search, wanted: Plan) -> list[Mapping[str, int]]:
    """Look at the default order; the edges with which others are compared first."""
    if wanted.edges is None:
        first.look()
        return [first.edges, *(dict.fromkeys(first.extents, edge) for edge in GLANCES)]
    given = dict.fromkeys(first.extents, wanted.edges) if isinstance(wanted.edges, int) else {**first.extents, **wanted.edges}
    some: list[Mapping[str, int]] = [{index: max(1, given[index]) for index in first.extents}]
    first.glance(some)
    return some


def _others(statement: Einsum, formats: Mapping[str, str]) -> Iterator[Einsum]:
    """The statement in other orders in which it can be computed."""
    own = {name: form for name, form in formats.items() if name == statement.result.tensor or name in statement.tensors}
    loops = permutations(statement.order) if len(statement.order) <= ALL_ORDERS else _moved(statement.order)
    for order in islice(dict.fromkeys(loops), MOST_ORDERS):
        if order == statement.order:
            continue
        try:
            other = parse(statement.text, order, own, statement.origin)
        except UserError:
            continue
        if not too_many(other):     # What sub-tiles settle is another order in each of them.
            yield replace(other, locate=statement.locate)


def _fewer(orders: Iterable[Einsum]) -> list[Einsum]:
    """Orders without some of those that keep sums, where there are many of these: the ones that follow each other are alike."""
    every = [*orders]
    keeping = [each for each in every if len(each.every) > 1]
    some = keeping[::max(1, ceil(len(keeping) / MOST_KEEPING))]
    return [each for each in every if each not in keeping or each in some]


def _moved(order: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Orders with one index at another place."""
    for at, index in enumerate(order):
        rest = (*order[:at], *order[at + 1:])
        for to in range(len(order)):
            yield (*rest[:to], index, *rest[to:])
