"""What registers hold that nobody but the host changes, so that it need not write it again.

A launch has the registers of the one before, most of them: of eight loops of a load one is used by a sparse program, the others
turn once, and only where words lie is new. After reset all are 0, so that the first program of a machine need not write those
either. The same holds for registers of tiles: where one program follows another, what both want alike is there.

Needs:   that whoever writes commands here is the only one who writes these registers meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..compiler.backend.image import applied, image, reset_registers
from ..compiler.ir.program import Program
from ..hw.arch.cgra import Arch
from ..hw.arch.glb import Glb
from ..hw.arch.soc import CONTROLLER, RW, glb_registers
from .commands import Command, WriteRegister


def kept(arch: Arch) -> frozenset[tuple[str, bool]]:
    """The registers that hold what was written, of the controller and (True) of GLB tiles."""
    return frozenset((each.name, tiled) for tiled, registers in ((False, CONTROLLER), (True, glb_registers(arch.glb)))
                     for each in registers if each.access == RW and not falls(each.name, tiled, arch.glb))


def falls(name: str, tiled: bool, glb: Glb) -> bool:
    """Whether the machine clears bits of a register by itself."""
    return tiled and glb.queue and name in ("load_control", "store_control")


class Held:
    """What the registers of a machine hold, as far as it was written here.

    after_reset: nothing was written since the machine was reset; else nobody knows what was.
    """

    def __init__(self, arch: Arch, after_reset: bool = False) -> None:
        self._arch, self._kept = arch, kept(arch)
        self.values: dict[tuple[str, int | None], int] = {}
        self.tiles: dict[int, int] = {}      # by configuration address
        if after_reset:
            self.tiles = reset_registers(arch)
            self.values = {(name, tile): 0 for name, tiled in sorted(self._kept)
                           for tile in (range(arch.glb_tiles) if tiled else (None,))}

    def forget(self) -> None:
        """From now on nobody knows what they hold."""
        self.values.clear()
        self.tiles = {}

    def writes(self, name: str, value: int, glb_tile: int | None) -> bool:
        """Whether a value is to be written; then the register holds it."""
        if (name, glb_tile is not None) not in self._kept:
            return True
        differs = self.values.get((name, glb_tile)) != value
        self.values[name, glb_tile] = value
        return differs

    def configuration(self, program: Program) -> list[tuple[int, int]]:
        """What is to be written to the tiles for a program, (address, word); then they hold it."""
        writes = image(program, self._arch, self.tiles)
        self.tiles = applied(writes, self._arch, self.tiles)
        return writes

    def changes(self, commands: Iterable[Command]) -> Iterator[Command]:
        """Commands without writes of what a register holds."""
        return (each for each in commands
                if not isinstance(each, WriteRegister) or self.writes(each.name, each.value, each.glb_tile))
