"""When an array in step launches and gives its words, cycle by cycle, as words come to its ports; what these are plays no part.

What is taken at once never holds the array up, and results are here: so all of it goes on in every cycle, and only what enters
makes it wait. Words wait in an entry at each port.

Input:   a `Spatial`; at each port that something else feeds, a `Stage` that it gives to, elsewhere words that are there.
Output:  the cycle in which the last word leaves.
Cost:    1 us a cycle and port.
Source:  `Wave`, `Beat`, `ShortBeat`, `Loading`, `Stage`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count

from ....hw.arch.spatial import LENGTH, Chain, Port, Spatial
from ....hw.spatial.array.wave import LATENCY, RESULT
from ..queue import Pair


class Stage:
    """The entry at a port: whether a word is there, whether it has room in this cycle, and what it gets in it."""

    def __init__(self, words: int = 0) -> None:
        self.words = words          # that are there from the first cycle on
        self.there = self.room = False
        self.given: Pair | None = None

    def begin(self, taken: bool) -> None:
        self.room, self.given = not self.there or taken, None

    def offer(self, pair: Pair) -> bool:
        """Whether it takes a word in this cycle."""
        if self.room:
            self.given = pair
        return self.room

    def end(self) -> None:
        if self.room:
            self.there = self.given is not None or self.words > 0
            self.words -= self.words > 0


class _Loading:
    """The words of a tensor that go down its chains before each operation."""

    def __init__(self, chains: Sequence[Stage], length: int, launch: int) -> None:
        self.chains, self._length, self.launch, self._loaded = chains, length, launch, 0

    @property
    def full(self) -> bool:
        return self._loaded == self._length

    def step(self, takes: bool) -> bool:
        """Whether a word goes down each chain in this cycle."""
        load = all(each.there for each in self.chains) and (not self.full or takes)
        if load:
            self._loaded = 1 if self.full else self._loaded + 1
        elif takes:
            self._loaded = 0
        return load


class TimedArray:
    """An array in step. begin() says what each entry at a port has room for, end() does the cycle."""

    def __init__(self, spatial: Spatial, words: Mapping[str, int], operations: int, lengths: Sequence[int] | None) -> None:
        """words: at each port that is not fed, how many there are. lengths: launches of each operation, if it says so."""
        self._spatial, self._operations = spatial, operations
        self._lengths = lengths
        self.stages = {each.name: Stage(words.get(each.name, 0)) for each in spatial.sources}
        if lengths is not None:
            self.stages[LENGTH] = Stage(words.get(LENGTH, 0))
        launches = {port.name: frozenset(spatial.launch(port.position, word.step) for word in port.words)
                    for port in spatial.inputs}
        first = min((min(steps) for steps in launches.values()), default=0)
        # Of each launch which ports have to have a word, and how long after it the last word of a result leaves.
        alone = [(self.stages[port.name], launches[port.name]) for port in spatial.alone]
        self._needs = [[stage for stage, steps in alone if at in steps] for at in range(spatial.launches)]
        self._loadings = [_Loading([self.stages[each.name] for each in chains], len(chains[0].positions),
                                   min(launches[chains[0].name])) for chains in _of_tensors(spatial.chains)]
        self._at_first = [stage for stage, steps in alone if min(steps) == first]
        self._loads_first = [each for each in self._loadings if each.launch == first]
        self._gives = [max((LATENCY + RESULT + spatial.ranks[port.position] for port in spatial.outputs
                            if at in _launched(spatial, port)), default=None) for at in range(spatial.launches)]
        self._later: list[int] = []         # launches of operations that are under way
        self._phase = self._done = self._begun = 0
        self.moves = False      # something goes on in this cycle
        self._now = self.last = 0
        self.is_over = False

    def begin(self) -> None:
        """What is launched in this cycle."""
        spatial = self._spatial
        is_ready = (all(each.there for each in self._at_first) and all(each.full for each in self._loads_first)
                    and (self._lengths is None or self.stages[LENGTH].there))
        begins = is_ready and (not self._later or (self._lengths is None and self._phase == 0))
        at = [0, *self._later] if begins else self._later
        needed = [stage for launch in at for stage in self._needs[launch]]
        steps = bool(at) and all(each.there for each in needed) and all(
            each.full for each in self._loadings if each.launch in at)
        taken = {*map(id, needed)} if steps else set()
        for loading in self._loadings:
            if loading.step(steps and loading.launch in at):
                taken.update(map(id, loading.chains))
        if steps:
            taken |= self._advance(at, begins)
        for stage in self.stages.values():
            stage.begin(id(stage) in taken)
        self.moves = steps or bool(taken)
        if self._phase >= spatial.interval:
            self._phase = 0

    def end(self) -> None:
        for stage in self.stages.values():
            self.moves |= stage.given is not None
            stage.end()
        self._now += 1

    def _advance(self, at: Sequence[int], begins: bool) -> set[int]:
        """A step is done: what leaves, and where operations are then. Whether a length is taken."""
        self._begun += begins
        for operation, launch in zip(count(self._begun - 1, -1), at):
            # Buffers may have words of more operations than are asked for.
            if operation < self._operations and (later := self._gives[launch]) is not None:
                self.last = max(self.last, self._now + later)
        lasts = self._spatial.launches if self._lengths is None else self._lengths[min(self._done, len(self._lengths) - 1)]
        self._later = [launch + 1 for launch in at if launch + 1 < lasts]
        ended = len(at) - len(self._later)
        self._done += ended
        self.is_over = self._done == self._operations
        self._phase = 1 if begins else self._phase + 1
        return {id(self.stages[LENGTH])} if ended and self._lengths is not None else set()


def _launched(spatial: Spatial, port: Port) -> Iterable[int]:
    return {spatial.launch(port.position, word.step) for word in port.words}


def _of_tensors(chains: Sequence[Chain]) -> Iterable[list[Chain]]:
    for tensor in dict.fromkeys(each.tensor for each in chains):
        yield [each for each in chains if each.tensor == tensor]
