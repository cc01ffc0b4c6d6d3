"""What the regions of a machine are configured for, by their numbers, and what they keep in banks of the global buffer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ..compiler.ir.program import Program
from ..hw.arch.errors import UserError
from .commands import Command
from .memories import InBanks
from .plan import prepare
from .region import Region


class Programs:
    """The programs of regions, as they are loaded and kept."""

    def __init__(self) -> None:
        self._programs: dict[int, Program] = {}
        self._kept: defaultdict[int, list[InBanks]] = defaultdict(list)

    def of(self, region: int) -> Program:
        """The program that a region is configured for; UserError if nobody knows."""
        if region not in self._programs:
            raise UserError(f"region {region} has no program", "session", f"load({region}, ...) first")
        return self._programs[region]

    def known(self, region: int) -> Program | None:
        """The same; None if nobody knows."""
        return self._programs.get(region)

    def loads(self, view: Region, given: Program | InBanks) -> Iterator[Command]:
        """The commands that configure a region; UserError for what it cannot be configured for."""
        if isinstance(given, InBanks):
            if given not in self._kept[view.number]:
                raise UserError(f"the words are in the banks of no program of region {view.number}", "session",
                                "restore what was kept there once and before the region is released, or load what `save` gives")
            return given.loads(view.arch)
        if given.fingerprint != view.arch.fingerprint:
            raise UserError(f"the program is for machine {given.fingerprint:016x}, region {view.number} is "
                            f"{view.arch.fingerprint:016x}, '{view.arch.name}'", "session",
                            "compile it for the `arch` of this region")
        return prepare(given, view.arch)

    def loaded(self, region: int, given: Program | InBanks) -> None:
        """A region is configured; what was kept for that is kept no longer."""
        if isinstance(given, InBanks):
            self._kept[region].remove(given)
        self._programs[region] = given.program if isinstance(given, InBanks) else given

    def keeps(self, region: int, kept: InBanks) -> None:
        """A region keeps a program in its banks."""
        self._kept[region].append(kept)

    def taken(self, view: Region) -> int:
        """Up to which byte of the room for it a region keeps something."""
        return max((each.end(view.arch) for each in self._kept[view.number]), default=0)

    def forget(self, region: int) -> None:
        """What a region is configured for is unknown from now on."""
        self._programs.pop(region, None)

    def release(self, region: int) -> None:
        """A region has gone, with its banks."""
        self.forget(region)
        self._kept.pop(region, None)
