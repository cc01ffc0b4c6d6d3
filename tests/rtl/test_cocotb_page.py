"""The example of docs/cocotb.md runs as it is written there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from machines import BENCH

from sardonyx.hw.arch.load import load

FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


# Builds two models; what it uses is tested by itself.
@pytest.mark.slow
def test_the_example_goes_from_a_description_to_a_bench_that_passes(root: Path, tmp_path: Path) -> None:
    commands = []
    for language, options, body in FENCE.findall((root / "docs/cocotb.md").read_text()):
        if language == "python":
            (tmp_path / options.strip().removeprefix("file=")).write_text(body)
        elif language == "sh":
            commands += body.splitlines()
    tools = {"python": [sys.executable], "sardonyx": [sys.executable, "-m", "sardonyx"]}
    for command in commands:
        tool, *words = command.split()
        done = subprocess.run([*tools[tool], *words], cwd=tmp_path, capture_output=True, text=True,
                              env=os.environ | {"PYTHONPATH": str(root)})
        assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    # The same as in test_session.py, so that its simulation is built once for both.
    assert load(tmp_path / "machine.json") == BENCH
    assert "TESTS=2 PASS=2" in (tmp_path / "build/machine_bench/log.txt").read_text()
    for name in ("tile_bench", "array_bench", "spgemm_bench"):
        assert "TESTS=1 PASS=1" in (tmp_path / f"build/{name}/log.txt").read_text()
