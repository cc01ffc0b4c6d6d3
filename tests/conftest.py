"""What all tests share: the place of the sources, the installed form of the package, the tools here."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Callable, Generator
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parent.parent

# The same examples in every run: a failure in CI is a failure at the desk. Simulations have no deadline, and a busy machine
# is no fault. Fifty random cases, unless a test says otherwise: they are the same ones the next day, too.
hypothesis.settings.register_profile("sardonyx", max_examples=50, deadline=None, derandomize=True, database=None,
                                     suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("sardonyx")


# Tools that are not on PyPI, by the marker of the tests that need them: the program, its name and its package in Debian.
TOOLS = {"icarus": ("iverilog", "Icarus Verilog", "iverilog"), "tcl": ("tclsh", "Tcl", "tcl"),
         "opensta": ("sta", "OpenSTA", "opensta")}


def pytest_report_header() -> list[str]:
    return [f"{marker}: {shutil.which(program) or f'missing, its tests are skipped (sudo apt-get install {package})'}"
            for marker, (program, _, package) in TOOLS.items()]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for marker, (program, name, package) in TOOLS.items():
        if shutil.which(program):
            continue
        skip = pytest.mark.skip(reason=f"{name} is missing: sudo apt-get install {package}")
        for item in items:
            if item.get_closest_marker(marker):
                item.add_marker(skip)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    # Ten thousand tests and what they import stay to the end: the garbage collector need not go through them while they come,
    # nor each time when Amaranth, whose conversions are full of cycles, has made a quarter as many objects.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of pyproject.toml."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """The place of real data by its name there. The project must do without: tests that want it skip."""
    def place(name: str) -> Path:
        found = ROOT.parent / "shared" / "data" / name
        if not found.exists():
            pytest.skip(f"../shared/data/{name} is not there")
        return found
    return place
