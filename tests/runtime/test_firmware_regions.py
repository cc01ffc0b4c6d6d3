"""Lists of registers of a region ask for transfers, of its own bytes and no others."""

import re
from dataclasses import replace

import numpy as np
import pytest
from machines import BESIDE, PART, copier

from sardonyx.hw.arch.errors import UserError
from sardonyx.runtime.firmware import Firmware, Job, firmware

BLOCKS = [{"a_vals": np.array([3, 1, 2, number], np.uint16)} for number in range(4)]
PROGRAM = copier(PART)


def written(*jobs: Job) -> Firmware:
    return firmware(jobs, BESIDE, 1 << 20, [2, 2])


@pytest.mark.parametrize("region", [0, 1])
def test_lists_of_a_region_ask_for_transfers_of_its_own_bytes_only(region: int) -> None:
    made = written(Job("copy", PROGRAM, BLOCKS, {"b_vals": 4}, region))
    place, text = made.places[region], made.commands
    first = place.first * place.arch.glb.tile_bytes
    window = range(first, first + place.arch.glb_tiles * place.arch.glb.tile_bytes)
    asked = [(int(at, 16), int(size, 16)) for at, size in re.findall(r"SET_BRING\(0x\w+u, (0x\w+)u, (0x\w+)u\)", text)]
    assert len(asked) >= 2 and all(at in window and at + size - 1 in window for at, size in asked)
    taken = [int(at, 16) for at in re.findall(r"(?:TAKE_COUNTED|STREAM)\(\d+u, (0x\w+)u", text)]
    assert taken and all(at in window for at in taken)
    assert {int(tile) for tile in re.findall(r"SARDONYX_GLB\((\d+)\)", text)} == set(range(place.first, place.first + 2))


def test_a_job_that_may_run_anywhere_asks_by_commands_to_which_the_firmware_adds_where_its_region_lies() -> None:
    text = written(Job("copy", PROGRAM, BLOCKS, {"b_vals": 4})).commands
    assert "SET_BRING" not in text and "BRING(" in text


@pytest.mark.parametrize("column", [2, 3])
def test_a_program_with_streams_of_another_region_is_refused(column: int) -> None:
    hostile = replace(PROGRAM, transfers=tuple(replace(each, column=column) for each in PROGRAM.transfers))
    with pytest.raises(UserError, match="another place in the global buffer"):
        written(Job("hostile", hostile, BLOCKS, {"b_vals": 4}, 0))
