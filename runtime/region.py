"""A region of a machine as a machine of its own: programs are compiled for its width and run wherever it lies.

    whole = get("onyx") with regions      part(whole, 4)            8 columns: what to compile for
    Region(device, 1, 8, 4, attend).claim()                         GLB tiles 8..11 as region 1, with that description

What a program says of tiles and columns counts from the region's first one, so placing it is adding an offset. Columns have to
be alike there: of the same kinds, and at an even distance, as tiles of odd and even places differ (`alike`).

Source: Amber JSSC IV-B (bitstreams that are placed by relocation).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..hw.arch.cgra import Arch
from ..hw.arch.errors import UserError
from ..hw.arch.mask import Mask
from ..hw.arch.soc import GROUP, MOVED_BITS, named
from ..hw.arch.system import System
from .device import Device, read_back


def part(arch: Arch, glb_tiles: int, first: int | None = None) -> Arch:
    """The description of a region of so many GLB tiles, of the whole height.

    first: GLB tile where it lies, whose columns may have tiles to avoid; None: wherever it lies, where none are known.
    """
    if glb_tiles not in range(1, arch.glb_tiles + 1):
        raise UserError(f"a region has {glb_tiles} GLB tiles", f"machine '{arch.name}'", f"give it 1..{arch.glb_tiles}")
    columns = glb_tiles * arch.glb.columns_per_tile
    avoid = Mask() if first is None else arch.avoid.part(first, glb_tiles, arch.glb.columns_per_tile)
    return replace(arch, name=f"{arch.name[:80]}, {columns} columns", columns=columns, regions=1, system=System(), avoid=avoid)


def alike(arch: Arch, first: int, glb_tiles: int) -> bool:
    """Whether what is compiled for so many GLB tiles runs from this one on."""
    away, columns = first * arch.glb.columns_per_tile, glb_tiles * arch.glb.columns_per_tile
    return away % 2 == 0 and all(arch.tiles[x, y] == arch.tiles[x + away, y]
                                 for x in range(columns) for y in range(arch.rows + 1))


def pitch(arch: Arch) -> int:
    """Columns from one place where all that follow are as those from 0 on to the next; all columns if there is no other."""
    tiles = next((each for each in range(1, arch.glb_tiles) if alike(arch, each, arch.glb_tiles - each)), arch.glb_tiles)
    return tiles * arch.glb.columns_per_tile


def glb_tiles_of(columns: object, arch: Arch) -> int:
    """GLB tiles of a region of so many columns; UserError if there is no such region."""
    pitch = arch.glb.columns_per_tile
    if not isinstance(columns, int) or isinstance(columns, bool) or not 0 < columns <= arch.columns or columns % pitch:
        raise UserError(f"a region of {columns} columns", f"machine '{arch.name}'",
                        f"give a multiple of {pitch}, {arch.columns} at most")
    return columns // pitch


@dataclass(frozen=True)
class Place:
    """Where a region lies in a machine: its number, its first GLB tile, and the description of what is there."""

    number: int
    first: int
    arch: Arch

    @property
    def tiles(self) -> range:
        """Its GLB tiles in the machine."""
        return range(self.first, self.first + self.arch.glb_tiles)

    @property
    def mask(self) -> int:
        """What its register `claim` is told."""
        return (1 << self.arch.glb_tiles) - 1 << self.first


def placed(whole: Arch, number: int, first: int, glb_tiles: int) -> Place:
    """A region of these GLB tiles; UserError for tiles that do not exist or are unlike those from 0 on."""
    wide = whole.glb.columns_per_tile
    arch = part(whole, glb_tiles, first)
    if first < 0 or first + glb_tiles > whole.glb_tiles:
        raise UserError(f"a region has columns {wide * first}..{wide * (first + glb_tiles) - 1}", f"machine '{whole.name}'",
                        f"there are {whole.columns} in all")
    if not alike(whole, first, glb_tiles):
        raise UserError(f"the columns from {first * wide} on are not as those from 0 on", f"machine '{whole.name}'",
                        f"let regions begin at multiples of {pitch(whole)} columns")
    return Place(number, first, arch)


def free(columns: int, regions: Iterable[Region], arch: Arch) -> Place | None:
    """The first place from the west where another region of so many columns can be, and its number; None without one."""
    tiles, numbers = glb_tiles_of(columns, arch), {each.number for each in regions}
    taken = {tile for each in regions for tile in each.tiles}
    number = next((each for each in range(arch.regions) if each not in numbers), None)
    first = next((first for first in range(arch.glb_tiles - tiles + 1)
                  if taken.isdisjoint(range(first, first + tiles)) and alike(arch, first, tiles)), None)
    return None if number is None or first is None else placed(arch, number, first, tiles)


def no_room(columns: int, regions: Iterable[Region], arch: Arch) -> UserError:
    """Why there is no place for another region."""
    taken = ", ".join(f"{each.number} has {each.arch.columns}" for each in regions)
    return UserError(f"there is no room for {columns} of {arch.columns} columns in {arch.regions} regions: region {taken}",
                     f"machine '{arch.name}'", "release one first")


def side_by_side(whole: Arch, columns: Sequence[int]) -> list[Place]:
    """Regions of so many columns each, from the west; UserError if there are no such."""
    if len(columns) > whole.regions:
        raise UserError(f"{len(columns)} regions are asked for", f"machine '{whole.name}'",
                        f"ask for {whole.regions} at most, or describe a machine with more `regions`")
    tiles = [glb_tiles_of(each, whole) for each in columns]
    return [placed(whole, number, sum(tiles[:number]), each) for number, each in enumerate(tiles)]


class Region:
    """A region as a `Device`: of its own registers, tiles, memory and configuration, and nothing else.

    Parameters
    ----------
    device : Device              The whole machine.
    number : int                 Of the region.
    first, glb_tiles : int       Its GLB tiles, once they are claimed.
    attend : function            (limit) -> whether the region's interrupt came within so many cycles.
    gives : function or None     (word of `control`) -> whether it was written to the region otherwise, as one of several.

    Errors: UserError for tiles that do not exist or are unlike those from 0 on.
    """

    def __init__(self, device: Device, number: int, first: int, glb_tiles: int, attend: Callable[[int], bool],
                 gives: Callable[[int], bool] | None = None) -> None:
        self._where = placed(device.arch, number, first, glb_tiles)
        self.arch, self._gives = self._where.arch, gives
        self.number, self._device, self._first, self._attend, self._claimed = number, device, first, attend, False

    def claim(self) -> None:
        """Take the tiles; AssertionError if the machine refuses that, as something goes on in one."""
        self._claimed = True
        self.write_register("claim", self._where.mask)
        self._resume()

    def release(self) -> None:
        """Give the tiles up; AssertionError if the machine refuses that, as something goes on in one.

        What a store that was stopped has on its way in a chain of GLB tiles is waited for: a cycle for each tile, and a read
        of a register takes two or more.
        """
        for _ in range(self.arch.glb.load_latency if self.arch.glb.ring > 1 else 0):
            self.read_register("status")
        self._resume()
        self.write_register("claim", 0)
        self._claimed = False

    def _resume(self) -> None:
        """Forget which columns are stalled: others may be its own next."""
        if self.arch.column_stall:
            self.write_register("stall", 0)

    @property
    def tiles(self) -> range:
        """Its GLB tiles in the machine."""
        return self._where.tiles

    def write_register(self, name: str, value: int, glb_tile: int | None = None, region: int = 0) -> None:
        """Write a register of the region's controller, or of one of its GLB tiles; columns in stall count from its first."""
        place = self._place(name, glb_tile, region)
        if glb_tile is None and name == "control" and self._gives is not None and self._gives(value):
            return
        if glb_tile is None and name == "stall":
            if value >> self.arch.columns:
                raise UserError(f"columns {value:#x} are to be stalled", f"machine '{self.arch.name}'",
                                f"it has columns 0..{self.arch.columns - 1}")
            value <<= self._first * self.arch.glb.columns_per_tile
        self._device.write_register(name, value, *place)

    def read_register(self, name: str, glb_tile: int | None = None, region: int = 0) -> int:
        """Read a register of the region's controller, or of one of its GLB tiles.

        The fingerprint is that of `arch`, and columns in overflow_column, moved_columns, stall and stalled count from the
        region's first one.
        """
        place = self._place(name, glb_tile, region)
        if glb_tile is None and name in ("fingerprint_high", "fingerprint_low"):
            return self.arch.fingerprint >> (32 if name == "fingerprint_high" else 0) & 0xFFFFFFFF
        found, away = self._device.read_register(name, *place), self._first * self.arch.glb.columns_per_tile
        match name:
            case "overflow_column":
                return max(found - away, 0)     # 0 where there was none
            case "moved_columns":
                turned = away % MOVED_BITS
                return (found >> turned | found << MOVED_BITS - turned) & (1 << MOVED_BITS) - 1
            case "stall" | "stalled":
                return found >> away & (1 << self.arch.columns) - 1
        return found

    def configure(self, words: Iterable[tuple[int, int]]) -> None:
        """Write configuration words (address, data); columns count from the region's first one."""
        for address, word in words:
            self.write_register("config_address", self._column(address))
            self.write_register("config_write", word)

    def read_configuration(self, address: int) -> int:
        """Read a configuration word back."""
        return read_back(self, self._column(address))

    def write_memory(self, address: int, words: np.ndarray) -> None:
        """Write 16-bit words to the region's part of the global buffer."""
        self._device.write_memory(self._byte(address, len(words)), words)

    def read_memory(self, address: int, count: int) -> np.ndarray:
        """Read 16-bit words of the region's part of the global buffer."""
        return self._device.read_memory(self._byte(address, count), count)

    def wait(self, limit: int) -> bool:
        """Run until the region's interrupt, at most `limit` cycles; whether it came."""
        self._check()
        return self._attend(limit)

    def _check(self) -> None:
        if not self._claimed:
            raise UserError(f"region {self.number} has no columns, or was released", f"machine '{self._device.arch.name}'",
                            "place another one")

    def _place(self, name: str, glb_tile: int | None, region: int) -> tuple[int | None, int]:
        assert region == 0, "a region has no regions"
        self._check()
        if glb_tile is None:
            if name in named(GROUP):
                raise UserError(f"register '{name}' is of all regions", f"region {self.number}",
                                "give it to the machine, or use Session.run_together")
            return None, self.number
        if glb_tile not in range(self.arch.glb_tiles):
            raise UserError(f"there is no GLB tile {glb_tile}", f"machine '{self.arch.name}'",
                            f"choose one of 0..{self.arch.glb_tiles - 1}")
        return self._first + glb_tile, 0

    def _column(self, address: int) -> int:
        if address >> 24 >= self.arch.columns:
            raise UserError(f"a configuration word is for column {address >> 24}", f"machine '{self.arch.name}'",
                            f"it has columns 0..{self.arch.columns - 1}")
        return address + (self._first * self.arch.glb.columns_per_tile << 24)

    def _byte(self, address: int, count: int) -> int:
        self._check()
        room = self.arch.glb_tiles * self.arch.glb.tile_bytes
        if address < 0 or address + 2 * count > room:
            raise UserError(f"{count} words at {address:#x} are not in the region's part of the global buffer",
                            f"machine '{self.arch.name}'", f"it has {room} bytes")
        return address + self._first * self.arch.glb.tile_bytes
