"""The order of what comes for a launch: boxes of one form together, whichever streams they are of."""

import numpy as np

from sardonyx.runtime.commands import Box, WriteMemory
from sardonyx.runtime.joined import alike_together


def test_boxes_of_one_form_stand_together_and_the_rest_where_it_was() -> None:
    image, other, words = np.zeros((8, 16), np.uint16), np.zeros((8, 24), np.uint16), np.zeros(8, np.uint16)
    boxes = [Box(image, (0, 0), (4, 4)), Box(image, (0, 0), (8, 16)), Box(image, (4, 4), (4, 4)), Box(image, (4, 4), (4, 4), 8),
             Box(other, (0, 0), (4, 4)), Box(image, (0, 8), (4, 4))]
    writes = [WriteMemory(64 * number, each.words, each) for number, each in enumerate(boxes)]
    writes[3:3] = [WriteMemory(1024, words), WriteMemory(2048, words)]
    # Rows of another image have another pitch.
    assert [each.address // 64 for each in alike_together(writes)] == [0, 2, 5, 1, 16, 32, 3, 4]
    assert alike_together([]) == ()
