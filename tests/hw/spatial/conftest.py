"""What tests of arrays share."""

from __future__ import annotations

from collections.abc import Iterator

import outer_arrays
import pytest


@pytest.fixture(scope="module", autouse=True)
def no_process_is_left() -> Iterator[None]:
    """Arrays that the tests of a module share end with it."""
    yield
    outer_arrays.close()
