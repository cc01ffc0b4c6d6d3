"""Why a run was stopped, from what a device's status registers say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from ..compiler.backend.encode import address
from ..compiler.ir.program import Program
from ..hw.arch.buffer import accumulated
from ..hw.arch.cgra import Arch
from ..hw.arch.config import STATUS_FAULT, STATUS_OVERFLOW, STATUS_REGISTER, STATUS_WALLED
from ..hw.arch.errors import UserError
from ..hw.arch.interconnect import STEP
from ..hw.arch.primitive import ACCUMULATOR, Flow
from ..hw.arch.soc import AT_WALL, CYCLE_LIMIT, MOVED_BITS, OVERFLOW, STORE_LIMIT, STORE_LOST, WATCHDOG
from ..hw.arch.tile import LAYERS
from .batches import WATCHDOG_CYCLES
from .device import Device

SMALLER = "use a smaller tile (--tile or tile=)"
PLACED = "compile the program for the `arch` of the region (`session.regions[n].arch`)"
STORE_FULL = "a result is larger than its part of the global buffer"


def explain(device: Device, program: Program, status: int, configurable: bool) -> NoReturn:
    """Say why a run was stopped, from the status registers."""
    names = {(int(x), int(y)): name for site, name in program.source.get("names", {}).items() for x, y in [site.split(",")]}
    if status >> OVERFLOW & 1:
        column = device.read_register("overflow_column")
        # Without the network that asks a tile, a fault shows only where no tile has a level.
        levels = [site for site in names if site[0] == column and device.arch.tiles[site].kind == "mem"]
        told = {site: device.read_configuration(address(*site, STATUS_REGISTER)) if configurable
                else 1 << (STATUS_OVERFLOW if levels else STATUS_FAULT) for site in names if site[0] == column}
        faults = [f"tile {site}, '{names[site]}'" for site, held in told.items() if held >> STATUS_FAULT & 1]
        assert not faults, f"streams that do not belong together meet in {' or '.join(faults)}"
        full = [site for site in levels if told[site] >> STATUS_OVERFLOW & 1]
        where = " or ".join(f"tile {site}, '{names[site]}'" for site in full) or f"column {column}"
        words = device.arch.mem.level_words
        if full and all(program.config.get(site, {}).get("core", {}).get("mode") == ACCUMULATOR.name for site in full):
            (one,), (outer, inner) = accumulated(words, 1), accumulated(words, 2)
            raise UserError(f"a coordinate of a sum reached {one}, or of a sum for two indices {outer} or {inner}, in {where}",
                            fix=SMALLER)
        raise UserError(f"a level overflowed its buffer of {words} words in {where}", fix=SMALLER)
    if status >> STORE_LIMIT & 1:
        raise UserError(STORE_FULL, fix=SMALLER)
    if status >> AT_WALL & 1:
        column = device.read_register("overflow_column")
        leading = [f"tile {site}" for site in device.arch.tiles if site[0] == column and configurable
                   and device.read_configuration(address(*site, STATUS_REGISTER)) >> STATUS_WALLED & 1]
        raise UserError("words are led at a wall, into columns of another region", " or ".join(leading) or f"column {column}",
                        PLACED)
    assert not status >> STORE_LOST & 1, ("a static store found its bank busy and lost a word, as no load may use its bank; or "
                                          "a stream left its chain of GLB tiles, or has not the chain that it counts on")
    if status >> CYCLE_LIMIT & 1:
        limit = device.read_register("cycle_limit")
        raise AssertionError(f"the run did not end within {limit} cycles, far more than its operands can take\n"
                             f"  {moving(device, names)}")
    assert status >> WATCHDOG & 1, f"the run ended with status {status:#x}"
    if outside := awaited(program, device.arch):
        raise UserError("words are awaited from outside the columns, where none come from", " and ".join(outside), PLACED)
    waiting = []
    if configurable:
        for site, name in names.items():
            held = device.read_configuration(address(*site, STATUS_REGISTER))
            if held:
                waiting.append(f"tile {site} '{name}' holds tokens: {show_status(device.arch, site, held)}")
        if not waiting:
            waiting.append("no tile holds tokens: a block ended before the lengths in it said")
    else:
        waiting.append("run it with engine rtl-full to see which tiles hold tokens")
    raise AssertionError(f"nothing moved for {WATCHDOG_CYCLES} cycles\n  " + "\n  ".join(waiting))


def stopped(status: int, where: str = "") -> UserError | AssertionError:
    """Why a job of firmware was stopped, from what it has left: the status of the machine, or of one of its regions; 0: it was
    not begun, as it resumes another one."""
    if not status:
        return UserError("the job whose memories it resumes with was stopped", where, "see what stopped that")
    if status >> OVERFLOW & 1:
        return UserError("a level overflowed its buffer", where, f"{SMALLER}; engine rtl-full says where")
    if status >> STORE_LIMIT & 1:
        return UserError(STORE_FULL, where, SMALLER)
    if status >> AT_WALL & 1:
        return UserError("words are led at a wall, into columns of another region", where, PLACED)
    return AssertionError(f"the firmware stopped at status {status:#x} of {where or 'the machine'}")


def awaited(program: Program, arch: Arch) -> list[str]:
    """The tracks from outside a machine, or a region, of which tiles of a program are set to take words."""
    found = []
    for (x, y), sets in sorted(program.config.items()):
        for layer in LAYERS:
            boxes = {**sets.get(f"sb_{layer}", {}), **sets.get(f"cb_{layer}", {})}
            for sink, sources in arch.interconnect.fanin(arch.tiles[x, y], layer).items():
                source = ("", *sources)[int(boxes.get(f"{sink}_sel", 0))]
                if "_in" in source and (x + STEP[source[0]][0], y + STEP[source[0]][1]) not in arch.tiles:
                    found.append(f"{source} of tile ({x}, {y})")
    return found


def moving(device: Device, names: Mapping[tuple[int, int], str]) -> str:
    """Where tokens moved at the end of a run, in words; `names` of tiles by their place."""
    bits = device.read_register("moved_columns")
    columns = [x for x in range(device.arch.columns) if bits >> x % MOVED_BITS & 1]
    tiles = [f"tile {site} '{name}'" for site, name in names.items() if site[0] in columns]
    return (f"tokens still moved in columns {', '.join(map(str, columns)) or 'none'}, "
            f"with {', '.join(tiles) or 'no tile of the program'}")


def show_status(arch: Arch, site: tuple[int, int], held: int) -> str:
    """A tile's status word in words: the inputs that hold tokens and the outputs that wait to be taken."""
    ports = arch.tiles[site].ports
    ins = [p.name for p in ports if p.flow is Flow.IN]
    outs = [p.name for p in ports if p.flow is Flow.OUT]
    full = [name for i, name in enumerate(ins) if held >> i & 1]
    stuck = [name for i, name in enumerate(outs) if held >> (len(ins) + i) & 1]
    return "; ".join(part for part in (f"inputs {', '.join(full)}" if full else "",
                                       f"waiting outputs {', '.join(stuck)}" if stuck else "",
                                       "a wall" if held >> STATUS_WALLED & 1 else "",
                                       "overflow" if held >> STATUS_OVERFLOW & 1 else "",
                                       "fault" if held >> STATUS_FAULT & 1 else "") if part)
