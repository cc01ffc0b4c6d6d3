"""A report is read where its layout says."""

import numpy as np

from sardonyx.runtime.report import Fate, Layout, Mark, Report, head, read_report


def test_a_report_is_read_as_it_was_noted() -> None:
    marks = Mark(0, "start"), Mark(0, "end")
    layout = Layout(12, 3, marks, times=(8, 10), cycles=(None, 11), counts=(9, 8, 9))
    words = np.array([0, 5, 0x203, 0, 0x105, 0x208, 0, 0, 108, 109, 110, 111], np.uint32)
    fates = Fate(2, True, None), Fate(1, False, 0x208), Fate(None, False, None)
    assert read_report(layout, words) == Report(False, 5, fates, (108, 110), (0, 111), (109, 108, 109))


def test_a_report_that_did_not_end_says_so() -> None:
    assert not read_report(Layout(4, 1, (), (), (), ()), np.zeros(4, np.uint32)).ended


def test_a_report_of_no_jobs_has_room_for_one() -> None:
    """C has no arrays of nothing."""
    assert [head(jobs) for jobs in (0, 1, 2)] == [4, 4, 6]
