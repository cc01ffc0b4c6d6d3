"""The cell libraries that measurements are tested with, where they are."""

from pathlib import Path

import pytest

from sardonyx.flow.asic.library import Library, find_library


@pytest.fixture(scope="session")
def liberty(root: Path) -> Path:
    """The folder of libraries. They are data that the project must do without: 2 MB each, and of others."""
    place = root.parent / "shared" / "data" / "liberty"
    if not place.exists():
        pytest.skip("../shared/data/liberty is not there")
    return place


@pytest.fixture(scope="session")
def library(liberty: Path) -> Library:
    """ASAP7."""
    return find_library(liberty)
