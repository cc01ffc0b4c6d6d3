"""Fuse statements: what one computes stays in the array, where another takes it.

An intermediate goes to its use in one of two ways:

    streams    its expression takes the place of the use, so that its streams run straight into the loops around it:
                   T(j,k,l) = C(j,k) * D(j,l); X(i,j) = B(i,k,l) * T(j,k,l)   =>   X(i,j) = B(i,k,l) * (C(j,k) * D(j,l))
    MEM tiles  it is written to MEM tiles as a fibertree and read by their scanners, whole and as often as needed:
                   y(i) = A(i,j) * x(j); z(k) = A(k,i) * y(i)

Streams go where the use takes the intermediate in the order in which it is computed and no sum has to be computed again for it:
the intermediate has no sum of its own, or all loops of the using statement are over its indices. Else it is kept in MEM tiles.
What is used twice is computed for each use.

Input:   statements in order, of which the last gives the result and all others feed it.
Output:  Fused: one statement of the same meaning, which says how operands are cut, and the nests that are lowered.
Errors:  UserError naming the intermediate, for what is in neither way.
Source:  Onyx JSSC VI-C (fused MTTKRP, iterated SpMV).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from sardonyx.compiler.lang.einsum import Einsum, parse
from sardonyx.compiler.lang.expr import Access, Call, Expr, Total, accesses, children, indices, rebuilt
from sardonyx.compiler.lang.terms import factors, fold, shared
from sardonyx.hw.arch.errors import UserError

from .fused_dense import with_dense
from .nest import Nest

STREAMS, MEM_TILES = "streams", "MEM tiles"
MOST_USES = 64
_ORDER = "give the statements loop orders in which {0} is computed as it is read"


@dataclass(frozen=True)
class Fused:
    """Statements as one program.

    Parameters
    ----------
    einsum : Einsum      One statement with all expressions in place; its slots are those of the nests.
    nest : Nest          What is lowered.
    whole : dict         What each kept intermediate is computed of, in one statement, by its slot.
    ways : dict          Of each intermediate, how it gets to its uses.
    shared : dict        The slot whose streams another one takes as well: both have the same tiles in every item.
    lanes : int          To which the rows of operands are dealt (`lanes.py`).
    parts : bool         Lanes are parts: each has rows of its own (`parts.py`), which have to be such.
    numbers : dict       New numbers of coordinates, by index (`renumber.py`).
    """

    einsum: Einsum
    nest: Nest
    whole: Mapping[str, Einsum]
    ways: Mapping[str, str]
    shared: Mapping[str, str] = field(default_factory=dict)
    lanes: int = 1
    parts: bool = False
    numbers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def leaves(self, slot: str) -> tuple[Access, ...]:
        """The operands of what a kept intermediate is computed of, from left to right."""
        nest = next(each.kept[slot] for each in (*self.nest.walk(), self.nest) if slot in each.kept)
        return tuple(_leaves(nest))


@dataclass(frozen=True)
class _Use:
    """A statement for one use of its result: with index names of its own, and the uses of others in it, by access.

    Parameters
    ----------
    statement : Einsum    As written.
    names : dict          Of its index variables, here.
    inner : dict          By position among its accesses.
    way : str             How its result gets to its use.
    summed : tuple        Its result's indices that are summed at the use alone.
    """

    statement: Einsum
    names: Mapping[str, str]
    inner: Mapping[int, _Use] = field(default_factory=dict)
    way: str = STREAMS
    summed: tuple[str, ...] = ()

    @property
    def sums(self) -> bool:
        """Whether a sum is computed for its result, in its own loops or in those of streams."""
        own = len(self.statement.order) > len(self.statement.result.indices)
        return own or any(use.sums for use in self.inner.values() if use.way == STREAMS)

    def order(self, through: Callable[[_Use], bool]) -> list[tuple[str, ...]]:
        """The loop orders that hold together in it: its own, and those of what is in the place of its accesses."""
        own = tuple(dict.fromkeys(self.names[index] for index in self.statement.order))
        return [own, *(each for use in self.inner.values() if through(use) for each in use.order(through))]


def alone(einsum: Einsum) -> Fused:
    """A statement that nothing is fused with."""
    return Fused(einsum, Nest(einsum), {}, {})


def fuse(statements: Sequence[Einsum], formats: Mapping[str, str]) -> Fused:
    """Statements as one program; formats: per tensor, as given."""
    tensors = {name for each in statements for name in (each.result.tensor, *each.tensors)}
    reads: dict[str, set[tuple[int, ...]]] = {}
    for access in (access for each in statements for access in each.operands):
        reads.setdefault(access.tensor, set()).add(access.format.order)
    program = _Program({each.result.tensor: each for each in statements[:-1]}, formats, tensors,
                       frozenset(name for name, orders in reads.items() if len(orders) > 1))
    return program.fused(program.use(statements[-1], {}))


@dataclass
class _Program:
    """The intermediates by name, the names that are taken, by tensors and by index variables so far, and what is read with its
    levels in several orders."""

    intermediates: Mapping[str, Einsum]
    formats: Mapping[str, str]
    taken: set[str]
    turned: frozenset[str]
    uses: int = 0
    ways: dict[str, str] = field(default_factory=dict)
    slots: dict[str, int] = field(default_factory=dict)
    whole: dict[str, Einsum] = field(default_factory=dict)

    def use(self, statement: Einsum, names: Mapping[str, str]) -> _Use:
        """A statement for one use, some of whose index variables have names, with the uses of intermediates in it."""
        self.uses += 1
        if self.uses > MOST_USES:
            raise UserError(f"what is computed for each use is used more than {MOST_USES} times", statement.text,
                            f"do not fuse {' and '.join(self.intermediates)}")
        names = {**names, **{index: self._fresh(index) for index in statement.order if index not in names}}
        scopes = [*_scopes(statement.expr, frozenset(statement.result.indices))]
        inner = {at: self._inner(statement, names, access, scope)
                 for at, (access, scope) in enumerate(scopes) if access.tensor in self.intermediates}
        return _Use(statement, names, inner)

    def _inner(self, user: Einsum, names: Mapping[str, str], access: Access, scope: frozenset[str]) -> _Use:
        """The use of an intermediate by an access of a statement; scope: the indices that are fixed around it."""
        made = self.intermediates[access.tensor]
        here = {own: names[index] for own, index in zip(made.result.indices, access.modes, strict=True)}
        found = self.use(made, here)
        again = bool({*user.order} - {*access.modes})
        summed = tuple(index for index in access.indices if index not in scope)
        streams = not made.accumulated and not (found.sums and again)
        way = STREAMS if streams else MEM_TILES
        if self.ways.setdefault(access.tensor, way) != way:
            self.ways[access.tensor] = f"{STREAMS} and {MEM_TILES}"
        if way == MEM_TILES:
            _check_kept(made, user, access, access.tensor in self.turned)
        return replace(found, way=way, summed=tuple(names[index] for index in summed))

    def _fresh(self, index: str) -> str:
        """A name like an index that is none yet."""
        name, count = index, 1
        while name in self.taken:
            count += 1
            name = f"{index}{count}"
        self.taken.add(name)
        return name

    def fused(self, root: _Use) -> Fused:
        """The program of the statement of the result."""
        nest, counts = self._nest(root), dict[str, int]()
        whole = self._parsed(root, lambda use: True)
        nest = _numbered(nest, counts)
        leaves = [*_leaves(nest)]
        assert [(leaf.slot, leaf.format) for leaf in leaves] == [(each.slot, each.format) for each in whole.operands], \
            "operands are stored in one way for the loops of all statements"
        return Fused(whole, nest, self.whole, dict(self.ways))

    def _nest(self, use: _Use) -> Nest:
        """The nest of a statement, streams in place, with those that it takes from MEM tiles."""
        einsum = self._parsed(use, lambda inner: inner.way == STREAMS)
        kept = [*_kept(use)]
        found: dict[str, Nest] = {}

        def named(access: Access) -> Access:
            if access.tensor not in self.intermediates:
                return access
            self.slots[access.tensor] = count = self.slots.get(access.tensor, 0) + 1
            slot = access.tensor if count == 1 else f"{access.tensor}.{count}"
            inner = kept[len(found)]
            found[slot] = self._nest(inner)
            self.whole[slot] = self._parsed(inner, lambda each: True)
            assert found[slot].einsum.result.format == access.format, "what is kept is read as it is written"
            return replace(access, slot=slot)

        einsum = replace(einsum, expr=_each(einsum.expr, named))
        return Nest(with_dense(einsum, {slot: inner.einsum for slot, inner in found.items()}), found)

    def _parsed(self, use: _Use, through: Callable[[_Use], bool]) -> Einsum:
        """A statement with what is in the place of its accesses, checked as one that a user wrote."""
        expr = _in_place(use, through)
        result = replace(use.statement.result, indices=tuple(use.names[index] for index in use.statement.result.indices))
        names = " and ".join(self.intermediates)
        order = _merged(use.order(through), indices(expr), use.statement, names)
        text = f"{result} = {expr}"
        present = {result.tensor, *(access.tensor for access in accesses(expr))}
        try:
            found = parse(text, order, {name: form for name, form in self.formats.items() if name in present})
        except UserError as error:
            # The order of its loops is made of those of the statements, and nobody can say it.
            more = "" if error.where.startswith("loop order") else f", or {error.fix}"
            raise UserError(f"it cannot be fused: {error.what}", text, f"do not fuse {names}{more}") from None
        return replace(found, locate=use.statement.locate, scatter=use.statement.scatter)


def _check_kept(made: Einsum, user: Einsum, access: Access, turned: bool) -> None:
    """UserError for an intermediate that MEM tiles cannot hand over; turned: it is read in several orders, of which it can be
    computed in one only."""
    fix = f"do not fuse {access.tensor}"
    if access.repeated:
        raise UserError(f"the diagonal of {access.tensor} is read, which MEM tiles do not give", user.text, fix)
    if made.result.format.order != access.format.order:
        raise UserError(f"{made.result} is computed as {made.result.format}, in loop order {' '.join(made.order)}, but "
                        f"{access} is read as {access.format}, in loop order {' '.join(user.order)}", user.text,
                        fix if turned else f"{_ORDER.format(access.tensor)}, or {fix}")


def _scopes(expr: Expr, bound: frozenset[str]) -> Iterator[tuple[Access, frozenset[str]]]:
    """The accesses of a part from left to right, each with the indices that are fixed around it; `bound` around the part."""
    if isinstance(expr, Access):
        yield expr, bound
        return
    inside = bound | ({expr.index} if isinstance(expr, Total) else set())
    if not isinstance(expr, Call | Total):
        inside |= shared(part for part in factors(expr) if fold(part) is None)
    for part in children(expr):
        yield from _scopes(part, inside)


def _each(expr: Expr, change: Callable[[Access], Expr]) -> Expr:
    """An expression with something else for each access, from left to right."""
    return change(expr) if isinstance(expr, Access) else rebuilt(expr, lambda part: _each(part, change))


def _in_place(use: _Use, through: Callable[[_Use], bool]) -> Expr:
    """The expression of a statement under its names, with those of others in the place of their uses."""
    numbers = iter(range(len(use.statement.operands)))

    def change(access: Access) -> Expr:
        inner = use.inner.get(next(numbers))
        if inner is None or not through(inner):
            modes = tuple(use.names[index] for index in access.modes)
            own = tuple(dict.fromkeys(modes))
            return replace(access, indices=own, repeated=modes if len(own) < len(modes) else ())
        found = _in_place(inner, through)
        if any(isinstance(part, Call | Total) for part in _parts(found)):
            for index in inner.summed:
                found = Total(index, found)
        return found

    def totals(expr: Expr) -> Expr:
        if isinstance(expr, Total):
            return replace(expr, index=use.names.get(expr.index, expr.index), operand=totals(expr.operand))
        return rebuilt(expr, totals)

    return _each(totals(use.statement.expr), change)


def _parts(expr: Expr) -> Iterator[Expr]:
    yield expr
    for part in children(expr):
        yield from _parts(part)


def _merged(orders: Sequence[Sequence[str]], present: Mapping[str, None], statement: Einsum, names: str) -> tuple[str, ...]:
    """One loop order that holds all; the first as far as they leave it open. names: of the intermediates."""
    first = list(dict.fromkeys(index for order in orders for index in order))
    before: dict[str, set[str]] = {index: set() for index in first}
    for order in orders:
        for outer, inner in pairwise(order):
            before[inner].add(outer)
    try:
        TopologicalSorter(before).prepare()
    except CycleError as cycle:
        raise UserError(f"the loops of {' and '.join(sorted({*cycle.args[1]}))} are nested in one order where an intermediate "
                        "is computed and in another where it is read", statement.text,
                        f"give the statements loop orders that agree, or do not fuse {names}") from None
    found: list[str] = []
    while len(found) < len(first):
        found.append(next(index for index in first if index not in found and before[index] <= {*found}))
    return tuple(index for index in found if index in present)


def _kept(use: _Use) -> Iterator[_Use]:
    """What a nest takes from MEM tiles, in the order of its accesses."""
    for inner in use.inner.values():
        if inner.way == MEM_TILES:
            yield inner
        else:
            yield from _kept(inner)


def _numbered(nest: Nest, counts: dict[str, int]) -> Nest:
    """A nest whose operands have slots of their own among all nests, from left to right, what is kept in its place."""
    kept: dict[str, Nest] = {}

    def change(access: Access) -> Access:
        if access.slot in nest.kept:
            kept[access.slot] = _numbered(nest.kept[access.slot], counts)
            return access
        counts[access.tensor] = count = counts.get(access.tensor, 0) + 1
        return replace(access, slot=access.tensor if count == 1 else f"{access.tensor}.{count}")

    return Nest(replace(nest.einsum, expr=_each(nest.einsum.expr, change)), kept)


def _leaves(nest: Nest) -> Iterator[Access]:
    """The operands of a nest and of those in it, from left to right."""
    for access in nest.einsum.operands:
        if access.slot in nest.kept:
            yield from _leaves(nest.kept[access.slot])
        else:
            yield access
