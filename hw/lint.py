"""What lint says of the output by design: the rules that are waived, and why that is harmless."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Waiver:
    """A lint rule that the output breaks by design, and why that is harmless."""

    rule: str
    reason: str


WAIVERS = (
    Waiver("WIDTHEXPAND", "Yosys prints constants at their smallest width; operands are extended as meant"),
    Waiver("WIDTHTRUNC", "Yosys prints `!bus` for `bus == 0`"),
    Waiver("CASEINCOMPLETE", "a process that decides twice, one after the other, begins with its default"),
    Waiver("UNUSEDSIGNAL", "carries, outputs of instances and payload bits that a design need not read"),
    Waiver("PROCASSINIT", "registers have initial values for FPGAs and simulation, besides their reset"),
)

# Waives those rules in Verilator: ``verilator --lint-only -Wall -F top.f lint.vlt``.
LINT = "lint.vlt"


def waived() -> str:
    """The text of `LINT`."""
    lines = [line for waiver in WAIVERS for line in (f"// {waiver.reason[0].upper()}{waiver.reason[1:]}.",
                                                     f"lint_off -rule {waiver.rule}")]
    return "\n".join(["`verilator_config", *lines, ""])
