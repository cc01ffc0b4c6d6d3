import fnmatch
import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.fixture(scope="module")
def settings(root: Path) -> "dict[str, Any]":
    return tomllib.loads((root / "pyproject.toml").read_text())


def folders(settings: "dict[str, Any]", root: Path) -> "dict[str, Path]":
    """Every package on disk and its folder."""
    found = {}
    for path, names, files in os.walk(root / "sardonyx", followlinks=True):
        names[:] = [name for name in names if name != "__pycache__"]
        if any(name != "__pycache__" and not name.startswith(".") for name in files):
            found[".".join(Path(path).relative_to(root).parts)] = Path(path)
    return found


def test_the_package_list_is_what_is_on_disk(settings: "dict[str, Any]", root: Path) -> None:
    found = sorted(folders(settings, root))
    lines = "\n".join(f'    "{package}",' for package in found)
    assert sorted(settings["tool"]["setuptools"]["packages"]) == found, \
        f"put into pyproject.toml:\npackages = [\n{lines}\n]"


def test_every_folder_with_code_is_a_package(settings: "dict[str, Any]", root: Path) -> None:
    bare = [str(path.relative_to(root)) for path in folders(settings, root).values()
            if list(path.glob("*.py")) and not (path / "__init__.py").exists()]
    assert bare == []


def test_every_data_file_is_in_the_wheel(settings: "dict[str, Any]", root: Path) -> None:
    patterns = [*settings["tool"]["setuptools"]["package-data"]["*"], "*.py", "*.pyc", "*.md"]
    lost = [str(path.relative_to(root)) for folder in folders(settings, root).values()
            for path in folder.iterdir()
            if path.is_file() and not any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns)]
    assert lost == []


def test_what_is_installed_is_what_is_pinned(settings: "dict[str, Any]", root: Path) -> None:
    project = settings["project"]
    own = [Requirement(line) for line in (*project["dependencies"], *project["optional-dependencies"]["dev"])]
    pulled = [Requirement(line) for line in (root / "constraints.txt").read_text().splitlines()
              if line and not line.startswith("#")]
    pins = {canonicalize_name(pin.name): str(pin.specifier) for pin in (*own, *pulled)
            if pin.marker is None or pin.marker.evaluate()}
    waiting, seen = [pin.name for pin in own if pin.marker is None or pin.marker.evaluate()], set()
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name not in seen:
            seen.add(name)
            needs = map(Requirement, importlib.metadata.requires(name) or ())
            waiting += [need.name for need in needs
                        if need.marker is None or need.marker.evaluate({"extra": ""})]
    installed = {name: f"=={importlib.metadata.version(name)}" for name in sorted(seen)}
    assert installed == {name: pins.get(name, "not pinned") for name in sorted(seen)}


def test_what_benches_of_users_need_is_what_ours_are_tested_with(settings: "dict[str, Any]") -> None:
    extras = settings["project"]["optional-dependencies"]
    assert extras["cocotb"] and set(extras["cocotb"]) <= set(extras["dev"])


@pytest.mark.parametrize("beside", [True, False])
def test_the_package_alone_is_found_even_beside_a_clone_of_its_name(beside: bool, root: Path, tmp_path: Path) -> None:
    if beside:
        (tmp_path / "sardonyx").symlink_to(root)
    code = ("import importlib.util, sardonyx; print(sardonyx.einsum.__name__, "
            f"[name for name in {sorted(path.name for path in (root / 'sardonyx').iterdir() if path.is_symlink())} "
            "if (spec := importlib.util.find_spec(name)) and spec.submodule_search_locations])")
    found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (found.stdout, found.stderr) == ("einsum []\n", "")
