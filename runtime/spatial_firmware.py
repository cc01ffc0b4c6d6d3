"""Firmware for a spatial accelerator with a RISC-V core: C that is compiled with the header, and a tiled product in C.

Input:   Accelerator with a core; C sources, or the shape and places of a product.
Output:  the contents of the core's memory.
Errors:  UserError without a compiler, without a core, and for a program that does not fit into its memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..hw.arch import command
from ..hw.arch.accelerator import Accelerator
from ..hw.arch.errors import UserError
from ..hw.arch.outer_product import OuterProduct
from . import toolchain
from .spatial_commands import Program
from .spatial_header import header
from .spatial_products import ONCE, Job, Matrix, Repeat
from .spatial_sparse import Arrays, tiled

PRODUCT, SPARSE = toolchain.SOURCES / "spatial_product.c", toolchain.SOURCES / "spatial_sparse.c"


def compiled(accelerator: Accelerator | OuterProduct, source: Path, headers: Mapping[str, str]) -> bytes:
    """All of the core's memory, for a C source that has ``_start`` in section ``.start``; headers: what it includes besides
    ``spatial.h``, by name."""
    if not accelerator.ram_bytes:
        raise UserError("it has no core", f"accelerator '{accelerator.name}'", "give it ram_bytes")
    return toolchain.program(source, {"spatial.h": header(accelerator), **headers}, accelerator.ram_bytes,
                             f"accelerator '{accelerator.name}'")


def product(accelerator: Accelerator, shape: tuple[int, int, int], a: Matrix, b: Matrix, c: Matrix, taps: Repeat = ONCE,
            groups: Repeat = ONCE) -> bytes:
    """The firmware of a product, as of `spatial_products.product`: its commands one behind the other where whole matrices are
    requests, else loops over tiles."""
    job = Job(accelerator, shape, (a, b, c), taps, groups)
    return compiled(accelerator, PRODUCT, {"product.h": _commands(job.made()) if job.fits else _tables(job)})


def sparse_product(accelerator: Accelerator, shape: tuple[int, int, int], a: Arrays, b: Arrays, c: Arrays) -> bytes:
    """The firmware of a product without zeros, as of `spatial_sparse.product`."""
    found, index = tiled(accelerator, shape), {stream.name: n for n, stream in enumerate(accelerator.streams)}
    counts = zip(("ROWS", "COLUMNS", "TERMS"), found.counts, strict=True)
    tables = "\n".join([
        *(f"#define TILES_OF_{name} {count}u" for name, count in counts),
        "/* The stream of values and whether it is of a result, fibers of a tile, the logarithm of the bytes of a value, and",
        " * where arrays are. */",
        "static const struct matrix { uint32_t stream, stores, fibers, size, segments, coordinates, values; } matrices[] = {",
        *(f"    {{ {command.region(command.BUFFER, index[stream]):#x}u, {int(nth == 2)}, {cut.fibers}u, {place.size}u, "
          f"{place.segments:#x}u, {place.coordinates:#x}u, {place.values:#x}u }},"
          for nth, (stream, cut, place) in enumerate(zip(found.streams, found.cuts, (a, b, c), strict=True))), "};", ""])
    return compiled(accelerator, SPARSE, {"product.h": tables})


def _commands(program: Program) -> str:
    """Commands as C, each an instruction with two constants."""
    lines = (f"(void)SPATIAL_COMMAND({number}u, {rs1:#x}u, {rs2:#x}u);" for number, rs1, rs2 in program.words)
    return " \\\n    ".join(["#define COMMANDS", *lines]) + "\n"


def _tables(job: Job) -> str:
    """What the C of a product knows of its array and of its matrices."""
    sizes = job.sizes
    (down, across, deep), counts = sizes, [-(-extent // size) for extent, size in zip(job.shape, sizes, strict=True)]
    lasts = [int(extent % size > 0) for extent, size in zip(job.shape, sizes, strict=True)]
    a, b, c = job.matrices
    further = (("A", a, {"DOWN": down * a.pitch, "DEEP": deep * a.step, "TAP": job.taps.a, "GROUP": job.groups.a}),
               ("B", b, {"DEEP": deep * b.pitch, "ACROSS": across * b.step, "TAP": job.taps.b}),
               ("C", c, {"DOWN": down * c.pitch, "ACROSS": across * c.step, "GROUP": job.groups.c}))
    steps = {f"AT_{name}": each.address for name, each, _ in further}
    steps |= {f"{way}_{name}": step << each.size for name, each, ways in further for way, step in ways.items()}
    values = {"PARTS": counts[2] * job.taps.count, "TAPS": job.taps.count, "GROUPS": job.groups.count, "HELD": job.operations,
              **({"LAUNCHES": down} if job.accelerator.launches else {}),
              **({"SHARED": job.operations} if job.accelerator.shared > 1 else {}),
              **{f"{name}_{way}": value for name, found in (("TILES", counts), ("LAST", lasts))
                 for way, value in zip(("DOWN", "ACROSS", "DEEP"), found, strict=True)},
              "WHOLE": 0, "EDGE": 1, "NONE": 2, **{name: value % (1 << 32) for name, value in steps.items()}}
    return "\n".join([
        "/* Tiles of each dimension, how much there is of the last one, and bytes from one to the next. */",
        *(f"#define {name} {value:#x}u" for name, value in values.items()),
        "#define COUNT(table) (sizeof(table) / sizeof(table)[0])",
        "/* A bank: its regions, the side that is memory, the logarithm of the bytes of an element, bytes to its first one;",
        " * for each loop, innermost first, whether it is along a column, elements, those there are of a tile that is WHOLE,",
        " * EDGE or NONE, and elements from one to the next in memory. */",
        "struct loop { uint32_t is_row, span, there[3]; int32_t stride; };",
        "struct bank { uint32_t source, destination, memory, size, first; struct loop loops[2]; };",
        *(line for which, name in enumerate("abc")
          for line in (f"static const struct bank banks_{name}[] = {{", *_banks(job, which), "};")), ""])


def _banks(job: Job, which: int) -> Iterator[str]:
    """The banks of a matrix as C."""
    name, matrix = job.names[which], job.matrices[which]
    index = {stream.name: n for n, stream in enumerate(job.accelerator.streams)}
    memory = command.region(command.MEMORY)
    # Rows and columns of a tile, and of that at the edge.
    dimensions = ((0, 2), (2, 1), (0, 1))[which]
    whole = [job.sizes[at] for at in dimensions]
    edge = [job.shape[at] % job.sizes[at] for at in dimensions]
    steps = matrix.pitch, matrix.step
    for buffer in (each for each in job.accelerator.buffers if each.tensor == name):
        count = len(buffer.banks)
        for nth in range(count):
            region = command.region(command.BUFFER, index[buffer.name(nth, "values")])
            loops, first = [], 0
            for level, at in enumerate(buffer.order):
                parts, mine = (count, nth) if level == buffer.axis and count > 1 else (1, 0)
                first += mine * steps[at]
                there = [max(0, -(-(part - mine) // parts)) for part in (whole[at], edge[at], 0)]
                loops.append(_loop(at, there, steps[at] * parts))
            yield _bank((memory, region, command.SOURCE, matrix.size, first << matrix.size), loops)
    for result in (each for each in job.accelerator.results if each.tensor.name == name):
        loops = [_loop(at, [whole[at], edge[at], 0], steps[at]) for at in result.order]
        yield _bank((command.region(command.BUFFER, index[name]), memory, command.DESTINATION, matrix.size, 0), loops)


def _loop(dimension: int, there: Sequence[int], stride: int) -> str:
    return f"{{ {int(dimension == 0)}, {there[0]}, {{ {', '.join(map(str, there))} }}, {stride} }}"


def _bank(numbers: Sequence[int], loops: Sequence[str]) -> str:
    """Loops are outermost first."""
    return f"    {{ {', '.join(f'{each:#x}u' for each in numbers)}, {{ {', '.join(reversed(loops))} }} }},"
