"""A region as a device: what is said of columns counts from its first one."""

from dataclasses import replace
from typing import Any

import pytest
from machines import LEAST

from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.mask import Mask
from sardonyx.hw.arch.presets import get
from sardonyx.runtime.region import Region, part, pitch, placed


class Told:
    """A machine whose controllers' registers have given values."""

    def __init__(self, arch: Arch, **values: int) -> None:
        self.arch, self.values = arch, values

    def read_register(self, name: str, glb_tile: "int | None" = None, region: int = 0) -> int:
        assert (glb_tile, region) == (None, 1)
        return self.values[name]

    def write_register(self, name: str, value: int, *where: object) -> None:
        assert name == "claim" and where == (None, 1), f"{name} reached the machine"

    def read_memory(self, *said: object) -> None:
        raise AssertionError(f"{said} reached the machine")

    write_memory = configure = read_memory


WIDE = replace(LEAST, columns=40, glb=replace(LEAST.glb, columns_per_tile=2), regions=4)


def region(first: int, **values: int) -> Region:
    device: Any = Told(WIDE, **values)
    view = Region(device, 1, first, 4, lambda limit: True)
    view.claim()
    return view


@pytest.mark.parametrize("first", [0, 5, 15, 16])
def test_columns_of_events_count_from_the_first_of_the_region(first: int) -> None:
    for column in range(8):
        moved = 1 << (2 * first + column) % 32
        view = region(first, overflow_column=2 * first + column, moved_columns=moved)
        assert view.read_register("overflow_column") == column
        assert view.read_register("moved_columns") == 1 << column
    assert region(first, overflow_column=0).read_register("overflow_column") == 0


def test_the_fingerprint_is_that_of_the_part() -> None:
    view, alone = region(5), part(WIDE, 4)
    assert view.read_register("fingerprint_high") << 32 | view.read_register("fingerprint_low") == alone.fingerprint
    assert (alone.columns, alone.regions) == (8, 1)


@pytest.mark.parametrize("name,columns", [("onyx", 4), ("amber", 4), ("small", 4)])
def test_regions_begin_where_the_columns_are_as_from_0_on(name: str, columns: int) -> None:
    assert pitch(get(name)) == columns


def test_what_is_not_the_regions_is_refused() -> None:
    view = region(5)
    for wrong in (lambda: view.write_register("load_start", 0, 4), lambda: view.write_memory(4 * WIDE.glb.tile_bytes, BLOCK),
                  lambda: view.read_memory(4 * WIDE.glb.tile_bytes - 8, 5), lambda: view.configure([(8 << 24, 0)]),
                  lambda: part(WIDE, 21), lambda: region(17)):
        with pytest.raises(UserError):
            wrong()


def test_a_region_that_was_released_reaches_nothing() -> None:
    view = region(5)
    view.release()
    for access in (lambda: view.write_register("control", 1), lambda: view.read_register("status"), lambda: view.wait(1),
                   lambda: view.write_memory(0, BLOCK), lambda: view.read_memory(0, 1), lambda: view.configure([(0, 0)])):
        with pytest.raises(UserError, match="region 1 has no columns, or was released"):
            access()


class Chained(Told):
    """A machine in which accesses are on their way in a chain of 8 GLB tiles for 9 cycles; a read takes 2."""

    left = 9

    def read_register(self, name: str, glb_tile: "int | None" = None, region: int = 0) -> int:
        self.left -= 2
        return 0

    def write_register(self, name: str, value: int, *where: object) -> None:
        assert value or self.left <= 0, "the machine refuses that"


def test_a_region_is_released_when_nothing_is_on_its_way_in_a_chain() -> None:
    device: Any = Chained(replace(WIDE, glb=replace(WIDE.glb, ring=8)))
    view = Region(device, 1, 0, 8, lambda limit: True)
    view.claim()
    view.release()
    assert device.left <= 0


BLOCK: Any = [0]


def test_a_region_avoids_what_the_machine_avoids_there() -> None:
    chip = replace(WIDE, avoid=Mask(((9, 1), (12, 0), (20, 1)), (5, 11)))
    assert placed(chip, 1, 4, 4).arch.avoid == Mask(((1, 1), (4, 0)), (1,))
    assert placed(chip, 1, 0, 4).arch.avoid == Mask()
    assert part(chip, 4).avoid == Mask(), "wherever it lies"
    assert placed(chip, 1, 4, 4).arch.fingerprint == part(chip, 4).fingerprint
