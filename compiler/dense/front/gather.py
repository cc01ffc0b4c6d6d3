"""Images that the host gathers: what only moves elements of images becomes an image of its own.

An image read at a clamped, mirrored, repeated or otherwise computed index, backwards, along some of the loops only or along
them in another order is not computed with, it is moved; the host does that when it makes the words of a load stream. The
coordinates that an index is computed from become variables of the new image, so that neighbours are neighbours in it and share
a stream:

    in(max(min(x - 1, 9), 0)) + in(max(min(x, 9), 0))  ->  in_gathered(x - 1) + in_gathered(x)
        with in_gathered(x) = in(max(min(x, 9), 0))

So does a choice by coordinates among elements and constants (``select(x < 0, 7, in(x))``), and a condition on coordinates alone
(``x < 5``) becomes a mask, an image of flags. No gathered image computes with elements: `verify` of the graph sees to it.

Errors:  UserError for more gathered images than the machine has load streams, as a boundary condition on a stencil gives.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

from sardonyx.hw.arch.errors import UserError

from ...lang.halide.pipeline import BOOL, INT32, Access, Binary, Cast, Expr, Func, Intrinsic, Not, Number, Select, Variable
from ...lang.halide.walk import share
from .value import Coordinate, Value, behind
from .values import Values

PRODUCTS = "a matrix product is taken as out(x, y) = 0, out(x, y) += a(x, r) * b(r, y) of 16 bits and nothing else"

_INTRINSICS = {"abs": "abs", "absd": "absd", "shl": "shift_left", "shr": "shift_right", "and": "bitwise_and",
               "or": "bitwise_or", "xor": "bitwise_xor"}
_FLAGS = {"and": "and", "or": "or", "xor": "ne"}


class Gatherer:
    """Replaces values by taps of gathered images; `funcs` defines these over the loop variables of the grid.

    Parameters
    ----------
    taken : iterable of str     Names of images, which no gathered image takes.
    most : int or None          Gathered images that there may be: the load streams of a machine.
    """

    def __init__(self, values: Values, taken: Iterable[str], most: int | None = None) -> None:
        self.values, self.most = values, most
        self.funcs: dict[str, Func] = {}
        self._taken = set(taken)
        # Definitions by identity, their parts being shared.
        self._names: dict[int, str] = {}
        self._known: dict[object, Expr] = {}

    def replaced(self, wanted: list[Value]) -> list[Value]:
        """The values with every part that only moves elements, as large as it may be, as a tap of a gathered image."""
        done: dict[Value, Value] = {}
        for value in behind(wanted, lambda value: () if self._is_gathered(value) else value.args):
            done[value] = self._tap(value) if self._is_gathered(value) else \
                self.values.again(value, tuple(done[arg] for arg in value.args))
        return [done[value] for value in wanted]

    def _is_gathered(self, value: Value) -> bool:
        """Whether a value is an element of an image whose place is computed or chosen by coordinates, or that the loops do not
        walk forwards in their order; or a mask."""
        if value.op == "tap":
            places = [arg.coordinate for arg in value.args if arg.coordinate is not None]
            walked = [place.dim for place in places] == list(range(len(self.values.dims)))
            return not walked or any(arg.varies for arg in value.args) or any(place.scale < 0 for place in places)
        if value.type == BOOL and value.places:
            return True
        return value.data and value.moves and value.args[0].places

    def _tap(self, value: Value) -> Value:
        """A gathered image's element that is this value."""
        parts = behind([value])
        rank = len(self.values.dims)
        places = [_base([part.coordinate for part in parts if part.coordinate and part.coordinate.dim == dim], dim)
                  for dim in range(rank)]
        definition = share(self._definition(parts, places), self._known)
        if id(definition) not in self._names:
            self._names[id(definition)] = self._new(value, definition, parts)
        self.values.origin = value.origin
        indices = tuple(self.values.coordinate(place.dim, place.scale, place.shift, place.divide, place.exact)
                        for place in places)
        return self.values.tap(self._names[id(definition)], value.type, indices)

    def _new(self, value: Value, definition: Expr, parts: list[Value]) -> str:
        """The name of a new gathered image."""
        images = sorted({part.image for part in parts if part.image})
        if len(self.funcs) == self.most:
            raise self._too_many(value, images or ["masks"])
        plain = name = f"{'_'.join(images)}_gathered" if images else "mask"
        for number in itertools.count(2):
            if name not in self._taken:
                break
            name = f"{plain}_{number}"
        self._taken.add(name)
        self.funcs[name] = Func(name, self.values.dims, (value.type,), (definition,), (), {}, {})
        return name

    def _too_many(self, value: Value, images: list[str]) -> UserError:
        """For what is read in more ways than there are streams."""
        walked = {arg.coordinate.dim for part in behind([value]) for arg in part.args if arg.coordinate is not None}
        fix = "give a boundary condition to the image, not to what is computed from neighbours in it" \
            if len(walked) == len(self.values.dims) else \
            f"{PRODUCTS}: let that be a program of its own, and what follows it another one, or the host's"
        what = (f"it reads {' and '.join(images)} in one more way that is no shift of the {self.most} others, and each takes a "
                "stream of its own, of which the machine has no more")
        return UserError(what, str(value.origin) if value.origin else "", fix)

    def _definition(self, parts: list[Value], places: list[Coordinate]) -> Expr:
        """The last of these values as an expression in the variables of a gathered image."""
        done: dict[Value, Expr] = {}
        for part in parts:
            if part.coordinate is not None:
                done[part] = _in_terms(part.coordinate, places[part.coordinate.dim], self.values.dims[part.coordinate.dim])
            else:
                done[part] = _expression(part, tuple(done[arg] for arg in part.args))
        return done[parts[-1]]


def _base(leaves: list[Coordinate], dim: int) -> Coordinate:
    """The variable of a gathered image that stands for coordinates of one dimension.

    It is their one coordinate, or else one that they all are multiples of, plus constants: if possible so that they are the
    same when all of them are shifted.
    """
    if not leaves:
        return Coordinate(dim)
    if len(set(leaves)) == 1 and leaves[0].scale > 0:
        return leaves[0]
    scale = math.gcd(*(leaf.scale for leaf in leaves))
    first = next((leaf for leaf in leaves if abs(leaf.scale) == scale), Coordinate(dim))
    return Coordinate(dim, scale, first.shift if first.scale > 0 else -first.shift)


def _in_terms(leaf: Coordinate, base: Coordinate, name: str) -> Expr:
    """A coordinate as an expression in the variable that stands for `base`."""
    variable: Expr = Variable(name)
    if leaf == base:
        return variable
    factor = leaf.scale // base.scale
    shift = leaf.shift - factor * base.shift
    scaled = Binary("mul", INT32, variable, Number(INT32, factor)) if factor != 1 else variable
    moved = Binary("add", INT32, scaled, Number(INT32, shift)) if shift else scaled
    return Binary("div", INT32, moved, Number(INT32, leaf.divide)) if leaf.divide != 1 else moved


def _expression(value: Value, args: tuple[Expr, ...]) -> Expr:
    """An operation of a value on expressions."""
    if value.constant is not None:
        return Number(value.type, value.constant)
    match value.op:
        case "tap":
            return Access(value.type, value.image, args)
        case "select":
            return Select(value.type, *args)
        case "cast":
            return Cast(value.type, *args)
        case "not":
            return Not(args[0])
        case "and" | "or" | "xor" if value.type == BOOL:
            return Binary(_FLAGS[value.op], BOOL, *args)
    if value.op in _INTRINSICS:
        return Intrinsic(_INTRINSICS[value.op], value.type, args)
    return Binary(value.op, value.type, *args)
