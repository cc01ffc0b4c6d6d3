"""Firmware for a spatial accelerator with a RISC-V core: C that is compiled with the header, and a tiled product in C.

Input:   Accelerator with a core; C sources, or the shape and places of a product.
Output:  the contents of the core's memory.
Errors:  UserError without a compiler, without a core, and for a program that does not fit into its memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..hw.arch import command
from ..hw.arch.accelerator import Accelerator
from ..hw.arch.errors import UserError
from . import toolchain
from .spatial_header import header
from .spatial_products import ONCE, Matrix, Repeat, check, tiles

PRODUCT = toolchain.SOURCES / "spatial_product.c"


def compiled(accelerator: Accelerator, source: Path, headers: Mapping[str, str]) -> bytes:
    """All of the core's memory, for a C source that has ``_start`` in section ``.start``; headers: what it includes besides
    ``spatial.h``, by name."""
    if not accelerator.ram_bytes:
        raise UserError("it has no core", f"accelerator '{accelerator.name}'", "give it ram_bytes")
    return toolchain.program(source, {"spatial.h": header(accelerator), **headers}, accelerator.ram_bytes,
                             f"accelerator '{accelerator.name}'")


def product(accelerator: Accelerator, shape: tuple[int, int, int], a: Matrix, b: Matrix, c: Matrix, taps: Repeat = ONCE,
            groups: Repeat = ONCE) -> bytes:
    """The firmware of a product, as of `spatial_products.product`."""
    return compiled(accelerator, PRODUCT, {"product.h": _tables(accelerator, shape, (a, b, c), taps, groups)})


def _tables(accelerator: Accelerator, shape: tuple[int, int, int], places: tuple[Matrix, Matrix, Matrix], taps: Repeat,
            groups: Repeat) -> str:
    """What the C of a product knows of its array and of its matrices."""
    names, tile = tiles(accelerator)
    check(shape, tile, taps, groups)
    sizes = zip(("ROWS", "COLUMNS", "TERMS"), shape, tile, strict=True)
    banks = []
    index = {stream.name: n for n, stream in enumerate(accelerator.streams)}

    def region(stream: str) -> str:
        return f"{command.region(command.BUFFER, index[stream]):#x}u"

    for which, name in enumerate(names):
        for buffer in (each for each in accelerator.buffers if each.tensor == name):
            for nth, bank in enumerate(buffer.banks):
                banks.append(_bank(which, region(buffer.name(nth, "values")), (0, nth, len(buffer.banks), buffer.axis),
                                   buffer.order, [level.extent for level in bank.levels]))
        for result in (each for each in accelerator.results if each.tensor.name == name):
            banks.append(_bank(which, region(name), (1, 0, 1, 0), result.order,
                               [result.tensor.shape[at] for at in result.order]))
    return "\n".join([
        *(line for name, extent, part in sizes for line in (f"#define {name} {extent}u", f"#define TILE_{name} {part}u")),
        "/* How often, and elements that matrices lie further on. */",
        *(f"#define {name}{part} {value}u" for name, repeat in (("TAP", taps), ("GROUP", groups)) for part, value in
          (("S", repeat.count), ("_A", repeat.a), ("_B", repeat.b), ("_C", repeat.c))),
        "/* In memory: the address, elements from row to row and from column to column, logarithm of the bytes of one. */",
        "static const struct matrix { uint32_t address, pitch, step, size; } matrices[] = {",
        *(f"    {{ {each.address:#x}u, {each.pitch}u, {each.step}u, {each.size}u }}," for each in places), "};",
        "/* Whose matrix, the region, whether it is a result, the bank, how many, by which level; dimensions and extents of",
        " * levels, outermost first. */",
        "static const struct bank { uint32_t matrix, stream, stores, nth, count, level, order[2], extents[2]; } banks[] = {",
        *banks, "};", ""])


def _bank(which: int, region: str, numbers: Sequence[int], order: Sequence[int], extents: Sequence[int]) -> str:
    """A bank as C."""
    inside = (", ".join(map(str, values)) for values in (numbers, order, extents))
    return "    {{ {}, {}, {}, {{ {} }}, {{ {} }} }},".format(which, region, *inside)
