"""A C compiler for the processor in front of a machine: firmware in, the contents of its memory and pages of commands out.

Zig's, a package of PyPI, or GCC for RISC-V where that is installed.

Errors:  UserError without a compiler, and for a program that does not fit into the memory.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..hw.arch.cgra import Arch
from ..hw.arch.errors import UserError
from ..hw.arch.system import WAITING
from .firmware import Firmware
from .pages import note_bytes
from .report import head

SOURCES = Path(__file__).parent / "c"
ZIG, GCC = COMPILERS = ("ziglang", "riscv64-unknown-elf-gcc")
OBJCOPY = "riscv64-unknown-elf-objcopy"
_FLAGS = ("-std=c11", "-O2", "-ffreestanding", "-nostdlib", "-fno-builtin", "-fno-unwind-tables",
          "-fno-asynchronous-unwind-tables", "-Wall", "-Wextra", "-Werror")
# Bytes that are left to the stack: of our firmware so many calls of functions whose frames the compiler checks, else a fair
# share. The smaller bound is for programs that fit with it only.
_CALLS, _FRAME_BYTES, _LEAST_FRAME_BYTES = 6, 128, 80
_STACK_BYTES_OF_OTHERS = 1024
# What the linker says of a program that is too large, see firmware.ld.
_TOO_LARGE = "does not fit"
# What a compiler says of a frame beyond its bound.
_TOO_DEEP = "frame-larger-than"


@dataclass(frozen=True)
class Tools:
    """The compiler with what it is told of the processor, and what makes a binary of an ELF file."""

    compiler: tuple[str, ...]
    objcopy: tuple[str, ...]


def installed() -> dict[str, Tools]:
    """What there is of `COMPILERS`, by name."""
    found = {}
    if importlib.util.find_spec("ziglang"):
        zig = (sys.executable, "-m", "ziglang")
        found[ZIG] = Tools((*zig, "cc", "-target", "riscv32-freestanding-none", "-mcpu=generic_rv32+m"), (*zig, "objcopy"))
    if shutil.which(GCC) and shutil.which(OBJCOPY):
        found[GCC] = Tools((GCC, "-march=rv32im", "-mabi=ilp32"), (OBJCOPY,))
    return found


def tools() -> Tools:
    """The first of `COMPILERS` that is installed; UserError if none is."""
    found = installed()
    if not found:
        raise UserError("there is no C compiler for RISC-V", "PATH and Python packages",
                        f"pip install 'sardonyx[soc]', or put {GCC} on PATH")
    return next(iter(found.values()))


@dataclass(frozen=True)
class Image:
    """What of a firmware is compiled: the contents of the processor's memory, all of it, and the pages of commands."""

    memory: bytes
    pages: bytes


def compiled(made: Firmware, arch: Arch, header: str) -> Image:
    """Compile a firmware; header: of the machine, `hw.tables.header`."""
    found, room = tools(), arch.system.ram_bytes
    sizes = {"PAGE_BYTES": made.page_bytes, "NOTE_BYTES": note_bytes(made.page_bytes), "COMMANDS": made.place,
             "REPORT": made.report, "REPORT_BYTES": 4 * head(made.layout.jobs), "JOBS": max(1, made.layout.jobs),
             "REGIONS": len(made.places), "WAITING": WAITING, "RESUMES_SOME": int(made.resumes), "STREAMS": made.streams,
             "COUNTED": max(1, made.counted), "KEPT": int(made.kept), "ROWED": int("_ROWS(" in made.commands),
             "PIECED": int("WAIT_STORED(" in made.commands)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sardonyx.h").write_text(header)
        (folder / "commands.c").write_text(made.commands)
        (folder / "tables.h").write_text(made.tables)
        flags = [*_FLAGS, *(f"-D{name}={value}u" for name, value in sizes.items()), f"-I{folder}", f"-I{SOURCES}"]
        # With -Os it is slower.
        for size, frame in ((), _FRAME_BYTES), (("-Os",), _FRAME_BYTES), (("-Os",), _LEAST_FRAME_BYTES):
            script = _script(folder, room, _CALLS * frame)
            try:
                memory = _binary(found, [*flags, f"-Wframe-larger-than={frame}", *size, str(SOURCES / "firmware.c")], script)
                break
            except _TooLarge:
                continue
        else:
            several = f" of {len(made.places)} regions" * (len(made.places) > 1)
            raise UserError(f"the firmware{several} does not fit into {room} bytes of the processor's memory",
                            f"machine '{arch.name}'", "give it more system.ram_bytes, or fewer regions")
        pages = _binary(found, [*flags, str(folder / "commands.c")], SOURCES / "commands.ld")
    return Image(memory + bytes(room - len(memory)), pages)


def program(source: Path, headers: Mapping[str, str], room: int, where: str) -> bytes:
    """Compile a program of one C source with headers, by name; the contents of a memory of so many bytes. UserError with what
    the compiler says of a source that is not ours."""
    if not source.is_file():
        raise UserError("no such file", str(source), "give a file of C")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in headers.items():
            (folder / file).write_text(text)
        script = _script(folder, room, _STACK_BYTES_OF_OTHERS)
        script.write_text(f'{script.read_text()}ASSERT(_start == 0, "_start is not in section .start")\n')
        try:
            memory = _binary(tools(), [*_FLAGS, f"-I{folder}", str(source)], script)
        except _TooLarge:
            raise UserError(f"the firmware does not fit into {room} bytes of the processor's memory", where,
                            "give it more ram_bytes") from None
        except _Refused as refused:
            raise UserError(f"it does not compile:\n{refused}", str(source), "correct it; warnings are errors, and _start has "
                            'to have __attribute__((section(".start"), used))') from refused
    return memory + bytes(room - len(memory))


def _script(folder: Path, room: int, stack: int) -> Path:
    """The linker script of what lies in a processor's memory, in a folder."""
    script = folder / "firmware.ld"
    script.write_text(f"RAM_BYTES = {room};\nSTACK_BYTES = {stack};\n{(SOURCES / 'firmware.ld').read_text()}")
    return script


class _TooLarge(Exception):
    """The linker says so, or the compiler of a frame."""


class _Refused(Exception):
    """What the compiler or linker says of what it does not take."""


def _binary(found: Tools, arguments: Sequence[str], script: Path) -> bytes:
    """What a linker script lays out of what a compiler makes, from address 0 on."""
    with tempfile.TemporaryDirectory() as name:
        program, binary = (str(Path(name) / each) for each in ("made.elf", "made.bin"))
        done = _run([*found.compiler, *arguments, "-T", str(script), "-o", program])
        if _TOO_LARGE in done.stdout or _TOO_DEEP in done.stdout:
            raise _TooLarge
        if done.returncode:
            raise _Refused(done.stdout)
        done = _run([*found.objcopy, "-O", "binary", program, binary])
        assert done.returncode == 0, f"the firmware has no binary:\n{done.stdout}"
        return Path(binary).read_bytes()


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
