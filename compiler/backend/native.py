"""Build and load the compiled inner loops of the placer and the router.

The C++ sources beside this file are compiled once with the system's compiler (Verilator needs one anyway)
and called through ctypes. The shared object is kept in the user's cache under a name that contains a hash of
sources, flags and platform, and appears there in one step, so that parallel processes never load half a file.

Errors:  UserError when there is no compiler, it fails, or the cache cannot be written.
Cost:    2 s for the first build, 1 ms afterwards.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import platformdirs
from numpy.ctypeslib import ndpointer

from ...hw.arch.errors import UserError

SOURCES = ("place.cpp", "route.cpp")
# Without contraction to fused multiply-add, results are the same on every processor.
FLAGS = ("-O2", "-std=c++17", "-ffp-contract=off", "-shared", "-fPIC")
COMPILERS = ("g++", "clang++", "c++")

_BYTES = ndpointer(np.uint8, flags="C")
_INTS = ndpointer(np.int32, flags="C")
_LONGS = ndpointer(np.int64, flags="C")
_INT = ctypes.c_int32
_HANDLE = ctypes.c_void_p
_SIGNATURES: dict[str, tuple[type | None, tuple[type, ...]]] = {
    "sardonyx_place": (_INT, (*3 * (_INT,), *9 * (_INTS,), ctypes.c_uint64, _INT, _INT, _INTS, _LONGS)),
    "sardonyx_route": (_HANDLE, (_INT, *4 * (_INTS,), _BYTES, _INT, *3 * (_INTS,), _INT, _INT, _LONGS)),
    "sardonyx_route_copy": (None, (_HANDLE, *4 * (_INTS,), _LONGS)),
    "sardonyx_route_free": (None, (_HANDLE,)),
}


@cache
def library() -> ctypes.CDLL:
    """The loaded inner loops, built first if need be."""
    loaded = ctypes.CDLL(str(build(platformdirs.user_cache_path("sardonyx"))))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, list(arguments)
    return loaded


def build(cache_dir: Path) -> Path:
    """The shared object for the present sources in `cache_dir`, compiled unless it is there."""
    folder = Path(__file__).parent
    texts = [(folder / name).read_bytes() for name in SOURCES]
    key = hashlib.sha256(b"\0".join((*texts, *(flag.encode() for flag in FLAGS),
                                     f"{platform.system()} {platform.machine()}".encode()))).hexdigest()[:16]
    target = cache_dir / f"pnr-{key}.so"
    if target.exists():
        return target
    compiler = next((found for name in COMPILERS if (found := shutil.which(name))), None)
    if compiler is None:
        raise UserError("place and route needs a C++ compiler and none is on the PATH", "",
                        "'apt-get install g++' (Debian, Ubuntu), 'dnf install gcc-c++' (Fedora) or "
                        "'xcode-select --install' (macOS)")
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(dir=cache_dir, suffix=".partial")
    except OSError as error:
        raise UserError(f"cannot write the cache folder: {error.strerror}", str(cache_dir),
                        "set XDG_CACHE_HOME to a folder you may write to") from None
    os.close(handle)
    try:
        done = subprocess.run([compiler, *FLAGS, *(str(folder / name) for name in SOURCES), "-o", partial],
                              capture_output=True, text=True)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["no message"]
            raise UserError(f"the C++ compiler failed: {lines[0]}", compiler,
                            "check that it can compile a C++17 program, or put another compiler on the PATH")
        os.replace(partial, target)
    finally:
        Path(partial).unlink(missing_ok=True)
    return target
