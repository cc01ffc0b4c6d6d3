"""A component as files: its Verilog, a module a file, and what describes it beside."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from amaranth.lib.wiring import Component

from .dump import Dump
from .hw import emit
from .outcome import Outcome, silent


def write(name: str, component: Callable[[], Component], out: str | Path, documents: Mapping[str, str],
          facts: Mapping[str, object], progress: Callable[[str], None] = silent) -> Outcome:
    """Write one .sv per module, ``<top>.f`` in dependency order, ``lint.vlt`` and documents by name into a folder.

    name: what is told while it takes its time. component: makes it, which is asked once the folder is there. facts: what the
    report begins with. UserError where a file of the folder is not ours; what else is there stays.
    """
    began = time.perf_counter()
    # Before the Verilog, which takes a while.
    folder = Dump.made(out)
    folder.check(documents)
    progress(f"generating the Verilog of '{name}'")
    with tempfile.TemporaryDirectory() as made:
        modules = emit.emit(component(), Path(made))
        files: dict[str, str | bytes] = {path.name: path.read_bytes() for path in sorted(Path(made).iterdir())}
    folder.write({**files, **documents})
    size = sum(len(text) for file, text in files.items() if file.endswith(".sv"))
    return Outcome({**facts, "modules": len(modules), "verilog_bytes": size,
                    "file_list": str(Path(out) / f"{modules[-1].stem}.f"), "documents": sorted(documents),
                    "elapsed_s": round(time.perf_counter() - began, 2)})
