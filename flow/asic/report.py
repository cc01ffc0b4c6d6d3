"""The tables of docs/silicon.md: each stands between two markers and can be measured alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...hw.arch.errors import UserError
from .measure import Measurement
from .power import rates
from .synthesis import Registers
from .timing import KINDS, Worst
from .variants import Change, Comparison


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    head = list(head)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def area_table(found: Mapping[str, Measurement]) -> str:
    """Areas of components, of what they have below, and of their flops."""
    def below(each: Measurement) -> str:
        own = each.area[each.design.top]
        # Yosys has what a module with parameters is set to in its name, before the name.
        inner = {name.rpartition("\\")[2]: each.area[name].total * count
                 for name, count in own.parts.items() if name in each.area}
        return ", ".join(f"{name} {um2:.0f}" for name, um2 in sorted(inner.items(), key=lambda part: -part[1])) or "-"

    return table(("component", "um2", "with clock gates", "and latches", "flops alone", "SRAM, estimated", "parts"),
                 ((name, f"{each.um2:.0f}", f"{each.gated_um2:.0f}", f"{each.latched_um2:.0f}",
                   f"{each.area[each.design.top].flops:.0f}",
                   f"{each.sram_um2:.0f}" if each.sram_um2 else "-", below(each)) for name, each in found.items() if each.area))


def path_table(found: Mapping[str, Measurement]) -> str:
    """The worst path of each kind, and where the worst of all starts and ends."""
    def ends(worst: Iterable[Worst]) -> str:
        longest = max(worst, key=lambda path: path.ps)
        return f"`{longest.points[0].pin}` to `{longest.points[-1].pin}`"

    return table(("component", *KINDS, "period with latches", "the longest"),
                 ((name, *(f"{each.worst[kind].ps:.0f}" if kind in each.worst else "-" for kind in KINDS),
                   f"{each.least_ps:.0f}", ends(each.worst.values())) for name, each in found.items() if each.worst))


def ratio_table(found: Mapping[Comparison, Mapping[Registers, Change]]) -> str:
    """The papers' figures and ours."""
    return table(("what is compared", "of", "paper", "ours, um2", "with clock gates and latches"),
                 ((each.claim, each.part, each.paper, str(ours[Registers.ENABLES]), str(ours[Registers.LATCHES]))
                  for each, ours in found.items()))


def hop_table(found: Mapping[str, Mapping[str, float]]) -> str:
    """The delays of a hop, of the first machine, and what each other one adds to them."""
    (_, without), *others = found.items()
    return table(("field of `Timing`", "paper", "without, ps", *(f"with {name}, ps" for name, _ in others)),
                 ((f"`{field}`", "30 ps in 16 nm" if field == "switch_box" else "", f"{ps:.0f}",
                   *(f"{each[field]:.0f} ({each[field] - ps:+.0f})" for _, each in others)) for field, ps in without.items()))


def wall_table(found: Mapping[str, Mapping[str, float]]) -> str:
    """What walls between regions delay, in the first machine and in the second."""
    without, walled = found.values()
    what = {"track": "from a track to a track", "walled": "from a track to the register of what reached a wall"}
    return table(("in an even PE tile", "without, ps", "with walls, ps"),
                 ((what[name], f"{without[name]:.0f}" if name in without else "-",
                   f"{ps:.0f}" + (f" ({ps - without[name]:+.0f})" if name in without else "")) for name, ps in walled.items()))


@dataclass(frozen=True)
class Gain:
    """A program: its tiles, and its period in picoseconds with and without registers in the interconnect."""

    pes: int
    mems: int
    with_ps: int
    without_ps: int


@dataclass(frozen=True)
class Run:
    """The energy of a run, of `sardonyx.power`: in picojoules, and shares of it."""

    cycles: int
    unit: str
    per_unit: float
    per_unit_gated: float
    pj: float
    pj_gated: float
    by_kind: Mapping[str, float]
    glb_clock: float
    switching: float
    memory: float

    @staticmethod
    def of(power: Mapping[str, Any]) -> Run:
        """A run by its report."""
        unit = next(each for each in ("operation", "element") if f"pj_per_{each}" in power)
        tiles = power["tiles"]
        return Run(power["cycles"], unit, power[f"pj_per_{unit}"], power[f"pj_per_{unit}_gated"], power["pj"],
                   power["pj_gated"], {kind: share["pj_gated"] / power["pj_gated"] for kind, share in tiles.items()},
                   tiles["glb"]["clock_pj"] / power["pj"], power["switching_pj"], power["memory_pj"])


def power_table(found: Mapping[str, Run]) -> str:
    """The energy of programs, and who takes it."""
    kinds = ("pe", "mem", "io", "glb", "control")

    def percent(share: float) -> str:
        return f"{100 * share:.0f} %"

    return table(("program", "cycles", "nJ", "clock of the GLB", "nJ gated", "of which switching", "memories",
                  *(f"{kind}, gated" for kind in kinds), "pJ gated per"),
                 ((name, f"{each.cycles:,}", f"{each.pj / 1000:,.0f}", percent(each.glb_clock), f"{each.pj_gated / 1000:,.1f}",
                   percent(each.switching / each.pj_gated), percent(each.memory / each.pj_gated),
                   *(percent(sum(share for name, share in each.by_kind.items() if name.partition(",")[0] == kind))
                     for kind in kinds), f"{each.per_unit_gated:,.0f} {each.unit}") for name, each in found.items()))


def gain_table(found: Mapping[str, Gain]) -> str:
    """What pipelining gains each program."""
    return table(("program", "PE", "MEM", "ps without", "ps", "gain"),
                 ((name, str(each.pes), str(each.mems), str(each.without_ps), str(each.with_ps),
                   f"{each.without_ps / each.with_ps:.1f}x") for name, each in found.items()))


def energy_table(library: str, conditions: str, modules: Iterable[str]) -> str:
    """Energies of some modules, as the package carries them."""
    found = {name: rates(library, name) for name in modules}
    return table((f"{library}, {conditions}", "fJ a flop and cycle", "fJ a change", "leakage, nW"),
                 ((name, f"{each.flop_fj:.3g}" if each.flop_fj else "-", f"{each.change_fj:.3g}", f"{each.leakage_nw:.3g}")
                  for name, each in found.items()))


def delay_table(found: Mapping[str, Worst], held: Mapping[str, int]) -> str:
    """Delays measured, and those that the description holds."""
    return table(("field of `Timing`", "measured, ps", "held, ps"),
                 ((f"`{field}`", f"{worst.ps:.0f}", str(held[field])) for field, worst in found.items()))


def put(document: Path, name: str, text: str) -> None:
    """Replace what stands between the markers of a table."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    old = document.read_text()
    head, found, rest = old.partition(begin)
    if not found or end not in rest:
        raise UserError(f"there are no markers of the table '{name}'", str(document), f"put {begin} and {end} where it belongs")
    document.write_text(f"{head}{begin}\n{text}\n{end}{rest.partition(end)[2]}")
