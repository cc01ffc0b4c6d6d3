"""All ports take a row of the last level at once: one address, one memory and one control feed a whole side of an array.

Applies to dense words of arrays in step whose launches take whole rows, if a row is whole words of the bus. A user asks for it
(`wide`), as such a buffer is filled through words of 64 bits.

Errors:  UserError for a buffer that is wide, and does not fit.
Source:  Stellar IV-D (lock-stepped register files, one control for all ports).
"""

from __future__ import annotations

from collections.abc import Sequence

from ....hw.arch.dma import WORD_BITS
from ....hw.arch.errors import many
from ....hw.arch.private_buffer import FIBER, Loop
from ..buffer import Stored
from ..taken import Taken
from .verdict import Verdict

NAME = "lock-step"


def tried(stored: Stored, taken: Taken, made: Sequence[Loop], first: int, ports: int) -> Verdict:
    """Whether all ports take a row, one after the other. made, first: the request and its first address."""
    reason = _unfit(stored, taken, made, first, ports)
    if not stored.buffer.wide:
        return Verdict(NAME, False, reason[0] if reason else "it would do, and is not asked for (wide)")
    if reason:
        raise stored.mistake(*reason)
    return Verdict(NAME, True, f"{many(ports, 'port')} in place of {ports} controls, {ports} words a cycle")


def _unfit(stored: Stored, taken: Taken, made: Sequence[Loop], first: int, ports: int) -> tuple[str, str] | None:
    """What does not fit, and a remedy."""
    name, bits, last = stored.name, stored.tensor.bits, stored.shape[-1]
    if stored.buffer.banks > 1 or taken.form == FIBER or taken.paired:
        what = "it is wide, which buffers of one bank and of arrays in step can be"
        why = f"each of {stored.buffer.banks} banks has its own time" if stored.buffer.banks > 1 else "ports wait by themselves"
        return what if stored.buffer.wide else why, "leave out wide"
    if last != ports or tuple(made[:1]) != (Loop(ports, 1, 1),) or first % ports \
            or any(loop.hop or loop.stride % ports for loop in made[1:]):
        return (f"its {ports} ports do not take a row of {many(last, 'element')} of {name} at once",
                "choose another order of levels, or leave out wide")
    if ports * bits % WORD_BITS or bits % 8:
        return f"a row of {name} has {ports * bits} bits", f"make it whole words of {WORD_BITS}, or leave out wide"
    return None
