"""Programs of several statements: ``T(i,j) = C(i,k) * D(k,j); X(i,j) = B(i,j) * T(i,j)``.

A statement ends at ``;``, or where the next line begins with a result and ``=``. Index variables belong to their statement. A
tensor is computed once, before the statements that use it, and each but the last result is used: it is an *intermediate*.

Errors:  UserError that names the statement, with a caret below its text where a word of it is wrong.
Source:  Onyx JSSC IV-B and VI-C (fusion of statements); the text of a statement is that of `einsum.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from sardonyx.hw.arch.errors import UserError, shown

from .einsum import Einsum, parse
from .expr import Access
from .formats import check_named
from .parser import mistake

MOST_STATEMENTS = 32
_BETWEEN = re.compile(r";|\n(?=\s*[A-Za-z_]\w*\s*(?:\([^()=;\n]*\))?\s*=(?!=))", re.ASCII)


@dataclass(frozen=True)
class Program:
    """Checked statements, the last of which gives the result.

    Parameters
    ----------
    statements : tuple    In the order of the text.
    formats : mapping     Per tensor, as given.
    """

    statements: tuple[Einsum, ...]
    formats: Mapping[str, str]

    @property
    def text(self) -> str:
        """All statements."""
        return "; ".join(each.text for each in self.statements)

    @property
    def result(self) -> Einsum:
        """The last statement."""
        return self.statements[-1]

    @property
    def intermediates(self) -> dict[str, Einsum]:
        """The other statements by what they compute."""
        return {each.result.tensor: each for each in self.statements[:-1]}

    @property
    def inputs(self) -> dict[str, int]:
        """The tensors that have to be given, and their numbers of indices."""
        return {name: rank for each in self.statements for name, rank in each.tensors.items() if name not in self.intermediates}

    @property
    def order(self) -> tuple[str, ...]:
        """The index variables of all statements."""
        return tuple(dict.fromkeys(index for each in self.statements for index in each.order))

    def check_names(self, operands: Iterable[str], options: Iterable[str] = ()) -> None:
        """UserError for an operand that is no input; options: what it may be meant for."""
        for name in operands:
            if name not in self.inputs:
                near = get_close_matches(name, options, 1)
                computed = name in self.intermediates or name == self.result.result.tensor
                raise UserError(f"{name} is computed by a statement" if computed else
                                f"operand {shown(name)} is not in the program", self.text,
                                f"give {', '.join(self.inputs)}{f', or the option {near[0]}' if near else ''}")

    def shapes(self, operands: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, ...]]:
        """The shapes of all tensors from those of the operands. Raises UserError where these do not go together."""
        self.check_names(operands)
        found = {name: tuple(shape) for name, shape in operands.items()}
        for each in self.statements:
            known = {name: found[name] for name in each.tensors if name in found}
            found[each.result.tensor] = each.result_shape(known)
        return found


    def extents(self, size: int, shapes: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, ...]]:
        """The shapes of all inputs where those of some are given: an index that none of them has is of `size`."""
        found = {name: tuple(shape) for name, shape in shapes.items()}
        for each in self.statements:
            extents = dict.fromkeys(each.order, size)
            for access in each.operands:
                if access.tensor in found:
                    extents |= dict(zip(access.modes, found[access.tensor], strict=False))
            for access in (*each.operands, each.result):
                found.setdefault(access.tensor, tuple(extents[index] for index in access.modes))
        return {name: found[name] for name in self.inputs}


def split(text: str) -> list[str]:
    """The texts of the statements of a program; one, perhaps empty, where there is nothing between statements."""
    found = [part for part in map(str.strip, _BETWEEN.split(text)) if part]
    return [re.sub(r"\s", " ", part) for part in found] if len(found) > 1 else found or [text]


def parse_program(text: str, order: str | Sequence[str | Sequence[str]] = "", formats: Mapping[str, str] | None = None,
                  origin: str = "") -> Program:
    """Read and check a program.

    order: of one statement as for `parse`; of several, an order for each, with ``;`` between them or as a sequence, in which
    an empty one is the default. formats, origin: as for `parse`.
    """
    texts, formats = split(text), dict(formats or {})
    if len(texts) > MOST_STATEMENTS:
        raise UserError(f"the program has {len(texts)} statements", origin or f"{texts[0]}; ..",
                        f"write {MOST_STATEMENTS} at most")
    if len(texts) == 1:
        only = order if isinstance(order, str) else [name for each in order for name in
                                                     ([each] if isinstance(each, str) else each)]
        return Program((parse(texts[0], only, formats, origin),), formats)
    orders = [each.strip() for each in order.split(";")] if isinstance(order, str) and order else list(order)
    if orders and len(orders) != len(texts):
        raise UserError(f"there are {len(texts)} statements and {len(orders)} loop orders",
                        f"loop order {'; '.join(' '.join(each) for each in orders)}",
                        "give one for each statement, as 'ijk; ij', an empty one for the default")
    places = [f"{origin}, statement {number}" if origin else f"statement {number}" for number in range(1, len(texts) + 1)]
    # Once without formats, which name tensors of any statement.
    plain = [parse(each, loops, origin=place) for each, loops, place in zip(texts, orders or [""] * len(texts), places)]
    _check(plain)
    check_named(formats, list(dict.fromkeys(name for each in plain for name in (each.result.tensor, *each.tensors))))
    own = [{name: form for name, form in formats.items() if name == each.result.tensor or name in each.tensors}
           for each in plain]
    return Program(tuple(parse(each.text, each.order, form, each.origin) for each, form in zip(plain, own)), formats)


def _check(statements: Sequence[Einsum]) -> None:
    """Each tensor is computed once, before it is used, with as many indices, and is used."""
    computed = {each.result.tensor: number for number, each in reversed([*enumerate(statements)])}
    ranks: dict[str, Access] = {}
    for number, each in enumerate(statements):
        result = each.result
        if computed[result.tensor] != number:
            raise _wrong(each, result, f"{result.tensor} is computed by statement {computed[result.tensor] + 1} already",
                         "give each result a name of its own")
        for access in (*each.operands, result):
            if computed.get(access.tensor, number) > number:
                raise _wrong(each, access, f"{access.tensor} is used before statement {computed[access.tensor] + 1}, which "
                             "computes it", "write the statement that computes a tensor first")
            first = ranks.setdefault(access.tensor, access)
            if len(first.modes) != len(access.modes):
                raise _wrong(each, access, f"{access.tensor} has {len(access.modes)} indices here but {len(first.modes)} in "
                             f"{first}", "use the same number of indices everywhere")
    used = {access.tensor for each in statements for access in each.operands}
    for each in statements[:-1]:
        if each.result.tensor not in used:
            raise _wrong(each, each.result, f"{each.result.tensor} is computed and not used",
                         "leave its statement out, or write the one of the result last")


def _wrong(statement: Einsum, access: Access, what: str, fix: str) -> UserError:
    return mistake(statement.text, access.column, what, fix, statement.origin)
