import subprocess
import sys
from pathlib import Path

PLANTED = """from sardonyx.hw.arch.token import stop
from sardonyx.hw.arch import nothing
stop('0')
"""


def test_mypy_finds_what_is_planted_and_nothing_in_the_package_and_the_scripts(root: Path, tmp_path: Path) -> None:
    # One run for both: most of it goes into reading what the package imports. That the planted errors are seen shows that
    # mypy follows the links.
    (tmp_path / "sardonyx").symlink_to(root / "sardonyx")
    (tmp_path / "planted.py").write_text(PLANTED)
    scripts = [option for path in sorted((root / "scripts").glob("*.py")) for option in ("-m", path.stem)]
    assert scripts
    mypy = subprocess.run([sys.executable, "-m", "mypy", "-p", "sardonyx", "-m", "planted", *scripts, "--no-pretty",
                           "--config-file", str(root / "pyproject.toml"), "--cache-dir", str(root / ".mypy_cache")],
                          cwd=tmp_path, capture_output=True, text=True)
    found = [line for line in mypy.stdout.splitlines() if ": error: " in line]
    assert [line.partition(" error: ")[2] for line in found if line.startswith("planted.py:")] == [
        'Module "sardonyx.hw.arch" has no attribute "nothing"  [attr-defined]',
        'Argument 1 to "stop" has incompatible type "str"; expected "int"  [arg-type]'], mypy.stdout + mypy.stderr
    assert [line for line in found if not line.startswith("planted.py:")] == []
    assert mypy.stdout.splitlines()[-1].startswith("Found 2 errors in 1 file "), mypy.stdout
