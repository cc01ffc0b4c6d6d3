"""A C compiler for the processor in front of a machine: firmware in, the contents of its memory out.

Zig's, a package of PyPI, or GCC for RISC-V where that is installed.

Errors:  UserError without a compiler, and for a program that does not fit into the memory.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..hw.arch.cgra import Arch
from ..hw.arch.errors import UserError
from .firmware import Firmware

SOURCES = Path(__file__).parent / "c"
ZIG, GCC = COMPILERS = ("ziglang", "riscv64-unknown-elf-gcc")
OBJCOPY = "riscv64-unknown-elf-objcopy"
_FLAGS = ("-std=c11", "-O2", "-ffreestanding", "-nostdlib", "-fno-builtin", "-fno-unwind-tables",
          "-fno-asynchronous-unwind-tables", "-Wall", "-Wextra", "-Werror")
# What the linker says of a program that is too large, see firmware.ld.
_TOO_LARGE = "does not fit"


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


def compiled(made: Firmware, arch: Arch, header: str) -> bytes:
    """The contents of the processor's memory, as many bytes as it has; header: of the machine, `hw.tables.header`."""
    found = tools()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sardonyx.h").write_text(header)
        (folder / "commands.c").write_text(made.commands)
        script = folder / "firmware.ld"
        script.write_text(f"RAM_BYTES = {arch.system.ram_bytes};\n{(SOURCES / 'firmware.ld').read_text()}")
        sizes = {"MARKS": len(made.marks), "COUNTS": made.counts, "REPORT": made.report,
                 "REPORT_BYTES": 4 * made.report_words}
        done = _run([
            *found.compiler, *_FLAGS, *(f"-D{name}={value}u" for name, value in sizes.items()), f"-I{folder}", f"-I{SOURCES}",
            "-T", str(script), "-o", str(folder / "firmware.elf"), str(SOURCES / "firmware.c"), str(folder / "commands.c")])
        if _TOO_LARGE in done.stdout:
            raise UserError(f"the commands of these programs do not fit into {arch.system.ram_bytes} bytes of the processor's "
                            "memory", f"machine '{arch.name}'", "give smaller operands, or more system.ram_bytes")
        assert done.returncode == 0, f"the firmware does not compile:\n{done.stdout}"
        binary = _run([*found.objcopy, "-O", "binary", str(folder / "firmware.elf"), str(folder / "firmware.bin")])
        assert binary.returncode == 0, f"the firmware has no binary:\n{binary.stdout}"
        image = (folder / "firmware.bin").read_bytes()
    return image + bytes(arch.system.ram_bytes - len(image))


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
