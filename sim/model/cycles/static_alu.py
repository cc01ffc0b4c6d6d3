"""Static ALU, cycle by cycle: the operation and the register file of a PE whose operands arrive every cycle.

    op adc, a the stream, b channel 0 as a delay line of two cycles that writes a:

    cycle   0  1  2  3  4  5
    a       0  2  3  4  5  6
    res     0  0  2  5  7  9

Results leave in the cycle after the one in which their operands arrive, the first of them in cycle 1. A channel gives what it
shows in the cycle in which the operation uses it: the late operand in that of the result. Cycle 0 is the first after flush, and
every word of the register file, and the result, is 0 then. `hw/arch/op.py` says what an operation means and which operand is
late, `hw/arith/register_file.py` what the register file does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from ....hw.arch.op import OPS, WORD, Op, results
from ....hw.arch.primitive import ALU
from ....hw.arch.register_file import CHANNELS, DELAY, LOOPS, MODES, SOURCES, WRITES
from ..tokens.alu import BITS, UNUSED, WORDS

Config = Mapping[str, "int | str | bool"]
PORTS = (*WORDS, *BITS)


def run(config: Config, inputs: Mapping[str, npt.ArrayLike], cycles: int,
        register_words: int = 32, schedules: bool = True) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint8]]:
    """What `res` and `p` show in cycles 0..cycles-1.

    Parameters
    ----------
    config : mapping       Configuration of the primitive; fields that are left out are 0. `static` plays no part.
    inputs : mapping       What the ports a..f show: an array of as many words each, or one word for all cycles. Ports that are
                           left out show 0, as those do that nothing is routed to.
    register_words : int   Of the tile; 0: there is no register file.
    schedules : bool       Of the tile; without them each channel has words of its own, and is a delay line or does nothing.
    """
    assert not set(inputs) - set(PORTS), f"the ports are {', '.join(PORTS)}"
    values = ALU.config.numbers(config)
    operation = OPS[values["op"]] if values["op"] < len(OPS) else UNUSED
    arrived = np.zeros((len(PORTS), cycles), np.int64)
    for at, name in enumerate(PORTS):
        arrived[at] = inputs.get(name, 0)
    operands = [arrived[at].tolist() if values[f"stream_{name}"] else [values[f"const_{name}"]] * cycles
                for at, name in enumerate(PORTS)]
    if register_words:
        _registers(values, operation, arrived[:len(WORDS)].T.tolist(), operands, register_words, schedules)

    a, b, c, d, e, f = (np.array(each, np.int64) for each in operands)
    res, p = results(operation, values["cond"], values["lut"], a, b, c, d, e, f, bool(values["signed"]))
    # Before the first result there is a 0, of which no table was asked.
    nothing = np.zeros(operation.latency, np.int64)
    begins = results(UNUSED, values["cond"], 0, nothing, nothing, nothing, nothing, nothing, nothing, False)
    shown = [np.concatenate([before, each])[:cycles] for before, each in zip(begins, (res, p), strict=True)]
    return shown[0].astype(np.uint16), shown[1].astype(np.uint8)


def _registers(values: Mapping[str, int], operation: Op, arrived: list[list[int]], operands: list[list[int]],
               words: int, shared: bool) -> None:
    """Put in what operands the channels of the register file give; arrived: words at a, b, c of every cycle."""
    given = [(operands[at], SOURCES.index(source) - 1, operation.delay(name)) for at, name in enumerate(WORDS)
             for source in SOURCES[1:] if values[f"operand_{name}"] == SOURCES.index(source)]
    if not given:
        return
    channels = [_addresses(values, n) for n in range(CHANNELS)]
    sources = [values[f"write{n}"] for n in range(CHANNELS)]
    keeps_results = WRITES.index("res") in sources
    a, b, c, d = operands[:4]
    first = [0] * words
    registers, signed, result = (first, first if shared else [0] * words), bool(values["signed"]), 0
    for cycle, (arrivals, *addresses) in enumerate(zip(arrived, *channels)):
        for operand, channel, delay in given:
            if cycle >= delay:
                operand[cycle - delay] = registers[channel][addresses[channel][0] % words]
        if keeps_results and (begun := cycle - operation.latency) >= 0:
            result = operation.meaning(a[begun], b[begun], c[begun], d[begun], signed) % WORD
        # Of two writes of one word the second stays.
        for own, (_, write), source in zip(registers, addresses, sources, strict=True):
            if write is not None:
                own[write % words] = (*arrivals, result)[source]


def _addresses(values: Mapping[str, int], n: int) -> Iterator[tuple[int, int | None]]:
    """What a channel shows and writes in every cycle."""
    if MODES[values[f"mode{n}"]] == DELAY:
        return _turns(values[f"base{n}"], values[f"depth{n}"])
    return _scheduled(_schedule(values, f"rd{n}"), _schedule(values, f"wr{n}"))


def _turns(base: int, depth: int) -> Iterator[tuple[int, int | None]]:
    yield base, None
    while True:
        for turn in range(depth + 1):
            yield base + turn, base + turn


def _scheduled(reads: Iterator[tuple[int, int]], writes: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int | None]]:
    never = (-1, 0)
    read, write, held, following, cycle = next(reads, never), next(writes, never), 0, 0, 0
    while True:
        writes_now = cycle == write[0]
        yield held, write[1] if writes_now else None
        held = following
        if cycle == read[0]:    # shown two cycles later
            following, read = read[1], next(reads, never)
        if writes_now:
            write = next(writes, never)
        cycle += 1


def _schedule(values: Mapping[str, int], port: str) -> Iterator[tuple[int, int]]:
    """Cycle and address of every word of a schedule."""
    if not values[f"{port}_on"]:
        return
    extent, gap, delta = ([values[f"{port}_{part}{loop}"] for loop in range(LOOPS)] for part in ("extent", "gap", "delta"))
    cycle, address, count = values[f"{port}_cycle"], values[f"{port}_address"], [0] * LOOPS
    while True:
        yield cycle, address
        loop = next((loop for loop in range(LOOPS) if count[loop] != extent[loop]), None)
        if loop is None:
            return
        count[:loop + 1] = [0] * loop + [count[loop] + 1]
        cycle += gap[loop] + 1
        address += delta[loop]
