"""Commands of an array whose elements meet in vectors: of each part both operands, and the sums that it leaves.

Input:   Accelerator of `Vectored`; `runtime.data.vector_arrays.Laid`, where what is.
Output:  `Program`, and firmware in C that gives the same.
Errors:  as of `spatial_firmware.compiled`.
Source:  Stellar V, Listing 7, and VI-B.
"""

from __future__ import annotations

from ..hw.arch import command
from ..hw.arch.accelerator import Accelerator
from ..hw.arch.vectored import Vectored
from . import toolchain
from .data.vector_arrays import SEGMENT_BYTES, Laid
from .spatial_commands import Program
from .spatial_firmware import compiled

FIRMWARE = toolchain.SOURCES / "spatial_vectors.c"


def vectors(accelerator: Accelerator, place: Laid) -> Program:
    """The commands of all parts, and a wait for them."""
    array = accelerator.array
    assert isinstance(array, Vectored), "its elements meet in vectors"
    program = Program(accelerator)
    for tensors, sums, result in zip(place.tensors, place.sums, place.results, strict=True):
        for operand, side, tensor in zip(array.operands, place.sides, tensors, strict=True):
            program.arrays(f"{operand.name}_values", side.addresses(tensor), side.size)
        program.request(array.result.name, result, [(array.kind.places, sums, 1)], place.size)
    program.wait()
    return program


def firmware(accelerator: Accelerator, place: Laid) -> bytes:
    """All of the core's memory: C that gives these commands."""
    array = accelerator.array
    assert isinstance(array, Vectored), "its elements meet in vectors"
    index = {stream.name: n for n, stream in enumerate(accelerator.streams)}
    streams = [command.region(command.BUFFER, index[f"{operand.name}_values"]) for operand in array.operands]
    operands = [(each, side.segments, side.coordinates, side.values, side.size)
                for each, side in zip(streams, place.sides, strict=True)]
    pitch = array.fibers * SEGMENT_BYTES
    lines = [
        "/* Sums of the array, of how many bytes an element is (a logarithm), and where the first one goes. */",
        f"#define PLACES {array.kind.places}u", f"#define SIZE {place.size}u", f"#define RESULT {len(place.content):#x}u",
        f"#define STREAM {command.region(command.BUFFER, index[array.result.name]):#x}u",
        "/* Of both operands: the stream of values, where arrays are, and the logarithm of the bytes of a pair of values. */",
        "static const struct operand { uint32_t stream, segments, coordinates, values, size; } operands[] = {",
        *(f"    {{ {', '.join(f'{each:#x}u' for each in operand)} }}," for operand in operands), "};",
        "/* Of each part: bytes to the segments of both operands, and elements of the result. */",
        "static const struct part { uint32_t segments[2], sums; } parts[] = {",
        *(f"    {{ {{ {left * pitch:#x}u, {right * pitch:#x}u }}, {sums}u }},"
          for (left, right), sums in zip(place.tensors, place.sums, strict=True)), "};", ""]
    return compiled(accelerator, FIRMWARE, {"vectors.h": "\n".join(lines)})
