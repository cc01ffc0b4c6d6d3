"""The cell libraries that measurements are tested with, where they are."""

from pathlib import Path

import pytest

from sardonyx.flow.asic.library import Library, find_library


@pytest.fixture(scope="session")
def library(root: Path) -> Library:
    """ASAP7."""
    place = root.parent / "shared" / "data" / "liberty"
    if not place.exists():
        pytest.skip("../shared/data/liberty is not there")
    return find_library(place)
