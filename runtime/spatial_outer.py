"""Commands of an outer product: requests for A and B, whose arrays lie as compressed tensors, and for C, linked lists.

Input:   OuterProduct; `runtime.data.outer_product.Laid`, where what is.
Output:  commands, and firmware in C that gives the same.
Errors:  UserError for more terms or rows than a span holds, and as of `spatial_firmware.compiled`.
Source:  Stellar V, Listing 7, and VI-C.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..hw.arch import command
from ..hw.arch.command import BOTH, BUFFER, DESTINATION, MEMORY, SOURCE, Word, region
from ..hw.arch.dma import MOST_SPAN
from ..hw.arch.errors import UserError
from ..hw.arch.outer_product import WORD_BYTES, OuterProduct
from . import toolchain
from .data.outer_product import Laid
from .spatial_firmware import compiled

FIRMWARE = toolchain.SOURCES / "spatial_outer.c"
# Of each tensor: where its arrays are, the values last, and its fibers, as words of a job.
TENSORS = (("A", ("columns", "left"), "terms"), ("B", ("rows", "right"), "terms"), ("C", ("free", "end", "table"), "height"))


def product(kind: OuterProduct, place: Laid) -> list[Word]:
    """The commands of a product, and a wait for it."""
    return [*_commands(kind, place), (command.WAIT, command.ALL, 0)]


def _commands(kind: OuterProduct, place: Laid) -> Iterator[Word]:
    for index, (name, addresses, fibers) in enumerate(TENSORS):
        stream = kind.streams[index]
        assert stream.name == name, "tensors are in the order of streams"
        sides, memory = (region(MEMORY), region(BUFFER, index)), SOURCE
        if stream.is_result:
            sides, memory = (sides[1], sides[0]), DESTINATION
        yield command.SET_SRC_AND_DST, *sides
        yield command.SET_CONSTANT, command.ELEMENT, WORD_BYTES.bit_length() - 1
        yield command.SET_AXIS_TYPE, BOTH, command.AXIS_TYPES[stream.kind]
        for nth, array in enumerate(addresses[:-1]):
            yield command.SET_METADATA_ADDRESS, memory | nth << command.METADATA_LSB, place.job[array]
        yield command.SET_ADDRESS, memory, place.job[addresses[-1]]
        yield command.SET_SPAN, BOTH | 1, _span(kind, place.job[fibers], fibers)
        yield command.ISSUE, 0, 0


def firmware(kind: OuterProduct, place: Laid) -> bytes:
    """All of the core's memory: C that gives these commands."""
    for fibers in ("terms", "height"):
        _span(kind, place.job[fibers], fibers)
    lines = ["/* Where arrays are, in bytes, and how many fibers. */",
             *(f"#define {name.upper()} {value:#x}u" for name, value in place.job.items()), ""]
    return compiled(kind, FIRMWARE, {"product.h": "\n".join(lines)})


def _span(kind: OuterProduct, fibers: int, what: str) -> int:
    if fibers > MOST_SPAN:
        raise UserError(f"the product has {fibers:,} {what}, and a span of a command up to {MOST_SPAN:,}", kind.name,
                        "give matrices in parts")
    return fibers
