"""What the channels of a PE's register file do: schedules for words that it keeps, delays for operands that wait.

    operand b is a at (x, -2)        wr0 in the cycles of row -2 from address 0 on; rd0 in every row from address 0 on
    operand b is a at (4 x, -2)      wr0 in every fourth cycle from row -2 on
    operand b is the result at x-1   wr0 in every cycle to address 1; rd0 at x = 0 address 0, which is never written, at x = 1
                                     address 1, which stays shown
    operand a waits 3 cycles         a delay line of 4 words behind those: words from a register file are taken in the second
                                     cycle of the operation, those that arrive in the first
    late operand c waits 3 cycles    a delay line of 5 words: the operation takes it in the third cycle
    operand b is a result at x = 2   wr0 in that cycle of every row to address 1; rd0 at x = 2 address 1, at x = 3 address 0,
                                     which is never written, and shown before the first read, too

A read is shown two cycles after it, so it may come before the word is taken; the cycles in which an operation takes its
operands are those of `Op.delay` in `hw/arch/op.py`. No other place of the compiler knows that.

Needs:   Walk, a node, waits of its operands and the cycle of its first step.
Gives:   configuration fields (`hw/arch/register_file.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from ....hw.arch.op import BY_NAME
from ....hw.arch.register_file import ADDRESS_BITS, CHANNELS, DELAY, OPERANDS, READ_TO_WORD, SCHEDULED, ScheduleSizes
from ...ir.pe_graph import Held, Kept, Once, PeNode
from .affine import Pattern, fields
from .grid import Walk

Config = dict[str, "int | str | bool"]


def kept_words(node: PeNode, walk: Walk) -> tuple[int, ...]:
    """Words of the register file that each channel with a schedule takes: one for each point of a row, or a 0 and a word."""
    return tuple(each.rows * each.beside(walk.grid.extents[0]) if isinstance(each, Held) else 2 for _, each in node.kept())


def waiting_words(walk: Walk, number: int, operand: str, wait: int) -> int:
    """Words of the register file for an operand of a node that waits: as many as cycles until it is taken. None for one that is
    kept until the next row brings another, and more than there are if it waits for longer."""
    if not wait:
        return 0
    node = walk.graph.nodes[number]
    cycles = wait + BY_NAME[node.op].delay(operand)
    if isinstance(node.operands[operand], Once):
        over = max(0, cycles - walk.grid.extents[0])
        return over and over + (1 << ADDRESS_BITS)
    return cycles


def written(operand: str, each: Kept) -> str:
    """What the channel of an operand that is kept writes."""
    return operand if isinstance(each, Once) else each.port if isinstance(each, Held) else "res"


def schedules(walk: Walk, number: int, waits: Mapping[str, int], start: int) -> dict[str, Pattern]:
    """The schedule of every port, ``wr0`` to ``rd1``, that a node needs for words it keeps.

    waits: cycles that its operands wait, by name. start: the cycle in which it takes the operands of step 0.
    """
    node, grid = walk.graph.nodes[number], walk.grid
    op = BY_NAME[node.op]
    low, high = walk.boxes[number]
    row = grid.extents[0]
    assert len(grid.extents) == 2 and low[0] == grid.origin[0] == 0, "rows begin at 0, on a grid of two dimensions"
    assert high[0] == row - 1 or all(isinstance(each, Once) for _, each in node.kept()), "rows that are kept are whole"
    rows, begin = high[1] - low[1] + 1, start + grid.step(low)
    found: dict[str, Pattern] = {}
    base = 0
    for channel, ((operand, each), words) in enumerate(zip(node.kept(), kept_words(node, walk), strict=True)):
        read = begin - READ_TO_WORD + op.delay(operand)
        assert read >= 0, "operands arrive after cycle 0"
        if isinstance(each, Held):
            arrived = start - waits.get(each.port, 0) + grid.step((low[0], *each.at))
            assert arrived + each.last(row) < begin, "a row is kept before it is read"
            found[f"wr{channel}"] = Pattern((each.beside(row), each.rows), (each.pace, row), (each.rows, 1),
                                            arrived + each.lead, base)
            found[f"rd{channel}"] = Pattern((row, rows), (1, row), (1, 0), read, base)
        elif isinstance(each, Once):
            wait = waits.get(operand, 0)
            assert row > 1 and wait + op.delay(operand) <= row, "a word is taken before that of the next row comes"
            found[f"wr{channel}"] = Pattern((1, rows), (1, row), (0, 0), begin - wait + each.x, base + 1)
            found[f"rd{channel}"] = Pattern((2, rows), (1, row), (-1 - base, 0), read + each.x, base + 1)
        else:
            assert row > 1, "a sum of one word needs no register"
            assert op.delay(operand) == op.latency, "a sum is added to the next word in the cycle after its own"
            found[f"wr{channel}"] = Pattern((row, rows), (1, row), (0, 0), begin + op.latency, base + 1)
            found[f"rd{channel}"] = Pattern((2, rows), (1, row), (1, 0), read, base)
        base += words
    return found


def channels(walk: Walk, number: int, waits: Mapping[str, int], start: int, words: int) -> Config:
    """The fields of the register file of a node; words: of the register file."""
    node = walk.graph.nodes[number]
    config: Config = {}
    base = channel = 0
    if list(node.kept()):
        sizes = ScheduleSizes(words)
        for port, pattern in schedules(walk, number, waits, start).items():
            config |= fields(sizes, port, pattern)
    for (operand, each), taken in zip(node.kept(), kept_words(node, walk), strict=True):
        config |= {f"operand_{operand}": f"channel{channel}", f"mode{channel}": SCHEDULED,
                   f"write{channel}": written(operand, each)}
        base, channel = base + taken, channel + 1
    for operand in OPERANDS:
        if (wait := waits.get(operand, 0)) and (taken := waiting_words(walk, number, operand, wait)):
            assert channel < CHANNELS, "an operand waits in a channel of its own"
            config |= {f"operand_{operand}": f"channel{channel}", f"mode{channel}": DELAY, f"write{channel}": operand,
                       f"base{channel}": base, f"depth{channel}": taken - 1}
            base, channel = base + taken, channel + 1
    return config
