import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Contract checks cost less than the start of a process that can check them: one process plants one import after the other.
SCRIPT = """
import sys
from pathlib import Path

from importlinter import configuration
from importlinter.application.use_cases import lint_imports

configuration.configure()
_, settings, *planted = sys.argv
for plant in ("", *planted):
    where, _, what = plant.partition(": ")
    if plant:
        file = Path("sardonyx", where)
        text = file.read_text()
        file.write_text(f"{text}\\n{what}\\n")
    passed = lint_imports(settings, cache_dir=None, no_logo=True)
    print(f"[{plant}] {'passed' if passed else 'failed'}", flush=True)
    if plant:
        file.write_text(text)
"""

PLANTED = [
    "hw/arch/token.py: import sardonyx.hw.emit",
    "hw/arch/token.py: import sardonyx.cache",
    "hw/emit.py: import sardonyx.compiler.ir",
    "cache.py: import sardonyx.hw.arch.token",
    "compiler/ir/sam.py: from sardonyx.hw import emit",
    "compiler/lang/expr.py: import sardonyx.compiler.backend.place",
    "compiler/ir/sam.py: import sardonyx.compiler.sparse.lower",
    "compiler/ir/sam.py: import amaranth.hdl",
    "sim/golden/einsum.py: import sardonyx.compiler.ir.sam",
    "sim/golden/einsum.py: import sardonyx.sim.model.trace",
    "sim/golden/halide.py: import sardonyx.runtime.data.gather",
    "runtime/plan.py: import sardonyx.sim.engines",
    "runtime/plan.py: import sardonyx.hw.emit",
    "sim/golden/einsum.py: import sardonyx.tensors.joins",
    "sim/model/trace.py: import sardonyx.api",
    "boards/device.py: import sardonyx.api",
    "runtime/device.py: import sardonyx.boards.device",
    "runtime/device.py: import sardonyx.cocotb",
    "cocotb/session.py: import sardonyx.api",
]


@pytest.fixture(scope="module")
def reports(root: Path, tmp_path_factory: pytest.TempPathFactory) -> "dict[str, tuple[bool, str]]":
    """Planted import, or nothing, to whether the contracts of pyproject.toml hold then, and what is reported."""
    tree = tmp_path_factory.mktemp("tree")
    shutil.copytree(root / "sardonyx", tree / "sardonyx", ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(root / "pyproject.toml"), *PLANTED], cwd=tree,
                          env=os.environ | {"PYTHONPATH": str(tree)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    parts = re.split(r"^\[(.*)\] (passed|failed)$", done.stdout, flags=re.MULTILINE)
    return {plant: (verdict == "passed", text) for text, plant, verdict in zip(parts[::3], parts[1::3], parts[2::3])}


def test_imports_keep_the_contracts(reports: "dict[str, tuple[bool, str]]") -> None:
    passed, report = reports[""]
    assert passed and "0 broken" in report, report


@pytest.mark.parametrize("plant", PLANTED)
def test_a_forbidden_import_is_found(plant: str, reports: "dict[str, tuple[bool, str]]") -> None:
    passed, report = reports[plant]
    assert not passed
    assert f"sardonyx.{plant.partition('.py:')[0].replace('/', '.')} -> " in report


def test_descriptions_use_only_shapes_and_layouts_of_amaranth(root: Path) -> None:
    allowed = {"amaranth.lib.data", "amaranth.hdl.Shape", "amaranth.hdl.unsigned", "amaranth.hdl.signed"}
    used = {(path.name, name) for path in (root / "hw" / "arch").rglob("*.py")
            for name in imported(ast.parse(path.read_text())) if name.split(".")[0] == "amaranth"}
    assert {(file, name) for file, name in used if name not in allowed} == set()


def imported(tree: ast.AST) -> "list[str]":
    """The full names that a module imports absolutely."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names
