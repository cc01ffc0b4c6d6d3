"""From tensors to what private buffers are filled with: blocks of lengths and words, of levels and of values; or whole rows."""

from __future__ import annotations

import numpy as np

from ...hw.arch.chain import ChainedBank, chain
from ...hw.arch.errors import UserError
from ...hw.arch.private_buffer import DENSE, LINKED, STREAMS, Bank, PrivateBuffer
from ...hw.arch.requested import requested
from ...hw.arch.token import DATA_BITS
from .level_blocks import level_blocks


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
        banked = (slice(None),) * (1 + buffer.axis) + (slice(place, None, count),)
        mine = parted[banked]
        # Fibers that are whole, or not there at all, are there in each part.
        is_whole = isinstance(bank, ChainedBank) and bank.kind == DENSE and not bank.sifted
        there = np.broadcast_to((ordered[banked] != 0).any(-1, keepdims=True), mine.shape) if is_whole else mine != 0
        if len(buffer.begins) > 1 and bank.kind != DENSE and not bank.is_chain:
            there = there & _asked(bank, mine.shape[1:])
        for stream in bank.streams:
            found[buffer.name(nth, stream)] = []
        for nth_group, tensor in enumerate(mine):
            named = f"{buffer.tensor} of operation {nth_group * served}"
            for stream, words in _blocks(bank, tensor, there[nth_group], named, begin).items():
                found[buffer.name(nth, stream)] += words
    return found


def _asked(bank: Bank, shape: tuple[int, ...]) -> np.ndarray:
    """The elements of the fibers that ports ask for: of others, which are another part, there are none."""
    found = np.zeros(shape, bool).reshape(-1, shape[-1])
    # Of a bitvector the words of a fiber are numbered.
    across = bank.loops[0].extent if bank.is_along else 1
    found[[place // across for place, _ in requested(bank)]] = True
    return found.reshape(shape)


def _blocks(bank: Bank, tensor: np.ndarray, there: np.ndarray, name: str, begin: int) -> dict[str, list[int]]:
    """The blocks of a tensor in a bank, or its words; there: of which elements; begin: its first coordinate of a fiber."""
    if bank.wide:
        content = tensor.reshape(-1).astype(np.int64).astype(f"<i{bank.bits // 8}").tobytes()
        return {"values": np.frombuffer(content, "<u8").tolist()}
    levels, values = level_blocks(tensor, bank.levels, bank.node, begin, there)
    for nth, arrays in levels:
        if bank.levels[nth].kind == LINKED:
            _check_nodes(bank, nth, int(arrays["heads"][-1]), name)
    if len(values) > bank.words:
        raise UserError(f"{name} has {len(values):,} values in a bank, which has {bank.words:,} words", "buffers",
                        f"give {1 << (len(values) - 1).bit_length():,} words, or more banks")
    found = dict[str, list[int]]()
    for nth, arrays in levels:
        stream = STREAMS[bank.levels[nth].kind] + ("" if nth == len(bank.levels) - 1 else str(nth))
        found[stream] = [word for each in arrays.values() for word in _block(each)]
    return found | {"values": _block(values)}


def _check_nodes(bank: Bank, nth: int, nodes: int, name: str) -> None:
    """UserError for more nodes of a level than have room."""
    link, = (link for link in chain(bank.levels, bank.words, bank.node) if link.nth == nth)
    if nodes > link.nodes:
        level = "" if link.is_last else f" of level {nth}"
        raise UserError(f"{name} has {nodes:,} nodes of {bank.node}{level} in a bank, which has room for {link.nodes:,}",
                        "buffers", f"give {1 << (nodes * bank.node - 1).bit_length():,} words, smaller nodes, or more banks")


def _block(words: np.ndarray) -> list[int]:
    return [len(words), *(int(word) % (1 << DATA_BITS) for word in words)]
