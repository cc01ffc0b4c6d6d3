"""The energy of a run as it stands in a report, and as people read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .compiler.graph import CompiledGraph
from .compiler.halide import CompiledDense
from .flow.asic.power import Spent, estimate, left_out
from .hw.arch.cgra import Arch
from .sim.engines import Run

_COLUMNS = ("clock", "switching", "memory", "leakage")
# Of which `Timing` holds the delays, so that a program's period is one in it.
_TIMED = "asap7"


def report(library: str, arch: Arch, compiled: CompiledGraph | CompiledDense, run: Run,
           useful: tuple[str, int]) -> dict[str, object]:
    """The part `power` of a report; useful: what the energy is divided by, a word for it and how many there are."""
    assert run.verilog is not None, "an engine that counts has Verilog"
    modules = {file.stem: file.read_text() for file in sorted(run.verilog.glob("*.sv"))}
    period_ns = compiled.timing.period_ns
    found = estimate(run.activity, modules, compiled.program.config, library, period_ns)
    total, (unit, count) = found.spent, useful
    timed = {"average_mw": _digits(total.total / 1000 / found.cycles / period_ns)} if library == _TIMED and found.cycles else {}
    return {
        "library": library, "cycles": found.cycles,
        **_by(total), "pj_per_cycle": _digits(total.total / 1000 / max(1, found.cycles)), **timed,
        f"{unit}s": count, f"pj_per_{unit}": _digits(total.total / 1000 / max(1, count)),
        f"pj_per_{unit}_gated": _digits(total.total_gated / 1000 / max(1, count)),
        "tiles": {kind: {"instances": share.instances, **_by(share.spent), "parts": {part: _by(spent) for part, spent in sorted(
            share.parts.items(), key=lambda each: -each[1].total)}} for kind, share in found.shares.items()},
        "left_out": list(left_out(library))}


def _by(spent: Spent) -> dict[str, float]:
    return {"pj": _digits(spent.total / 1000), "pj_gated": _digits(spent.total_gated / 1000),
            **{f"{name}_pj": _digits(getattr(spent, name) / 1000) for name in _COLUMNS}}


def _digits(value: float) -> float:
    """Four digits: more would be no estimate."""
    return float(f"{value:.4g}")


def text(found: Mapping[str, Any]) -> str:
    """The table of a report's part `power`."""
    rows: list[tuple[str, ...]] = [("energy, pJ", "", "all", "gated", *_COLUMNS)]
    rows.append(("all", "", *_numbers(found)))
    for kind, share in found["tiles"].items():
        rows.append((kind, str(share["instances"]), *_numbers(share)))
        # An idle tile has the parts of a used one, and they do the same.
        if not kind.endswith("idle"):
            rows += [(f"  {part}", "", *_numbers(spent)) for part, spent in share["parts"].items()]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) if at == 0 else cell.rjust(width) for at, (cell, width) in enumerate(
        zip(row, widths, strict=True))) for row in rows]
    facts = [f"{name.replace('_', ' ').replace('pj', 'pJ').replace('mw', 'mW')} {_shown(found[name])}" for name in found
             if name.startswith(("pj_per_", "average_")) or name in ("cycles", "operations", "elements")]
    return "\n".join([*lines, "", f"estimated in {found['library']}: {', '.join(facts)}",
                      "gated: if each word of a register had a clock gate that opens only when the word changes",
                      f"left out: {'; '.join(found['left_out'])}"])


def _numbers(spent: Mapping[str, float]) -> tuple[str, ...]:
    return tuple(_shown(spent[name]) for name in ("pj", "pj_gated", *(f"{column}_pj" for column in _COLUMNS)))


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
