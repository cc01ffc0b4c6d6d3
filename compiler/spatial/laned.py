"""Make the concerns of an array of lanes its description: a phase of an outer product.

Input:   recurrences, bounds of the indices, `Lanes`, skips, balance, buffers.
Output:  Laned: what multiplies and leaves lists, P(i,k,j) = A(i,k) * B(k,j) or any other value of two elements, or what merges
         them, C(i,j) = P(i,k,j).
Errors:  UserError for what lanes do not compute, with the concern that does not fit.
Source:  OuterSPACE IV-A and IV-B; Stellar II and III (five concerns), VI-C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...hw.arch.cartesian import LEFT, PRODUCT, RIGHT
from ...hw.arch.errors import UserError, shown
from ...hw.arch.logic import Logic
from ...hw.arch.outer_product import MERGE, MOST_ROWS, MULTIPLY, VALUE_BITS, OuterProduct
from ...hw.arch.private_buffer import COMPRESSED, DENSE
from ...hw.arch.token import DATA_BITS
from ..lang.balance import OPERATION, Balance
from ..lang.recurrence import VARIABLE, Call, Expr, Index, Read, Recurrences, reads, whole
from ..lang.sparsity import Skip, fibers, zeros
from .buffer import Buffer
from .lanes import Lanes, Lists, Runs
from .stated import mistake, stated
from .sums import Held, Sums
from .vectored import logic

LEAST_ROWS = 16


@dataclass(frozen=True)
class Side:
    """An operand, or the result.

    name : str
    indices : tuple     Those of its dimensions.
    sparse : bool       Of an operand: its elements that are 0 are not stored.
    """

    name: str
    indices: tuple[str, ...]
    sparse: bool = True


@dataclass(frozen=True)
class Laned:
    """A phase.

    kind : OuterProduct     With one phase.
    operands : tuple        That by which lists go first.
    result : Side
    bounds : mapping        At most, of indices that have one; others end with data.
    lists, runs, inner : str    The indices of lists, of runs in a list, and of elements in a run.
    node : int              Of the lists of the result; more than 0 in a machine of both phases only.
    """

    kind: OuterProduct
    operands: tuple[Side, ...]
    result: Side
    bounds: Mapping[str, int]
    lists: str
    runs: str
    inner: str
    node: int = 0

    @property
    def machine(self) -> OuterProduct:
        """The phase alone; UserError for lists of which a table in memory does not tell how many elements they have."""
        if self.node:
            raise UserError(f"how many elements the first node of a list of {self.result.name} has only the chip knows",
                            f"buffers: {self.result.name}", "use sp.phases(multiply, merge), or give sp.Lists()")
        return self.kind


def laned(recurrences: Recurrences, bounds: Mapping[str, int], lanes: Lanes, skips: Sequence[Skip],
          balance: Sequence[Balance], buffers: Mapping[str, Buffer | Sums | Held | Lists | Runs], name: str) -> Laned:
    """The description of lanes that compute recurrences."""
    found = stated(recurrences)
    if set(recurrences.indices) != {lanes.index, *lanes.then}:
        raise UserError(f"its indices are {', '.join(recurrences.indices)}, and lanes go over {lanes.index}, "
                        f"{' and '.join(lanes.then)}", "dataflow", "name all of them, once")
    merges = bool(found.summed)
    if not merges:
        _check_one_step(recurrences)
    lists, runs, inner = (lanes.index, *lanes.then) if merges else (lanes.then[0], lanes.index, lanes.then[1])
    operands = _operands(found.value, merges)
    result = Side(found.result.name, _plain(found.result))
    wanted = [{lists, runs, inner}] if merges else [{lists, runs}, {inner, runs}]
    # What each operand is skipped along: in a fiber of an operation, or of a run.
    along = {read: inner if merges else next((each for each in _plain(read) if each != runs), "") for read in operands}
    sides = [Side(read.name, _plain(read), _skipped(read, index, skips)) for read, index in along.items()]
    sides = [side for want in wanted for side in sides if set(side.indices) == want]
    if len(sides) != len(operands) or set(result.indices) != ({lists, inner} if merges else {lists, runs, inner}):
        raise UserError(f"over {lanes.index}, then {' and '.join(lanes.then)}, lanes take " + (
            f"lists of {lists} whose runs are of {runs}" if merges else
            f"an element of {lists} with a run of {inner} for each {runs}") + ", which functionality has not",
            "dataflow", "go over another index first: that which both operands have, or that of lists, whose runs are summed")
    if merges and found.summed != (runs,):
        raise UserError(f"it is a sum over {', '.join(found.summed)}, and the runs of a list are of {runs}", "dataflow",
                        f"go over {found.summed[0]} behind {lanes.index}")
    if found.first and sides[0].sparse:
        raise UserError(f"elements of {sides[0].name} that are 0 are left out, and what {result.name} is begins with "
                        f"{found.first:,}", "sparsity", "begin with 0, or leave the skip out")
    _check_types(recurrences, sides, result, merges)
    _check_skips(along, skips)
    extents = _extents(bounds, (lists, runs, inner))
    rows = max(LEAST_ROWS, 1 << (extents[lists] - 1).bit_length())
    pairs = _pairs(sides, result, runs, buffers, recurrences)
    takes = _takes(balance, lanes)
    kind = OuterProduct(name, lanes.lanes, lanes.ports, rows, pairs, 16 if merges else recurrences.bits(sides[0].name),
                        phases=MERGE if merges else MULTIPLY, takes_columns=merges or takes, takes_rows=takes or not merges,
                        value=PRODUCT if merges else _met(found.value, sides), reduction=found.operation, first=found.first)
    behind = buffers[result.name]
    assert isinstance(behind, Lists), "it was looked at with those of operands"
    if merges and behind.node:
        raise UserError(f"a list of {result.name} is of one run, which is a node", f"buffers: {result.name}", "give sp.Lists()")
    return Laned(kind, tuple(sides), result, extents, lists, runs, inner, behind.node)


def _operands(value: Expr, merges: bool) -> tuple[Read, ...]:
    """What is merged, or the elements that meet."""
    if merges and isinstance(value, Read):
        return (value,)
    found = tuple(dict.fromkeys(reads(value)))
    if merges or len(found) != 2:
        raise mistake(f"{'points add' if merges else 'points have'} {shown(str(value), 120)}")
    if found[0].name == found[1].name:
        raise UserError(f"both elements are of {found[0].name}, which is stored in one order", "functionality",
                        "give its elements as two operands, A(i,k) * B(k,j)")
    return found


def _met(value: Expr, sides: Sequence[Side]) -> Logic:
    """What two elements give. Machines for lists of rows and of columns are the same one, so factors have one order."""
    found = logic(value, {sides[0].name: LEFT, sides[1].name: RIGHT})
    return PRODUCT if found == replace(PRODUCT, operands=PRODUCT.operands[::-1]) else found


def _check_one_step(recurrences: Recurrences) -> None:
    """UserError for a value that is computed from one that is computed: nothing in between takes the low bits."""
    made = {one.target.name for one in recurrences.assignments if isinstance(one.value, Call)}
    for one in recurrences.assignments:
        if isinstance(one.value, Call) and (before := [read.name for read in reads(one.value) if read.name in made]):
            raise UserError(f"{one.target.name} is computed from {before[0]}, which is computed, too", shown(str(one), 120),
                            "write it as one expression of two elements")


def _plain(read: Read) -> tuple[str, ...]:
    found = tuple(each.name for each in read.at if isinstance(each, Index))
    if len(found) < len(read.at) or len(set(found)) < len(found):
        raise mistake(f"{read} is not at plain indices, each once")
    return found


def _skipped(read: Read, along: str, skips: Sequence[Skip]) -> bool:
    """Whether an operand is stored without zeros."""
    return any(zeros(each.where) == (read,) and each.indices == (along,) for each in skips)


def _check_skips(along: Mapping[Read, str], skips: Sequence[Skip]) -> None:
    for each in skips:
        asked = zeros(each.where)
        if len(asked) != 1 or asked[0] not in along or each.of or fibers(each.where) or each.indices != (along[asked[0]],):
            choices = " or ".join(f"sp.skip({index}, where={read} == 0)" for read, index in along.items())
            raise UserError("lanes take the elements of an operand that are not 0, and skip nothing else",
                            shown(str(each), 120), f"use {choices}, or leave it out")


def _check_types(recurrences: Recurrences, sides: Sequence[Side], result: Side, merges: bool) -> None:
    """UserError for widths that lanes have not: sums and products wrap at 32 bits, and nowhere before."""
    wide = [result.name, *(one.target.name for one in recurrences.assignments if isinstance(one.value, Call)),
            *(side.name for side in sides if merges)]
    for name in wide:
        if recurrences.bits(name) != VALUE_BITS:
            raise UserError(f"{name} has {recurrences.bits(name)} bits, and lanes {VALUE_BITS}", "functionality",
                            f'declare {name} as int32 (dtype="int32")')
    bits = [recurrences.bits(side.name) for side in sides]
    if not merges and (bits[0] != bits[1] or bits[0] > DATA_BITS):
        raise UserError(f"{sides[0].name} and {sides[1].name} have {bits[0]} and {bits[1]} bits", "functionality",
                        "declare both as int8, or both as int16")
    for one in recurrences.assignments:
        narrow = [read for read in reads(one.value) if recurrences.bits(read.name) > recurrences.bits(one.target.name)]
        if narrow and recurrences.declared[one.target.name].role == VARIABLE:
            raise UserError(f"{one.target.name} has fewer bits than {narrow[0].name}", "functionality", "declare it as wide")


def _extents(bounds: Mapping[str, int], roles: tuple[str, str, str]) -> dict[str, int]:
    lists, runs, inner = roles
    if unknown := [index for index in bounds if index not in roles]:
        raise UserError(f"there is no index {shown(str(unknown[0]))}", "bounds", f"give {lists} and {inner}")
    for index, most, why in ((lists, MOST_ROWS, "a list each"), (inner, 1 << DATA_BITS, "coordinates")):
        if index not in bounds:
            raise UserError(f"index {index} has no bound", "bounds", f"give the extent of {index}")
        if not 1 <= whole(bounds[index], f"bound of {index}") <= most:
            raise UserError(f"it is {bounds[index]:,}: places of {index} are {why}", f"bound of {index}", f"give 1..{most:,}")
    if runs in bounds:
        raise UserError(f"runs of {runs} are as many as values leave", f"bound of {runs}", "leave it out: it ends with data")
    return {index: whole(bounds[index], f"bound of {index}") for index in (lists, inner)}


def _pairs(sides: Sequence[Side], result: Side, runs: str, buffers: Mapping[str, object], recurrences: Recurrences) -> int:
    """Elements of the memory of a lane, which buffers of operands say."""
    if unknown := [name for name in buffers if name not in recurrences.declared]:
        raise UserError(f"there is no operand {shown(str(unknown[0]))}", "buffers",
                        f"choose from {', '.join([*(each.name for each in sides), result.name])}")
    if not isinstance(buffers.get(result.name), Lists):
        raise UserError(f"lanes leave lists of {result.name} in memory", f"buffers: {result.name}", "give sp.Lists()")
    words = []
    for side in sides:
        buffer = buffers.get(side.name)
        if len(sides) == 1:
            if not isinstance(buffer, Runs):
                raise UserError(f"the runs of a list of {side.name} become one in a memory", f"buffers: {side.name}",
                                "give sp.Runs(words=2048)")
            return buffer.words
        order = sorted(range(2), key=lambda dimension: side.indices[dimension] != runs)
        if not isinstance(buffer, Buffer) or buffer.levels != (DENSE, COMPRESSED) or [*buffer.order] != order:
            raise UserError(f"of {side.name} lanes take a fiber for each {runs}", f"buffers: {side.name}",
                            f'give sp.Buffer("dense", "compressed", words=1024, order={tuple(order)})')
        if buffer.banks > 1 or buffer.operations > 1 or buffer.wide:
            raise UserError("a lane has a memory of its own, from which it takes a word a cycle", f"buffers: {side.name}",
                            "leave out banks, operations and wide")
        words.append(buffer.words)
    if words[0] != words[1]:
        raise UserError(f"{sides[0].name} has {words[0]:,} words and {sides[1].name} {words[1]:,}, halves of one memory",
                        f"buffers: {sides[1].name}", f"give both {max(words):,}")
    return 2 * words[0]


def _takes(balance: Sequence[Balance], lanes: Lanes) -> bool:
    """Whether a lane that is free takes the next operation."""
    for each in balance:
        if each.grain != OPERATION or each.index != lanes.index:
            raise UserError(f"lanes do operations, which are places of {lanes.index}", shown(str(each)),
                            f'use sp.work_queue({lanes.index}, grain="operation"), or leave it out')
    return bool(balance)
