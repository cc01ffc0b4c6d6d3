"""What switches of a description that trade area or the clock for cycles cost and gain the programs of apps/.

    python scripts/bench_switches.py                         every switch
    python scripts/bench_switches.py fifo=full "no locate"   these only

A machine as large as `small` with its defaults, and one for each switch with the other value, run the kernels of apps/sparse
and the programs of apps/dense that fit both, in generated Verilog, every word compared with NumPy. Operands of kernels are
random, a fifth of their places nonzeros, of the largest shape that a kernel names; pictures have 64 x 64 pixels. A period is
that of the report: the longest path of routes and tiles by the delays of the description, the same ones on both sides. Means
are geometric.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module

import numpy as np
import skimage.data
from bench_kernels import SHARE
from bench_pictures import DENSE

import sardonyx
import sardonyx.halide
from sardonyx.compiler.lang.kernel import kernel_names, load_kernel
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.primitive import ACCUMULATOR
from sardonyx.tensors.values import random_tensor, to_value

SMALL = presets.get("small")
# Of one picture, and those of its three colours; not `camera`, which is larger than `small`.
PICTURES = tuple(name for name in DENSE if name not in ("camera", "matrix_product"))
COLOURED = ("unsharp",)
SWITCHES: Mapping[str, Arch] = {
    "fifo=full": replace(SMALL, interconnect=replace(SMALL.interconnect, fifo="full")),
    "tracks=4": replace(SMALL, interconnect=replace(SMALL.interconnect, tracks=4)),
    "tracks=6": replace(SMALL, interconnect=replace(SMALL.interconnect, tracks=6)),
    "switch_box=imran": replace(SMALL, interconnect=replace(SMALL.interconnect, switch_box="imran")),
    "output_registers": replace(SMALL, interconnect=replace(SMALL.interconnect, output_registers=True)),
    "pass_depth=2": replace(SMALL, pe=replace(SMALL.pe, pass_depth=2)),
    "pass_depth=4": replace(SMALL, pe=replace(SMALL.pe, pass_depth=4)),
    "pass_depth=16": replace(SMALL, pe=replace(SMALL.pe, pass_depth=16)),
    "delay lines": replace(SMALL, pe=replace(SMALL.pe, register_schedules=False)),
    "read_latency=2": replace(SMALL, glb=replace(SMALL.glb, read_latency=2)),
    "no accumulator": replace(SMALL, mem=replace(SMALL.mem, primitives=tuple(
        each for each in SMALL.mem.primitives if each is not ACCUMULATOR))),
    "no locate": replace(SMALL, mem=replace(SMALL.mem, locate=False)),
    "no early": replace(SMALL, mem=replace(SMALL.mem, early=False)),
    "two operands": replace(SMALL, pe=replace(SMALL.pe, ops=tuple(op for op in SMALL.pe.ops if "c" not in op.operands))),
}


@dataclass(frozen=True)
class Ran:
    """Cycles and the period in ns of a program."""

    cycles: int
    period_ns: float


def kernel(name: str, arch: Arch) -> Ran:
    """A kernel of apps/sparse on random operands."""
    found = load_kernel(name)
    extents = found.shapes[-1]
    data = {access.tensor: random_tensor([extents[index] for index in access.modes], SHARE if access.modes else 1.0, seed)
            for seed, access in enumerate(found.einsum().operands)}
    return _ran(sardonyx.kernel(name, arch=arch, **{tensor: to_value(each) for tensor, each in data.items()}))


def picture(name: str, arch: Arch) -> Ran:
    """A program of apps/dense on a photograph."""
    photo = np.moveaxis(skimage.data.astronaut(), 2, 0) if name in COLOURED else skimage.data.camera()
    program = import_module(f"sardonyx.apps.dense.{name}").build()
    return _ran(sardonyx.halide.run(program, inputs={"photo": photo[..., :64, :64]}, arch=arch))


def _ran(found: sardonyx.Result) -> Ran:
    assert found.cycles is not None, "generated Verilog has cycles"
    return Ran(found.cycles, float(str(found.report["period_ns"])))


def runs(arch: Arch, say: Callable[[str], None]) -> Iterator[tuple[str, Ran]]:
    """All programs that fit a machine."""
    for run, names in ((kernel, kernel_names()), (picture, PICTURES)):
        for name in names:
            try:
                ran = run(name, arch)
            except UserError as error:
                say(f"{name}: {error}")
            else:
                say(f"{name}: {ran}")
                yield name, ran


@dataclass(frozen=True)
class Ratios:
    """Programs that fit both machines, and means of what the other one has to that of the default: cycles, periods; and the
    program whose cycles grow most."""

    programs: int
    cycles: float
    period: float
    most: str


def compared(default: Mapping[str, Ran], other: Mapping[str, Ran], names: Sequence[str]) -> Ratios:
    """What a switch comes to in some of the programs."""
    pairs = {name: (default[name], other[name]) for name in names if name in default and name in other}
    ratios = np.array([(after.cycles / before.cycles, after.period_ns / before.period_ns) for before, after in pairs.values()])
    worst = int(ratios[:, 0].argmax())
    cycles, period = np.exp(np.log(ratios).mean(0)).tolist()
    return Ratios(len(pairs), cycles, period, f"{list(pairs)[worst]} {ratios[worst, 0]:.2f}")


def main() -> None:
    """Measure and print the table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("switches", nargs="*", metavar="SWITCH", help=f"of {', '.join(SWITCHES)}; default: all")
    asked = parser.parse_args().switches or [*SWITCHES]
    if strange := [name for name in asked if name not in SWITCHES]:
        parser.error(f"unknown switch {strange[0]}; choose among {', '.join(SWITCHES)}")

    def say(words: str) -> None:
        print(words, file=sys.stderr, flush=True)

    default = dict(runs(SMALL, say))
    print("| switch | programs | cycles | most | period | product |")
    print("|---|---|---|---|---|---|")
    for name in asked:
        say(name)
        other = dict(runs(SWITCHES[name], say))
        for kind, names in (("sparse", kernel_names()), ("dense", PICTURES)):
            found = compared(default, other, names)
            print(f"| {name} | {found.programs} {kind} | {found.cycles:.3f} | {found.most} | "
                  f"{found.period:.3f} | {found.cycles * found.period:.3f} |", flush=True)


if __name__ == "__main__":
    main()
