"""What is looked up has to be whole; what is scanned has not."""

from dataclasses import replace

import pytest

from sardonyx.compiler.lang.program import parse_program
from sardonyx.compiler.sparse.fuse import fuse
from sardonyx.compiler.sparse.looked_up import looked_up

FORMATS = {"A": "ds", "x": "d", "y": "d"}


@pytest.mark.parametrize("text,order,formats,locate,streams", [
    ("y(i) = A(i,j) * x(j)", "", FORMATS, "all", {"x0", "x_vals"}),
    ("y(i) = A(i,j) * x(j)", "", FORMATS, "none", set()),
    ("y(i) = A(i,j) * x(j)", "", {}, "all", set()),
    # The intermediate is looked up, too, and no stream.
    ("y(i) = A(i,j) * x(j); z(i) = A(i,j) * y(j)", "", FORMATS, "all", {"x0", "x_vals"}),
    ("X(i,j) = B(i,k) * C(k,j)", "ikj", {"C": "ds"}, "all", {"C0", "C1", "C_vals"})])
def test_streams_of_operands_that_are_located(text, order, formats, locate, streams):
    program = parse_program(text, order, formats)
    found = fuse([replace(each, locate=locate) for each in program.statements], program.formats)
    assert looked_up(found) == streams
