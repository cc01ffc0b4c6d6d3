"""Statements as jobs: sub-tile by sub-tile against NumPy, then their sum against the statement on whole operands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse

from .bottleneck import bottleneck
from .compiler.einsum import CompiledEinsum
from .compiler.ir.mapped import VALUES, level_name
from .compiler.lang.einsum import Einsum
from .compiler.sparse.normalize import normalize, unsplit
from .compiler.sparse.tiles import Total
from .runtime.data.blocks import Blocks
from .runtime.data.dispatch import ORDER
from .runtime.data.result_blocks import above, gathered, same
from .runtime.data.rounds import Rounds
from .runtime.data.sub_tiles import Work
from .runtime.data.tile import Source
from .runtime.place import everywhere
from .runtime.works import stays
from .sim.engines import Run, differences
from .sim.expected import expected, expected_together
from .sim.golden import einsum as golden
from .tensors import values as tensors
from .tensors.coordinates import Coo
from .tensors.fibertree import DENSE, build, flatten

# Sub-tiles that are compared at once.
TOGETHER = 1024


class TensorJob:
    """A compiled statement on the sub-tiles of its operands.

    Parameters
    ----------
    compiled : CompiledEinsum
    operands : mapping         Whole tensors by name.
    work : Work                Their sub-tiles.
    statement : Einsum         What the whole result is; by default what the program computes of each sub-tile.
    dispatch : str             How they are dealt to the copies of an unrolled program.
    answer : Coo               The whole result by NumPy, where it is not of the statement: of several, one after the other.
    """

    unit = "sub-tiles"
    checks = "words"

    def __init__(self, compiled: CompiledEinsum, operands: Mapping[str, Coo], work: Work,
                 statement: Einsum | None = None, dispatch: str = ORDER, answer: Coo | None = None) -> None:
        self.compiled, self.operands, self.work, self.answer = compiled, operands, work, answer
        self.statement = statement or compiled.einsum
        self._rounds = (Rounds(work, compiled.copies, dispatch, self.take, compiled.arch.glb.listed)
                        if compiled.copies.count > 1 else None)
        self._total, self._done = Total(work.tiling), 0
        self._waiting: list[Blocks] = []
        self._words, self._wrong = 0, list[str]()
        self._facts: Mapping[str, object] = {}

    def parts(self) -> Iterator[TensorJob | Rounds]:
        yield self if self._rounds is None else self._rounds

    def __len__(self) -> int:
        return len(self.work)

    def transactions(self, most: int) -> Iterator[Blocks] | Iterator[Mapping[str, Source]]:
        return self.work.listed() if self.compiled.arch.glb.listed else self.work.transactions()

    def bounds(self) -> Mapping[str, int]:
        return self.work.bounds()

    def cycles(self) -> int:
        return self.work.cycles()

    def take(self, stored: Blocks) -> None:
        """Keep the blocks of the next sub-tile; those of many are compared at once."""
        self._waiting.append(self.work.joined(stored))
        if len(self._waiting) == TOGETHER:
            self._compare()

    def _compare(self) -> None:
        """Compare the blocks that wait, and keep the parts of the result in them."""
        begin, end = self._done, self._done + len(self._waiting)
        stored, self._waiting, self._done = self._waiting, [], end
        result = self.compiled.einsum.result
        if stored and DENSE not in result.format.letters:
            levels = [level_name(result.slot, level) for level in (*range(len(result.stored)), VALUES)]
            shape = [self.work.tiling.edges[index] for index in result.indices]
            found = gathered(stored, levels, result.format, shape)
            if found and same(found, build(expected_together(self.work, begin, end), above(result.format))):
                self._words += sum(len(block) for each in stored for block in each.values())
                self._total.add_items(flatten(found))
                return
        for item, blocks, right in zip(range(begin, end), stored, expected(self.work, begin, end)):
            words, wrong = differences([blocks], [right], item)
            self._words += words
            self._wrong += wrong
            self._total.add(self.work.part(item, blocks) if not wrong else Coo.empty(self.work.tiling.result_shape(item)))

    def whole(self) -> Coo:
        """The whole result, when all is done."""
        self._compare()
        return self._total.whole()

    def check(self) -> tuple[Any, int]:
        self._compare()
        assert not self._wrong, f"{len(self._wrong)} blocks differ from NumPy: {self._wrong[0]}"
        total = self.whole()
        program = self.statement
        answer = golden.evaluate(program, self.operands) if self.answer is None else self.answer
        assert total == answer, "the sum of the sub-tiles is not the result"
        value = value_of(program, total)
        self._facts = {"result": shown(program, self.operands, value)}
        return value, self._words

    def facts(self) -> Mapping[str, object]:
        tiling = self.work.tiling
        uncut = ", ".join(sorted(unsplit(normalize(tiling.einsum))))
        copies = {"copies": self.compiled.copies.count, **self._rounds.facts()} if self._rounds is not None else {}
        for how in self.work.lanes.values():
            copies |= {"lanes": how.lanes, "dealt": how.what}
        return {**self._facts, "sub_tiles": len(self.work), "tile_edge": dict(tiling.edges), **copies,
                **({"program": tiling.einsum.text} if tiling.statement else {}),
                **({"not_cut": f"{uncut}, summed inside a function"} if uncut else {}),
                **({"by_the_host": f"{tiling.after}, where sub-tiles are added"} if tiling.after else {}),
                **self._copied(), "slack_tiles": self.compiled.slack}

    def _copied(self) -> Mapping[str, object]:
        """Dense operands that do not lie in the global buffer of a machine where they could, and why."""
        arch, program = self.compiled.arch, self.compiled.program
        if not arch.glb.listed:
            return {}
        groups, place = self.compiled.copies, everywhere(program, arch.glb)
        rooms, why = {each.name: each for each in program.loads}, {}
        for name, found in self.work.dense(len(groups.groups)).items():
            for group in range(len(groups.groups)):
                link = groups.link(name, group)
                if groups.shares(group):
                    why[link] = "copies share its link"
                elif isinstance(found, str):
                    why[link] = found
                elif link in rooms and not stays(found, rooms[link], place):
                    why[link] = "no room"
        return {"copied": "; ".join(f"{name}: {each}" for name, each in why.items())} if why else {}

    def useful(self) -> tuple[str, int]:
        return "operation", golden.operations(self.work.tiling.whole, self.operands)

    def rate(self, run: Run, cycles: int) -> Mapping[str, object]:
        rounds, data = self._rounds, self.work
        limit = rounds.bottleneck(cycles) if rounds else ""
        if not limit and len(data):
            again = Rounds(data, rounds.groups, rounds.how, lambda stored: None) if rounds else data
            limit = bottleneck(self.compiled.graph, again, cycles)
        return {"tokens_per_cycle": round((run.loaded + self._words) / cycles, 3), **({"bottleneck": limit} if limit else {}),
                **({"words_in": f"{run.lying:,} as they lie in operands, {run.arranged:,} arranged"} if run.lying else {})}


def value_of(program: Einsum, result: Coo) -> Any:
    """What a user expects back: an array for a result of dense levels only, else as of `to_value`."""
    form = program.result.format
    return tensors.to_array(result) if form.rank and form.dense_levels == form.rank else tensors.to_value(result)


def shown(program: Einsum, data: Mapping[str, Coo], value: Any) -> str:
    """The shape of a result and its nonzeros, in words."""
    shape = program.result_shape({name: tensor.shape for name, tensor in data.items()})
    count = value.nnz if scipy.sparse.issparse(value) else int(np.count_nonzero(value))
    return f"{' x '.join(map(str, shape)) or 'scalar'}, {count} nonzeros"
