"""The cell libraries that measurements are tested with, where they are."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sardonyx.flow.asic.library import Library, find_library


@pytest.fixture(scope="session")
def liberty(shared: Callable[[str], Path]) -> Path:
    """The folder of libraries, 2 MB each, and of others."""
    return shared("liberty")


@pytest.fixture(scope="session")
def library(liberty: Path) -> Library:
    """ASAP7."""
    return find_library(liberty)
