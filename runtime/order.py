"""In which order a host does what launches are made of, so that transfers overlap what computes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum

from ..compiler.ir.transfer import WORD_BYTES
from ..hw.arch.glb import LANES
from .batches import LEAST_CYCLES
from .commands import Command, Read, Start, WriteMemory
from .plan import Launch
from .rows import lines


class Phase(Enum):
    """The commands of a launch that are done together: those of its fields."""

    LOADS = "loads"
    STARTS = "starts"
    ENDS = "ends"
    READS = "reads"


def takes_long(launch: Launch) -> bool:
    """Whether the words of a launch take longer than what a processor does for one, by a line a cycle."""
    return launch.lying + launch.arranged > LANES * LEAST_CYCLES


def holds_the_way(launch: Launch, streams: int) -> bool:
    """Whether rows of a launch, taken when it has ended, are in the way of those that the next one gives in pieces: they take
    longer than half of what it computes. streams: that are read, a word of each in a cycle."""
    taken = sum(lines(each.landing) for each in launch.reads if isinstance(each, Read) and each.landing is not None)
    return 2 * streams * taken > launch.loaded


def beside(prepares: Sequence[Command], launch: Launch) -> bool:
    """Whether a configuration is of one round, and the words of a launch lie beside it, so that they may come meanwhile."""
    if sum(isinstance(each, Start) for each in prepares) != 1:
        return False
    streamed = [_bytes(each) for each in prepares if isinstance(each, WriteMemory)]
    return all(one.stop <= other.start or other.stop <= one.start for one in streamed
               for other in map(_bytes, launch.loads) if other)


def _bytes(command: Command) -> range:
    """The bytes of the global buffer that a command writes."""
    assert isinstance(command, WriteMemory), "words are written"
    return range(command.address, command.address + WORD_BYTES * command.reach)


def ordered(launches: Iterable[Launch], overlapped: bool = True, ahead: bool = False) -> Iterator[tuple[Phase, Launch]]:
    """The phases of launches in the order of time.

    While a launch computes, the words of the next one are written and those of the one before are read, where they have places
    of their own:

        LOADS 1, STARTS 1, LOADS 2, ENDS 1, STARTS 2, READS 1, LOADS 3, ENDS 2, STARTS 3, READS 2, ENDS 3, READS 3

    Reads come first, whose places the launch after the next one needs. Of launches in one run one is queued while another one
    computes, and words of a third one come:

        LOADS 1, STARTS 1, LOADS 2, STARTS 2, LOADS 3, ENDS 1, READS 1, STARTS 3, LOADS 4, ENDS 2, READS 2, ...

    Where words take longer than a host, these are asked for before it waits for those of the launch in front of them: LOADS 2
    in front of STARTS 1, LOADS 4 in front of STARTS 3.

    overlapped: else nothing is written or read while a launch computes. The next launch is asked for when the one before has
    started. ahead: words of a launch in the run of the first one are asked for before that starts, however few they are.
    """
    computes: Launch | None = None
    queued: Launch | None = None        # in the run of the one that computes
    ended: Launch | None = None         # whose words have not been read
    loaded: Launch | None = None        # in the run of the one that is next, with words that were written
    coming = iter(launches)
    after = next(coming, None)
    while computes is not None or after is not None:
        launch = after
        after = None if launch is None or not launch.goes_on else next(coming, None)
        if launch is not None and launch.joins:
            if ended is not None:
                yield Phase.READS, ended
                ended = None
            if loaded is not launch:
                yield Phase.LOADS, launch
            if queued is not None:
                assert computes is not None, "what is queued is behind another one"
                yield Phase.ENDS, computes
                yield Phase.READS, computes
                computes = queued
            if after is not None and takes_long(after):
                yield Phase.LOADS, (loaded := after)
            yield Phase.STARTS, launch
            if after is not None and loaded is not after:
                yield Phase.LOADS, (loaded := after)
            queued = launch
        else:
            early = overlapped and launch is not None and launch.apart
            if computes is not None and queued is not None:
                yield Phase.ENDS, computes
                ended, computes, queued = computes, queued, None
            if ended is not None:
                yield Phase.READS, ended
                ended = None
            if launch is not None and early:
                yield Phase.LOADS, launch
            if computes is not None:
                yield Phase.ENDS, computes
                ended = computes
            if ended is not None and not early:
                yield Phase.READS, ended
                ended = None
            if launch is not None:
                if not early:
                    yield Phase.LOADS, launch
                if after is not None and (takes_long(after) or (ahead and computes is None)):
                    yield Phase.LOADS, (loaded := after)
                yield Phase.STARTS, launch
            computes = launch
        if after is None and launch is not None and not launch.goes_on:
            after = next(coming, None)
