"""What firmware of several regions does not let a job do."""

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


@pytest.mark.parametrize("column", [2, 3])
def test_a_program_with_streams_of_another_region_is_refused(column: int) -> None:
    hostile = replace(PROGRAM, transfers=tuple(replace(each, column=column) for each in PROGRAM.transfers))
    with pytest.raises(UserError, match="another place in the global buffer"):
        written(Job("hostile", hostile, BLOCKS, {"b_vals": 4}, 0))
