"""In which order a host does what launches are made of, so that transfers overlap what computes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import chain

from .plan import Launch


class Phase(Enum):
    """The commands of a launch that are done together: those of its fields."""

    LOADS = "loads"
    STARTS = "starts"
    ENDS = "ends"
    READS = "reads"


def ordered(launches: Iterable[Launch], overlapped: bool = True) -> Iterator[tuple[Phase, Launch]]:
    """The phases of launches in the order of time.

    While a launch computes, the words of the next one are written and those of the one before are read, where they have places
    of their own:

        LOADS 1, STARTS 1, LOADS 2, ENDS 1, STARTS 2, READS 1, LOADS 3, ENDS 2, STARTS 3, READS 2, ENDS 3, READS 3

    Reads come first, whose places the launch after the next one needs. Of launches in one run one is queued while another one
    computes, and the words of a third one are there before that ends:

        LOADS 1, STARTS 1, LOADS 2, STARTS 2, LOADS 3, ENDS 1, STARTS 3, READS 1, LOADS 4, ENDS 2, STARTS 4, READS 2, ...

    overlapped: else nothing is written or read while a launch computes. The next launch is asked for when the one before has
    started.
    """
    computes: Launch | None = None
    queued: Launch | None = None        # in the run of the one that computes
    ended: Launch | None = None         # whose words have not been read
    for launch in chain(launches, [None]):
        if launch is not None and launch.joins:
            if ended is not None:
                yield Phase.READS, ended
                ended = None
            yield Phase.LOADS, launch
            done, computes = (computes, queued) if queued is not None else (None, computes)
            if done is not None:
                yield Phase.ENDS, done
            yield Phase.STARTS, launch
            queued = launch
            if done is not None:
                yield Phase.READS, done
            continue
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
            yield Phase.STARTS, launch
        computes = launch
