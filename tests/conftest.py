"""What all tests share: the place of the sources, the installed form of the package, the tools here."""

from __future__ import annotations

import shutil
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parent.parent

# The same examples in every run: a failure in CI is a failure at the desk. Simulations have no deadline, and a busy machine
# is no fault.
hypothesis.settings.register_profile("sardonyx", deadline=None, derandomize=True, database=None,
                                     suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("sardonyx")


def pytest_report_header() -> str:
    icarus = shutil.which("iverilog")
    return f"icarus: {icarus or 'missing, its tests are skipped (sudo apt-get install iverilog)'}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if shutil.which("iverilog"):
        return
    skip = pytest.mark.skip(reason="Icarus Verilog is missing: sudo apt-get install iverilog")
    for item in items:
        if item.get_closest_marker("icarus"):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of pyproject.toml."""
    return ROOT
