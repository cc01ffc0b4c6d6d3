"""Engines with what they give in a list."""

from typing import Any

from one_piece import machine_in_one_piece

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
    """The same of a machine that is built for the program in one piece."""
    return _on(machine_in_one_piece(arch, program), program, transactions)


def folded(program: Any, arch: Any, transactions: Any) -> tuple[list[Any], Run]:
    """The same of tiles that are folded to the program."""
    return _on(simulator.folded(arch, program), program, transactions)


def _on(made: simulator.Simulator, program: Any, transactions: Any) -> tuple[list[Any], Run]:
    stored: list[Any] = []
    run = engines.run_on(made, program, transactions, stored.append)
    return stored, run
