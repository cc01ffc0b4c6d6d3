import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def lint(tree: Path, root: Path) -> "subprocess.CompletedProcess[str]":
    """Check the import contracts of pyproject.toml on the package in a folder."""
    script = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", script, "--config", str(root / "pyproject.toml"), "--no-cache"],
        cwd=tree, env=os.environ | {"PYTHONPATH": str(tree)}, capture_output=True, text=True)


def test_imports_keep_the_contracts(root: Path) -> None:
    found = lint(root, root)
    assert found.returncode == 0, f"\n{found.stdout[found.stdout.find('Contracts'):]}{found.stderr}"
    assert "0 broken" in found.stdout


@pytest.mark.parametrize("where,what", [
    ("hw/arch/token.py", "import sardonyx.hw.emit"),
    ("hw/arch/token.py", "import sardonyx.cache"),
    ("hw/emit.py", "import sardonyx.compiler.ir"),
    ("cache.py", "import sardonyx.hw.arch.token"),
    ("compiler/ir/sam.py", "from sardonyx.hw import emit"),
    ("compiler/lang/expr.py", "import sardonyx.compiler.backend.place"),
    ("compiler/ir/sam.py", "import sardonyx.compiler.sparse.lower"),
    ("compiler/ir/sam.py", "import amaranth.hdl"),
    ("sim/golden/einsum.py", "import sardonyx.compiler.ir.sam"),
    ("sim/golden/einsum.py", "import sardonyx.sim.model.trace"),
    ("sim/golden/halide.py", "import sardonyx.runtime.data.gather"),
    ("runtime/plan.py", "import sardonyx.sim.engines"),
    ("runtime/plan.py", "import sardonyx.hw.emit"),
    ("sim/golden/einsum.py", "import sardonyx.tensors.joins"),
    ("sim/model/trace.py", "import sardonyx.api"),
])
def test_a_forbidden_import_is_found(where: str, what: str, root: Path,
                                     tmp_path: Path) -> None:
    shutil.copytree(root / "sardonyx", tmp_path / "sardonyx",
                    ignore=shutil.ignore_patterns("__pycache__"))
    planted = tmp_path / "sardonyx" / where
    planted.write_text(planted.read_text() + f"\n{what}\n")
    found = lint(tmp_path, root)
    assert found.returncode != 0
    assert f"sardonyx.{where[:-3].replace('/', '.')} -> " in found.stdout


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
