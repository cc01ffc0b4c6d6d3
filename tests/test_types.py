import subprocess
import sys
from pathlib import Path

COMMAND = (sys.executable, "-m", "mypy", "-p", "sardonyx")


def check(tree: Path, root: Path) -> "subprocess.CompletedProcess[str]":
    options = ("--config-file", str(root / "pyproject.toml"), "--cache-dir", str(root / ".mypy_cache"))
    return subprocess.run([*COMMAND, *options], cwd=tree, capture_output=True, text=True)


def test_mypy_finds_nothing_in_the_package(root: Path) -> None:
    mypy = check(root, root)
    assert mypy.returncode == 0, f"\n{mypy.stdout}{mypy.stderr}"


def test_mypy_sees_a_planted_error_through_the_links(root: Path, tmp_path: Path) -> None:
    (tmp_path / "sardonyx").symlink_to(root / "sardonyx")
    planted = tmp_path / "planted.py"
    planted.write_text("from sardonyx.hw.arch.token import stop\n"
                       "from sardonyx.hw.arch import nothing\nstop('0')\n")
    mypy = subprocess.run([*COMMAND[:3], "planted.py", "--cache-dir", str(tmp_path / "cache"),
                           "--config-file", str(root / "pyproject.toml")],
                          cwd=tmp_path, capture_output=True, text=True)
    assert 'Argument 1 to "stop" has incompatible type "str"' in mypy.stdout
    assert 'has no attribute "nothing"' in mypy.stdout
