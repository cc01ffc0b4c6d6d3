"""Programs on the Verilog of a whole machine in a bench, over its buses, by the host code of `runtime`.

    Clock(dut.clk, 10, "ns").start()
    session = await Session.open(dut, "small")
    result = await session.run(sardonyx.kernel, "vec_elemmul", size=20)       # compiled, run, checked against NumPy
    outcomes = await session.launch(decode(bitstream, session.arch), blocks)  # a program and words of your own

Errors:  UserError for a machine whose fingerprint is not that of the description; what the functions that are called raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from cocotb.task import bridge

from .. import arguments
from ..compiler.ir.program import Program
from ..hw.arch.cgra import Arch
from ..hw.arch.errors import UserError
from ..runtime import host
from ..runtime.device import check_fingerprint
from ..runtime.works import Transaction
from .host import AxiHost, BenchDevice
from .reset import reset

_T = TypeVar("_T")


class Session:
    """A machine in a bench, with its host; see `open`.

    Members
    -------
    arch : Arch
    host : AxiHost           For the bench: registers, memory and interrupt, awaited.
    device : BenchDevice     For host code that `call` runs.
    """

    def __init__(self, made: AxiHost) -> None:
        self.arch, self.host, self.device = made.arch, made, BenchDevice(made)

    @classmethod
    async def open(cls, dut: Any, arch: str | Arch, *,
                   stalls: Callable[[int], Iterator[bool]] | None = None) -> Session:
        """Reset a machine, whose clock runs, and see that it is the one of the description.

        One session in a test: each puts masters at the ports. arch: a preset, the ``arch.json`` beside the Verilog, or a
        description. stalls: see `AxiHost`.
        """
        session = cls(AxiHost(dut, arguments.machine(arch), stalls))
        await reset(dut)
        await session.call(check_fingerprint, session.device, "the Verilog", f"module {dut._name}",
                           "name the arch.json beside the Verilog, or emit it again with `sardonyx verilog`")
        return session

    async def call(self, function: Callable[..., _T], *arguments: Any, **options: Any) -> _T:
        """Call host code, which blocks, in a thread; time goes on in the simulation when it asks `device` for something."""
        return await bridge(function)(*arguments, **options)

    async def run(self, function: Callable[..., _T], *arguments: Any, **options: Any) -> _T:
        """The checked `Result` of `sardonyx.kernel`, `sardonyx.einsum` or `sardonyx.halide.run` on this machine, or what else
        takes a machine and an engine."""
        return await self.call(function, *arguments, arch=self.arch, engine=self.device, **options)

    async def launch(self, program: Program, transactions: Iterable[Transaction],
                     bounds: Mapping[str, int] | None = None) -> list[host.Outcome]:
        """Run a program on words of its load streams; what the store streams gave, unchecked: see `runtime.host.run`."""
        if program.fingerprint != self.arch.fingerprint:
            raise UserError(f"the program is for machine {program.fingerprint:016x}, '{self.arch.name}' is "
                            f"{self.arch.fingerprint:016x}", "launch", f"compile it for '{self.arch.name}'")
        return await self.call(lambda: [*host.run(self.device, program, transactions, bounds)])
