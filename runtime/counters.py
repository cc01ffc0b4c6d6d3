"""Performance counters of tiles, read by the host.

    clear(device, sites)            counts begin at 0
    ...                             any number of launches
    read(device, sites)             {(x, y): Counts}

Input:   Device, with `Arch.counter_bits`; nothing runs on it meanwhile, or counts are of different cycles.
Errors:  UserError for a machine that has none.
Cost:    four reads of configuration for each tile.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..compiler.backend.encode import address
from ..hw.arch.cgra import Arch
from ..hw.arch.counters import COUNTER_MAP, COUNTER_REGISTER, COUNTERS, Counts
from ..hw.arch.errors import UserError
from .device import Device

Site = tuple[int, int]


def clear(device: Device, sites: Iterable[Site]) -> None:
    """Make all counts of some tiles 0."""
    check(device.arch)
    device.configure([(address(*site, COUNTER_REGISTER), 0) for site in sites])


def read(device: Device, sites: Iterable[Site]) -> dict[Site, Counts]:
    """The counts of some tiles."""
    check(device.arch)
    return {site: _counts([device.read_configuration(address(*site, COUNTER_REGISTER + word))
                           for word in range(COUNTER_MAP.words)]) for site in sites}


def check(arch: Arch) -> None:
    """UserError for a machine without counters."""
    if not arch.counter_bits:
        raise UserError("it has no performance counters", f"machine '{arch.name}'",
                        "give counter_bits=32 in its description, for 32 bits each; engine tokens counts without")


def _counts(words: list[int]) -> Counts:
    return Counts(**{event: int(count) for event, count in COUNTER_MAP.decode(words)[COUNTERS.name].items()})
