"""What tests of queues of descriptors share: launching some one after the other, and what moved when."""

import random
from collections.abc import Sequence

from glb_script import (
    COMMAND,
    POLL,
    REGISTERS,
    START,
    TABLE,
    Descriptor,
    Script,
    arm,
    linear,
)
from nests import Nest

from sardonyx.hw.arch.soc import RW
from sardonyx.sim.rtl.bench import Result

QUEUED = TABLE["load_control"].word(queued=1)
COLUMN = {"load": "g2f", "store": "f2g"}
ONE, PRIME = linear(6, 1), Nest((7, 5), (-10, 58), 300)


def taken(script: Script, unit: str) -> None:
    """Wait till the registers are free again."""
    script.add(POLL, index=REGISTERS.index(f"{unit}_control"), value=QUEUED)


def scribble(script: Script, draw: random.Random) -> None:
    """Write anything to all registers that does not arm them."""
    for register in TABLE.values():
        if register.access == RW:
            arms = register.name in ("load_control", "store_control")
            kept = ~register.word(**{draw.choice(("queued", "enable")): 1}) if arms else -1
            script.registers(**{register.name: draw.getrandbits(32) & kept})


def launch(script: Script, unit: str, descriptors: Sequence[Descriptor], draw: "random.Random | None" = None) -> None:
    """Start the first and queue the others, each as soon as the one before was taken; scribble over the registers meanwhile."""
    for number, each in enumerate(descriptors):
        arm(script, unit, each)
        if number == 0:
            script.add(START)
        taken(script, unit)
        if unit == "store":
            script.show("store_words_before")
        if draw is not None:
            scribble(script, draw)


def moved(result: Result, unit: str) -> "list[tuple[int, int]]":
    """Cycle and column of every word of a unit, in order."""
    return sorted((stamp, column) for column in range(2) for stamp in result.stamps[f"{COLUMN[unit]}{column}"])


def started(script: Script, result: Result) -> int:
    """The cycle of the first start."""
    return result.stamps["command"][script.commands.index(COMMAND.const({"op": START}).as_bits())]
