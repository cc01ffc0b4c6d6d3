"""Einsum statements: the text, the loop order and the formats of `X(i,j) = B(i,k) * C(k,j)`, checked.

Meaning: an index that is not in the result is summed over the smallest part of a product that holds all its
uses; the terms of a sum are summed each on their own: `x(i) = b(i) - C(i,j) * d(j)` takes each `b(i)` once. So are the
arguments of a function, which is applied to their sums: `relu(B(i,k) * C(k,j))`; `sum(k, relu(B(i,k)))` says where k is summed
instead. `max(k, B(i,k))` is the largest value over k as of a dense array: zeros that are not stored count, and of no coordinate
it is 0. All values are 16-bit integers that wrap.

A quotient is such a function with the coordinates of a product: it is 0 where either side is, also where a divisor is not
stored. `x(i) = B(i,k) / c(i)` divides a sum, `sum(k, B(i,k) / c(i))` sums quotients, and an index that is summed on both sides
of one `/` has to be named so.

Errors:  UserError for what does not mean a sparse result, or needs an order other than the one given.
Source:  Onyx JSSC IV-B takes a statement and a schedule; sums follow the rules of tensor index notation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property

from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors.coordinates import VALUE_MAX, VALUE_MIN
from sardonyx.tensors.fibertree import DENSE

from .apart import taken
from .expr import Access, Binary, Call, Expr, Total, accesses, changed, children, indices, rebuilt, start
from .formats import check_named, choose_format
from .functions import DIVIDE, MAX, SUM
from .loop_order import loop_order
from .parser import Parser
from .terms import arguments, factors, fold, is_quotient, peel, shared, summed, with_value

# Dense levels whose references are computed of the coordinates of others, in place of a scan and an intersection: none; the
# outermost ones of their tensors, where they are the coordinates themselves; all, which needs MEM tiles that can do so.
SCANNED, OUTERMOST, EVERY = LOCATED = ("none", "outermost", "all")


@dataclass(frozen=True)
class Einsum:
    """A checked statement.

    Parameters
    ----------
    text : str         As written.
    result : Access    The tensor that is computed.
    expr : Expr        What it is.
    order : tuple      Index variables from the outermost loop in.
    origin : str       Where the text stands, for errors.
    locate : str       Of `LOCATED`: which dense levels are located where another operand says the coordinates.
    scatter : bool     A result all of whose levels are dense is written at its coordinates; else so only if it has to be.
    sizes : tuple      Pairs of an index of the result and its extent in a tile, where that is known.
    """

    text: str
    result: Access
    expr: Expr
    order: tuple[str, ...]
    origin: str = field(default="", compare=False)
    locate: str = SCANNED
    scatter: bool = False
    sizes: tuple[tuple[str, int], ...] = field(default=(), compare=False)

    @property
    def operands(self) -> tuple[Access, ...]:
        """The accesses of the right side, from left to right, each with its own slot."""
        return tuple(accesses(self.expr))

    @property
    def tensors(self) -> dict[str, int]:
        """Operand tensors and their numbers of indices."""
        return {access.tensor: len(access.modes) for access in self.operands}

    @cached_property
    def nest(self) -> tuple[str, ...]:
        """The loops that go over the whole right side: down to the innermost index of the result. Those of sums inside terms
        and arguments are not among them, wherever they stand (`apart.py`)."""
        whole = summed(peel(self.expr, self.result)[0], self.result.indices).union(self.result.indices)
        last = max((1 + self.order.index(index) for index in self.result.indices), default=0)
        return tuple(index for index in self.order[:last] if index in whole)

    @cached_property
    def accumulated(self) -> dict[str, tuple[str, ...]]:
        """Summed indices whose loops are around loops of the result, from the outermost in, and the latter."""
        return {index: tuple(inner for inner in self.nest[at:] if inner in self.result.indices)
                for at, index in enumerate(self.nest) if index not in self.result.indices}

    @cached_property
    def apart(self) -> tuple[Einsum, Mapping[str, Einsum]]:
        """The statement without sums around loops that are outside of them, and these by slot, each perhaps with such ones."""
        left, parts = taken(self.result, self.expr, self.order, self.accumulated)
        if not parts:
            return self, {}
        order = tuple(index for index in self.order if index in indices(left))
        made = {part.result.slot: replace(self, text=f"{part.result} = {part.expr}", result=part.result, expr=part.expr,
                                          order=part.order, scatter=False, sizes=()) for part in parts}
        return replace(self, text=f"{self.result} = {left}", expr=left, order=order), made

    @cached_property
    def every(self) -> tuple[Einsum, ...]:
        """All statements that it is computed as, each before the one that takes it; itself at last, or what is left of it."""
        left, made = self.apart
        return (*(each for one in made.values() for each in one.every), left)

    @property
    def scattered(self) -> int:
        """How many levels of the result, the innermost ones, are dense and written at their coordinates (`lower.py`)."""
        letters = self.result.format.letters
        inner = len(letters) - len(letters.rstrip(DENSE))
        if inner < len(letters) or self.scatter or any(self.accumulated.values()):
            return inner
        return inner if self.result.stored != self.looped else 0

    @property
    def framed(self) -> int:
        """How many levels of the result, the outermost ones, are dense, and all their coordinates looped over."""
        form = self.result.format
        return form.dense_levels if self.scattered < form.rank else 0

    @property
    def reframed(self) -> bool:
        """Whether dense levels of the result are inside of sums that are accumulated, which are for coordinates that occur:
        they are kept in MEM tiles then, and read with all coordinates (`lower.py`)."""
        dense = self.result.stored[:self.framed]
        return any(index in dense for inner in self.accumulated.values() for index in inner)

    @property
    def looped(self) -> tuple[str, ...]:
        """The indices of the result, from the outermost loop in."""
        return tuple(index for index in self.order if index in self.result.indices)

    def extents(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
        """The extent of every index variable, in loop order, from the shapes of the operands by name.

        Raises UserError for an operand that is missing or unknown, has another number of indices, or
        disagrees.
        """
        where = self.origin or self.text
        for name in shapes:
            if name not in self.tensors:
                near = get_close_matches(name, self.tensors, 1) or [", ".join(self.tensors)]
                raise UserError(f"operand {name} is not in the expression", where, f"give {near[0]}")
        found: dict[str, tuple[int, Access]] = {}
        for access in self.operands:
            if access.tensor not in shapes:
                raise UserError(f"tensor {access.tensor} has no operand", where,
                                f"give {access.tensor}=..., on the command line --{access.tensor} FILE")
            shape = shapes[access.tensor]
            if len(shape) != len(access.modes):
                raise UserError(f"{access} has {len(access.modes)} indices but operand {access.tensor} has "
                                f"{len(shape)} dimensions", where, "give a tensor of that many dimensions")
            for index, extent in zip(access.modes, shape):
                if found.setdefault(index, (extent, access))[0] != extent:
                    first, other = found[index]
                    raise UserError(f"index {index} runs to {first} in {other} but to {extent} in {access}",
                                    where,
                                    "give operands whose shapes agree")
        return {index: found[index][0] for index in self.order}

    def result_shape(self, shapes: Mapping[str, Sequence[int]]) -> tuple[int, ...]:
        """The shape of the result for operands of these shapes."""
        extents = self.extents(shapes)
        return tuple(extents[index] for index in self.result.indices)


def parse(text: str, order: str | Sequence[str] = "", formats: Mapping[str, str] | None = None,
          origin: str = "") -> Einsum:
    """Read and check a statement.

    Parameters
    ----------
    text : str       Such as ``X(i,j) = B(i,k) * C(k,j)``.
    order : str      Loop order, ``"ijk"``, or names with commas or spaces; by default the indices of the
                     result as written, then the others.
    formats : dict   Per tensor, such as ``{"C": "ss10", "d": "d"}``; compressed by default.
    origin : str     Where the text stands (a file), for errors.
    """
    parser = Parser(text, origin)
    result, expr = parser.statement()
    _check_names(parser, result, expr)
    _check_constants(parser, expr)
    for index in result.indices:
        if index not in indices(expr):
            raise parser.error(result.column, f"index {index} of {result} is on no tensor of the right side",
                               f"use {index} on the right, or leave it out of the result")
    nesting: dict[tuple[str, str], None] = {}
    _check_product(parser, expr, frozenset(result.indices), {})
    # What is applied to the whole at last needs no loops.
    _check_product(parser, peel(expr, result)[0], frozenset(result.indices), nesting, inside=True)
    loops = loop_order(parser, result, expr, order, nesting)
    formats = formats or {}
    check_named(formats, [result.tensor, *dict.fromkeys(access.tensor for access in accesses(expr))])
    uses: dict[str, list[Access]] = {}
    for access in accesses(expr):
        uses.setdefault(access.tensor, []).append(access)
    seen: dict[str, int] = {}

    def finish(access: Access) -> Access:
        seen[access.tensor] = count = seen.get(access.tensor, 0) + 1
        return replace(access, slot=access.tensor if count == 1 else f"{access.tensor}.{count}",
                       format=choose_format(access, uses[access.tensor], result, loops, formats.get(access.tensor)))

    result = replace(result, format=choose_format(result, [result], result, loops, formats.get(result.tensor)))
    return Einsum(text, result, changed(expr, finish), loops, origin)


def _check_names(parser: Parser, result: Access, expr: Expr) -> None:
    """Each tensor has one number of indices, no index twice in an access, and names mean one thing."""
    every = [result, *accesses(expr)]
    index_names = {index for access in every for index in access.indices}
    uses: dict[str, Access] = {}
    for access in every:
        if access is not result and access.tensor == result.tensor:
            raise parser.error(access.column, f"{access.tensor} is the result and cannot be an operand",
                               "give the result a name of its own")
        if access is result and result.repeated:
            raise parser.error(access.column, f"an index stands twice in the result {access}",
                               "make the diagonal a result with one index")
        if access.tensor in index_names:
            raise parser.error(access.column, f"{access.tensor} is both a tensor and an index",
                               "rename one of them")
        first = uses.setdefault(access.tensor, access)
        if len(first.modes) != len(access.modes):
            raise parser.error(access.column, f"{access.tensor} has {len(access.modes)} indices here but "
                               f"{len(first.modes)} in {first}",
                               "use the same number of indices everywhere")
    if len(every) == 1:
        raise parser.error(start(expr), "the right side has no tensor", "use at least one tensor")


def with_sizes(einsum: Einsum, edges: Mapping[str, int]) -> Einsum:
    """A statement that knows the extents of its result in a tile, if it writes dense levels at their coordinates."""
    if not einsum.scattered:
        return einsum
    return replace(einsum, sizes=tuple((index, edges[index]) for index in einsum.result.indices))


def with_extents(einsum: Einsum, extents: Mapping[str, int]) -> Einsum:
    """A statement whose maxima know how many coordinates their indices have."""
    def known(expr: Expr) -> Expr:
        if isinstance(expr, Binary):
            return replace(expr, left=known(expr.left), right=known(expr.right))
        found = rebuilt(expr, known)
        return replace(found, extent=extents[found.index]) if isinstance(found, Total) and found.function == MAX else found

    return replace(einsum, expr=known(einsum.expr))


def peeled(einsum: Einsum) -> tuple[Einsum, Expr]:
    """A statement without what is applied to every value of its result at last, and that, of the result as an operand:
    ``X(i) = relu(B(i,j) * c(j) - 3)`` is ``X(i) = B(i,j) * c(j)`` and then ``relu(X(i) - 3)``."""
    inner, after = peel(einsum.expr, einsum.result)
    return replace(einsum, text=f"{einsum.result} = {inner}", expr=inner), after


def _check_constants(parser: Parser, expr: Expr, within: bool = False) -> None:
    """Constant parts fit 16 bits; `within` a larger one only what functions are applied to has to."""
    value = fold(expr)
    if value is not None and not within and not VALUE_MIN <= value <= VALUE_MAX:
        raise parser.error(start(expr), f"constant {value} does not fit 16 bits",
                           f"use {VALUE_MIN} to {VALUE_MAX}")
    if isinstance(expr, Call) and expr.function == DIVIDE and fold(expr.arguments[1]) == 0:
        raise parser.error(expr.column, "it is divided by 0, which gives 0 everywhere", "divide by something else")
    for part in children(expr):
        _check_constants(parser, part, value is not None and not isinstance(expr, Call))


def _named(expr: Expr) -> set[str]:
    """The indices of the sums in a part that name theirs."""
    own = {expr.index} if isinstance(expr, Total) else set()
    return own.union(*map(_named, children(expr)))


def _check_product(parser: Parser, expr: Expr, bound: frozenset[str],
                   nesting: dict[tuple[str, str], None], inside: bool = False) -> None:
    """Check the sums and functions inside a product. `bound` are the indices that loops around it fix; `nesting` collects
    the pairs (outer, inner) of summed indices whose loops must nest so; `inside`: a function is applied to it, so that it may
    be other than 0 where all tensors are 0."""
    parts = [part for part in factors(expr) if fold(part) is None]
    common = shared(parts)
    inside = inside and len(parts) == 1
    for part in parts:
        if isinstance(part, Access):
            continue
        within = arguments(part)
        own = frozenset({part.index}) if isinstance(part, Total) else frozenset()
        for index in own & (bound | common):
            raise parser.error(start(part), f"index {index} stands outside of {part}, too",
                               "give the index of the sum a name of its own")
        fixed = ((bound | common) & indices(part).keys()) | own
        nesting.update({(outer, inner): None for outer in indices(part) for inner in indices(part)
                        if (outer in fixed and inner not in fixed) or (outer in fixed - own and inner in own)})
        if isinstance(part, Call | Total) and (own or not inside) and with_value(part, 0):
            raise parser.error(start(part), f"{part} is {with_value(part, 0)} where every tensor is 0, "
                               "so the result would be dense",
                               "choose constants with which zeros give 0, as in max(b(i), -5)")
        if is_quotient(part):
            for index in sorted(shared(within) - fixed):
                whole = "" if index in _named(part) else f"write {SUM}({index}, {part}) for a sum of quotients, or "
                raise parser.error(start(part), f"index {index} is summed on both sides of a quotient",
                                   f"{whole}give the sums other indices")
            for side in within:
                _check_product(parser, side, fixed & indices(side).keys(), nesting)
            continue
        for term in within:
            if fold(term) is not None and not own:
                if inside or isinstance(part, Call):
                    continue
                raise parser.error(start(term),
                                   f"constant {term} is added to a tensor, so the result would be dense",
                                   "make it a tensor with the indices of the other terms")
            for index in sorted(fixed - indices(term).keys()):
                if index in own:
                    raise parser.error(start(term), f"{term} has no index {index}, over which it is summed",
                                       f"use {index} in it, or leave out {SUM}")
                one, others = ("argument", f"arguments of {part.function}") if isinstance(part, Call) else \
                    ("term", "terms of the sum")
                raise parser.error(start(term),
                                   f"{one} {term} has no index {index} but other {others} do, "
                                   "so the result would be dense",
                                   f"multiply it by a tensor with index {index}")
            _check_product(parser, term, fixed, nesting, not own and (inside or isinstance(part, Call)))
