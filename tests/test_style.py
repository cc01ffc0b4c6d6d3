import subprocess
import sys
from pathlib import Path


def test_ruff_finds_nothing(root: Path) -> None:
    ruff = subprocess.run([sys.executable, "-m", "ruff", "check", "--output-format=concise", "."],
                          cwd=root, capture_output=True, text=True)
    assert ruff.returncode == 0, f"\n{ruff.stdout}{ruff.stderr}"
