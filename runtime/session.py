"""Several programs on one machine at once, each in a region of its own.

    session = Session(device, [8, 8, 16])               columns of each region, from the west
    session.load(0, first); session.load(1, second)     programs that were compiled for session.regions[n].arch
    session.run(0, words); session.run(1, others)       both compute
    session.wait(0); session.wait(1)                    what each launch gave, as of `runtime.host.run`
    session.load(1, third)                              while region 0 goes on

Every region is a `Device`, too: ``sardonyx.kernel(..., arch=session.regions[1].arch, engine=session.regions[1])`` waits for
that program, and the others go on meanwhile.

The machine has one interrupt. The session asks the regions that are waited for which of them it is of, and serves these.

Errors:  UserError for regions that the machine cannot have, a program of another machine, a region that is busy or not loaded.
         What stops a run ends the work of its region only, and `wait` for that region raises it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ..compiler.ir.program import Program
from ..hw.arch.errors import UserError
from .commands import Wait
from .device import Device
from .host import NO_INTERRUPT, Outcome, steps, stepwise
from .plan import Transaction, prepare
from .region import Region

STRANGE = "the interrupt is of a region that is waited for"


class Session:
    """The regions of a machine.

    Parameters
    ----------
    device : Device                With `Arch.regions` of 2 or more, in which nothing runs.
    columns : sequence of int      Columns of each region, see `split`.

    Members
    -------
    regions : tuple of Region
    """

    def __init__(self, device: Device, columns: Sequence[int]) -> None:
        self._device = device
        self._programs: dict[int, Program] = {}
        self._doing: dict[int, Iterator[Wait | Outcome]] = {}
        self._waits: dict[int, Wait] = {}
        self._found: dict[int, list[Outcome]] = {}
        self._failed: dict[int, Exception] = {}
        self.regions: tuple[Region, ...] = ()
        for region in range(device.arch.regions):
            device.write_register("irq_enable", 0, region=region)
        self.split(columns)

    def split(self, columns: Sequence[int]) -> None:
        """Give the machine other regions, of so many columns each from the west; nothing may run, and programs are gone.

        Where this raises UserError, all is as before.
        """
        arch, pitch = self._device.arch, self._device.arch.glb.columns_per_tile
        if self._doing:
            raise UserError(f"region {min(self._doing)} is busy", "session", "wait for it before the machine is split anew")
        if arch.regions == 1:
            raise UserError("the machine has one region", f"machine '{arch.name}'",
                            "describe one with `regions` of 2 or more, or give the machine itself as the engine")
        if not 1 <= len(columns) <= arch.regions:
            raise UserError(f"{len(columns)} regions are asked for", f"machine '{arch.name}'",
                            f"ask for 1..{arch.regions}, or describe a machine with more `regions`")
        numbers = all(isinstance(each, int) and not isinstance(each, bool) for each in columns)
        if not numbers or any(each <= 0 or each % pitch for each in columns) or sum(columns) > arch.columns:
            raise UserError(f"regions of {', '.join(map(str, columns))} columns", f"machine '{arch.name}'",
                            f"give multiples of {pitch}, {arch.columns} in all at most")
        tiles = [size // pitch for size in columns]
        regions = tuple(Region(self._device, number, sum(tiles[:number]), size, self._attend(number))
                        for number, size in enumerate(tiles))
        for state in (self._programs, self._found, self._failed):
            state.clear()
        for each in regions:
            each.claim()
        self.regions = regions

    def load(self, region: int, program: Program) -> None:
        """Configure a region for a program, while others go on."""
        view = self._idle(region)
        if program.fingerprint != view.arch.fingerprint:
            raise UserError(f"the program is for machine {program.fingerprint:016x}, region {region} is "
                            f"{view.arch.fingerprint:016x}, '{view.arch.name}'", "session",
                            f"compile it for regions[{region}].arch")
        self._programs.pop(region, None)
        self._begin(region, stepwise(view, prepare(program, view.arch), program))
        self.wait(region)
        self._programs[region] = program

    def run(self, region: int, transactions: Iterable[Transaction], bounds: Mapping[str, int] | None = None) -> None:
        """Start the region's program on transactions, see `runtime.host.run`; `wait` gives what they stored."""
        view = self._idle(region)
        if region not in self._programs:
            raise UserError(f"region {region} has no program", "session", f"load({region}, program) first")
        self._begin(region, steps(view, self._programs[region], transactions, bounds, prepared=True))

    def wait(self, region: int) -> list[Outcome]:
        """Run until a region is done; what it gave since it was idle. Raises what has stopped it."""
        self._region(region)
        while region in self._doing:
            assert self._device.wait(min(each.limit for each in self._waits.values())), NO_INTERRUPT
            assert self._serve(), STRANGE
        if region in self._failed:
            raise self._failed.pop(region)
        return self._found.pop(region, [])

    def busy(self, region: int) -> bool:
        """Whether a region has work that has not ended; regions whose interrupt has come go on."""
        self._region(region)
        self._serve()
        return region in self._doing

    def _region(self, number: int) -> Region:
        if number not in range(len(self.regions)):
            raise UserError(f"there is no region {number}", "session", f"choose one of 0..{len(self.regions) - 1}")
        return self.regions[number]

    def _idle(self, number: int) -> Region:
        view = self._region(number)
        if number in self._doing:
            raise UserError(f"region {number} is busy", "session", f"wait({number}) first")
        self._found.pop(number, None)
        self._failed.pop(number, None)
        return view

    def _begin(self, number: int, doing: Iterator[Wait | Outcome]) -> None:
        self._doing[number] = doing
        self._found[number] = []
        self._go_on(number)

    def _go_on(self, number: int) -> None:
        """Do what a region has to do until it waits or is done."""
        self._waits.pop(number, None)
        doing = self._doing.pop(number)         # not busy any more if this raises
        for each in doing:
            if isinstance(each, Wait):
                self._doing[number], self._waits[number] = doing, each
                return
            self._found[number].append(each)

    def _rings(self, number: int) -> int:
        """The events of a region's interrupt, if that is its own."""
        view = self.regions[number]
        return view.read_register("irq_status") & view.read_register("irq_enable")

    def _rang(self, number: int) -> bool:
        """Whether an interrupt is a region's; it is answered."""
        events = self._rings(number)
        if events:
            self.regions[number].write_register("irq_status", events)
        return bool(events)

    def _serve(self) -> bool:
        """Let all regions go on whose interrupt came, and keep what stops one for its `wait`; whether there was any."""
        served = False
        for number in [*self._waits]:
            if self._rang(number):
                served = True
                try:
                    self._go_on(number)
                except (UserError, AssertionError) as error:
                    self._failed[number] = error
        return served

    def _attend(self, number: int) -> Callable[[int], bool]:
        """Waits for the interrupt of a region that is used as a device; what it was configured for is unknown then."""
        def attend(limit: int) -> bool:
            if number in self._doing:
                raise UserError(f"region {number} is busy", "session", f"wait({number}) before it is used as a device")
            self._programs.pop(number, None)
            while not self._rang(number):
                if not self._device.wait(limit):
                    return False
                assert self._serve() or self._rings(number), STRANGE
            return True

        return attend
