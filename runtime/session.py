"""Several programs on one machine at once, each in a region of its own.

    session = Session(device, [8, 8, 16])               columns of each region, from the west
    session.load(0, first); session.load(1, second)     programs that were compiled for session.regions[n].arch
    session.run(0, words); session.run(1, others)       both compute
    session.wait(0); session.wait(1)                    what each launch gave, as of `runtime.host.run`
    session.run_together({0: words, 1: others})         both, begun in the same cycle
    session.load(1, third)                              while region 0 goes on
    kept = session.save(1); session.load(1, fourth)     what memories hold is kept,
    session.load(2, kept)                               and put back, there or elsewhere, with its program
    kept = session.keep(1); session.load(1, second)     the same in the global buffer,
    session.load(1, kept)                               and back there, where the machine has `glb.kept_bytes`
    session.stall(0); session.resume(0)                 region 0 stands still meanwhile, where the machine has `column_stall`

Every region is a `Device`, too: ``sardonyx.kernel(..., arch=session.regions[1].arch, engine=session.regions[1])`` waits for
that program, and the others go on meanwhile. `runtime.scheduler` does so for any number of jobs.

The machine has one interrupt. The session asks the regions that are waited for which of them it is of, and these go on.

Errors:  UserError for regions that the machine cannot have, a program of another machine, a region that is busy or not loaded,
         or has given what nobody has waited for: only `release` and `close` throw that away.
         What stops a run ends the work of its region only, and `wait` for that region raises it, or what is next asked of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ..compiler.ir.program import Program
from ..hw.arch.cgra import Arch
from ..hw.arch.errors import UserError
from ..hw.arch.soc import CONTROLLER, GROUP, named
from . import host, memories
from . import stall as stalls
from .commands import Command
from .device import Device
from .host import Outcome
from .memories import InBanks
from .programs import Programs
from .region import Place, Region, free, no_room, side_by_side
from .task import Task
from .works import Transaction

STRANGE = "the interrupt is of a region that is waited for"


class Session:
    """The regions of a machine.

    Parameters
    ----------
    device : Device                With `Arch.regions` of 2 or more, in which nothing runs.
    columns : sequence of int      Columns of each region at the beginning, see `split`.

    At the end of a ``with`` statement, or with `close`, the machine is one again.
    """

    def __init__(self, device: Device, columns: Sequence[int] = ()) -> None:
        if not isinstance(getattr(device, "arch", None), Arch):
            raise UserError(f"it is of type {type(device).__name__}, which is no machine that runs", "device",
                            "give one, as of sardonyx.simulated(arch)")
        if device.arch.regions == 1:
            raise UserError("the machine has one region", f"machine '{device.arch.name}'",
                            "describe one with `regions` of 2 or more, or give the machine itself as the engine")
        self._device = device
        self._regions: dict[int, Region] = {}
        self._programs = Programs()
        self._tasks: dict[int, Task] = {}
        self._gave: set[int] = set()        # regions whose work is a run, which nobody has waited for
        self._stalled: set[int] = set()
        self._ready: dict[int, Task] | None = None      # those that are to start together and could, while others get there
        regions = self._planned(columns)
        for region in range(device.arch.regions):
            device.write_register("irq_enable", 0, region=region)
            device.write_register("claim", 0, region=region)
        for each in regions:
            self._take(each)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def regions(self) -> tuple[Region, ...]:
        """The regions there are, by number."""
        return tuple(self._regions[number] for number in sorted(self._regions))

    def split(self, columns: Sequence[int]) -> None:
        """Give the machine other regions, of so many columns each from the west; nothing may run, and programs are gone.

        Where this raises UserError, all is as before.
        """
        for number in self._regions:
            self._idle(number)
        regions = self._planned(columns)
        for number in [*self._regions]:
            self.release(number)
        for each in regions:
            self._take(each)

    def close(self) -> None:
        """Stop what goes on and give all columns to region 0, as after reset: the machine is a device by itself again."""
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()
        self._gave.clear()
        for number in [*self._regions]:
            self.release(number)
        self._device.write_register("claim", (1 << self._device.arch.glb_tiles) - 1)

    def place(self, columns: int) -> Region:
        """A new region of so many columns, at the first place from the west that is free, while the others go on."""
        found = self.room(columns)
        if found is None:
            raise no_room(columns, self.regions, self._device.arch)
        return self._take(found)

    def room(self, columns: int) -> Region | None:
        """The region that `place` would make; None if there is no room."""
        found = free(columns, self.regions, self._device.arch)
        return None if found is None else self._view(found)

    def release(self, region: int) -> None:
        """Give the columns of a region up; what it gave and nobody waited for is gone, but what stopped it is raised."""
        self._idle(region, drops=True).release()
        self._regions.pop(region)
        self._stalled.discard(region)
        self._programs.release(region)

    def load(self, region: int, program: Program | InBanks) -> None:
        """Configure a region for a program and wait till it is, while others go on; or for what `keep` has kept there, which is
        kept no longer then."""
        view = self._idle(region)
        self._does(region, self._programs.loads(view, program), program)

    def save(self, region: int) -> Program:
        """The program of a region, with what its memories hold as contents; `load` restores it, in any region of this width."""
        view, program = self._idle(region), self._programs.of(region)
        self._moves(region)
        return memories.saved(view, program, self._programs.taken(view), lambda commands: self._does(region, commands, program))

    def keep(self, region: int) -> InBanks:
        """The program of a region, and what the memories hold that it uses is kept in banks of the region, with
        `Glb.kept_bytes`: `load` restores it there, and no word goes to the host."""
        view, program = self._idle(region), self._programs.of(region)
        kept = InBanks(program, self._programs.taken(view))
        self._does(region, memories.saves(program, view.arch, kept.at), program)
        self._programs.keeps(region, kept)
        return kept

    def _does(self, region: int, commands: Iterable[Command], given: Program | InBanks) -> None:
        """Do what leaves a region configured for a program, and wait for its end."""
        self._moves(region)
        commands = tuple(commands)      # what is wrong with them is told before they begin
        self._programs.forget(region)
        self._begin(region, lambda view: [*host.execute(view, commands)] and None)
        self.wait(region)
        self._programs.loaded(region, given)

    def run(self, region: int, transactions: Iterable[Transaction], bounds: Mapping[str, int] | None = None,
            early: Collection[str] | None = None) -> None:
        """Begin to run transactions on the program of a region, as `runtime.host.run` does, while others go on. early: as
        there, such as `whole` of a compiled statement."""
        self._idle(region)
        program = self._programs.of(region)
        self._begin(region, lambda view: [*host.run(view, program, transactions, bounds, prepared=True, early=early)])
        self._gave.add(region)

    def run_together(self, transactions: Mapping[int, Iterable[Transaction]],
                     bounds: Mapping[int, Mapping[str, int]] | None = None) -> None:
        """Begin to run, as `run` does, in several regions: the first launches of all begin their flush in the same cycle, and
        start in the same cycle. What each needs for that is there then; later launches start as each region comes to them.

        transactions, bounds: by region. Nothing has begun where this raises UserError; a region whose work is found wrong
        before its first start says so to its `wait`, and the others start without it.
        """
        for region in transactions:
            self._idle(region)
            self._programs.of(region)
        ready: dict[int, Task] = {}
        self._ready = ready
        try:
            for region, given in transactions.items():
                self.run(region, given, (bounds or {}).get(region))
        finally:
            self._ready = None
        if ready:
            self._device.write_register("group", named(GROUP)["group"].word(regions=sum(1 << each for each in ready), start=1))
        for task in ready.values():
            task.resume()

    def stall(self, region: int, columns: Iterable[int] | None = None) -> None:
        """Freeze columns of a region, counted from its first one, till `resume`; None: all of them. See `runtime.stall`.

        What goes on in it stands still, in the middle of a run, and none of its limits passes; others go on. Its configuration
        can be read and written over ``session.regions[n]``, but words of its memories cannot.
        """
        view = self._region(region)
        stalls.stall(view, columns, self._programs.known(region))
        (self._stalled.add if stalls.stalled(view) else self._stalled.discard)(region)

    def resume(self, region: int) -> None:
        """Let a region that is stalled go on."""
        stalls.resume(self._region(region))
        self._stalled.discard(region)

    def begin(self, region: int, work: Callable[[Region], Any]) -> Task:
        """Begin work on a region as a device: it goes on to its first wait now, and further while others wait. What the region
        is configured for is unknown from then on."""
        self._idle(region)
        self._programs.forget(region)
        return self._begin(region, work)

    def _begin(self, region: int, work: Callable[[Region], Any]) -> Task:
        view = self._idle(region)
        self._tasks[region] = task = Task(partial(self._do, view, work))
        task.resume()
        return task

    def forget(self, region: int) -> None:
        """Leave what work that has ended gave, or what stopped it, to who has its task."""
        assert self._tasks[region].done, "work that goes on is not forgotten"
        self._tasks.pop(region)

    def wait(self, region: int) -> list[Outcome]:
        """Let time pass until a region is done; the launches since it was idle. Raises what has stopped it."""
        self._region(region)
        while region in self._tasks and not self._tasks[region].done:
            self._moves(region)
            self.step()
        self._gave.discard(region)
        return self._tasks.pop(region).result() or [] if region in self._tasks else []

    def busy(self, region: int) -> bool:
        """Whether a region has work that has not ended; regions whose interrupt has come go on."""
        self._region(region)
        if Task.here() is None:
            self._serve()
        return region in self._tasks and not self._tasks[region].done

    def step(self) -> None:
        """Let time pass until an interrupt that is waited for, or the first limit of those who wait, and let these go on."""
        if Task.here() is not None:
            raise UserError("work in a region waits for other work", "session", "wait for it outside")
        waiting = [task for number, task in self._tasks.items() if not task.done and number not in self._stalled]
        if not waiting:
            raise UserError("nothing goes on that could end", "session",
                            f"resume({min(self._stalled)}) first" if self._stalled else "begin work first")
        limit = min(task.limit for task in waiting)
        if self._device.wait(limit):
            assert self._serve(), STRANGE
            return
        for task in waiting:
            task.limit -= limit
            if task.limit <= 0:
                task.resume(False)

    def _planned(self, columns: Sequence[int]) -> list[Region]:
        """Regions of so many columns each from the west, as numbers and places; UserError if there are no such."""
        return [self._view(each) for each in side_by_side(self._device.arch, columns)]

    def _view(self, place: Place) -> Region:
        return Region(self._device, place.number, place.first, place.arch.glb_tiles, self._attend(place.number),
                      partial(self._gives, place.number))

    def _take(self, region: Region) -> Region:
        region.claim()
        self._regions[region.number] = region
        return region

    def _region(self, number: int) -> Region:
        if number not in self._regions:
            there = ", ".join(map(str, sorted(self._regions)))
            raise UserError(f"there is no region {number}", "session", f"choose one of {there}" if there else "place one first")
        return self._regions[number]

    def _idle(self, number: int, drops: bool = False) -> Region:
        """A region in which nothing goes on; drops: what it gave is no longer wanted."""
        view = self._region(number)
        if number in self._tasks and not self._tasks[number].done:
            raise UserError(f"region {number} is busy", "session", f"wait({number}) first")
        if number in self._tasks:
            task = self._tasks.pop(number)
            given = task.result()       # or what stopped it
            if given and number in self._gave and not drops:
                self._tasks[number] = task
                raise UserError(f"region {number} has given what nobody has waited for", "session", f"wait({number}) first")
        self._gave.discard(number)
        return view

    def _moves(self, number: int) -> None:
        if number in self._stalled:
            raise UserError(f"region {number} is stalled", "session", f"resume({number}) first")

    def _do(self, view: Region, work: Callable[[Region], Any]) -> Any:
        """Do work; when it ends, by an error too, nothing of it goes on in the machine."""
        try:
            return work(view)
        finally:
            view.write_register("irq_enable", 0)
            view.write_register("control", named(CONTROLLER)["control"].word(stop=1))

    def _rings(self, number: int) -> int:
        """The events of a region's interrupt, if that is its own."""
        view = self._regions[number]
        return view.read_register("irq_status") & view.read_register("irq_enable")

    def _rang(self, number: int) -> bool:
        """Whether an interrupt is a region's; it is answered."""
        events = self._rings(number)
        if events:
            self._regions[number].write_register("irq_status", events)
        return bool(events)

    def _serve(self) -> bool:
        """Let all go on whose interrupt came; whether there was any."""
        waiting = [task for task in self._tasks.values() if not task.done]
        rang = [task for task in waiting if self._rang(task.region)]
        for task in rang:
            task.resume()
        return bool(rang)

    def _gives(self, number: int, commands: int) -> bool:
        """Whether a region's start is one of several: it waits here for the others, and is written for all of them."""
        task = Task.here()
        if self._ready is None or task is None or commands != named(CONTROLLER)["control"].word(start=1):
            return False
        self._ready[number] = task
        task.pause(number, 0)
        return True

    def _attend(self, number: int) -> Callable[[int], bool]:
        """Waits for the interrupt of a region that is used as a device."""
        def attend(limit: int) -> bool:
            task = Task.here()
            if task is not None:
                return task.pause(number, limit)
            self._idle(number)
            self._moves(number)
            self._programs.forget(number)    # what it is configured for is unknown from now on
            while not self._rang(number):
                if not self._device.wait(limit):
                    return False
                assert self._serve() or self._rings(number), STRANGE
            return True

        return attend
