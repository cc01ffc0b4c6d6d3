"""Commands of an outer product, or of a phase of one: requests for A and B, whose arrays lie as compressed tensors, and for P
and C, linked lists.

Input:   OuterProduct; `Laid` of `runtime.data.outer_product` or `outer_lists`, where what is.
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
from ..hw.arch.outer_product import WORD_BYTES, OuterProduct, Tensor
from . import toolchain
from .data.outer_product import Laid
from .spatial_firmware import compiled

FIRMWARE = toolchain.SOURCES / "spatial_outer.c"


def product(kind: OuterProduct, place: Laid) -> list[Word]:
    """The commands of a product, or of a phase, and a wait for it."""
    return [*_commands(kind, place), (command.WAIT, command.ALL, 0)]


def _commands(kind: OuterProduct, place: Laid) -> Iterator[Word]:
    for index, tensor in enumerate(kind.tensors):
        sides, memory = _sides(index, tensor)
        yield command.SET_SRC_AND_DST, *sides
        yield command.SET_CONSTANT, command.ELEMENT, WORD_BYTES.bit_length() - 1
        yield command.SET_AXIS_TYPE, BOTH, command.AXIS_TYPES[tensor.kind]
        for nth, array in enumerate(tensor.arrays[:-1]):
            yield command.SET_METADATA_ADDRESS, memory | nth << command.METADATA_LSB, place.job[array]
        yield command.SET_ADDRESS, memory, place.job[tensor.arrays[-1]]
        yield command.SET_SPAN, BOTH | 1, _span(kind, place.job[tensor.fibers], tensor.fibers)
        yield command.ISSUE, 0, 0


def _sides(index: int, tensor: Tensor) -> tuple[tuple[int, int], int]:
    """The regions of a request, source and destination, and the side that is memory."""
    stream, memory = region(BUFFER, index), region(MEMORY)
    return ((stream, memory), DESTINATION) if tensor.is_result else ((memory, stream), SOURCE)


def firmware(kind: OuterProduct, place: Laid) -> bytes:
    """All of the core's memory: C that gives these commands."""
    return compiled(kind, FIRMWARE, {"product.h": requests(kind, place)})


def requests(kind: OuterProduct, place: Laid) -> str:
    """The requests as a table of C."""
    lines = ["/* Requests: regions, the side that is memory, the type of axis 0; fibers, where values are or the table of",
             " * first nodes, and how many arrays stand in front, and where. */",
             "static const struct tensor { uint32_t source, destination, memory, type, fibers, values, before, arrays[2]; } "
             "tensors[] = {"]
    for index, tensor in enumerate(kind.tensors):
        (source, destination), memory = _sides(index, tensor)
        *arrays, values = (place.job[name] for name in tensor.arrays)
        numbers = (source, destination, memory, command.AXIS_TYPES[tensor.kind],
                   _span(kind, place.job[tensor.fibers], tensor.fibers), values, len(arrays))
        lines.append(f"    {{ {', '.join(f'{each:#x}u' for each in numbers)}, "
                     f"{{ {', '.join(f'{each:#x}u' for each in arrays or [0])} }} }},")
    return "\n".join([*lines, "};", ""])


def _span(kind: OuterProduct, fibers: int, what: str) -> int:
    if fibers > MOST_SPAN:
        raise UserError(f"the product has {fibers:,} {what}, and a span of a command up to {MOST_SPAN:,}", kind.name,
                        "give matrices in parts")
    return fibers
