import ast
import subprocess
import sys
from pathlib import Path


def test_ruff_finds_nothing(root: Path) -> None:
    ruff = subprocess.run([sys.executable, "-m", "ruff", "check", "--output-format=concise", "."],
                          cwd=root, capture_output=True, text=True)
    assert ruff.returncode == 0, f"\n{ruff.stdout}{ruff.stderr}"


def test_every_signal_gets_the_name_of_its_variable(root: Path) -> None:
    """Amaranth cannot name the signals of ``a, b = Signal(), Signal()``."""
    nameless = [f"{file.relative_to(root)}:{node.lineno}"
                for file in root.glob("hw/**/*.py") for node in ast.walk(ast.parse(file.read_text()))
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
                for value in node.value.elts
                if isinstance(value, ast.Call) and ast.unparse(value.func) in ("Signal", "Signal.like")
                and not any(word.arg == "name" for word in value.keywords)]
    assert nameless == []
