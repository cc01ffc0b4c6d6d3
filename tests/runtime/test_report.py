"""A report is read where its layout says."""

import numpy as np

from sardonyx.runtime.report import Layout, Mark, Report, read_report


def test_a_report_is_read_as_it_was_noted() -> None:
    marks = Mark(0, "start"), Mark(0, "end")
    layout = Layout(10, marks, times=(4, 8), cycles=(None, 9), counts=(6, 5, 6))
    words = np.arange(100, 110, dtype=np.uint32)
    assert read_report(layout, words) == Report(True, 101, 102, 103, (104, 108), (0, 109), (106, 105, 106))


def test_a_report_that_did_not_end_says_so() -> None:
    assert not read_report(Layout(4, (), (), (), ()), np.zeros(4, np.uint32)).ended
