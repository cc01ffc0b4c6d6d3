"""Engines with what they give in a list."""

from typing import Any

from sardonyx.sim import engines
from sardonyx.sim.engines import Run
from sardonyx.sim.rtl import simulator


def ran(engine: str, compiled: Any, data: engines.Data) -> tuple[list[Any], Run]:
    """What every transaction stored, and what the engine counted."""
    stored: list[Any] = []
    run = engines.run(engine, compiled, data, stored.append)
    assert len(stored) == len(data)
    return stored, run


def simulated(*arguments: Any, **options: Any) -> tuple[list[Any], Run]:
    """The same of `simulate`."""
    stored: list[Any] = []
    run = engines.simulate(*arguments, stored.append, **options)
    return stored, run


def in_one_piece(program: Any, arch: Any, transactions: Any) -> tuple[list[Any], Run]:
    """The same of a machine that is built for the program."""
    stored: list[Any] = []
    run = engines.run_on(simulator.folded(arch, program), program, transactions, stored.append, configurable=False)
    return stored, run
