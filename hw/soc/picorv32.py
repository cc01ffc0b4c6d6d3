"""PicoRV32, the processor in front of a machine: its Verilog as published, and what it is set to."""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Mapping

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

# What `verilator -Wall` warns of in its source, which was written for other tools.
_WAIVED = ("BLKSEQ", "DECLFILENAME", "GENUNNAMED", "PINMISSING", "WIDTHXZEXPAND")
# Only tests of its own need a unit of time, and where one module has one all have to.
_UNIT = re.compile(r"^`timescale .*\n", re.M)
# A module of the source with the comment in front of it, and what it has instances of.
_MODULE = re.compile(r"(?:^/\*+\n \* \w+\n \*+/\n\n|(?:^//[^\n]*\n)+)?^module (\w+)\b.*?^endmodule\n+", re.M | re.S)
_INSTANCE = re.compile(r"^\t+(\w+) \w+ \($", re.M)


class PicoRv32(wiring.Component):
    """A RISC-V processor, RV32IM with interrupts and counters.

    Parameters
    ----------
    stack : int      First value of the stack pointer.

    Members
    -------
    resetn : In(1)                               0 stops it; it begins at address 0.
    mem_valid, mem_instr, mem_addr, mem_wdata, mem_wstrb : Out   An access, a read without strobes, until `mem_ready`.
    mem_ready, mem_rdata : In
    irq : In(32)                                 Lines, as levels.
    trap : Out(1)                                It met what it cannot execute, or an ebreak, and stands still.
    mem_la_read, mem_la_addr : Out               A read that comes in the next cycle.
    mem_la_w*, pcpi_*, eoi, trace_* : not used.

    Timing: with reads that are answered at once an instruction takes three to five cycles, a division 40.
    Source: PicoRV32 by Claire Xenia Wolf, package `pythondata-cpu-picorv32`; the papers have an Arm M3 there.
    """

    module_name = "picorv32"

    def __init__(self, stack: int) -> None:
        self.stack = stack
        super().__init__({
            "resetn": In(1), "trap": Out(1), "mem_valid": Out(1), "mem_instr": Out(1), "mem_ready": In(1), "mem_addr": Out(32),
            "mem_wdata": Out(32), "mem_wstrb": Out(4), "mem_rdata": In(32), "mem_la_read": Out(1), "mem_la_write": Out(1),
            "mem_la_addr": Out(32), "mem_la_wdata": Out(32), "mem_la_wstrb": Out(4), "pcpi_valid": Out(1), "pcpi_insn": Out(32),
            "pcpi_rs1": Out(32), "pcpi_rs2": Out(32), "pcpi_wr": In(1), "pcpi_rd": In(32), "pcpi_wait": In(1),
            "pcpi_ready": In(1), "irq": In(32), "eoi": Out(32), "trace_valid": Out(1), "trace_data": Out(36)})

    @property
    def parameters(self) -> Mapping[str, int]:
        """What the module is set to; the rest as published."""
        return {"STACKADDR": self.stack, "ENABLE_FAST_MUL": 1, "ENABLE_DIV": 1, "BARREL_SHIFTER": 1, "ENABLE_IRQ": 1,
                "ENABLE_IRQ_QREGS": 0, "ENABLE_IRQ_TIMER": 0, "LATCHED_IRQ": 0, "MASKED_IRQ": 0}

    @property
    def verilog(self) -> str:
        """The source between what waives lint rules, but for its unit of time and what is around a processor: buses, registers.

        Modules that nothing has an instance of are further tops, of which lint warns.
        """
        text = importlib.resources.files("pythondata_cpu_picorv32").joinpath("verilog/picorv32.v").read_text()
        modules = {found[1]: found[0] for found in _MODULE.finditer(text)}
        kept = [self.module_name]
        for name in kept:
            kept += [inner for inner in _INSTANCE.findall(modules[name]) if inner in modules and inner not in kept]
        text = _MODULE.sub(lambda found: found[0] if found[1] in kept else "", _UNIT.sub("", text, count=1))
        waived = "".join(f"// verilator lint_off {rule}\n" for rule in _WAIVED)
        return f"// verilator lint_save\n{waived}{text}// verilator lint_restore\n"
