"""Build and load the compiled inner loops of the placer and the router.

The C++ sources beside this file are compiled once with the system's compiler (Verilator needs one anyway)
and called through ctypes. The shared object is kept in the cache (`sardonyx.cache`) under a name that contains a hash of
sources, flags and platform.

Errors:  UserError when there is no compiler, it fails, or the cache cannot be written.
Cost:    2 s for the first build, 1 ms afterwards.
"""

from __future__ import annotations

import ctypes
import hashlib
import platform
import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
from numpy.ctypeslib import ndpointer

from ...cache import Cache, home
from ...hw.arch.errors import UserError

SOURCES = ("place.cpp", "route.cpp")
OBJECT = "pnr.so"
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
    loaded = ctypes.CDLL(str(build(home())))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, list(arguments)
    return loaded


def build(store: Cache) -> Path:
    """The shared object for the present sources, compiled unless it is in the cache."""
    folder = Path(__file__).parent
    texts = [(folder / name).read_bytes() for name in SOURCES]
    key = hashlib.sha256(b"\0".join((*texts, *(flag.encode() for flag in FLAGS),
                                     f"{platform.system()} {platform.machine()}".encode()))).hexdigest()[:16]
    return store.once("native", f"pnr-{key}", compile_into) / OBJECT


def compile_into(folder: Path) -> None:
    """Compile the sources into a folder."""
    compiler = next((found for name in COMPILERS if (found := shutil.which(name))), None)
    if compiler is None:
        raise UserError("place and route needs a C++ compiler and none is on the PATH", "",
                        "'apt-get install g++' (Debian, Ubuntu), 'dnf install gcc-c++' (Fedora) or "
                        "'xcode-select --install' (macOS)")
    sources = [str(Path(__file__).with_name(name)) for name in SOURCES]
    done = subprocess.run([compiler, *FLAGS, *sources, "-o", str(folder / OBJECT)], capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise UserError(f"the C++ compiler failed: {lines[0]}", compiler,
                        "check that it can compile a C++17 program, or put another compiler on the PATH")
