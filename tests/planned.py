"""What tests of plans share."""

from collections.abc import Iterable

from stencils import BLUR

from sardonyx.compiler.halide import compile_pes
from sardonyx.compiler.ir.program import Program
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.runtime.commands import Command, WriteRegister

SMALL = presets.get("small")


def set_in(commands: Iterable[Command], tile: int | None) -> dict[str, int]:
    """The registers that commands write, of a GLB tile or of the machine (None)."""
    return {each.name: each.value for each in commands if isinstance(each, WriteRegister) and each.glb_tile == tile}


def blur(arch: Arch = SMALL) -> Program:
    """A static program."""
    return compile_pes(BLUR, arch, (6, 4)).program
