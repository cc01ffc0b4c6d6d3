"""Make a private buffer in front of an array: its banks, and the request that gives elements in the order of the array.

The order is proved, not assumed. What an array takes (`taken`) goes through the passes, one file each in `passes`: each makes
the way from memory to the ports smaller where it applies, and says why where it does not. Elements that another operand finds
are gathered, each port's as its coordinates come: by their address, or, where zeros are not stored, by comparing coordinates.

Input:   a `Buffer`, a `Spatial` or an `Elastic`, one of its operands.
Output:  `Fed`: a `PrivateBuffer`, and what the passes say of it.
Errors:  UserError for formats that do not give what the array takes, elements that only values say, an order that is no nest,
         banks that no dimension gives, and tensors that do not fit.
Source:  Stellar III-E, IV-C, IV-D and Fig. 13 (order of a buffer against that of an array).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from ...hw.arch.chain import ChainedBank
from ...hw.arch.elastic import Elastic
from ...hw.arch.private_buffer import BITVECTOR, DENSE, FIBER, MOST_LOOPS, MOST_TABLE, Bank, Level, Loop, PrivateBuffer, Run
from ...hw.arch.spatial import Spatial
from ...hw.arch.token import DATA_BITS
from .buffer import Buffer, Stored, stored
from .passes import banks, constant_coordinates, edge_to_edge, lock_step, loop_nest, skew, transpose
from .passes.verdict import Verdict, asked, of_banks
from .room import check_room
from .taken import taken

# Elements that are gathered at once in a bank: as many as there are cycles from a coordinate to its pair.
GATHERED = 10


@dataclass(frozen=True)
class Fed:
    """A private buffer, and what each pass says of it."""

    buffer: PrivateBuffer
    verdicts: tuple[Verdict, ...]


def private_buffer(name: str, buffer: Buffer, array: Spatial | Elastic) -> Fed:
    """The private buffer of an operand."""
    return _Maker(stored(name, buffer, array), array).made()


class _Maker:
    """A buffer that is being made."""

    def __init__(self, operand: Stored, array: Spatial | Elastic) -> None:
        self._stored, self._buffer, self._array = operand, operand.buffer, array
        self._shape, self._kind, self._tensor = operand.shape, operand.kind, operand.tensor
        self._taken = taken(operand, array)

    def made(self) -> Fed:
        taken = self._taken
        axis, places, banks_said = banks.tried(self._stored, taken)
        made, sinks, asks, others, rows, said = [], [], [], [], [], list[tuple[Verdict, ...]]()
        whole = (0, self._shape[-1])
        # Fibers that are not parted come last.
        parts = sorted(set(taken.parts) or {whole}, key=lambda part: (part == whole, part))
        for begin, end in parts:
            for nth in range(self._buffer.banks):
                mine = [sink for sink in range(len(taken.sinks)) if places[sink] == nth
                        and taken.parts[sink:sink + 1] in ((), ((begin, end),))]
                bank, verdicts, mine = self._bank(axis, nth, mine, end - begin)
                made.append(replace(bank, begin=begin) if begin and bank.kind in (DENSE, BITVECTOR) else bank)
                said.append(verdicts)
                sinks.append(tuple(taken.sinks[sink] for sink in mine))
                asks.append(tuple(taken.asks[sink] for sink in mine if taken.asks))
                others.append(tuple(taken.others[sink] for sink in mine if taken.others))
                rows.append(tuple(taken.rows[sink] for sink in mine if taken.rows))
        begins = tuple(begin for begin, _ in parts)
        buffer = PrivateBuffer(self._tensor.name, self._buffer.order, axis, tuple(made), tuple(sinks), begins,
                               tuple(asks) if taken.asks else (), tuple(others) if taken.others else (), taken.either,
                               tuple(rows) if taken.rows else ())
        return Fed(buffer, (constant_coordinates.tried(self._stored, taken),
                            edge_to_edge.tried(self._tensor.name, self._array), banks_said, *of_banks(said)))

    def _bank(self, axis: int, nth: int, mine: list[int], extent: int) -> tuple[Bank, tuple[Verdict, ...], list[int]]:
        """A bank, what passes say, and its ports in its order.  mine: these ports.  extent: coordinates of a fiber in it."""
        taken, count = self._taken, self._buffer.banks
        shape = [-(-(size - nth) // count) if at == axis and count > 1 else size
                 for at, size in enumerate((*self._shape[:-1], extent))]
        check_room(self._stored, shape, bool(taken.asks) and not taken.whole)
        outer = shape[:-1] if (taken.form == FIBER and not taken.asks) or taken.dealt or taken.whole else shape
        number = {sink: at for at, sink in enumerate(mine)}
        local = [(number[sink], [each // count if level == axis and count > 1 else each for level, each in enumerate(at)])
                 for sink, at in taken.reads if sink in number]
        numbers = [int(np.ravel_multi_index(at, outer)) if outer else 0 for _, at in local]
        if taken.whole:
            return *self._choosing(shape, numbers), mine
        if taken.asks:
            return *self._gathering(shape, numbers), mine
        if self._stored.is_chain:
            # Each port has room for its fiber, so that they may get theirs in the order in which these are stored.
            local = sorted(local, key=lambda step: numbers[local.index(step)])
            numbers.sort()
            if numbers != list(range(prod(shape[:-1]))):
                raise self._stored.mistake(f"{len(numbers)} ports take fibers of {self._tensor.name}, which has "
                                           f"{prod(shape[:-1])}, and a level above the last one is not dense, whose fibers are "
                                           "read once, as they are stored", "make all levels but the last one dense")
            mine = [mine[sink] for sink, _ in local] if not taken.dealt else mine
            local = [(nth * max(1, taken.dealt), at) for nth, (_, at) in enumerate(local)]
        if self._kind == BITVECTOR and not self._stored.is_chain and numbers != list(range(prod(shape[:-1]))):
            raise self._stored.mistake(f"ports take the fibers of {self._tensor.name} in another order than they are stored, "
                                       "and the values of bitvectors are counted", "make the last level compressed")
        across = -(-shape[-1] // DATA_BITS)
        along = {DENSE: shape[-1], BITVECTOR: across}.get(self._kind) if taken.form == FIBER or taken.dealt else None
        along = None if self._stored.is_chain else along
        places, sinks = [number * (along or 1) for number in numbers], [sink for sink, _ in local]
        made, nest_said = loop_nest.tried(places, sinks)
        table: tuple[Run, ...] = ()
        if made is None:
            # Ports in the order in which they take words, so that runs go from port to port.
            firsts = dict.fromkeys(sinks)
            mine = [mine[sink] for sink in firsts]
            turned_to = {sink: at for at, sink in enumerate(firsts)}
            table, nest_said = loop_nest.table(places, [turned_to[sink] for sink in sinks])
        if made is None and (along or self._buffer.wide or len(table) > MOST_TABLE):
            raise self._stored.mistake(f"the array takes {self._tensor.name} in an order that is no loop nest of "
                                       f"{MOST_LOOPS - 1} loops, but {len(table):,} runs",
                                       f"choose another transform, words and {MOST_TABLE:,} runs at most, or leave it out")
        made = made or ()
        turned = transpose.tried(places, made)
        if along:
            made = (Loop(along, 1, 0), *made)
        depth, skew_said = skew.tried(self._stored, taken, len(mine), shape[-1])
        rows_said = lock_step.tried(self._stored, taken, made, places[0], len(mine))
        kinds = [Level(kind, extent) for kind, extent in zip(self._buffer.levels, shape, strict=True)]
        first, first_sink = (0, 0) if table else (places[0], sinks[0])
        bank = Bank(self._tensor.bits, tuple(kinds), self._buffer.words, first, first_sink, made, len(mine), taken.form,
                    taken.paired, depth, self._buffer.operations, self._buffer.node, taken.dealt, self._buffer.wide,
                    self._is_short(), table=table) if not self._stored.is_chain else \
            ChainedBank(self._tensor.bits, tuple(kinds), self._buffer.words, first, first_sink, made, len(mine), taken.form,
                        taken.paired, depth, self._buffer.operations, self._buffer.node, taken.dealt,
                        sifted=taken.sifted, complete=taken.complete)
        return bank, (nest_said, turned, skew_said, rows_said), mine

    def _gathering(self, shape: Sequence[int], bases: Sequence[int]) -> tuple[Bank, tuple[Verdict, ...]]:
        """A bank of elements that are asked for; bases: of each port the address of its first one."""
        rows_said = lock_step.tried(self._stored, self._taken, (), 0, len(bases))
        levels = tuple(Level(kind, extent) for kind, extent in zip(self._buffer.levels, shape, strict=True))
        depth = max(2, -(-GATHERED // len(bases)))
        apart = [prod(shape[len(shape) - inside:]) for inside in range(len(shape))]
        inside, rows_inside = self._taken.inside, self._taken.rows_inside
        along = (Loop(shape[-1 - inside], apart[inside], 0),) if inside else ()
        chosen = (Loop(shape[-1 - rows_inside], apart[rows_inside], 0),) if self._taken.rows else ()
        kind = ChainedBank if self._stored.is_chain else Bank
        bank = kind(self._tensor.bits, levels, self._buffer.words, 0, 0, along, len(bases), FIBER, True, depth,
                    self._buffer.operations, self._buffer.node, bases=tuple(bases), chosen=chosen)
        return bank, (asked(loop_nest.NAME), asked(transpose.NAME), asked(skew.NAME), rows_said)

    def _choosing(self, shape: Sequence[int], numbers: Sequence[int]) -> tuple[Bank, tuple[Verdict, ...]]:
        """A bank of whole fibers that are asked for; numbers: of each port that of its first one."""
        taken, inside = self._taken, self._taken.inside
        depth, skew_said = skew.tried(self._stored, taken, len(numbers), shape[-1])
        rows_said = lock_step.tried(self._stored, taken, (), 0, len(numbers))
        levels = tuple(Level(kind, extent) for kind, extent in zip(self._buffer.levels, shape, strict=True))
        along = shape[-1] if self._kind == DENSE and not self._stored.is_chain else 1
        outer = Loop(shape[-1 - inside], prod(shape[-inside:-1]) * along, 0)
        bases = tuple(number * along for number in numbers)
        if self._stored.is_chain:
            bank: Bank = ChainedBank(self._tensor.bits, levels, self._buffer.words, 0, 0, (outer,), len(numbers), FIBER, True,
                                     depth, self._buffer.operations, self._buffer.node, bases=bases, whole=True,
                                     sifted=taken.sifted, complete=taken.complete)
            return bank, (asked(loop_nest.NAME), asked(transpose.NAME), skew_said, rows_said)
        loops = (Loop(along, 1, 0), outer) if self._kind == DENSE else (outer,)
        bank = Bank(self._tensor.bits, levels, self._buffer.words, 0, 0, loops, len(numbers), FIBER, True, depth,
                    self._buffer.operations, self._buffer.node, bases=bases, whole=True)
        return bank, (asked(loop_nest.NAME), asked(transpose.NAME), skew_said, rows_said)

    def _is_short(self) -> bool:
        """Whether a tensor has a row for each launch of an operation that may end early; UserError if it has otherwise as many
        as are launched."""
        if not isinstance(self._array, Spatial) or not self._array.short or not self._buffer.wide:
            return False
        ports = [port for port in self._array.alone if port.name in self._taken.sinks]
        counts = {len(port.words) for port in ports}
        if counts and counts != {self._array.launches}:
            raise self._stored.mistake(f"its ports take {max(counts)} words in an operation, which may end early",
                                       "leave out short")
        return bool(counts)
