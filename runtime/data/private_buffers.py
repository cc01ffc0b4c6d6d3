"""From tensors to what private buffers are filled with: blocks of lengths and words, of levels and of values; or whole rows."""

from __future__ import annotations

import numpy as np

from ...hw.arch.errors import UserError
from ...hw.arch.private_buffer import BITVECTOR, LINKED, NO_NODE, Bank, PrivateBuffer
from ...hw.arch.token import DATA_BITS


def filled(buffer: PrivateBuffer, operands: np.ndarray) -> dict[str, list[int]]:
    """The words of each stream that fills a buffer, by its name.

    operands: the tensor, with an axis for operations in front. Raises UserError for a tensor that does not fit, and for one
    that changes while it should serve.
    """
    served = buffer.banks[0].operations
    groups = operands[::served]
    if not np.array_equal(np.repeat(groups, served, axis=0)[:len(operands)], operands):
        raise UserError(f"{buffer.tensor} is not the same for {served} operations in a row", f"buffers: {buffer.tensor}",
                        "give the same tensor for them, or a buffer for fewer operations")
    ordered = np.transpose(groups, (0, *(1 + dimension for dimension in buffer.order)))
    found: dict[str, list[int]] = {}
    count = len(buffer.banks) // len(buffer.begins)
    for nth, bank in enumerate(buffer.banks):
        group, place = divmod(nth, count)
        begin = buffer.begins[group]
        parted = ordered[..., begin:begin + bank.levels[-1].extent] if len(buffer.begins) > 1 else ordered
        mine = parted[(slice(None),) * (1 + buffer.axis) + (slice(place, None, count),)]
        for stream in bank.streams:
            found[buffer.name(nth, stream)] = []
        for nth_group, tensor in enumerate(mine):
            for stream, words in _blocks(bank, tensor, f"{buffer.tensor} of operation {nth_group * served}", begin).items():
                found[buffer.name(nth, stream)] += words
    return found


def _blocks(bank: Bank, tensor: np.ndarray, name: str, begin: int) -> dict[str, list[int]]:
    """The blocks of a tensor in a bank, or its words; begin: its first coordinate of a fiber."""
    fibers = np.ascontiguousarray(tensor.reshape(-1, tensor.shape[-1]))
    if bank.wide:
        content = tensor.reshape(-1).astype(np.int64).astype(f"<i{bank.bits // 8}").tobytes()
        return {"values": np.frombuffer(content, "<u8").tolist()}
    if not bank.has_zeros_left_out:
        return {"values": _block(tensor.reshape(-1))}
    rows, coordinates = np.nonzero(fibers)
    if len(rows) > bank.words:
        raise UserError(f"{name} has {len(rows):,} values in a bank, which has {bank.words:,} words", "buffers",
                        f"give {1 << (len(rows) - 1).bit_length():,} words, or more banks")
    if bank.kind == BITVECTOR:
        packed = np.packbits(np.pad(fibers != 0, ((0, 0), (0, -fibers.shape[1] % DATA_BITS))), axis=1, bitorder="little")
        return {"bits": _block(packed.view("<u2").reshape(-1)), "values": _block(fibers[rows, coordinates])}
    if bank.kind == LINKED:
        return _lists(bank, fibers, name, begin)
    segments = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(fibers)))])
    return {"level": [*_block(segments), *_block(coordinates + begin)], "values": _block(fibers[rows, coordinates])}


def _lists(bank: Bank, fibers: np.ndarray, name: str, begin: int) -> dict[str, list[int]]:
    """The blocks of linked lists, whose nodes are full but for the last one of each."""
    coordinates = [np.flatnonzero(fiber) for fiber in fibers]
    counts = [-(-len(each) // bank.node) for each in coordinates]
    nodes = sum(counts)
    if nodes > bank.nodes:
        raise UserError(f"{name} has {nodes:,} nodes of {bank.node} in a bank, which has room for {bank.nodes:,}", "buffers",
                        f"give {1 << (nodes * bank.node - 1).bit_length():,} words, smaller nodes, or more banks")
    heads, links, places = list[int](), list[int](), np.zeros((2, nodes * bank.node), np.int64)
    for fiber, crds, count in zip(fibers, coordinates, counts, strict=True):
        first = len(links) // 2
        heads.append(first if count else NO_NODE)
        for nth in range(count):
            links += [first + nth + 1 if nth < count - 1 else NO_NODE, min(bank.node, len(crds) - nth * bank.node)]
        places[:, first * bank.node:][:, :len(crds)] = crds + begin, fiber[crds]
    level = [np.array([*heads, nodes]), np.array(links, np.int64), places[0]]
    return {"lists": [word for each in level for word in _block(each)], "values": _block(places[1])}


def _block(words: np.ndarray) -> list[int]:
    return [len(words), *(int(word) % (1 << DATA_BITS) for word in words)]
